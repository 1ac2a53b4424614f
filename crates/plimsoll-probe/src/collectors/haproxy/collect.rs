//! HAProxy, by its stats socket, or the CSV of its stats page.

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::parse::{HaproxyRow, RowKind, rows, split, value};
use crate::collectors::link::{ComponentLink, ScrapeError, page, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Both responses on one connection, which HAProxy closes after them.
const QUESTION: &[u8] = b"show info;show stat\n";
const PHASES: [&str; 4] = ["queue", "connect", "answer", "total"];

/// HAProxy.
#[derive(Debug)]
pub(crate) struct HaproxyCollector {
    /// Settings from its configuration files, if found.
    pub(crate) settings: Vec<FileSetting>,
}

impl HaproxyCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let (info, csv) = split(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        if let Some(pid) = value(info, "Pid") {
            metrics.identity(pid);
        }
        let number = |name: &str| value(info, name)?.parse::<f64>().ok();
        for (name, level) in [
            (metric::HAPROXY_CONNECTIONS, number("CurrConns")),
            (metric::HAPROXY_CONNECTIONS_LIMIT, number("Maxconn")),
            (
                metric::HAPROXY_IDLE,
                number("Idle_pct").map(|percent| percent / 100.0),
            ),
        ] {
            metrics.level(name, &[], level);
        }
        for row in rows(csv) {
            record_row(&row, metrics);
        }
        metrics.known(&self.settings);
        Ok(())
    }
}

fn fetch(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    if matches!(link.place(), ComponentAddress::Page { .. }) {
        return page(link);
    }
    link.open()?;
    link.send(QUESTION)?;
    let mut answer = Vec::new();
    link.rest(&mut answer)?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    match text.trim() {
        "" => Err(ScrapeError::Closed),
        refused if refused.starts_with("Permission denied") => {
            Err(ScrapeError::Denied(shortly(refused)))
        }
        _ => Ok(text),
    }
}

impl Scraper for HaproxyCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = fetch(link)?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "run as a user who may open the socket, or grant access in HAProxy's \
                `global`: `stats socket PATH mode 660 group GROUP level user`"
                .to_owned(),
            _ => "add to HAProxy's `global`: `stats socket /run/haproxy/admin.sock mode 660 level user`, reload it, and \
                watch unix:/run/haproxy/admin.sock"
                .to_owned(),
        }
    }
}

fn record_row(row: &HaproxyRow, metrics: &mut MetricsRecorder<'_>) {
    let of = [
        ("proxy", row.proxy.as_str()),
        ("server", row.server.as_str()),
    ];
    let level = |count: Option<u64>| count.map(|count| count as f64);
    metrics.level(metric::HAPROXY_SESSIONS, &of, level(row.sessions));
    metrics.level(metric::HAPROXY_QUEUE, &of, level(row.queue));
    // For a backend it is `fullconn`, which refuses no request; a server without a limit has none, or 0.
    let limit = row
        .limit
        .filter(|&limit| row.kind != RowKind::Backend && limit > 0);
    metrics.level(metric::HAPROXY_SESSIONS_LIMIT, &of, level(limit));
    let weight = row.weight.filter(|_| row.kind == RowKind::Server);
    metrics.level(metric::HAPROXY_WEIGHT, &of, level(weight));
    for (name, total) in [
        (metric::HAPROXY_SESSIONS_BEGUN, row.begun),
        (metric::HAPROXY_CONNECT_ERRORS, row.connect_errors),
        (metric::HAPROXY_ANSWER_ERRORS, row.answer_errors),
        (metric::HAPROXY_RETRIES, row.retries),
        (metric::HAPROXY_CLIENT_ABORTS, row.client_aborts),
        (metric::HAPROXY_REQUESTS, row.requests),
        (metric::HAPROXY_SERVER_ERRORS, row.server_errors),
    ] {
        metrics.counter(name, &of, total, 1.0);
    }
    for (phase, time_ms) in PHASES.into_iter().zip(row.times_ms) {
        let labels = [of[0], of[1], ("phase", phase)];
        let time_s = time_ms.map(|ms| ms as f64 / 1e3);
        metrics.level(metric::HAPROXY_TIME, &labels, time_s);
    }
}
