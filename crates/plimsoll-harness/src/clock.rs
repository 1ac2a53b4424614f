//! The only module of the automation that reads a clock.

use std::time::{Duration, Instant};

/// Measures how long a piece of work takes.
#[derive(Clone, Copy)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub fn elapsed(self) -> Duration {
        self.start.elapsed()
    }
}

/// Waits between two polls of something that has no event to wait for.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock module; a benchmark runs by the clock"
)]
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
