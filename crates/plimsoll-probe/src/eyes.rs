//! Eyes: parts of a service that are asked about themselves, each by a thread of its own.
//!
//! Whoever reads everything else calls for the eyes' answers first, reads the host meanwhile, and then waits shortly
//! for what they saw. What comes later counts for the next second. So a part that answers slowly holds up nobody, and a
//! part that is not seen leaves a gap and a note.

mod access_log;
mod apache;
mod command;
mod fault;
mod figures;
mod go;
mod gunicorn;
pub mod hands;
mod haproxy;
mod jvm;
mod link;
mod listener;
mod log;
mod memcached;
mod mongo;
mod mysql;
mod nginx;
mod node;
mod otlp;
mod php_fpm;
mod php_fpm_processes;
mod postgres;
mod prometheus;
mod puma;
mod python;
mod redis;
mod statements;
mod tail;
mod threads;
mod uwsgi;
mod varnish;

#[cfg(test)]
mod databases_tests;
#[cfg(test)]
mod engines_tests;
#[cfg(test)]
mod plans_tests;
#[cfg(test)]
mod servers_tests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::part::{Part, PartKind, PartPlace};
use plimsoll_model::reading::Readings;
use plimsoll_model::{labels, metric};

use crate::clock;
use crate::files::Files;
use crate::meter::Meter;
use figures::Figures;
pub(crate) use figures::{Known, Setting};
use link::{Blind, Link};
pub use node::MODULE as NODE_MODULE;
pub(crate) use threads::Eyes;

/// Longest time for a question and its answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Connections tried for one question.
const TRIES_MAX: usize = 10;

/// How a kind of part is asked.
trait Source: fmt::Debug + Send {
    /// Asks over the connection and takes the whole answer.
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind>;

    /// Turns the answer into series.
    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind>;

    /// By which name the machine knows whoever asks; for what lets in by it.
    fn known_as(&mut self, _name: &str) {}

    /// How many times as long as others it may take to answer.
    fn slower(&self) -> u32 {
        1
    }

