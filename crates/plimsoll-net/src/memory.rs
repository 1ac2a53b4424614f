//! Memory accounting for bytes in flight on the connections of one loop.

use std::cell::Cell;

/// Bytes held by connections, mostly for slow clients and servers.
#[derive(Debug)]
pub struct Memory {
    held: Cell<usize>,
    max: Cell<usize>,
}

impl Memory {
    /// Nothing is held; the limit is `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            held: Cell::new(0),
            max: Cell::new(max),
        }
    }

    /// Applies another limit, bytes.
    pub fn follow(&self, max: usize) {
        self.max.set(max);
    }

    /// Updates the bytes that a connection holds.
    #[inline]
    pub fn hold(&self, before: usize, now: usize) {
        self.held.set(self.held.get() + now - before);
    }

    /// Whether the limit is reached: no new work is accepted then.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.held.get() >= self.max.get()
    }
}
