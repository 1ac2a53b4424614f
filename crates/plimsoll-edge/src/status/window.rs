//! Rates between snapshots.

use std::collections::VecDeque;

use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::loop_metrics::TimesSum;
use plimsoll_net::reason::Reason;

use crate::overview::Overview;

/// Snapshots kept for what happens now: rates are over the last ten seconds.
const SNAPSHOTS: usize = 11;
/// Response times kept: those of the last minute are the difference of two.
const MINUTE: usize = 61;

/// Reasons that turn a request away because there is no room for it.
pub(super) const TURNED_AWAY: [Reason; 5] = [
    Reason::QueueFull,
    Reason::QueueTimeout,
    Reason::Shed,
    Reason::NoServer,
    Reason::Waiting,
];

/// A snapshot with its time.
#[derive(Clone, Debug, Default)]
struct Stamped {
    at: Nanoseconds,
    overview: Overview,
}

/// The latest snapshots.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    recent: VecDeque<Stamped>,
    times: VecDeque<TimesSum>,
}

impl Snapshots {
    pub(super) fn push(&mut self, at: Nanoseconds, overview: Overview) {
        self.times.push_back(overview.answer_times.clone());
        self.recent.push_back(Stamped { at, overview });
        if self.recent.len() > SNAPSHOTS {
            self.recent.pop_front();
        }
        if self.times.len() > MINUTE {
            self.times.pop_front();
        }
    }

    /// Since the snapshot before; `None` until there are two.
    pub(super) fn last_second(&self) -> Option<Window<'_>> {
        let before = self.recent.len().checked_sub(2)?;
        self.window(before)
    }

    /// The last ten seconds, or what there is of them.
    pub(super) fn now(&self) -> Option<Window<'_>> {
        self.window(0)
    }

    fn window(&self, from: usize) -> Option<Window<'_>> {
        let (from, to) = (self.recent.get(from)?, self.recent.back()?);
        let elapsed = to.at.saturating_sub(from.at);
        (elapsed > 0).then(|| Window {
            from: &from.overview,
            to: &to.overview,
            seconds: elapsed as f64 / 1e9,
        })
    }

    /// Response times of the last minute, or of what there is of it.
    pub(super) fn minute(&self) -> TimesSum {
        match (self.times.front(), self.times.back()) {
            (Some(first), Some(last)) => last.since(first),
            _ => TimesSum::default(),
        }
    }
}

/// What happened between two snapshots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) from: &'a Overview,
    pub(super) to: &'a Overview,
    pub(super) seconds: f64,
}

/// Answers per second by whoever gave them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Answers {
    pub(super) offered: f64,
    pub(super) server: f64,
    pub(super) cache: f64,
    pub(super) fallback: f64,
    /// Turned away for lack of room.
    pub(super) refused: f64,
    /// Other responses of the edge: redirects, the hub, rate limits, invalid requests.
    pub(super) edge: f64,
    /// Failed responses of servers.
    pub(super) failed: f64,
}

impl Answers {
    /// Useful answers.
    pub(super) fn carried(&self) -> f64 {
        (self.server - self.failed).max(0.0) + self.cache
    }

    /// All answers.
    pub(super) fn all(&self) -> f64 {
        self.server + self.cache + self.fallback + self.refused + self.edge
    }
}

impl Window<'_> {
    /// Increase of a counter.
    pub(super) fn count(&self, counter: impl Fn(&Overview) -> u64) -> u64 {
        counter(self.to).saturating_sub(counter(self.from))
    }

    /// Increase of a counter per second.
    pub(super) fn rate(&self, counter: impl Fn(&Overview) -> u64) -> f64 {
        self.count(counter) as f64 / self.seconds
    }

    /// Synthetic responses of a reason.
    pub(super) fn own(&self, reason: Reason) -> u64 {
        self.count(|overview| overview.own[reason as usize])
    }

    /// Fallbacks that stand for a reason.
    pub(super) fn fell_back(&self, reason: Reason) -> u64 {
        self.count(|overview| overview.fallback_causes[reason as usize])
    }

    /// Answers by whoever gave them.
    pub(super) fn answers(&self) -> Answers {
        let all = self.rate(|overview| overview.statuses.iter().sum());
        let own = self.rate(|overview| overview.own.iter().sum());
        let refused = TURNED_AWAY
            .map(|reason| self.own(reason))
            .iter()
            .sum::<u64>() as f64;
        let refused = refused / self.seconds;
        let fallback = self.own(Reason::Fallback) as f64 / self.seconds;
        let cache = self.rate(|overview| overview.cache_hits + overview.cache_stale);
        // A failure that was retried, or that became a response of the edge, is no answer of a server.
        let replaced = self.own(Reason::NoServer) + self.fell_back(Reason::NoServer);
        let replaced = replaced as f64 / self.seconds + self.rate(|overview| overview.retries);
        let failures = self.servers().map(|server| server.failed).sum::<f64>();
        let server = (all - own - cache).max(0.0);
        Answers {
            offered: self.rate(|overview| overview.requests),
            server,
            cache,
            fallback,
            refused,
            edge: (own - refused - fallback).max(0.0),
            failed: (failures - replaced).clamp(0.0, server),
        }
    }

    /// All servers with their rates.
    pub(super) fn servers(&self) -> impl Iterator<Item = ServerRates> {
        let (from, seconds) = (self.from, self.seconds);
        let pools = self.to.pools.iter().enumerate();
        pools.flat_map(move |(pool, view)| {
            let before = from.pools.iter().find(|old| old.name == view.name);
            view.servers.iter().enumerate().map(move |(server, now)| {
                let before = before
                    .and_then(|old| old.servers.iter().find(|old| old.name == now.name))
                    .map_or((now.answers, now.failures), |old| {
                        (old.answers, old.failures)
                    });
                ServerRates {
                    pool,
                    server,
                    answers: now.answers.saturating_sub(before.0) as f64 / seconds,
                    failed: now.failures.saturating_sub(before.1) as f64 / seconds,
                }
            })
        })
    }

    /// Requests of a route per second, and its cache hits among those that the cache could answer.
    pub(super) fn route(&self, index: usize) -> (f64, Option<f64>) {
        let Some(now) = self.to.routes.get(index) else {
            return (0.0, None);
        };
        let same = self.from.routes.get(index);
        let before = same.filter(|before| before.name == now.name);
        let (requests, hits, misses) = before
            .map_or((now.requests, now.hits, now.misses), |before| {
                (before.requests, before.hits, before.misses)
            });
        let hits = now.hits.saturating_sub(hits) as f64;
        let misses = now.misses.saturating_sub(misses) as f64;
        let share = (hits + misses > 0.0).then(|| hits / (hits + misses));
        let rate = now.requests.saturating_sub(requests) as f64 / self.seconds;
        (rate, share)
    }
}

/// A server, by its place in the snapshot, with its rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerRates {
    pub(super) pool: usize,
    pub(super) server: usize,
    /// Responses per second, failed ones included.
    pub(super) answers: f64,
    /// Failed responses per second.
    pub(super) failed: f64,
}
