//! The only place of the origins that reads time.

use std::time::{Duration, Instant};

/// Nanoseconds since the origin was started.
pub(crate) type Nanos = u64;

/// A monotonic clock that starts at zero.
#[derive(Clone, Copy)]
pub(crate) struct OriginClock {
    start: Instant,
}

impl OriginClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Nanos {
        nanos(self.start.elapsed())
    }
}

/// A duration in whole nanoseconds; 584 years at most.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