    /// Tells what can be seen of it without its answer.
    fn tell_silent(&mut self, _figures: &mut Figures<'_>) {}

    /// What gives the access that is lacking.
    fn remedy(&self, blind: &Blind) -> String;
}

/// What an eye saw in a second.
#[derive(Debug, Default)]
struct Seen {
    eye: usize,
    readings: Readings,
    /// Keys, of which each is told once, and texts.
    notes: Vec<(&'static str, String)>,
}

/// An eye, as its thread has it.
#[derive(Debug)]
struct Eye {
    name: String,
    at: String,
    source: Box<dyn Source>,
    /// The name of whoever runs this.
    own_name: String,
    /// As whom it asks, where that is another.
    known_as: Option<u32>,
    link: Link,
    meter: Meter,
    identity: Option<String>,
    was_seen: bool,
    patience: Duration,
    /// Questions without an answer since the last that had one.
    missed: u32,
    /// It was refused: asking again would only fill the part's log.
    is_refused: bool,
}

impl Eye {
    fn new(part: Part, known: Known, patience: Duration, own_name: &str) -> Self {
        let named_by = known.named_by;
        let source: Box<dyn Source> = match part.kind {
            PartKind::Nginx => Box::new(nginx::Nginx {
                settings: known.settings,
                dropped: 0,
            }),
            PartKind::Haproxy => Box::new(haproxy::Haproxy {
                settings: known.settings,
            }),
            PartKind::Redis => Box::new(redis::Redis {
                login: part.login.clone(),
                pid: known.pid,
            }),
            PartKind::Memcached => Box::new(memcached::Memcached),
            PartKind::Postgres => Box::new(postgres::Postgres::new(
                part.login.clone(),
                own_name.to_owned(),
            )),
            PartKind::PhpFpm => php_fpm_of(&part.place, known),
            PartKind::NginxLog => log_of(log::Writer::Nginx, &part.place, known),
            PartKind::NginxAccessLog => {
                Box::new(access_log::AccessLog::new(&file_of(&part.place), &known))
            }
            PartKind::HaproxyLog => log_of(log::Writer::Haproxy, &part.place, known),
            PartKind::PhpFpmSlowlog => log_of(log::Writer::PhpFpm, &part.place, known),
            PartKind::Node => Box::new(node::Node),
            PartKind::Puma => Box::new(puma::Puma {
                login: part.login.clone(),
            }),
            PartKind::Prometheus => Box::new(prometheus::Prometheus::new(&part.place)),
            PartKind::Pgbouncer => Box::new(postgres::pooler::Pgbouncer::new(
                part.login.clone(),
                known.settings,
            )),
            PartKind::Apache => Box::new(apache::Apache {
                settings: known.settings,
            }),
            PartKind::Gunicorn => Box::new(gunicorn::Gunicorn::new(
                part.place.clone(),
                known.pid,
                known.settings,
            )),
            PartKind::Mysql => Box::new(mysql::Mysql::new(part.login.clone(), own_name.to_owned())),
            PartKind::Jvm => Box::new(jvm::Jvm::new(part.place.clone(), known.pid, named_by)),
            PartKind::Mongo => Box::new(mongo::Mongo::new(part.login.clone())),
            PartKind::Uwsgi => Box::new(uwsgi::Uwsgi {
                settings: known.settings,
            }),
            PartKind::Go => Box::new(go::Go::new()),
            PartKind::Varnish => Box::new(varnish::Varnish::new(&part.place, known.settings)),
            PartKind::Python => Box::new(python::Python::new(&part.place)),
            PartKind::Otlp => Box::new(otlp::Otlp::new(&part.place)),
        };
        Self {
            name: part.to_string(),
            at: part.place.to_string(),
            patience: patience * source.slower(),
            source,
            own_name: own_name.to_owned(),
            known_as: None,
            link: Link::to(part.place, named_by),
            meter: Meter::default(),
            identity: None,
            was_seen: false,
            missed: 0,
            is_refused: false,
        }
    }

    /// Asks. A connection that the part had closed meanwhile is opened anew; a part whose places are used up closes new
    /// ones as well, all but a few, and that is the moment at which it must be seen.
    fn ask(&mut self) -> Result<String, Blind> {
        self.link.begin(self.patience);
        let theirs = self.link.acts_as();
        if let Some(owner) = theirs.filter(|_| self.known_as != theirs) {
            self.known_as = theirs;
            let name = name_of(&mut Files::new(PathBuf::from("/")), owner);
            self.source.known_as(&name);
        }
        let answer = self.ask_often();
        if theirs.is_none() || !matches!(answer, Err(Blind::Denied(_))) {
            return answer;
        }
        // The rights of the process that names the place are not enough. Who listens there was looked at all the same.
        self.link.take_own_rights();
        self.source.known_as(&self.own_name);
        self.link.begin(self.patience);
        self.ask_often()
    }

    fn ask_often(&mut self) -> Result<String, Blind> {
        let mut answer = self.source.ask(&mut self.link);
        for _ in 1..TRIES_MAX {
            if answer != Err(Blind::Closed) {
                break;
            }
            self.link.close();
            answer = self.source.ask(&mut self.link);
        }
        if answer.is_err() {
            // What may still come would be taken for the answer to the next question.
            self.link.close();
        }
        answer
    }

