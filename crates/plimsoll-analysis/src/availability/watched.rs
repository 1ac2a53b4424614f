//! What readings without load show of availability: whether the target listens, and requests that a component counts.
//!
//! The outermost component that counts requests and failures is taken: an edge, HAProxy, or nginx with its access log.
//! Their sum would count each request once for every component that it passes.

use std::collections::BTreeMap;

use plimsoll_model::labels::{self, label};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

/// Requests of a second at most: more is a damaged file.
const REQUESTS_MAX: f64 = 1e12;

/// A component that counts the requests of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestCounter {
    /// An edge: responses by class of status.
    Edge,
    /// The frontends of HAProxy.
    Haproxy,
    /// nginx: its status page, and its access log for the failures.
    Nginx,
}

/// A second of readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchedSecond {
    /// The second since the start of the readings.
    pub second: u32,
    /// Whether the target accepts connections; `None` where it is not on the machine of the readings.
    pub is_listening: Option<bool>,
    /// Requests that a component counts.
    pub requests: u64,
    /// Of these failed.
    pub failed: u64,
}

/// What readings show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedService {
    /// The seconds, in order.
    pub seconds: Vec<WatchedSecond>,
    /// Who counts requests.
    pub counter: Option<RequestCounter>,
}

impl WatchedService {
    /// What these readings show.
    pub fn of(table: &SeriesTable) -> Self {
        let listeners = listening(table);
        let counted = [
            (RequestCounter::Edge, edge(table)),
            (RequestCounter::Haproxy, haproxy(table)),
            (RequestCounter::Nginx, nginx(table)),
        ];
        let counted = counted
            .into_iter()
            .find(|(_, rows)| rows.iter().any(|row| row.0 > 0.0));
        let rows = counted.as_ref().map(|(_, rows)| rows);
        let seconds = table.seconds().iter().enumerate();
        let seconds = seconds.map(|(row, &second)| {
            let (requests, failed) =
                rows.map_or((0, 0), |rows| (whole(rows[row].0), whole(rows[row].1)));
            WatchedSecond {
                second,
                is_listening: listeners[row],
                requests,
                // A response is counted later than its request.
                failed: failed.min(requests),
            }
        });
        Self {
            seconds: seconds.collect(),
            counter: counted.map(|(counter, _)| counter),
        }
    }

    /// Whether they show anything of availability.
    pub fn is_empty(&self) -> bool {
        let shows = |it: &WatchedSecond| it.is_listening.is_some() || it.requests > 0;
        !self.seconds.iter().any(shows)
    }
}

/// Whether the target listens, by second. It was seen at least once: otherwise nothing says that it would be.
fn listening(table: &SeriesTable) -> Vec<Option<bool>> {
    let of_target = |name: &str| label(name, "process") == Some(metric::TARGET);
    let listeners: Vec<&[f64]> = table
        .names_of(metric::LISTEN_QUEUE)
        .filter(|name| of_target(name))
        .filter_map(|name| table.values(name))
        .collect();
    // Read each second, as listeners are; the list of all sockets is read less often on a machine with many.
    let sockets = table.values(metric::TCP_IN_USE);
    let is_local = table.values(metric::TARGET_IS_LOCAL);
    let rows = 0..table.seconds().len();
    rows.map(|row| {
        let is_local = is_local.is_some_and(|values| values[row] > 0.0);
        // Where sockets could not be read, a missing listener says nothing.
        let is_read = sockets.is_some_and(|values| values[row].is_finite());
        let listens = listeners.iter().any(|values| values[row].is_finite());
        (listens || (is_local && is_read && !listeners.is_empty())).then_some(listens)
    })
    .collect()
}

fn values_of<'t>(table: &'t SeriesTable, wanted: &'t str) -> Vec<&'t [f64]> {
    table
        .names_of(wanted)
        .filter_map(|name| table.values(name))
        .collect()
}

/// Requests and failures by second: series of which `weigh` tells whether it counts requests, failures, or both.
fn rows(
    table: &SeriesTable,
    metrics: &[&str],
    weigh: impl Fn(&str) -> (bool, bool),
) -> Vec<(f64, f64)> {
    let mut rows = vec![(0.0, 0.0); table.seconds().len()];
    let mut series: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for wanted in metrics {
        series.extend(table.names_of(wanted).map(|name| (name, weigh(name))));
    }
    for (name, (is_request, is_failure)) in series {
        let values = table.values(name).unwrap_or(&[]);
        for (row, value) in rows.iter_mut().zip(values) {
            let value = if value.is_finite() {
                value.max(0.0)
            } else {
                0.0
            };
            row.0 += if is_request { value } else { 0.0 };
            row.1 += if is_failure { value } else { 0.0 };
        }
    }
    rows
}

/// Clients that exceed a limit of theirs get 4xx of the edge itself, and were not served.
fn edge(table: &SeriesTable) -> Vec<(f64, f64)> {
    let weigh = |name: &str| match label(name, "reason") {
        Some(reason) => (false, reason == "rate-limited"),
        // An informational response is followed by the final one.
        None => (
            label(name, "class") != Some("1xx"),
            label(name, "class") == Some("5xx"),
        ),
    };
    if values_of(table, metric::EDGE_ANSWERS).is_empty() {
        return Vec::new();
    }
    rows(
        table,
        &[metric::EDGE_ANSWERS, metric::EDGE_OWN_ANSWERS],
        weigh,
    )
}

