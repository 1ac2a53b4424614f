//! How much memory the connections of one loop take for bytes on their way.

use std::cell::Cell;

/// Bytes that connections hold, for slow clients and servers above all.
#[derive(Debug)]
pub(crate) struct Memory {
    held: Cell<usize>,
    max: Cell<usize>,
}

impl Memory {
    /// Nothing is held; at most `max` bytes may be.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            held: Cell::new(0),
            max: Cell::new(max),
        }
    }

    /// Follows another limit, bytes.
    pub(crate) fn follow(&self, max: usize) {
        self.max.set(max);
    }

    /// Takes note that a connection holds so many bytes now, and how many it held before.
    #[inline]
    pub(crate) fn hold(&self, before: usize, now: usize) {
        self.held.set(self.held.get() + now - before);
    }

    /// Whether connections hold as much as they may: nothing new is begun then.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.held.get() >= self.max.get()
    }
}
