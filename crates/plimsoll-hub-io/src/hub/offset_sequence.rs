//! Offsets over all channels, where one edge assigns them alone: one position then tells how far a reader of several
//! channels is. Where edges share channels, Redis or NATS assigns the offsets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use plimsoll_net::lock::lock;

/// The sequence.
#[derive(Debug, Default)]
pub(super) struct OffsetSequence {
    /// Serializes assignments.
    append_lock: Mutex<()>,
    /// The last assigned offset.
    at: AtomicU64,
}

impl OffsetSequence {
    /// The last assigned offset: for the holder of a shard's lock, all messages up to it are in that shard's channels.
    pub(super) fn at(&self) -> u64 {
        self.at.load(Ordering::Acquire)
    }

    /// No offset is assigned while this is held.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        lock(&self.append_lock)
    }

    /// Runs an action at the next offset. Assignments are serialized, so messages reach the loops in the order of their
    /// offsets.
    pub(super) fn next<T>(&self, act: impl FnOnce(u64) -> T) -> T {
        let guard = lock(&self.append_lock);
        let place = self.at.load(Ordering::Acquire) + 1;
        let done = act(place);
        // Not earlier: a client that subscribes in between must not treat it as known. A failed publication uses an
        // offset, too.
        self.at.store(place, Ordering::Release);
        drop(guard);
        done
    }
}
