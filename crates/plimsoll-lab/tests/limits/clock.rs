//! The only place of these tests that reads a clock.

use std::time::{Duration, Instant};

/// Second 0 of a run that begins in a moment.
#[expect(
    clippy::disallowed_methods,
    reason = "the one reading of time of these tests"
)]
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_millis(50)
}
