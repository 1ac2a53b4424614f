//! Read limits of one discovery of components, and of one process: a hostile process cannot use up the budget of
//! all.

use std::time::Duration;

use super::OpenError;
use super::deadline::Worker;
use crate::clock;

/// Longest file, bytes. The largest configurations of nginx (maps of addresses) are a few MB.
pub(crate) const FILE_LEN_MAX: u64 = 8 << 20;
/// Longest time for which one file may hold the thread that reads it.
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
    /// Has a worker read something for a process, if its budget allows; `len` returns the number of bytes. Time counts in
    /// which the worker reads or stands still for what it reads, not that in which it gets no processor.
    pub(crate) fn spend<T: Send + 'static>(
        &mut self,
        pid: u32,
        worker: &mut Worker,
        read: impl FnOnce() -> Result<T, OpenError> + Send + 'static,
        len: impl FnOnce(&T) -> usize,
    ) -> Result<T, OpenError> {
        self.spend_within(FILE_PATIENCE, (pid, worker), read, len)
    }

    fn spend_within<T: Send + 'static>(
        &mut self,
        patience: Duration,
        (pid, worker): (u32, &mut Worker),
        read: impl FnOnce() -> Result<T, OpenError> + Send + 'static,
        len: impl FnOnce(&T) -> usize,
    ) -> Result<T, OpenError> {
        if self.pid != pid {
            self.pid = pid;
            self.process = PROCESS;
        }
        if let Some(what) = self.process.exhausted().or(self.all.exhausted()) {
            return Err(OpenError::Exhausted(what));
        }
        let timed = move || {
            let begin_ns = clock::thread_ns();
            let read = read();
            (read, clock::thread_ns().saturating_sub(begin_ns))
        };
        let (read, time_ns) = match worker.run(patience, timed) {
            Ok(timed) => timed,
            Err(OpenError::Late) => {
                let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
                (Err(OpenError::Late), patience_ns)
            }
            Err(error) => (Err(error), 0),
        };
        let bytes = read.as_ref().map_or(0, len) as u64;
        self.process.take(bytes, time_ns);
        self.all.take(bytes, time_ns);
        read
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn what_holds_the_thread_takes_time_and_a_result_hardly_any() {
        let (mut budget, mut worker) = (ReadBudget::default(), Worker::default());
        let (_held, receiver) = sync_channel::<()>(1);
        let read = move || Ok(usize::from(receiver.recv().is_ok()));
        let patience = Duration::from_millis(10);
        let late = budget.spend_within(patience, (1, &mut worker), read, |len| *len);
        assert!(matches!(late, Err(OpenError::Late)), "{late:?}");
        let left_ns = PROCESS.time_ns - 10_000_000;
        assert_eq!(budget.process.time_ns, left_ns);
        let read = budget.spend(1, &mut worker, || Ok(7), |len| *len);
        assert_eq!(read.ok(), Some(7));
        assert!(budget.process.time_ns <= left_ns && budget.process.bytes == PROCESS.bytes - 7);
    }
}
