//! The order of requests: a log is in the order of their ends, and a clock may be set back.

use std::fmt::Display;

use plimsoll_logs::LogEntry;

/// A step back of the clock that is reported, milliseconds: lines of requests that ended together are written in any
/// order, and those of a log with beginnings come when they ended.
const STEP_BACK_MIN_MS: i64 = 60_000;

/// How far requests are from the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct Order {
    first_began_ms: Option<i64>,
    last_began_ms: Option<i64>,
    /// Most milliseconds that a request began before another in front of it.
    disorder_ms: i64,
    last_ended_ms: Option<i64>,
    step_back_ms: i64,
    step_back_place: String,
}

impl Order {
    /// Takes a request at its place in the log.
    pub(super) fn add(&mut self, entry: &LogEntry<'_>, place: impl Display) {
        let ended = entry.ended_ms();
        let last = self.last_ended_ms.map_or(ended, |last| last.max(ended));
        self.last_ended_ms = Some(last);
        if last - ended > self.step_back_ms {
            self.step_back_ms = last - ended;
            // Small steps are frequent, and not reported.
            if self.step_back_ms >= STEP_BACK_MIN_MS {
                self.step_back_place = place.to_string();
            }
        }
    }

    /// Takes a request that is sent again.
    pub(super) fn add_sent(&mut self, began_ms: i64) {
        let first = self
            .first_began_ms
            .map_or(began_ms, |first| first.min(began_ms));
        let last = self
            .last_began_ms
            .map_or(began_ms, |last| last.max(began_ms));
        self.first_began_ms = Some(first);
        self.last_began_ms = Some(last);
        self.disorder_ms = self.disorder_ms.max(last - began_ms);
    }

    /// First and last beginning of the requests that are sent again, milliseconds since 1970.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        self.first_began_ms.zip(self.last_began_ms)
    }

    pub(super) fn disorder_ms(&self) -> i64 {
        self.disorder_ms
    }

    /// A note if the clock was set back.
    pub(super) fn note(&self) -> Option<String> {
        (self.step_back_ms >= STEP_BACK_MIN_MS).then(|| {
            format!(
                "the clock of the log goes back by up to {} s ({}): requests are placed by their own moments",
                self.step_back_ms / 1000,
                self.step_back_place
            )
        })
    }
}
