//! The only place of this crate that reads time.

use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the edge was started; every moment inside it is one of these.
pub(crate) type Nanoseconds = u64;

/// Time since the edge was started, for all loops the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    /// Starts it.
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

/// The time of day.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// A duration in nanoseconds; one of centuries is cut.
#[inline]
pub(crate) fn nanoseconds(duration: Duration) -> Nanoseconds {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
