//! Metrics of uWSGI's stats server, and its settings: command line and ini files.

use std::path::Path;

use serde_json::Value;

/// Metrics of its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    /// Its first process.
    pub(crate) pid: u64,
    /// Workers that run.
    pub(crate) workers: u64,
    /// Requests that they can handle concurrently: one for each of their cores.
    pub(crate) places: u64,
    /// Requests in progress.
    pub(crate) busy: u64,
    /// Connections that wait in the queues of its sockets.
    pub(crate) queue: u64,
    /// Connections that fit into the queue of its first socket.
    pub(crate) queue_max: Option<u64>,
    /// Requests handled.
    pub(crate) requests: u64,
    /// Workers killed because a request took too long.
    pub(crate) harakiri: u64,
}

/// Parses its response; `None` when it is invalid.
pub(crate) fn stats(text: &str) -> Option<Stats> {
    let json: Value = serde_json::from_str(text).ok()?;
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64);
    let list = |value: &Value, name: &str| -> Vec<Value> {
        value
            .get(name)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let mut stats = Stats {
        pid: number(&json, "pid")?,
        ..Stats::default()
    };
    let sockets = list(&json, "sockets");
    let queues = sockets.iter().filter_map(|socket| number(socket, "queue"));
    stats.queue = queues
        .fold(0_u64, u64::saturating_add)
        .max(number(&json, "listen_queue").unwrap_or(0));
    stats.queue_max = sockets
        .first()
        .and_then(|socket| number(socket, "max_queue"))
        .filter(|&most| most > 0);
    for worker in json.get("workers")?.as_array()? {
        stats.requests = stats
            .requests
            .saturating_add(number(worker, "requests").unwrap_or(0));
        stats.harakiri = stats
            .harakiri
            .saturating_add(number(worker, "harakiri_count").unwrap_or(0));
        let doing = worker.get("status").and_then(Value::as_str);
        // It was put to sleep for lack of work, or does not exist yet.
        if doing == Some("cheap") || number(worker, "pid") == Some(0) {
            continue;
        }
        let cores = list(worker, "cores");
        let has_state = |core: &&Value| number(core, "in_request").is_some();
        let (places, busy) = if cores.iter().filter(has_state).count() > 0 {
            let busy = cores
                .iter()
                .filter(|core| number(core, "in_request") > Some(0));
            (cores.len(), busy.count())
        } else {
            (1, usize::from(doing == Some("busy")))
        };
        stats.workers += 1;
        stats.places += places as u64;
        stats.busy += busy as u64;
    }
    Some(stats)
}

/// A setting and the line where it is written; 0 on a command line.
pub(crate) type UwsgiSetting = Option<(u64, usize)>;

/// Its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UwsgiOptions {
    /// Where its stats server listens.
    pub(crate) stats: Option<String>,
    /// Processes.
    pub(crate) processes: UwsgiSetting,
    /// Threads of each.
    pub(crate) threads: UwsgiSetting,
    /// Connections that wait to be accepted at most.
    pub(crate) listen: UwsgiSetting,
    /// Requests after which a worker is replaced.
    pub(crate) max_requests: UwsgiSetting,
    /// Seconds after which a request is ended with its worker; 0 for never.
    pub(crate) harakiri: UwsgiSetting,
    /// Addresses where it listens.
    pub(crate) sockets: Vec<String>,
    /// Its ini files.
    pub(crate) files: Vec<String>,
}

impl UwsgiOptions {
    fn take(&mut self, name: &str, value: &str, line: usize) {
        let number = || value.parse().ok().map(|value| (value, line));
        match name {
            "stats" | "stats-server" => self.stats = Some(value.to_owned()),
            "processes" | "workers" | "p" => self.processes = number().or(self.processes),
            "threads" => self.threads = number().or(self.threads),
            "listen" | "l" => self.listen = number().or(self.listen),
            "max-requests" | "R" => self.max_requests = number().or(self.max_requests),
            "harakiri" | "t" => self.harakiri = number().or(self.harakiri),
            "socket" | "uwsgi-socket" | "s" | "http" | "http-socket" => {
                self.sockets.push(value.to_owned());
            }
            "ini" => self.files.push(value.to_owned()),
            _ => {}
        }
    }

