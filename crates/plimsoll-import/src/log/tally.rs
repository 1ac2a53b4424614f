//! Collects what the plan needs from the requests of logs.

use std::collections::BTreeMap;
use std::fmt::Display;

use plimsoll_logs::LogEntry;

use super::clients::Clients;
use super::order::Order;
use super::paths::{self, Paths};
use super::rates::Rates;
use super::sessions::Sessions;

/// Hosts that are counted.
const HOSTS_MAX: usize = 1_000;

/// Options that the log does not contain.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of its formats, for people.
    pub formats: String,
    /// The site's URL.
    pub target: Option<String>,
    /// Include requests with unsafe methods; without their bodies, which a log does not contain.
    pub with_unsafe: bool,
    /// Use the load of the busiest hour instead of the whole log's.
    pub busiest_hour: bool,
}

/// Statistics of the requests so far.
#[derive(Debug)]
pub struct LogTally {
    pub(super) options: Options,
    pub(super) read: u64,
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
            read: 0,
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

    /// Takes a request, in the order of their ends; `place` is where it is in the log.
    pub fn take(&mut self, entry: &LogEntry<'_>, place: impl Display) {
        self.read += 1;
        self.order.add(entry, place);
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
