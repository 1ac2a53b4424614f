//! Collectors: they scrape components of a service, each on a thread of its own.
//!
//! The probe triggers the collectors first, reads the host meanwhile, and then waits briefly for their results.
//! Late results count for the next second. So a slow component delays no other reading, and a component that cannot
//! be scraped leaves a gap and a note.
//!
//! Each technology has a folder: what scrapes it (`collect`), reads its texts (`parse`), finds it on this machine
//! (`discover`), reads its time-outs and settings for advice (`timeouts`, `settings`) and changes its settings (`tune`).

pub(crate) mod apache;
mod cadvisor;
mod command;
pub(crate) mod configuration;
pub(crate) mod discovery;
mod edge;
mod gauges;
mod go;
mod gunicorn;
pub(crate) mod haproxy;
pub(crate) mod integration;
pub(crate) mod jvm;
pub(crate) mod link;
mod listener;
mod log;
mod memcached;
mod metrics;
mod mongo;
mod mysql;
pub(crate) mod nginx;
pub(crate) mod node;
mod node_exporter;
pub(crate) mod otlp;
pub(crate) mod pgbouncer;
pub(crate) mod php_fpm;
pub(crate) mod postgres;
pub(crate) mod prometheus;
pub(crate) mod puma;
mod python;
mod query_error;
mod receiving;
mod redis;
mod statements;
pub(crate) mod statsd;
mod tail;
mod threads;
pub(crate) mod timeouts;
pub mod tunables;
mod uwsgi;
mod varnish;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::component::Component;
use plimsoll_model::reading::Readings;
use plimsoll_model::{labels, metric};

use crate::clock;
use crate::files::Files;
use crate::meter::Meter;
pub use edge::{EdgeSource, OwnEdge};
pub(crate) use gauges::WatchedGauges;
use integration::integration;
use link::{ComponentLink, ScrapeError};
pub(crate) use metrics::{ComponentMetadata, FileSetting};
use metrics::{MetricsRecorder, Sink};
pub use node::MODULE as NODE_MODULE;
pub(crate) use threads::Collectors;
use threads::Scraped;

/// Time-out of one scrape.
const PATIENCE: Duration = Duration::from_secs(1);
/// Connection attempts for one scrape.
const TRIES_MAX: usize = 10;

/// Whether a component was scraped, or why not.
type Collected = Result<(), ScrapeError>;

/// Scrapes one kind of component.
trait Scraper: fmt::Debug + Send {
    /// Sends the request over the connection, reads the whole response, and records its series.
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected;

    /// Sets the user name of this process on the machine; for peer authentication.
    fn known_as(&mut self, _name: &str) {}

    /// Factor of its time-out over that of other collectors.
    fn slower(&self) -> u32 {
        1
    }

    /// Records what can be observed without its response.
    fn record_unanswered(&mut self, _metrics: &mut MetricsRecorder<'_>) {}

    /// The remedy for an error.
    fn remedy(&self, error: &ScrapeError) -> String;
}

/// Result of a collector in one second.
#[derive(Debug, Default)]
struct ScrapeResult {
    collector: usize,
    readings: Readings,
    /// Keys, each reported once, and texts.
    notes: Vec<(&'static str, String)>,
}

/// A component that is scraped, and the connection to it.
#[derive(Debug)]
struct ScrapedComponent {
    scraper: Box<dyn Scraper>,
    link: ComponentLink,
    /// User name of this process.
    own_name: String,
    /// The user that it acts as, where that is another one.
    known_as: Option<u32>,
    patience: Duration,
}

impl ScrapedComponent {
    /// Scrapes. A connection that the component has closed meanwhile is reopened; a component at its connection
    /// limit closes most new ones as well, and that is when it must be observed.
    fn collect(&mut self, sink: &mut Sink<'_>) -> Collected {
        self.link.begin(self.patience);
        let theirs = self.link.acts_as();
        if let Some(owner) = theirs.filter(|_| self.known_as != theirs) {
            self.known_as = theirs;
            let name = name_of(&mut Files::new(PathBuf::from("/")), owner);
            self.scraper.known_as(&name);
        }
        let collected = self.collect_with_retries(sink);
        let is_denied = matches!(collected, Err(ScrapeError::Denied(_)));
        if theirs.is_none() || !is_denied || sink.answered_ns().is_some() {
            return collected;
        }
        // The rights of the process that names the address do not suffice. The owner of the listener has been
        // checked anyway.
        self.link.take_own_rights();
        self.scraper.known_as(&self.own_name);
        self.link.begin(self.patience);
        self.collect_with_retries(sink)
    }

