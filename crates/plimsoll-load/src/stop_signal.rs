//! Stops event loops from other threads.

use std::sync::atomic::{AtomicU8, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Requested state of a loop.
pub(crate) mod command {
    pub(crate) const RUN: u8 = 0;
    /// No further arrivals; requests in flight drain.
    pub(crate) const STOP: u8 = 1;
    /// No further arrivals, and no drain.
    pub(crate) const ABORT: u8 = 2;
}

/// Handle that stops a loop.
#[derive(Debug)]
pub(crate) struct StopSignal {
    command: AtomicU8,
    waker: OwnedFd,
}

impl StopSignal {
    pub(crate) fn new() -> Result<Self, Errno> {
        Ok(Self {
            command: AtomicU8::new(command::RUN),
            waker: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Requests a state, unless a later one is requested already, and wakes the loop.
    pub(crate) fn send(&self, command: u8) {
        self.command.fetch_max(command, Ordering::Relaxed);
        // A full counter wakes the loop as well.
        let _ = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }

    /// The requested state.
    #[inline]
    pub(crate) fn command(&self) -> u8 {
        self.command.load(Ordering::Relaxed)
    }

    /// Becomes readable when the loop is to wake.
    pub(crate) fn waker(&self) -> &OwnedFd {
        &self.waker
    }

    /// The loop is awake: keeps the waker from firing again.
    pub(crate) fn clear_waker(&self) {
        let _ = rustix::io::read(&self.waker, &mut [0; 8]);
    }
}
