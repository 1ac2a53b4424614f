//! Counts of WebSockets that were cut from this side, in one second.

use plimsoll_model::websocket::CutWindow;

use super::duration_tally::DurationTally;

/// Counts of those that were cut in one way.
#[derive(Debug, Default)]
pub(crate) struct CutWindowBuilder {
    /// Its histogram stays empty until the second is over.
    window: CutWindow,
    back: DurationTally,
}

impl CutWindowBuilder {
    /// An open one was cut.
    pub(crate) fn count_cut(&mut self) {
        self.window.cut += 1;
    }

    /// An attempt to open one again begins.
    pub(crate) fn count_attempt(&mut self) {
        self.window.attempts += 1;
    }

    /// Such an attempt failed.
    pub(crate) fn count_failure(&mut self) {
        self.window.failed += 1;
    }

    /// One stays closed.
    pub(crate) fn count_abandoned(&mut self) {
        self.window.abandoned += 1;
    }

    /// One is ready again after this time.
    pub(crate) fn back(&mut self, after_ns: u64) {
        self.back.add(after_ns / 1000);
    }

    pub(super) fn close(mut self) -> CutWindow {
        self.window.back = self.back.take();
        self.window
    }
}
