//! Processes a log line by line and collects what the plan needs.

use std::collections::BTreeMap;

use plimsoll_logs::{
    DetectError, Detected, Format, LineError, LogEntry, LogReader, SAMPLE_LEN_MAX,
    SAMPLE_LINES_MAX, detect,
};

use super::LogError;
use super::clients::Clients;
use super::order::Order;
use super::paths::{self, Paths};
use super::rates::Rates;
use super::sessions::Sessions;

/// Unreadable lines that are shown.
const SHOWN_MAX: usize = 3;
/// Hosts that are counted.
const HOSTS_MAX: usize = 1_000;

/// Options that the log does not contain.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its format; `None` detects it from the first lines.
    pub format: Option<Format>,
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

/// Lines that wait until the format is known.
#[derive(Debug, Default)]
struct Sample {
    lines: Vec<(u64, Vec<u8>)>,
    len: usize,
}

/// Statistics of the lines so far.
#[derive(Debug)]
pub struct LogTally {
    pub(super) options: Options,
    sample: Sample,
    reader: Option<LogReader>,
    detected: Option<Detected>,
    lines: u64,
    pub(super) read: u64,
    unreadable: Unreadable,
    pub(super) paths: Paths,
    pub(super) sessions: Sessions,
    pub(super) clients: Clients,
    pub(super) order: Order,
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
            options,
            sample: Sample::default(),
            reader: None,
            detected: None,
            lines: 0,
            read: 0,
            unreadable: Unreadable::default(),
            paths: Paths::default(),
            sessions: Sessions::default(),
            clients: Clients::default(),
            order: Order::default(),
            rates: Rates::default(),
            pages: 0,
            assets: 0,
            unsafe_methods: BTreeMap::new(),
            good: 0,
            hosts: BTreeMap::new(),
        }
    }

    /// Takes one line, with its end or without.
    ///
    /// # Errors
    /// When several formats fit the first lines and would read them differently.
    pub fn take(&mut self, line: &[u8]) -> Result<(), LogError> {
        self.lines += 1;
        if self.reader.is_some() {
            self.read_line(self.lines, line);
            return Ok(());
        }
        self.sample.len += line.len();
        self.sample.lines.push((self.lines, line.to_vec()));
        if self.sample.lines.len() >= SAMPLE_LINES_MAX || self.sample.len >= SAMPLE_LEN_MAX {
            self.end()?;
        }
        Ok(())
    }

    /// Reads what waits for the format; to be called after the last line.
    ///
    /// # Errors
    /// When several formats fit the first lines and would read them differently.
    pub fn end(&mut self) -> Result<(), LogError> {
        if self.reader.is_some() {
            return Ok(());
        }
        let sample = std::mem::take(&mut self.sample);
        let lines: Vec<&[u8]> = sample
            .lines
            .iter()
            .map(|(_, line)| line.as_slice())
            .collect();
        match detect(&lines, self.options.format.as_ref()) {
            Ok(detected) => {
                self.reader = Some(LogReader::new(detected.format.clone()));
                self.detected = Some(detected);
            }
            Err(error @ DetectError::Ambiguous { .. }) => return Err(LogError::Format(error)),
            Err(DetectError::Unknown { .. } | DetectError::Empty) => {}
        }
        for (number, line) in &sample.lines {
            self.read_line(*number, line);
        }
        Ok(())
    }

    /// Lines that could not be read so far.
    pub fn unreadable(&self) -> &Unreadable {
        &self.unreadable
    }

    /// The format of the log with what speaks for it, as far as it is known.
    pub fn detected(&self) -> Option<&Detected> {
        self.detected.as_ref()
    }

    /// First and last beginning in the hour or in the whole log, as the options say, in milliseconds since 1970.
    pub fn window(&self) -> Option<(i64, i64)> {
        let (first, last) = self.rates.span()?;
        let (first_sent, last_sent) = self.order.span().unwrap_or((first, last));
        let (first, last) = (first.min(first_sent), last.max(last_sent));
        if !self.options.busiest_hour {
            return Some((first, last));
        }
        let (start, end) = self.rates.busiest_hour()?;
        let is_cut_by_log = end - start < 3_600_000;
        // The end of an hour belongs to the next one. The files of the last page are in the hour if the log ends in it.
        let end = if is_cut_by_log {
            last.min(start + 3_600_000 - 1).max(end - 1)
        } else {
            end - 1
        };
        Some((start, end))
    }

    fn record_error(&mut self, line: u64, error: LineError) {
        self.unreadable.count += 1;
        if self.unreadable.first.len() < SHOWN_MAX {
            self.unreadable.first.push((line, error));
        }
    }

    fn read_line(&mut self, number: u64, line: &[u8]) {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            // No format fits: errors are those of the most common one.
            None => match Format::parse("nginx") {
                Ok(format) => LogReader::new(format),
                Err(_) => return,
            },
        };
        match reader.read(line) {
            Ok(Some(entry)) => self.count(number, &entry),
            Ok(None) => {}
            Err(error) => self.record_error(number, error),
        }
        self.reader = Some(reader);
    }

    fn count(&mut self, number: u64, entry: &LogEntry<'_>) {
        self.read += 1;
        self.order.add(entry, number);
        let method = entry.method.as_ref();
        let is_bad = entry.status < 200 || entry.status >= 400;
        if !matches!(method, "GET" | "HEAD") {
            if self.unsafe_methods.len() < 50 || self.unsafe_methods.contains_key(method) {
                *self.unsafe_methods.entry(method.to_owned()).or_default() += 1;
            }
            let is_known_method = matches!(method, "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS");
            if !(self.options.with_unsafe && is_known_method) {
                return;
            }
        } else if !is_bad {
            self.order.add_sent(entry.began_ms());
        }
        if !is_bad {
            self.good += 1;
            self.count_host(entry);
        }
        self.paths.add(method, &entry.path, is_bad);
        let path = entry.path.split('?').next().unwrap_or_default();
        if paths::is_asset(path) {
            self.assets += 1;
            return;
        }
        if is_bad {
            return;
        }
        self.pages += 1;
        self.rates.add(entry.began_ms());
        self.clients.count(entry);
        // Pages of unknown clients belong to no visit.
        if let Some(address) = &entry.address {
            let agent = entry.agent.as_deref().unwrap_or_default();
            self.sessions
                .add(address, agent, entry.began_ms(), entry.ended_ms());
        }
    }

    fn count_host(&mut self, entry: &LogEntry<'_>) {
        if let Some(host) = &entry.host
            && is_host(host)
            && (self.hosts.len() < HOSTS_MAX || self.hosts.contains_key(host.as_ref()))
        {
            *self.hosts.entry(host.to_string()).or_default() += 1;
        }
    }
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.bytes().any(|b| b.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
}