    fn collect_with_retries(&mut self, sink: &mut Sink<'_>) -> Collected {
        let mut collected = self.scraper.collect(&mut self.link, sink);
        for _ in 1..TRIES_MAX {
            if collected != Err(ScrapeError::Closed) || sink.answered_ns().is_some() {
                break;
            }
            self.link.close();
            collected = self.scraper.collect(&mut self.link, sink);
        }
        if collected.is_err() && sink.answered_ns().is_none() {
            // Late bytes would be read as the response to the next request.
            self.link.close();
        }
        collected
    }
}

/// A collector, owned by its thread.
#[derive(Debug)]
struct Collector {
    name: String,
    at: String,
    source: ScrapedComponent,
    meter: Meter,
    gauges: Arc<WatchedGauges>,
    identity: Option<String>,
    has_answered: bool,
    /// Failed scrapes since the last successful one.
    missed: u32,
    /// Access was denied: further attempts would only fill the component's log.
    is_refused: bool,
}

impl Collector {
    fn new(
        component: Component,
        known: ComponentMetadata,
        gauges: Arc<WatchedGauges>,
        patience: Duration,
        own_name: &str,
    ) -> Self {
        let named_by = known.named_by;
        let scraper = integration(component.kind).scraper(&component, known, own_name);
        Self {
            name: component.to_string(),
            at: component.place.to_string(),
            source: ScrapedComponent {
                patience: patience * scraper.slower(),
                scraper,
                link: ComponentLink::to(component.place, named_by),
                own_name: own_name.to_owned(),
                known_as: None,
            },
            meter: Meter::default(),
            gauges,
            identity: None,
            has_answered: false,
            missed: 0,
            is_refused: false,
        }
    }

    fn scrape(&mut self) -> Scraped {
        let mut notes = Vec::new();
        if self.is_refused {
            return (Readings::default(), notes);
        }
        let (begin_ns, begin_cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns());
        let mut was_restarted = false;
        let mut sink = Sink::new(MetricsRecorder {
            meter: &mut self.meter,
            gauges: &self.gauges,
            at: &self.at,
            identity: &mut self.identity,
            was_restarted: &mut was_restarted,
            notes: &mut notes,
        });
        let collected = self.source.collect(&mut sink);
        let metrics = sink.answered();
        if collected.is_err() {
            self.source.scraper.record_unanswered(metrics);
        }
        let answered_ns = sink.answered_ns().unwrap_or(begin_ns);
        match collected {
            Ok(()) => {
                self.has_answered = true;
                let took_s = answered_ns.saturating_sub(begin_ns) as f64 / 1e9;
                let at = [("at", self.at.as_str())];
                self.meter.gauge(metric::PROBE_ANSWER_TIME, &at, took_s);
                self.note_changes(was_restarted, &mut notes);
            }
            Err(error) => self.note_error(&error, &mut notes),
        }
        let cost_s = clock::thread_cpu_ns().saturating_sub(begin_cpu_ns) as f64 / 1e9;
        let at = [("at", self.at.as_str())];
        self.meter.gauge(metric::PROBE_CPU_TIME, &at, cost_s);
        (self.meter.finish(0), notes)
    }

    fn note_changes(&mut self, was_restarted: bool, notes: &mut Vec<(&'static str, String)>) {
        let name = &self.name;
        let fallen = self.meter.take_fallen();
        if was_restarted {
            let text = format!(
                "{name} was restarted during the run: its counters were reset, and their first increase is left out"
            );
            notes.push(("restarted", text));
        } else if let Some(counter) = fallen {
            let counter = labels::metric(&counter);
            let text = format!(
                "a counter of {name} decreased ({counter}): it was reset, wrapped around, or {name} was restarted; \
                 that second's increase is left out"
            );
            notes.push(("fallen", text));
        }
        if self.missed > 0 {
            let text = format!(
                "{name} responds again, after {} failed scrapes",
                self.missed
            );
            notes.push(("back", text));
            self.missed = 0;
        }
    }

    fn note_error(&mut self, error: &ScrapeError, notes: &mut Vec<(&'static str, String)>) {
        self.missed = self.missed.saturating_add(1);
        let remedy = self.source.scraper.remedy(error);
        let goes_on = if matches!(error, ScrapeError::Denied(_)) {
            self.is_refused = true;
            "the run continues without it"
        } else {
            "the run continues, with a new attempt every second"
        };
        let remedy = match error {
            ScrapeError::Late | ScrapeError::NotRead(_) => String::new(),
            // After an earlier success the connection settings are right.
            _ if self.has_answered => String::new(),
            _ => format!("; {remedy}"),
        };
        let text = format!(
            "{} cannot be watched: {error}{remedy}; {goes_on}",
            self.name
        );
        notes.push((error.key(), text));
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
