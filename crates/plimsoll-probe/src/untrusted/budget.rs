//! Read limits of one discovery of components, and of one process: a hostile process cannot use up the budget of
//! all.

use std::time::Duration;

use super::OpenError;
use crate::clock;

/// Longest file, bytes. The largest configurations of nginx (maps of addresses) are a few MB.
pub(crate) const FILE_LEN_MAX: u64 = 8 << 20;
/// Longest wait for one file.
pub(crate) const FILE_PATIENCE: Duration = Duration::from_millis(500);
/// Files, bytes and time of one process.
const PROCESS: RemainingBudget = RemainingBudget {
    files: 1024,
    bytes: 32 << 20,
    time_ns: 2_000_000_000,
};
/// Files, bytes and time of one discovery.
const ALL: RemainingBudget = RemainingBudget {
    files: 16_384,
    bytes: 256 << 20,
    time_ns: 6_000_000_000,
};

/// The remaining budget.
#[derive(Clone, Copy, Debug)]
struct RemainingBudget {
    files: u64,
    bytes: u64,
    time_ns: u64,
}

impl RemainingBudget {
    fn exhausted(&self) -> Option<&'static str> {
        if self.files == 0 {
            Some("the limit of files per process, or of all processes, was reached before it")
        } else if self.bytes == 0 {
            Some("the limit of bytes per process, or of all processes, was reached before it")
        } else if self.time_ns == 0 {
            Some("the time limit per process, or of all processes, was reached before it")
        } else {
            None
        }
    }

    fn take(&mut self, bytes: u64, time_ns: u64) {
        self.files = self.files.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.time_ns = self.time_ns.saturating_sub(time_ns);
    }
}

/// Remaining budget of the current process, and of all.
#[derive(Debug)]
pub(crate) struct ReadBudget {
    pid: u32,
    process: RemainingBudget,
    all: RemainingBudget,
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self {
            pid: 0,
            process: PROCESS,
            all: ALL,
        }
    }
}

impl ReadBudget {
    /// Reads something for a process, if its budget allows; `len` returns the number of bytes.
    pub(crate) fn spend<T>(
        &mut self,
        pid: u32,
        read: impl FnOnce() -> Result<T, OpenError>,
        len: impl FnOnce(&T) -> usize,
    ) -> Result<T, OpenError> {
        if self.pid != pid {
            self.pid = pid;
            self.process = PROCESS;
        }
        if let Some(what) = self.process.exhausted().or(self.all.exhausted()) {
            return Err(OpenError::Exhausted(what));
        }
        let begin_ns = clock::now_ns();
        let read = read();
        let bytes = read.as_ref().map_or(0, len) as u64;
        let time_ns = clock::now_ns().saturating_sub(begin_ns);
        self.process.take(bytes, time_ns);
        self.all.take(bytes, time_ns);
        read
    }
}
