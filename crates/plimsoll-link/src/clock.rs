//! The only module of this crate that reads the time.

use std::time::{Duration, Instant};

/// Time since the relay was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelayClock {
    epoch: Instant,
}

impl RelayClock {
    /// Starts the clock.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self {
            epoch: Instant::now(),
        }
    }

    /// Nanoseconds since the start.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(&self) -> u64 {
        let since = Instant::now().saturating_duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now())
    }
}
