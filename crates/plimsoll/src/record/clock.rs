//! The one place of the recorder that reads a clock.

use std::time::Instant;

/// Milliseconds since the recording began.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordingClock(Instant);

impl RecordingClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that reads the clock"
    )]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn ms(self) -> f64 {
        self.0.elapsed().as_secs_f64() * 1e3
    }
}