    /// The settings of this one, with those of the other as defaults.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            stats: self.stats.or(other.stats),
            processes: self.processes.or(other.processes),
            threads: self.threads.or(other.threads),
            listen: self.listen.or(other.listen),
            max_requests: self.max_requests.or(other.max_requests),
            harakiri: self.harakiri.or(other.harakiri),
            sockets: [self.sockets, other.sockets].concat(),
            files: self.files,
        }
    }
}

/// Reads a command line, by words.
pub(crate) fn command_line(words: &[&str]) -> UwsgiOptions {
    let mut options = UwsgiOptions::default();
    let mut words = words.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").or(word.strip_prefix('-'));
        match name {
            Some(name) => {
                if let Some((name, value)) = name.split_once('=') {
                    options.take(name, value, 0);
                } else {
                    let value = words.next_if(|word| !word.starts_with('-'));
                    options.take(name, value.copied().unwrap_or_default(), 0);
                }
            }
            None if Path::new(word).extension().is_some_and(|end| end == "ini") => {
                options.files.push((*word).to_owned());
            }
            None => {}
        }
    }
    options
}

/// Reads the section `[uwsgi]` of an ini file.
pub(crate) fn configuration(text: &str) -> UwsgiOptions {
    let mut options = UwsgiOptions::default();
    let mut is_own = false;
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if line.starts_with('[') {
            is_own = line == "[uwsgi]";
        }
        if let Some((name, value)) = line.split_once('=')
            && is_own
            && !line.starts_with([';', '#'])
        {
            options.take(name.trim_end(), value.trim_start(), index + 1);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = "{\"version\":\"2.0.21\",\"listen_queue\":7,\"pid\":4711,\"sockets\":[{\"name\":\"127.0.0.1:1\",\
        \"queue\":7,\"max_queue\":100}],\"workers\":[\
        {\"id\":1,\"pid\":4712,\"requests\":5,\"harakiri_count\":1,\"status\":\"busy\",\
        \"cores\":[{\"id\":0,\"in_request\":1},{\"id\":1,\"in_request\":0}]},\
        {\"id\":2,\"pid\":4713,\"requests\":6,\"harakiri_count\":0,\"status\":\"busy\",\"cores\":[{\"id\":0}]},\
        {\"id\":3,\"pid\":0,\"requests\":2,\"status\":\"cheap\",\"cores\":[{\"id\":0,\"in_request\":0}]}]}";

    #[test]
    fn workers_are_counted_by_their_cores() {
        let right = Stats {
            pid: 4711,
            workers: 2,
            places: 3,
            busy: 2,
            queue: 7,
            queue_max: Some(100),
            requests: 13,
            harakiri: 1,
        };
        assert_eq!(stats(ANSWER), Some(right));
        assert_eq!(stats("{}"), None);
        assert_eq!(stats("HTTP/1.0 200 OK"), None);
    }

    #[test]
    fn command_lines_and_files_are_read() {
        let words = [
            "uwsgi",
            "--master",
            "--stats=:1717",
            "-p",
            "2",
            "--ini",
            "/etc/a.ini",
            "b.ini",
        ];
        let file = "[other]\nthreads = 9\n[uwsgi]\n; stats = /no\nstats = /run/stats.sock\nworkers = 4\nthreads=3\n";
        let options = command_line(&words).or(configuration(file));
        assert_eq!(options.stats.as_deref(), Some(":1717"));
        assert_eq!(
            (options.processes, options.threads),
            (Some((2, 0)), Some((3, 7)))
        );
        assert_eq!(options.files, ["/etc/a.ini", "b.ini"]);
        assert_eq!(configuration(file).processes, Some((4, 6)));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,100}", at in 0_usize..400) {
            let words: Vec<&str> = text.split(' ').collect();
            let _ = command_line(&words).or(configuration(&text));
            let cut = ANSWER.get(..at).unwrap_or(ANSWER);
            let _ = stats(&format!("{cut}{text}"));
        }
    }
}
