//! The order of the messages of all channels, where one edge keeps it for itself: then one position says how far a reader
//! of several channels is. Where edges share their channels, Redis keeps it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lock::lock;

/// The order.
#[derive(Debug, Default)]
pub(super) struct OffsetSequence {
    /// One message after the other.
    append_lock: Mutex<()>,
    /// The last place that was given.
    at: AtomicU64,
}

impl OffsetSequence {
    /// The last place that was given: all that has one is in its channel, as far as whoever holds that channel's shard
    /// is concerned.
    pub(super) fn at(&self) -> u64 {
        self.at.load(Ordering::Acquire)
    }

    /// Does something at the next place. Nobody else has a turn meanwhile, so that messages reach the loops in the order
    /// of their places.
    pub(super) fn next<T>(&self, act: impl FnOnce(u64) -> T) -> T {
        let guard = lock(&self.append_lock);
        let place = self.at.load(Ordering::Acquire) + 1;
        let done = act(place);
        // Not before: who subscribes in between must not take it for known. What came to nothing had its place, too.
        self.at.store(place, Ordering::Release);
        drop(guard);
        done
    }
}
