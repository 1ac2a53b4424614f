//! Selects the site's requests from a recording, and reports the rest.

use std::collections::BTreeMap;

use url::{Origin, Url};

use super::{JourneyError, Options};
use crate::counted;
use crate::heuristics;
use crate::recording::{RecordedExchange, Recording, RecordingLoss, ResourceKind};

/// Most hosts named in a comment.
const HOSTS_NAMED_MAX: usize = 20;

/// Requests by which a browser asks whether it may send another.
const PREFLIGHTS: &str = "preflights";

/// The selected requests, and what was left out.
pub(super) struct Sifted<'a> {
    /// The site: its origin with path `/`.
    pub(super) target: Url,
    /// Requests of the plan, in order.
    pub(super) exchanges: Vec<&'a RecordedExchange>,
    /// What was left out, one sentence each.
    pub(super) left_out: Vec<String>,
    /// Requests that a plan cannot have.
    pub(super) losses: Vec<RecordingLoss>,
}

pub(super) fn sift<'a>(
    recording: &'a Recording,
    options: &Options,
) -> Result<Sifted<'a>, JourneyError> {
    let target = target(recording, options).ok_or(JourneyError::Nothing)?;
    let mut sieve = Sieve {
        site: target.origin(),
        hosts: &options.hosts,
        foreign: BTreeMap::new(),
        failed: 0,
        cached: 0,
        unspeakable: BTreeMap::new(),
        losses: Vec::new(),
    };
    for host in &recording.unrecorded_hosts {
        *sieve.foreign.entry(host.clone()).or_default() += 1;
    }
    let mut exchanges: Vec<&RecordedExchange> = Vec::new();
    for exchange in &recording.exchanges {
        let is_again = exchange.from_cache
            && exchanges
                .iter()
                .any(|earlier| earlier.url == exchange.url && earlier.method == exchange.method);
        if is_again {
            sieve.cached += 1;
        } else if sieve.keeps(exchange) {
            exchanges.push(exchange);
        }
    }
    if recording.exchanges.is_empty() && recording.unrecorded_hosts.is_empty() {
        return Err(JourneyError::Nothing);
    }
    if exchanges.is_empty() {
        let hosts: Vec<&str> = sieve
            .foreign
            .keys()
            .take(HOSTS_NAMED_MAX)
            .map(String::as_str)
            .collect();
        return Err(JourneyError::NothingOfTarget {
            target: target.to_string(),
            hosts: if hosts.is_empty() {
                "none".to_owned()
            } else {
                hosts.join(", ")
            },
        });
    }
    Ok(Sifted {
        left_out: sieve.left_out(),
        losses: sieve.losses,
        target,
        exchanges,
    })
}

/// The origin of the first page, else of the first request.
fn target(recording: &Recording, options: &Options) -> Option<Url> {
    let shown = |exchange: &&RecordedExchange| {
        exchange.kind == ResourceKind::Document && (200..300).contains(&exchange.status)
    };
    let of_recording = || {
        let exchanges = &recording.exchanges;
        let first = exchanges
            .iter()
            .find(shown)
            .or_else(|| {
                exchanges
                    .iter()
                    .find(|exchange| exchange.kind == ResourceKind::Document)
            })
            .or_else(|| exchanges.first())?;
        Some(&first.url)
    };
    let mut url = options.target.as_ref().or_else(of_recording)?.clone();
    url.set_path("/");
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(url)
}

struct Sieve<'a> {
    site: Origin,
    hosts: &'a [String],
    foreign: BTreeMap<String, usize>,
    failed: usize,
    cached: usize,
    unspeakable: BTreeMap<&'static str, usize>,
    losses: Vec<RecordingLoss>,
}

impl Sieve<'_> {
    fn keeps(&mut self, exchange: &RecordedExchange) -> bool {
        if !self.is_ours(&exchange.url) {
            *self.foreign.entry(authority(&exchange.url)).or_default() += 1;
            return false;
        }
        if exchange.kind == ResourceKind::Other {
            let what = match (exchange.status, exchange.method.as_str()) {
                (_, "OPTIONS") => PREFLIGHTS,
                (101, _) => "WebSockets",
                _ if matches!(exchange.url.scheme(), "ws" | "wss") => "WebSockets",
                _ => "event streams and beacons",
            };
            *self.unspeakable.entry(what).or_default() += 1;
            // A browser asks on its own whether it may send a request.
            if what != PREFLIGHTS {
                self.lose(exchange, what);
            }
            return false;
        }
        let is_speakable = matches!(
            exchange.method.as_str(),
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"
        );
        if !is_speakable {
            let what = "requests with other methods";
            *self.unspeakable.entry(what).or_default() += 1;
            self.lose(exchange, what);
            return false;
        }
        if exchange.status == 0 {
            self.failed += 1;
            return false;
        }
        true
    }

    fn lose(&mut self, exchange: &RecordedExchange, what: &str) {
        let (method, path) = (&exchange.method, exchange.url.path());
        let path = heuristics::path_without_secrets(path);
        self.losses.push(RecordingLoss {
            place: exchange.place,
            what: format!("{method} {path}: {what} of a recording are not imported"),
        });
    }

    fn is_ours(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        // A WebSocket of the site has the site's host; it is separated later.
        let same = if matches!(url.scheme(), "ws" | "wss") {
            matches!(&self.site, Origin::Tuple(_, site, _) if site.to_string() == host)
        } else {
            url.origin() == self.site
        };
        same || self.hosts.iter().any(|kept| {
            kept.eq_ignore_ascii_case(host) || kept.eq_ignore_ascii_case(&authority(url))
        })
    }

    fn left_out(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if !self.foreign.is_empty() {
            let mut by_count: Vec<_> = self.foreign.iter().collect();
            by_count.sort_by_key(|&(_, count)| std::cmp::Reverse(*count));
            let named: Vec<String> = by_count
                .iter()
                .take(HOSTS_NAMED_MAX)
                .map(|(host, count)| format!("{host} ({count})"))
                .collect();
            let more = by_count.len().saturating_sub(HOSTS_NAMED_MAX);
            let more = if more > 0 {
                format!(", and {more} more")
            } else {
                String::new()
            };
            let total: usize = self.foreign.values().sum();
            sentences.push(format!(
                "left out {} to other hosts: {}{more} (keep one with --host NAME)",
                counted(total, "request"),
                named.join(", ")
            ));
        }
        for (what, count) in &self.unspeakable {
            sentences.push(format!("left out {count} {what}"));
        }
        if self.failed > 0 {
            sentences.push(format!(
                "left out {} without a response (blocked, aborted or failed)",
                counted(self.failed, "request")
            ));
        }
        if self.cached > 0 {
            sentences.push(format!(
                "left out {} from the browser's cache",
                counted(self.cached, "response")
            ));
        }
        sentences
    }
}

/// Host, and port where it is not the scheme's default.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
