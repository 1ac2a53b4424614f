//! Visits: requests of one address and user agent with gaps below half an hour.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::fit::LogNormal;

/// Longest gap within a visit, milliseconds.
const GAP_MAX_MS: i64 = 30 * 60_000;
/// Most open visits; above it those idle longest end.
const OPEN_MAX: usize = 100_000;

/// An open visit.
#[derive(Clone, Copy, Debug)]
struct OpenSession {
    /// End of its last page, milliseconds.
    busy_until_ms: i64,
    pages: u32,
}

/// Statistics of all visits.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: HashMap<u64, OpenSession>,
    ended: u64,
    pages: u64,
    /// Visits by number of pages; the last holds all longer ones.
    lengths: Vec<u64>,
    pub(super) thinks: LogNormal,
}

/// Visits and how long they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) count: u64,
    pub(super) pages_mean: f64,
    pub(super) pages_median: usize,
    pub(super) pages_p90: usize,
}

const LENGTH_MAX: usize = 1_000;

impl Sessions {
    /// Takes a page of a visit.
    pub(super) fn add(&mut self, address: &str, agent: &str, started_ms: i64, ended_ms: i64) {
        let mut hasher = DefaultHasher::new();
        (address, agent).hash(&mut hasher);
        let key = hasher.finish();
        self.pages += 1;
        if let Some(open) = self.open.get_mut(&key) {
            let gap = started_ms - open.busy_until_ms;
            if gap <= GAP_MAX_MS {
                self.thinks.add(gap);
                open.busy_until_ms = open.busy_until_ms.max(ended_ms);
                open.pages = open.pages.saturating_add(1);
                return;
            }
            let pages = open.pages;
            self.end(pages);
        } else if self.open.len() >= OPEN_MAX {
            self.evict(started_ms);
        }
        let open = OpenSession {
            busy_until_ms: ended_ms,
            pages: 1,
        };
        self.open.insert(key, open);
    }

    /// Ends all visits.
    pub(super) fn summary(&mut self) -> Option<Summary> {
        let open: Vec<u32> = self.open.drain().map(|(_, open)| open.pages).collect();
        for pages in open {
            self.end(pages);
        }
        if self.ended == 0 {
            return None;
        }
        let quantile = |share: f64| {
            let wanted = self.ended as f64 * share;
            let mut cumulative = 0.0;
            self.lengths.iter().position(|&count| {
                cumulative += count as f64;
                cumulative >= wanted
            })
        };
        Some(Summary {
            count: self.ended,
            pages_mean: self.pages as f64 / self.ended as f64,
            pages_median: quantile(0.5).unwrap_or(1),
            pages_p90: quantile(0.9).unwrap_or(1),
        })
    }

    fn end(&mut self, pages: u32) {
        let length = usize::try_from(pages).unwrap_or(LENGTH_MAX).min(LENGTH_MAX);
        if self.lengths.len() <= length {
            self.lengths.resize(length + 1, 0);
        }
        self.lengths[length] += 1;
        self.ended += 1;
    }

    fn evict(&mut self, now_ms: i64) {
        let mut moments: Vec<i64> = self.open.values().map(|open| open.busy_until_ms).collect();
        moments.sort_unstable();
        // A quarter ends at once, so that this is rare; expired ones end anyway.
        let before = moments[moments.len() / 4].max(now_ms.saturating_sub(GAP_MAX_MS));
        let over: Vec<(u64, u32)> = self
            .open
            .iter()
            .filter(|(_, open)| open.busy_until_ms <= before)
            .map(|(key, open)| (*key, open.pages))
            .collect();
        for (key, pages) in over {
            self.open.remove(&key);
            self.end(pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_hour_of_quiet_ends_a_visit() {
        let mut sessions = Sessions::default();
        for at in [0, 10_000, 10_000 + GAP_MAX_MS, 20_001 + 2 * GAP_MAX_MS] {
            sessions.add("10.0.0.1", "Firefox", at, at);
        }
        sessions.add("10.0.0.1", "Chromium", 5_000, 5_000);
        let summary = sessions.summary().unwrap();
        assert_eq!(
            (summary.count, summary.pages_median, summary.pages_p90),
            (3, 1, 3)
        );
        assert!((summary.pages_mean - 5.0 / 3.0).abs() < 1e-12);
        assert_eq!(sessions.thinks.count(), 2);
    }

    #[test]
    fn open_visits_are_limited() {
        let mut sessions = Sessions::default();
        for number in 0..250_000_i64 {
            sessions.add(&number.to_string(), "", number, number);
            assert!(sessions.open.len() <= OPEN_MAX);
        }
        assert_eq!(sessions.summary().unwrap().count, 250_000);
    }
}
