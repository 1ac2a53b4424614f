//! The one place of this crate that reads clocks.

use std::time::{Duration, Instant};

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

    /// Time that is left; zero when it is over.
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock module is where time is read"
    )]
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it is over.
    pub(crate) fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// The earlier one.
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}
