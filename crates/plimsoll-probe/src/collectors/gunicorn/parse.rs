//! How gunicorn was started: its command line and the lines of its configuration that are plain values.

/// Its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GunicornOptions {
    /// Where it listens.
    pub(crate) bind: Option<String>,
    /// Workers, and the line where that is written in its file.
    pub(crate) workers: Option<(u64, usize)>,
    /// Threads of each worker, with the line.
    pub(crate) threads: Option<(u64, usize)>,
    /// Seconds after which a silent worker is killed (`timeout`), with the line.
    pub(crate) timeout: Option<(u64, usize)>,
    /// Seconds for which an idle connection is kept alive, with the line.
    pub(crate) keepalive: Option<(u64, usize)>,
    /// Requests after which a worker is replaced, with the line.
    pub(crate) max_requests: Option<(u64, usize)>,
    /// Connections that wait to be accepted at most, with the line.
    pub(crate) backlog: Option<(u64, usize)>,
    /// The class of its workers.
    pub(crate) class: Option<String>,
    /// Its configuration file.
    pub(crate) file: Option<String>,
}

/// Reads a command line, by words.
pub(crate) fn command_line(words: &[&str]) -> GunicornOptions {
    let argument = |short: &str, long: &str| -> Option<String> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == short || *word == long {
                return words.next().map(|value| (*value).to_owned());
            }
            let joined = word
                .strip_prefix(long)
                .and_then(|rest| rest.strip_prefix('='));
            let joined = joined.or(word.strip_prefix(short).filter(|_| !word.starts_with("--")));
            if let Some(value) = joined {
                return Some(value.to_owned());
            }
        }
        None
    };
    let number = |short: &str, long: &str| Some((argument(short, long)?.parse().ok()?, 0));
    GunicornOptions {
        bind: argument("-b", "--bind"),
        workers: number("-w", "--workers"),
        threads: number("--threads", "--threads"),
        timeout: number("-t", "--timeout"),
        keepalive: number("--keep-alive", "--keep-alive"),
        max_requests: number("--max-requests", "--max-requests"),
        backlog: number("--backlog", "--backlog"),
        class: argument("-k", "--worker-class"),
        file: argument("-c", "--config").map(|file| file.trim_start_matches("file:").to_owned()),
    }
}

/// Reads a configuration, which is a program: its lines of the form `name = value` are read, and nothing is executed.
pub(crate) fn configuration(text: &str) -> GunicornOptions {
    let mut options = GunicornOptions::default();
    for (index, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let value = value.split('#').next().unwrap_or_default().trim();
        let text = || value.trim_matches(['"', '\'', '[', ']']).to_owned();
        let number = || Some((value.parse().ok()?, index + 1));
        match name.trim_end() {
            "bind" => options.bind = Some(text()),
            "workers" => options.workers = number(),
            "threads" => options.threads = number(),
            "timeout" => options.timeout = number(),
            "keepalive" => options.keepalive = number(),
            "max_requests" => options.max_requests = number(),
            "backlog" => options.backlog = number(),
            "worker_class" => options.class = Some(text()),
            _ => {}
        }
    }
    options
}

impl GunicornOptions {
    /// The settings of this one, with those of the other as defaults.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            bind: self.bind.or(other.bind),
            workers: self.workers.or(other.workers),
            threads: self.threads.or(other.threads),
            timeout: self.timeout.or(other.timeout),
            keepalive: self.keepalive.or(other.keepalive),
            max_requests: self.max_requests.or(other.max_requests),
            backlog: self.backlog.or(other.backlog),
            class: self.class.or(other.class),
            file: self.file.or(other.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn command_lines_and_files_are_read() {
        let words = [
            "/usr/bin/python3",
            "/usr/bin/gunicorn",
            "-w",
            "2",
            "--bind=127.0.0.1:8000",
            "--threads",
            "4",
            "-cg.py",
            "app:app",
        ];
        let options = command_line(&words);
        let file = configuration(
            "import os\nbind = \"unix:/run/g.sock\"\nworkers = 3  # three\nworkers=os.cpu_count()\nworker_class = 'gthread'\n",
        );
        assert_eq!(file.workers, None);
        let both = options.or(file);
        assert_eq!(both.bind.as_deref(), Some("127.0.0.1:8000"));
        assert_eq!((both.workers, both.threads), (Some((2, 0)), Some((4, 0))));
        assert_eq!(
            (both.class.as_deref(), both.file.as_deref()),
            (Some("gthread"), Some("g.py"))
        );
        assert_eq!(configuration("threads = 8").threads, Some((8, 1)));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let words: Vec<&str> = text.split(' ').collect();
            let _ = command_line(&words).or(configuration(&text));
        }
    }
}
