//! The only module of this crate that reads the time.

use std::time::{Duration, Instant, SystemTime};

use plimsoll_cache::Moment;

/// Nanoseconds since the edge was started; all internal timestamps use it.
pub(crate) type Nanoseconds = u64;

/// Time since the edge was started, the same for all event loops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeClock {
    epoch: Instant,
}

impl EdgeClock {
    /// Starts the clock.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }

    /// Now.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(&self) -> Nanoseconds {
        nanoseconds(Instant::now().saturating_duration_since(self.epoch))
    }
}

/// Wall-clock time.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// Wall-clock time in seconds since 1970.
pub(crate) fn unix_s() -> f64 {
    let since = wall().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// Wall-clock time in the unit of the cache.
pub(crate) fn moment() -> Moment {
    let since = wall()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Moment::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX / 2))
}

/// A duration in nanoseconds, saturating.
#[inline]
pub(crate) fn nanoseconds(duration: Duration) -> Nanoseconds {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
