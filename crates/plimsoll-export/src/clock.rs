//! The one place of this crate that reads clocks.

use std::time::{Duration, Instant};

/// Wall-clock time, milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock module is where time is read"
)]
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// A moment until which something may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So far from now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub(crate) fn after(patience: Duration) -> Self {
        Self(Instant::now() + patience)
    }

    /// Time left; zero when it has passed.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
