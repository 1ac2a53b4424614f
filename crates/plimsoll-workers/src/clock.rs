//! The only module of this crate that reads the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// A clock that is never set, from the start of the process on, and the time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerClock {
    start: Instant,
    /// Time of day at `start`, ns since 1970.
    wall_at_start_ns: i64,
}

impl PeerClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            wall_at_start_ns: wall_ns(),
        }
    }

    /// Nanoseconds since the start.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now_ns(&self) -> u64 {
        let since = Instant::now().saturating_duration_since(self.start);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Time of day at the start, ns since 1970.
    pub(crate) fn wall_at_start_ns(&self) -> i64 {
        self.wall_at_start_ns
    }

    /// A moment, ns from the start; negative before it.
    pub(crate) fn ns_of(&self, moment: Instant) -> i64 {
        match moment.checked_duration_since(self.start) {
            Some(after) => nanoseconds(after),
            None => -nanoseconds(self.start.saturating_duration_since(moment)),
        }
    }

    /// The moment so many nanoseconds from the start.
    pub(crate) fn instant_of(&self, ns: i64) -> Instant {
        let distance = Duration::from_nanos(ns.unsigned_abs());
        if ns < 0 {
            self.start.checked_sub(distance).unwrap_or(self.start)
        } else {
            self.start + distance
        }
    }
}

/// Time of day, ns since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn wall_ns() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, nanoseconds)
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_found_again() {
        let clock = PeerClock::start();
        for ns in [-1_500_000_000, 0, 1_500_000_000] {
            assert_eq!(clock.ns_of(clock.instant_of(ns)), ns);
        }
    }
}
