//! What `HAProxy` tells beside the request: states, stages of time, servers.

use std::collections::BTreeMap;

use hashbrown::HashTable;

use super::hash::{hash, join};
use super::summary::{HaproxySummary, ServerSummary, TerminationSummary};
use super::termination;
use super::times::Times;
use crate::entry::HaproxyDetails;

/// Servers that are told apart.
const SERVERS_MAX: usize = 2_000;
/// Different termination states that are told apart.
const STATES_MAX: usize = 500;
/// Name of the server of a request that came to none.
pub(super) const NO_SERVER: &str = "<NOSRV>";

#[derive(Debug)]
struct Server {
    hash: u64,
    backend: String,
    name: String,
    requests: u64,
    errors: u64,
    failures: u64,
    retries: u64,
    queue_max: u32,
    response: Times,
}

#[derive(Debug)]
struct State {
    code: String,
    count: u64,
}

/// Requests by state and server.
#[derive(Debug)]
pub(super) struct Haproxy {
    states: Vec<State>,
    servers: HashTable<Server>,
    /// Servers beyond the limit.
    servers_left_out: u64,
    request: Times,
    queue: Times,
    connect: Times,
    response: Times,
    total: Times,
    retries: u64,
}

impl Haproxy {
    pub(super) fn new() -> Self {
        Self {
            states: Vec::new(),
            servers: HashTable::new(),
            servers_left_out: 0,
            request: Times::new(),
            queue: Times::new(),
            connect: Times::new(),
            response: Times::new(),
            total: Times::new(),
            retries: 0,
        }
    }

    pub(super) fn take(&mut self, details: &HaproxyDetails<'_>, status: u16) {
        self.count_state(details.termination);
        self.request.record(details.request_ms);
        self.queue.record(details.queue_ms);
        self.connect.record(details.connect_ms);
        self.response.record(details.response_ms);
        self.total.record(details.total_ms);
        self.retries += u64::from(details.retries);
        self.count_server(details, status);
    }

    fn count_state(&mut self, code: &str) {
        // A handful of states makes nearly all requests, and the frequent ones were first.
        if let Some(state) = self.states.iter_mut().find(|state| state.code == code) {
            state.count += 1;
        } else if self.states.len() < STATES_MAX {
            self.states.push(State {
                code: code.chars().take(4).collect(),
                count: 1,
            });
        }
    }

    fn count_server(&mut self, details: &HaproxyDetails<'_>, status: u16) {
        let hash = join(
            hash(details.backend.as_bytes()),
            hash(details.server.as_bytes()),
        );
        let is_known = self
            .servers
            .find(hash, |server| server.hash == hash)
            .is_some();
        if !is_known {
            if self.servers.len() >= SERVERS_MAX {
                self.servers_left_out += 1;
                return;
            }
            let server = Server {
                hash,
                backend: shortened(details.backend),
                name: shortened(details.server),
                requests: 0,
                errors: 0,
                failures: 0,
                retries: 0,
                queue_max: 0,
                response: Times::new(),
            };
            self.servers
                .insert_unique(hash, server, |server| server.hash);
        }
        if let Some(server) = self.servers.find_mut(hash, |server| server.hash == hash) {
            server.requests += 1;
            server.errors += u64::from(status >= 500);
            server.failures += u64::from(termination::is_failure(details.termination));
            server.retries += u64::from(details.retries);
            server.queue_max = server.queue_max.max(details.server_queue);
            server.response.record(details.response_ms);
        }
    }

    /// States by their first two characters.
    pub(super) fn terminations(&self) -> BTreeMap<String, TerminationSummary> {
        let mut terminations: BTreeMap<String, TerminationSummary> = BTreeMap::new();
        for state in &self.states {
            let code: String = state.code.chars().take(2).collect();
            let entry = terminations
                .entry(code.clone())
                .or_insert_with(|| TerminationSummary {
                    count: 0,
                    meaning: termination::meaning(&code),
                    cookies: BTreeMap::new(),
                });
            entry.count += state.count;
            let cookies: String = state.code.chars().skip(2).collect();
            if !cookies.is_empty() && cookies != "--" {
                let meaning = termination::cookie_meaning(&cookies);
                *entry
                    .cookies
                    .entry(format!("{cookies}: {meaning}"))
                    .or_default() += state.count;
            }
        }
        terminations
    }

    pub(super) fn summary(&self) -> HaproxySummary {
        let mut servers: Vec<ServerSummary> = self
            .servers
            .iter()
            .map(|server| ServerSummary {
                backend: server.backend.clone(),
                server: server.name.clone(),
                requests: server.requests,
                server_errors: server.errors,
                failures: server.failures,
                retries: server.retries,
                queue_max: server.queue_max,
                response_ms: server.response.distribution(),
            })
            .collect();
        servers.sort_by(|a, b| (&a.backend, &a.server).cmp(&(&b.backend, &b.server)));
        HaproxySummary {
            request_ms: self.request.distribution(),
            queue_ms: self.queue.distribution(),
            connect_ms: self.connect.distribution(),
            response_ms: self.response.distribution(),
            total_ms: self.total.distribution(),
            retries: self.retries,
            servers,
            requests_of_further_servers: self.servers_left_out,
        }
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(server: &'static str, termination: &'static str) -> HaproxyDetails<'static> {
        HaproxyDetails {
            backend: "web",
            server,
            termination,
            queue_ms: Some(5.0),
            response_ms: Some(20.0),
            retries: 1,
            server_queue: 3,
            ..HaproxyDetails::default()
        }
    }

    #[test]
    fn failures_are_counted_by_state_and_server() {
        let mut haproxy = Haproxy::new();
        for _ in 0..3 {
            haproxy.take(&details("a", "----"), 200);
        }
        haproxy.take(&details("a", "SHVN"), 502);
        haproxy.take(&details("b", "sH"), 504);
        haproxy.take(&details(NO_SERVER, "sQ--"), 503);
        let terminations = haproxy.terminations();
        let counts: Vec<(&str, u64)> = terminations
            .iter()
            .map(|(code, termination)| (code.as_str(), termination.count))
            .collect();
        assert_eq!(counts, [("--", 3), ("SH", 1), ("sH", 1), ("sQ", 1)]);
        assert_eq!(terminations["SH"].cookies.len(), 1);
        let summary = haproxy.summary();
        let servers: Vec<(&str, u64, u64, u64)> = summary
            .servers
            .iter()
            .map(|server| {
                (
                    server.server.as_str(),
                    server.requests,
                    server.server_errors,
                    server.failures,
                )
            })
            .collect();
        assert_eq!(
            servers,
            [(NO_SERVER, 1, 1, 1), ("a", 4, 1, 1), ("b", 1, 1, 1)]
        );
        assert_eq!((summary.retries, summary.queue_ms.unwrap().count), (6, 6));
        assert_eq!(summary.connect_ms, None);
    }

    #[test]
    fn made_up_names_do_not_fill_the_memory() {
        let mut haproxy = Haproxy::new();
        for number in 0..3000 {
            let (name, state) = (format!("s{number}"), format!("{number}"));
            let details = HaproxyDetails {
                server: &name,
                termination: &state,
                ..HaproxyDetails::default()
            };
            haproxy.take(&details, 200);
        }
        assert_eq!(haproxy.summary().servers.len(), SERVERS_MAX);
        assert_eq!(haproxy.summary().requests_of_further_servers, 1000);
        assert_eq!(haproxy.states.len(), STATES_MAX);
    }
}
