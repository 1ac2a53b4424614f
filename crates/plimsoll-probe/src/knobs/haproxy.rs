//! Knobs of `HAProxy`, where its configuration has them.

use std::ops::Range;

use super::amount::number;
use super::processes::ServerProcess;
use super::reader::{Commands, HERE, KnobReader, NewKnob, Spot};
use super::service::command;
use super::source::{Line, lines};
use crate::collectors::haproxy::SECTIONS;

/// Backends and frontends whose limits are knobs.
const PROXIES_MAX: usize = 16;

/// A line of a section.
#[derive(Clone, Debug)]
struct Statement<'t> {
    line: Line<'t>,
    section: &'t str,
    name: &'t str,
    words: Vec<&'t str>,
    /// Where its last word ends.
    end: usize,
}

impl Statement<'_> {
    /// The word behind another, with its bytes.
    fn behind(&self, word: &str) -> Option<(&str, Range<usize>)> {
        let at = self.words.iter().position(|own| *own == word)?;
        let value = *self.words.get(at + 1)?;
        Some((value, self.line.range_of(value)?))
    }

    fn begins(&self, words: &[&str]) -> bool {
        self.words.starts_with(words)
    }
}

fn statements(text: &str) -> Vec<Statement<'_>> {
    let (mut section, mut name) = ("", "");
    let mut all = Vec::new();
    for line in lines(text) {
        let content = line.text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        let Some(&first) = words.first() else {
            continue;
        };
        if SECTIONS.contains(&first) {
            section = first;
            name = words.get(1).copied().unwrap_or_default();
        }
        let end = line.start + content.trim_end().len();
        all.push(Statement {
            line,
            section,
            name,
            words,
            end,
        });
    }
    all
}

/// Reads `HAProxy`'s knobs.
pub(super) fn read(reader: &mut KnobReader<'_>, server: &ServerProcess) {
    let words = server.words();
    let named = words.windows(2).filter(|two| two[0] == "-f");
    let mut paths: Vec<String> = named.filter_map(|two| server.path(two[1])).collect();
    if paths.is_empty() {
        paths.push("/etc/haproxy/haproxy.cfg".to_owned());
    }
    let mut texts = Vec::new();
    for path in &paths {
        if let Some(text) = reader.text(server, path) {
            texts.push((path.clone(), text));
        } else {
            let why = format!("its configuration {path} cannot be read: run as root");
            reader.knob(NewKnob::unknown("maxconn", why));
            return;
        }
    }
    let is_master = words.iter().any(|word| ["-W", "-Ws"].contains(word))
        || texts.iter().any(|(_, text)| {
            let mut own = lines(text);
            own.any(|line| line.text.trim() == "master-worker")
        });
    let commands = commands(reader, server, &texts, is_master);
    for (path, text) in &texts {
        let statements = statements(text);
        for statement in &statements {
            if ["server", "default-server"].contains(&statement.words[0]) {
                reader.uses(statement.words.get(2).copied().unwrap_or_default());
            }
        }
        let file = reader.file(server, path, text, &commands);
        limits(reader, file, &statements);
        servers(reader, file, &statements);
        process(reader, file, &statements);
    }
}

/// Commands that check all files, and make the master read them again.
fn commands(
    reader: &mut KnobReader<'_>,
    server: &ServerProcess,
    texts: &[(String, String)],
    is_master: bool,
) -> Commands {
    let program = server.executable.clone();
    let program = program.unwrap_or_else(|| "haproxy".to_owned());
    let mut check = command(&[&program, "-c"]);
    for (path, _) in texts {
        check.extend(command(&["-f", path]));
    }
    let named = server.flag(&["-p"]).map(str::to_owned);
    let written = texts.iter().find_map(|(_, text)| {
        let all = statements(text);
        let mut own = all.iter();
        let own = own.find(|statement| statement.begins(&["pidfile"]))?;
        Some(own.behind("pidfile")?.0.to_owned())
    });
    let pid_files: Vec<String> = named.into_iter().chain(written).collect();
    let pid_files: Vec<&str> = pid_files.iter().map(String::as_str).collect();
    let service = reader.service(server);
    Commands {
        check: Some(check),
        reload: is_master.then(|| reader.signal(server, "USR2", &pid_files)),
        restart: service.restart(),
    }
}

/// `maxconn` of the process and of frontends.
fn limits(reader: &mut KnobReader<'_>, file: usize, statements: &[Statement<'_>]) {
    let own = statements.iter().filter(|statement| {
        statement.begins(&["maxconn"])
            && ["global", "defaults", "frontend", "listen"].contains(&statement.section)
    });
    for statement in own.take(PROXIES_MAX) {
        let Some((now, at)) = statement.behind("maxconn") else {
            continue;
        };
        let of = match statement.section {
            "frontend" | "listen" => statement.name,
            section => section,
        };
        let spot = Spot::File(file, vec![(at, HERE.to_owned())]);
        reader.knob(NewKnob {
            of,
            ..NewKnob::new("maxconn", now, spot)
        });
    }
}

