//! How far the clocks of a reader are ahead of the agent's, from the last round trips.

use std::collections::VecDeque;

use plimsoll_peer::{ClockOffset, ROUND_TRIPS, RoundTrip};

const SECOND_NS: i64 = 1_000_000_000;

/// The last round trips to a reader. All times in nanoseconds, the agent's by its own steady clock.
#[derive(Debug, Default)]
pub(super) struct ReaderClock {
    run: VecDeque<RoundTrip>,
    wall: VecDeque<RoundTrip>,
}

impl ReaderClock {
    /// A round trip, with the reader's time of the run, and its time since 1970.
    pub(super) fn add(&mut self, (sent, received): (i64, i64), run_ns: i64, unix_ns: i64) {
        for (trips, answered) in [(&mut self.run, run_ns), (&mut self.wall, unix_ns)] {
            if trips.len() == ROUND_TRIPS {
                trips.pop_front();
            }
            trips.push_back(RoundTrip::new(sent, answered, received));
        }
    }

    /// Whether as many were made as a measurement takes.
    pub(super) fn is_measured(&self) -> bool {
        self.run.len() == ROUND_TRIPS
    }

    /// The second of the run that goes on at a moment of the agent's clock.
    pub(super) fn second_at(&self, now: i64) -> u32 {
        let run_ns = now.saturating_add(ahead(&self.run));
        u32::try_from(run_ns.div_euclid(SECOND_NS).max(0)).unwrap_or(u32::MAX)
    }

    /// When a second of the run ends, by the agent's clock.
    pub(super) fn end_of(&self, second: u32) -> i64 {
        let end = (i64::from(second) + 1) * SECOND_NS;
        end.saturating_sub(ahead(&self.run))
    }

    /// Seconds by which the wall clock of the agent's machine is ahead of the reader's, where the agent's steady clock shows
    /// `now` and its wall clock `unix_ns`.
    pub(super) fn machine_ahead_s(&self, now: i64, unix_ns: i64) -> f64 {
        let reader_unix_ns = now.saturating_add(ahead(&self.wall));
        unix_ns.saturating_sub(reader_unix_ns) as f64 / 1e9
    }
}

fn ahead(trips: &VecDeque<RoundTrip>) -> i64 {
    let trips: Vec<RoundTrip> = trips.iter().copied().collect();
    ClockOffset::best(&trips).map_or(0, ClockOffset::ahead_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader whose run began when this clock showed 100 s, and whose wall clock is 3 s behind the agent's.
    fn reader() -> ReaderClock {
        let mut clock = ReaderClock::default();
        for trip in 0..i64::try_from(ROUND_TRIPS).unwrap() {
            let sent = 100 * SECOND_NS + trip * 1_000;
            let middle = sent + 500;
            clock.add(
                (sent, sent + 1_000),
                middle - 100 * SECOND_NS,
                middle + 5_000 * SECOND_NS - 3 * SECOND_NS,
            );
        }
        clock
    }

    #[test]
    fn seconds_are_those_of_the_reader() {
        let clock = reader();
        assert!(clock.is_measured());
        assert_eq!(clock.end_of(4), 105 * SECOND_NS);
        assert_eq!(clock.second_at(105 * SECOND_NS - 1), 4);
        assert_eq!(clock.second_at(105 * SECOND_NS), 5);
        // Before the run has begun.
        assert_eq!(clock.second_at(0), 0);
    }

    #[test]
    fn the_wall_clocks_are_compared() {
        let (now, unix) = (200 * SECOND_NS, 5_200 * SECOND_NS);
        let ahead = reader().machine_ahead_s(now, unix);
        assert!((ahead - 3.0).abs() < 1e-9, "{ahead}");
        // The machine's clock was set back by 5 s since the session began.
        let ahead = reader().machine_ahead_s(now, unix - 5 * SECOND_NS);
        assert!((ahead + 2.0).abs() < 1e-9, "{ahead}");
    }

    #[test]
    fn old_round_trips_are_forgotten() {
        let mut clock = reader();
        for trip in 0..i64::try_from(ROUND_TRIPS).unwrap() {
            // The reader's clock has drifted by a second.
            let sent = 200 * SECOND_NS + trip * 1_000;
            clock.add((sent, sent + 1_000), sent + 500 - 99 * SECOND_NS, 0);
        }
        assert_eq!(clock.end_of(4), 104 * SECOND_NS);
    }
}
