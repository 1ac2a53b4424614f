//! The only module of this crate that reads the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since a moment, which no setting of the machine's clock changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadyClock {
    epoch: Instant,
}

impl SteadyClock {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }

    /// Counts from this moment, which may lie ahead.
    pub(crate) fn since(epoch: Instant) -> Self {
        Self { epoch }
    }

    /// Nanoseconds since the epoch; negative before it.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now_ns(&self) -> i64 {
        let now = Instant::now();
        match now.checked_duration_since(self.epoch) {
            Some(since) => nanoseconds(since),
            None => -nanoseconds(self.epoch.saturating_duration_since(now)),
        }
    }
}

/// Nanoseconds since 1970 by the wall clock.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, nanoseconds)
}

/// Seconds since 1970 by the wall clock.
pub(crate) fn unix_s() -> u64 {
    u64::try_from(unix_ns() / 1_000_000_000).unwrap_or(0)
}

pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
