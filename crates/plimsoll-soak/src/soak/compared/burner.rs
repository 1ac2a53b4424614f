//! Something else that takes a core now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use plimsoll_harness::clock::Stopwatch;

/// How long the core is taken, and how long it is free: a quarter of the time.
const BURNING: Duration = Duration::from_secs(40);
const RESTING: Duration = Duration::from_mins(2);

/// Takes a core again and again until it is dropped.
pub(super) struct Burner {
    is_over: Arc<AtomicBool>,
    /// Dropped to end the rest of the thread.
    rest: Option<mpsc::SyncSender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Burner {
    pub(super) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (rest, over) = mpsc::sync_channel::<()>(1);
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while over.recv_timeout(RESTING) == Err(RecvTimeoutError::Timeout) {
                let stopwatch = Stopwatch::start();
                while stopwatch.elapsed() < BURNING && !flag.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        Self {
            is_over,
            rest: Some(rest),
            thread: Some(thread),
        }
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.rest = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