    fn look(&mut self) -> (Readings, Vec<(&'static str, String)>) {
        let mut notes = Vec::new();
        if self.is_refused {
            return (Readings::default(), notes);
        }
        let (begin_ns, begin_cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns());
        let answer = self.ask();
        let now_ns = clock::now_ns();
        self.meter.begin(now_ns);
        let mut was_restarted = false;
        let mut figures = Figures {
            meter: &mut self.meter,
            at: &self.at,
            identity: &mut self.identity,
            was_restarted: &mut was_restarted,
            notes: &mut notes,
        };
        let told = answer.and_then(|text| self.source.tell(&text, &mut figures));
        if told.is_err() {
            self.source.tell_silent(&mut figures);
        }
        match told {
            Ok(()) => {
                self.was_seen = true;
                let took_s = now_ns.saturating_sub(begin_ns) as f64 / 1e9;
                let at = [("at", self.at.as_str())];
                self.meter.gauge(metric::PROBE_ANSWER_TIME, &at, took_s);
                self.tell_changes(was_restarted, &mut notes);
            }
            Err(blind) => self.tell_blind(&blind, &mut notes),
        }
        let cost_s = clock::thread_cpu_ns().saturating_sub(begin_cpu_ns) as f64 / 1e9;
        let at = [("at", self.at.as_str())];
        self.meter.gauge(metric::PROBE_CPU_TIME, &at, cost_s);
        (self.meter.finish(0), notes)
    }

    fn tell_changes(&mut self, was_restarted: bool, notes: &mut Vec<(&'static str, String)>) {
        let name = &self.name;
        let fallen = self.meter.take_fallen();
        if was_restarted {
            let text = format!(
                "{name} was started anew during the run: its counters began again, and their first increase is left out"
            );
            notes.push(("restarted", text));
        } else if let Some(counter) = fallen {
            let counter = labels::metric(&counter);
            let text = format!(
                "a counter of {name} fell ({counter}): it was set back, wrapped around, or {name} was started anew; that \
                 second's increase is left out"
            );
            notes.push(("fallen", text));
        }
        if self.missed > 0 {
            let text = format!(
                "{name} is seen again, after {} questions in vain",
                self.missed
            );
            notes.push(("back", text));
            self.missed = 0;
        }
    }

    fn tell_blind(&mut self, blind: &Blind, notes: &mut Vec<(&'static str, String)>) {
        self.missed = self.missed.saturating_add(1);
        let remedy = self.source.remedy(blind);
        let goes_on = if matches!(blind, Blind::Denied(_)) {
            self.is_refused = true;
            "the run goes on without it"
        } else {
            "the run goes on, and it is asked again every second"
        };
        let remedy = match blind {
            Blind::Late | Blind::NotRead(_) => String::new(),
            // Where it answered before, nothing is wrong with the way to it.
            _ if self.was_seen => String::new(),
            _ => format!("; {remedy}"),
        };
        let text = format!("{} is not seen: {blind}{remedy}; {goes_on}", self.name);
        notes.push((blind.key(), text));
    }
}

/// A pool that has a page is asked for it; of another the processes are looked at.
fn php_fpm_of(place: &PartPlace, known: Known) -> Box<dyn Source> {
    let settings = known.settings;
    match (known.pool, known.pid) {
        (Some(pool), Some(pid)) => Box::new(php_fpm_processes::PoolProcesses::new(
            pool,
            pid,
            place.clone(),
            settings,
        )),
        _ => Box::new(php_fpm::PhpFpm { settings }),
    }
}

/// A log that is followed.
fn log_of(writer: log::Writer, place: &PartPlace, known: Known) -> Box<dyn Source> {
    Box::new(log::Log::new(writer, &file_of(place), known))
}

fn file_of(place: &PartPlace) -> PathBuf {
    match place {
        PartPlace::File(path) | PartPlace::Socket(path) => path.clone(),
        _ => PathBuf::new(),
    }
}

/// The name of whoever runs this; empty where the machine does not know him.
fn own_name(files: &mut Files) -> String {
    name_of(files, rustix::process::geteuid().as_raw())
}

/// The name of a user; empty where the machine does not know him.
fn name_of(files: &mut Files, uid: u32) -> String {
    let number = uid.to_string();
    let known = files.read("etc/passwd").unwrap_or_default();
    let own = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then_some(name)
    });
    own.unwrap_or_default().to_owned()
}
