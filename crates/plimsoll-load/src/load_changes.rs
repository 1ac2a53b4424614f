//! Changes of a load that is going on: every loop takes each of them up before it holds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Changes of one load at most.
const CHANGES_MAX: usize = 1_000;

/// Another level from a moment on, up to the end of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadChange {
    /// In run time.
    pub(crate) from_ns: u64,
    /// Arrivals per second, or users, of all loops together.
    pub(crate) to: f64,
}

/// The changes so far, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct LoadChanges {
    count: AtomicUsize,
    changes: Mutex<Vec<LoadChange>>,
}

impl LoadChanges {
    /// Adds one; false after a thousand.
    pub(crate) fn add(&self, change: LoadChange) -> bool {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() >= CHANGES_MAX {
            return false;
        }
        changes.push(change);
        self.count.store(changes.len(), Ordering::Release);
        true
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// The change with this index, from 0.
    pub(crate) fn get(&self, index: usize) -> Option<LoadChange> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.get(index).copied()
    }
}