/// `maxconn` of the servers of each backend, which share a level.
fn servers(reader: &mut KnobReader<'_>, file: usize, statements: &[Statement<'_>]) {
    let is_server = |statement: &&Statement<'_>| {
        statement.begins(&["server"]) && ["backend", "listen"].contains(&statement.section)
    };
    let mut names: Vec<&str> = Vec::new();
    for statement in statements.iter().filter(is_server) {
        if !names.contains(&statement.name) && names.len() < PROXIES_MAX {
            names.push(statement.name);
        }
    }
    for name in names {
        let own = statements
            .iter()
            .filter(|statement| is_server(statement) || statement.begins(&["default-server"]))
            .filter(|statement| statement.name == name);
        let own: Vec<&Statement<'_>> = own.collect();
        let limited = own
            .iter()
            .filter_map(|statement| statement.behind("maxconn"));
        let limited: Vec<(&str, Range<usize>)> = limited.collect();
        let (now, edits) = if let Some((now, _)) = limited.first() {
            let edits = limited.iter().map(|(_, at)| (at.clone(), HERE.to_owned()));
            ((*now).to_owned(), edits.collect::<Vec<_>>())
        } else {
            // Without a limit: 0.
            let servers = own.iter().filter(|statement| is_server(statement));
            let edits =
                servers.map(|statement| (statement.end..statement.end, format!(" maxconn {HERE}")));
            ("0".to_owned(), edits.collect())
        };
        reader.knob(NewKnob {
            of: name,
            ..NewKnob::new("server maxconn", &now, Spot::File(file, edits))
        });
    }
}

/// Threads, and the time in queues.
fn process(reader: &mut KnobReader<'_>, file: usize, statements: &[Statement<'_>]) {
    let header = |section: &str| {
        let mut own = statements.iter();
        own.find(|statement| statement.words[0] == section)
    };
    let cpus = reader.machine.cpus.to_string();
    let threads = statements
        .iter()
        .find(|statement| statement.begins(&["nbthread"]));
    match threads.and_then(|statement| statement.behind("nbthread")) {
        Some((now, at)) => {
            let spot = Spot::File(file, vec![(at, HERE.to_owned())]);
            reader.knob(NewKnob::new("nbthread", now, spot));
        }
        None => {
            if let Some(global) = header("global") {
                let edit = (global.end..global.end, format!("\n    nbthread {HERE}"));
                reader.knob(NewKnob::new(
                    "nbthread",
                    &cpus,
                    Spot::File(file, vec![edit]),
                ));
            }
        }
    }
    let timeout = |name: &str| {
        let mut own = statements.iter();
        own.find(|statement| statement.begins(&["timeout", name]))
    };
    let queue = timeout("queue").and_then(|statement| statement.behind("queue"));
    let (now, edit) = match (queue, header("defaults")) {
        (Some((now, at)), _) => (seconds(now), (at, HERE.to_owned())),
        (None, Some(defaults)) => {
            let connect = timeout("connect").and_then(|statement| statement.behind("connect"));
            let edit = (
                defaults.end..defaults.end,
                format!("\n    timeout queue {HERE}"),
            );
            (connect.and_then(|(now, _)| seconds(now)), edit)
        }
        (None, None) => return,
    };
    // A time with a fraction of a second has no level of its own.
    let Some(now) = now else { return };
    reader.knob(NewKnob::new(
        "timeout queue",
        &now,
        Spot::File(file, vec![edit]),
    ));
}

/// A time in whole seconds; a bare number is in milliseconds.
fn seconds(written: &str) -> Option<String> {
    let written = written
        .strip_suffix('m')
        .map_or(written.to_owned(), |minutes| format!("{minutes}min"));
    let seconds = number(&written, 0.001)?;
    (seconds >= 1.0 && seconds.fract() == 0.0).then(|| format!("{seconds:.0}s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_section_and_bytes() {
        let text =
            "global\n  maxconn 10 # x\nbackend app\n  server a 127.0.0.1:1 check maxconn 5\n";
        let all = statements(text);
        let server = all.last().unwrap();
        assert_eq!((server.section, server.name), ("backend", "app"));
        let (now, at) = server.behind("maxconn").unwrap();
        assert_eq!((now, &text[at]), ("5", "5"));
        assert_eq!(&text[..all[1].end], "global\n  maxconn 10");
    }

    #[test]
    fn times_are_in_milliseconds_without_a_unit() {
        assert_eq!(seconds("5000").as_deref(), Some("5s"));
        assert_eq!(seconds("5s").as_deref(), Some("5s"));
        assert_eq!(seconds("1m").as_deref(), Some("60s"));
        assert_eq!(seconds("500ms"), None);
        assert_eq!(seconds("soon"), None);
    }
}
