//! Operations that may never return, such as reading from a file system whose server hangs: a thread runs them, and
//! is abandoned when it is late. The number of abandoned threads is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::OpenError;

/// Abandoned threads at most; beyond, nothing is tried until one returns.
const STUCK_MAX: usize = 4;
/// The message then.
const STUCK: &str = "4 earlier file reads have not completed in time: no more files are read until one of them \
    completes";

type BlockingJob = Box<dyn FnOnce() + Send>;

/// The current thread, and the number of abandoned ones.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    thread: Option<Thread>,
    stuck: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Thread {
    jobs: SyncSender<BlockingJob>,
    is_left: Arc<AtomicBool>,
}

impl Worker {
    /// Has the thread do something, and waits so long for it.
    pub(crate) fn run<T: Send + 'static>(
        &mut self,
        patience: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OpenError> {
        if self.stuck.load(Ordering::Relaxed) >= STUCK_MAX {
            return Err(OpenError::Exhausted(STUCK));
        }
        let (sender, answer) = sync_channel(1);
        let job: BlockingJob = Box::new(move || {
            // Late results are dropped.
            let _ = sender.send(job());
        });
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None => begin(&self.stuck)?,
        };
        if thread.jobs.send(job).is_err() {
            return Err(OpenError::Late);
        }
        match answer.recv_timeout(patience) {
            Ok(done) => {
                self.thread = Some(thread);
                Ok(done)
            }
            // The job panicked, and its thread with it.
            Err(RecvTimeoutError::Disconnected) => Err(OpenError::Late),
            Err(RecvTimeoutError::Timeout) => {
                self.stuck.fetch_add(1, Ordering::Relaxed);
                thread.is_left.store(true, Ordering::Relaxed);
                Err(OpenError::Late)
            }
        }
    }
}

fn begin(stuck: &Arc<AtomicUsize>) -> Result<Thread, OpenError> {
    let (jobs, received) = sync_channel::<BlockingJob>(1);
    let is_left = Arc::new(AtomicBool::new(false));
    let (left, stuck) = (Arc::clone(&is_left), Arc::clone(stuck));
    std::thread::Builder::new()
        .name("reader".to_owned())
        .spawn(move || {
            // It ends when the sender of jobs ends, or has abandoned it.
            for job in received {
                job();
            }
            if left.load(Ordering::Relaxed) {
                stuck.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
    Ok(Thread { jobs, is_left })
}