fn haproxy(table: &SeriesTable) -> Vec<(f64, f64)> {
    let weigh = |name: &str| {
        let is_frontend = label(name, "server") == Some("FRONTEND");
        let is_failure = labels::metric(name) == metric::HAPROXY_SERVER_ERRORS;
        (is_frontend && !is_failure, is_frontend && is_failure)
    };
    rows(
        table,
        &[metric::HAPROXY_REQUESTS, metric::HAPROXY_SERVER_ERRORS],
        weigh,
    )
}

/// Without its access log, nothing tells which of its requests failed.
fn nginx(table: &SeriesTable) -> Vec<(f64, f64)> {
    let has_log = !values_of(table, metric::NGINX_ERRORS).is_empty()
        || !values_of(table, metric::NGINX_TIME).is_empty();
    if !has_log {
        return Vec::new();
    }
    let weigh = |name: &str| match label(name, "status") {
        None => (true, false),
        Some(status) => {
            let is_failure = status.starts_with('5') || matches!(status, "408" | "429");
            (false, is_failure)
        }
    };
    rows(
        table,
        &[metric::NGINX_REQUESTS, metric::NGINX_ERRORS],
        weigh,
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 10^12"
)]
fn whole(count: f64) -> u64 {
    count.round().clamp(0.0, REQUESTS_MAX) as u64
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::series;
    use plimsoll_model::reading::Readings;

    use super::*;

    fn table(rows: &[Vec<(String, f64)>]) -> SeriesTable {
        let mut table = SeriesTable::default();
        for (second, row) in (0..).zip(rows) {
            table.push(&Readings {
                second,
                values: row.iter().cloned().collect(),
                ..Readings::default()
            });
        }
        table
    }

    fn sockets() -> (String, f64) {
        (metric::TCP_IN_USE.to_owned(), 3.0)
    }

    fn listener(process: &str) -> (String, f64) {
        let labels = [("listener", "127.0.0.1:80"), ("process", process)];
        (series(metric::LISTEN_QUEUE, &labels), 0.0)
    }

    #[test]
    fn a_listener_that_is_gone_is_told_from_one_that_was_never_seen() {
        let local = || (metric::TARGET_IS_LOCAL.to_owned(), 1.0);
        let up = vec![sockets(), local(), listener("target")];
        let gone = vec![sockets(), local(), listener("other")];
        let unread = vec![local()];
        let watched = WatchedService::of(&table(&[up.clone(), gone.clone(), unread, up]));
        let listening: Vec<_> = watched.seconds.iter().map(|it| it.is_listening).collect();
        assert_eq!(listening, [Some(true), Some(false), None, Some(true)]);
        let never = WatchedService::of(&table(&[gone.clone(), gone]));
        assert!(never.is_empty());
        let remote = vec![sockets(), (metric::TARGET_IS_LOCAL.to_owned(), 0.0)];
        assert!(WatchedService::of(&table(&[remote])).is_empty());
    }

    #[test]
    fn the_outermost_component_counts_requests() {
        let of =
            |metric: &str, labels: &[(&str, &str)], value: f64| (series(metric, labels), value);
        let at = ("at", "127.0.0.1:1");
        let front = [at, ("proxy", "web"), ("server", "FRONTEND")];
        let back = [at, ("proxy", "app"), ("server", "s1")];
        let nginx = [
            of(metric::NGINX_REQUESTS, &[at], 50.0),
            of(metric::NGINX_ERRORS, &[at, ("status", "404")], 7.0),
            of(metric::NGINX_ERRORS, &[at, ("status", "429")], 2.0),
            of(metric::NGINX_ERRORS, &[at, ("status", "502")], 3.0),
        ];
        let haproxy = [
            of(metric::HAPROXY_REQUESTS, &front, 60.0),
            of(metric::HAPROXY_SERVER_ERRORS, &front, 9.0),
            of(metric::HAPROXY_SERVER_ERRORS, &back, 5.0),
        ];
        let edge = [
            of(metric::EDGE_ANSWERS, &[("class", "2xx")], 70.0),
            of(metric::EDGE_ANSWERS, &[("class", "4xx")], 10.0),
            of(metric::EDGE_ANSWERS, &[("class", "5xx")], 4.0),
            of(metric::EDGE_OWN_ANSWERS, &[("reason", "rate-limited")], 6.0),
            of(metric::EDGE_OWN_ANSWERS, &[("reason", "queue-full")], 4.0),
        ];
        let check = |row: Vec<(String, f64)>, counter, expected| {
            let watched = WatchedService::of(&table(&[row]));
            assert_eq!(watched.counter, counter);
            let second = watched.seconds[0];
            assert_eq!((second.requests, second.failed), expected);
        };
        let mut row = nginx.to_vec();
        check(row.clone(), Some(RequestCounter::Nginx), (50, 5));
        check(nginx[..1].to_vec(), None, (0, 0));
        row.extend(haproxy);
        check(row.clone(), Some(RequestCounter::Haproxy), (60, 9));
        row.extend(edge);
        check(row, Some(RequestCounter::Edge), (84, 10));
    }
}
