//! How far the clocks of a worker are from those of the coordinator, by round trips.

use std::collections::VecDeque;

use plimsoll_peer::{ClockOffset, ROUND_TRIPS, RoundTrip};

/// Time between two probes once the offset is known, ns: they are signs of life then, and show drift.
const PROBE_EVERY_NS: u64 = 500_000_000;
/// How long an answer may take before another probe is sent, ns.
const ANSWER_WITHIN_NS: u64 = 1_000_000_000;

/// A probe and its answer, by both of the clocks.
#[derive(Clone, Copy, Debug)]
struct ClockTrip {
    /// By clocks that are never set.
    monotonic: RoundTrip,
    /// By the time of day.
    wall: RoundTrip,
}

/// The clocks of one worker.
#[derive(Debug)]
pub(crate) struct ClockSync {
    /// The last round trips.
    trips: VecDeque<ClockTrip>,
    /// All round trips so far.
    count: usize,
    /// The probe whose answer is awaited: its id and when it was sent.
    pending: Option<(u64, u64)>,
    next_id: u64,
    next_ns: u64,
    /// The offset with which the load was started.
    at_start: Option<ClockOffset>,
}

impl ClockSync {
    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self {
            trips: VecDeque::with_capacity(ROUND_TRIPS),
            count: 0,
            pending: None,
            next_id: 0,
            next_ns: 0,
            at_start: None,
        }
    }

    /// The id of a probe that is sent at `now_ns`, if it is time for one.
    pub(crate) fn probe(&mut self, now_ns: u64) -> Option<u64> {
        let is_lost = |(_, sent_ns): (u64, u64)| now_ns >= sent_ns + ANSWER_WITHIN_NS;
        if self.pending.is_some_and(|pending| !is_lost(pending)) || now_ns < self.next_ns {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.pending = Some((id, now_ns));
        Some(id)
    }

    /// An answer arrived; of a probe that was given up it is ignored. `wall_at_zero_ns` is the coordinator's time of day at
    /// its nanosecond 0.
    pub(crate) fn answered(
        &mut self,
        id: u64,
        (monotonic_ns, wall_ns): (i64, i64),
        now_ns: u64,
        wall_at_zero_ns: i64,
    ) {
        let Some((_, sent_ns)) = self.pending.take_if(|(pending, _)| *pending == id) else {
            return;
        };
        let (sent, received) = (signed(sent_ns), signed(now_ns));
        if self.trips.len() == ROUND_TRIPS {
            self.trips.pop_front();
        }
        self.trips.push_back(ClockTrip {
            monotonic: RoundTrip::new(sent, monotonic_ns, received),
            wall: RoundTrip::new(
                sent.saturating_add(wall_at_zero_ns),
                wall_ns,
                received.saturating_add(wall_at_zero_ns),
            ),
        });
        self.count += 1;
        if self.is_known() {
            self.next_ns = now_ns + PROBE_EVERY_NS;
        }
    }

    /// The connection of a probe was lost, and with it the answer.
    pub(crate) fn lost_connection(&mut self) {
        self.pending = None;
    }

    /// Whether enough round trips were made.
    pub(crate) fn is_known(&self) -> bool {
        self.count >= ROUND_TRIPS
    }

    /// The offset of the clock that is never set, and keeps it for the drift since; `None` before the first round trip.
    pub(crate) fn start(&mut self) -> Option<ClockOffset> {
        self.at_start = self.latest(|trip| trip.monotonic);
        self.at_start
    }

    /// The offset with which the load was started.
    pub(crate) fn at_start(&self) -> Option<ClockOffset> {
        self.at_start
    }

    /// By how much the worker's clock ran away since the start, ns.
    pub(crate) fn drift_ns(&self) -> i64 {
        let latest = self.latest(|trip| trip.monotonic);
        match (self.at_start, latest) {
            (Some(start), Some(latest)) => latest.ahead_ns().saturating_sub(start.ahead_ns()),
            _ => 0,
        }
    }

    /// By how much the worker's time of day is ahead.
    pub(crate) fn wall(&self) -> Option<ClockOffset> {
        self.latest(|trip| trip.wall)
    }

    fn latest(&self, of: impl Fn(&ClockTrip) -> RoundTrip) -> Option<ClockOffset> {
        let trips: Vec<RoundTrip> = self.trips.iter().map(of).collect();
        ClockOffset::best(&trips)
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The time of day of the coordinator at its nanosecond 0.
    const WALL: i64 = 1_700_000_000_000_000_000;

    /// Makes round trips that take `out` and `back` with a clock that is `ahead`, and whose time of day is `wall_ahead`.
    fn run(trips: &[(u64, u64)], ahead: i64, wall_ahead: i64) -> ClockSync {
        let mut sync = ClockSync::new();
        let mut now = 1_000;
        for &(out, back) in trips {
            let id = sync.probe(now).unwrap();
            assert_eq!(sync.probe(now), None, "one at a time");
            let there = signed(now + out);
            now += out + back;
            let clocks = (there + ahead, there + WALL + wall_ahead);
            sync.answered(id, clocks, now, WALL);
            now += PROBE_EVERY_NS;
        }
        sync
    }

    proptest! {
        #[test]
        fn offsets_are_wrong_by_no_more_than_their_error(
            ahead in -500_000_000_i64..500_000_000,
            wall_ahead in -500_000_000_i64..500_000_000,
            trips in prop::collection::vec((0_u64..50_000_000, 0_u64..50_000_000), ROUND_TRIPS..40),
        ) {
            let mut sync = run(&trips, ahead, wall_ahead);
            prop_assert!(sync.is_known());
            for (offset, expected) in [(sync.start().unwrap(), ahead), (sync.wall().unwrap(), wall_ahead)] {
                let off = (offset.ahead_ns() - expected).unsigned_abs();
                prop_assert!(off <= offset.error_ns(), "{off} {}", offset.error_ns());
            }
        }
    }

    #[test]
    fn fewer_than_sixteen_round_trips_are_not_enough() {
        assert!(!run(&[(1000, 1000); ROUND_TRIPS - 1], 7, 7).is_known());
        assert!(run(&[(1000, 1000); ROUND_TRIPS], 7, 7).is_known());
    }

    #[test]
    fn a_lost_answer_is_given_up_and_ignored_later() {
        let mut sync = ClockSync::new();
        let first = sync.probe(0).unwrap();
        assert_eq!(sync.probe(ANSWER_WITHIN_NS - 1), None);
        let second = sync.probe(ANSWER_WITHIN_NS).unwrap();
        assert_ne!(first, second);
        sync.answered(first, (0, 0), ANSWER_WITHIN_NS, WALL);
        assert!(sync.start().is_none());
        sync.answered(second, (0, 0), ANSWER_WITHIN_NS + 1, WALL);
        assert!(sync.start().is_some());
    }

    #[test]
    fn drift_is_what_changed_since_the_start() {
        let mut sync = run(&[(1000, 1000); ROUND_TRIPS], 500_000, 0);
        sync.start();
        let mut now = 100 * PROBE_EVERY_NS;
        for _ in 0..ROUND_TRIPS {
            let id = sync.probe(now).unwrap();
            sync.answered(id, (signed(now + 1000) + 530_000, WALL), now + 2000, WALL);
            now += PROBE_EVERY_NS + 2000;
        }
        assert_eq!(sync.drift_ns(), 30_000);
    }
}
