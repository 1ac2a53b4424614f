//! The only module of xtask that reads a clock.

use std::time::{Duration, Instant};

/// Measures how long a piece of work takes.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.start.elapsed()
    }
}

/// Waits between two polls of something that has no event to wait for.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock module; a benchmark runs by the clock"
)]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
