//! Processes a log line by line and collects what the plan needs.

use std::collections::BTreeMap;

use super::fit::THINK_MIN_MS;
use super::format::{LineReader, LogFileFormat};
use super::line::{LineError, LogEntry};
use super::paths::{self, Paths};
use super::rates::Rates;
use super::sessions::Sessions;

/// Longest line that is read, bytes.
const LINE_LEN_MAX: usize = 64 << 10;
/// Lines buffered until the format is known.
const SHOWN_MAX: usize = 3;
/// Hosts that are counted.
const HOSTS_MAX: usize = 1_000;

/// Options that the log does not contain.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its format; `None` detects it from the first unambiguous line.
    pub format: Option<LogFileFormat>,
    /// The site's URL.
    pub target: Option<String>,
    /// Include requests with unsafe methods; without their bodies, which a log does not contain.
    pub with_unsafe: bool,
    /// Use the load of the busiest hour instead of the whole log's.
    pub busiest_hour: bool,
}

/// Unreadable lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreadable {
    /// How many.
    pub count: u64,
    /// Number of the line, from 1, and error of the first ones.
    pub first: Vec<(u64, LineError)>,
}

/// Statistics of the lines so far.
#[derive(Debug)]
pub struct LogTally {
    pub(super) options: Options,
    reader: Option<LineReader>,
    lines: u64,
    pub(super) read: u64,
    unreadable: Unreadable,
    pub(super) paths: Paths,
    pub(super) sessions: Sessions,
    pub(super) rates: Rates,
    pub(super) pages: u64,
    pub(super) assets: u64,
    pub(super) unsafe_methods: BTreeMap<String, u64>,
    /// Requests with a successful response, and their hosts.
    pub(super) good: u64,
    pub(super) hosts: BTreeMap<String, u64>,
}

impl LogTally {
    /// Empty statistics.
    pub fn new(options: Options) -> Self {
        Self {
            reader: options.format.map(LineReader::new),
            options,
            lines: 0,
            read: 0,
            unreadable: Unreadable::default(),
            paths: Paths::default(),
            sessions: Sessions::default(),
            rates: Rates::default(),
            pages: 0,
            assets: 0,
            unsafe_methods: BTreeMap::new(),
            good: 0,
            hosts: BTreeMap::new(),
        }
    }

    /// Takes one line, with its end or without.
    pub fn take(&mut self, line: &[u8]) {
        self.lines += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return;
        }
        match std::str::from_utf8(line) {
            _ if line.len() > LINE_LEN_MAX => self.record_error(LineError::TooLong),
            Err(_) => self.record_error(LineError::NotText),
            Ok(line) => self.take_text(line.trim_start_matches('\u{feff}')),
        }
    }

    /// Lines that could not be read so far.
    pub fn unreadable(&self) -> &Unreadable {
        &self.unreadable
    }

    /// The format of the log, as far as it is known.
    pub fn format(&self) -> Option<LogFileFormat> {
        self.reader.as_ref().map(|reader| reader.format)
    }

    /// First and last moment of the hour or of the whole log, as the options say, in milliseconds since 1970.
    pub fn window(&self) -> Option<(i64, i64)> {
        if self.options.busiest_hour {
            let (start, end) = self.rates.busiest_hour()?;
            // The end of an hour belongs to the next one.
            Some((start, end - 1))
        } else {
            self.rates.span()
        }
    }

    fn record_error(&mut self, error: LineError) {
        self.unreadable.count += 1;
        if self.unreadable.first.len() < SHOWN_MAX {
            self.unreadable.first.push((self.lines, error));
        }
    }

    fn take_text(&mut self, text: &str) {
        if self.reader.is_none() {
            self.reader = LogFileFormat::of(text).map(LineReader::new);
        }
        let read = match &mut self.reader {
            Some(reader) => reader.read(text),
            // No format fits: the error of the most common one is reported.
            None => LineReader::new(LogFileFormat::Nginx).read(text),
        };
        match read {
            Ok(Some(line)) => self.count(&line),
            Ok(None) => {}
            Err(error) => self.record_error(error),
        }
    }

    fn count(&mut self, line: &LogEntry<'_>) {
        self.read += 1;
        let method = line.method.as_ref();
        if !matches!(method, "GET" | "HEAD") {
            if self.unsafe_methods.len() < 50 || self.unsafe_methods.contains_key(method) {
                *self.unsafe_methods.entry(method.to_owned()).or_default() += 1;
            }
            let is_known_method = matches!(method, "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS");
            if !(self.options.with_unsafe && is_known_method) {
                return;
            }
        }
        let is_bad = line.status < 200 || line.status >= 400;
        if !is_bad {
            self.good += 1;
            self.count_host(line);
        }
        self.paths.add(method, &line.path, is_bad);
        let path = line.path.split('?').next().unwrap_or_default();
        if paths::is_asset(path) {
            self.assets += 1;
            return;
        }
        if is_bad {
            return;
        }
        self.pages += 1;
        let lasted = lasted_ms(line);
        let (started, ended) = if line.is_end {
            (line.at_ms - lasted, line.at_ms)
        } else {
            (line.at_ms, line.at_ms + lasted)
        };
        self.rates.add(started);
        self.sessions
            .add(&line.address, &line.agent, started, ended);
    }
}

impl LogTally {
    fn count_host(&mut self, line: &LogEntry<'_>) {
        if let Some(host) = &line.host
            && is_host(host)
            && (self.hosts.len() < HOSTS_MAX || self.hosts.contains_key(host.as_ref()))
        {
            *self.hosts.entry(host.to_string()).or_default() += 1;
        }
    }
}

/// A response time; implausibly long values are dropped.
fn lasted_ms(line: &LogEntry<'_>) -> i64 {
    let ms = line.lasted_ms.unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "below the bound")]
    let ms = if (0.0..3_600_000.0).contains(&ms) {
        ms as i64
    } else {
        0
    };
    // Below the resolution of most logs.
    if ms < THINK_MIN_MS / 1000 { 0 } else { ms }
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
}
