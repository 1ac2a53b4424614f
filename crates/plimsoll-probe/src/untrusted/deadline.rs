//! Operations that may never return, such as reading from a file system whose server hangs: a thread runs them, and
//! is abandoned when it is late. The number of abandoned threads is bounded.
//!
//! The thread is late when it has stood still for so long. While it runs, or would if it got a processor, nothing holds it:
//! on a busy machine that may take seconds, and no file is the cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::thread::gettid;

use super::OpenError;
use crate::kernel_files;
use crate::parse::process;

/// Parts of a patience. After each without a result the thread is looked at.
const PARTS: u32 = 10;
/// Parts that are waited for at most, whether the thread stands still or not.
const PARTS_MAX: u32 = 20 * PARTS;
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
    /// Its number in the kernel; 0 until it runs.
    id: Arc<AtomicI32>,
}

impl Thread {
    /// Whether it waits for something else than a processor.
    fn stands_still(&self) -> bool {
        let id = self.id.load(Ordering::Relaxed);
        if id == 0 {
            return false;
        }
        let stat = kernel_files::text(&format!("/proc/self/task/{id}/stat")).ok();
        // Where that cannot be seen, all time counts.
        stat.and_then(|text| process::stat(&text))
            .is_none_or(|stat| stat.state != 'R')
    }

    /// Waits for a result until the thread has stood still for this long.
    fn wait<T>(&self, answer: &Receiver<T>, patience: Duration) -> Result<T, RecvTimeoutError> {
        let mut still = 0;
        for _ in 0..PARTS_MAX {
            match answer.recv_timeout(patience / PARTS) {
                Err(RecvTimeoutError::Timeout) => still += u32::from(self.stands_still()),
                done => return done,
            }
            if still >= PARTS {
                break;
            }
        }
        Err(RecvTimeoutError::Timeout)
    }
}

impl Worker {
    /// Has the thread do something, and waits until it has stood still for so long.
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
        match thread.wait(&answer, patience) {
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
    let id = Arc::new(AtomicI32::new(0));
    let own = Arc::clone(&id);
    std::thread::Builder::new()
        .name("reader".to_owned())
        .spawn(move || {
            own.store(gettid().as_raw_nonzero().get(), Ordering::Relaxed);
            // It ends when the sender of jobs ends, or has abandoned it.
            for job in received {
                job();
            }
            if left.load(Ordering::Relaxed) {
                stuck.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
    Ok(Thread { jobs, is_left, id })
}
