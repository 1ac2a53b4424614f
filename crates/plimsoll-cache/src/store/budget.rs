//! Memory cost of a cached object, and the total.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Above this a system allocator maps whole pages.
const MAPPED: usize = 128 * 1024;

/// A page of memory, in bytes.
const PAGE: usize = 4096;

/// Heap memory of a value.
pub trait Weigh {
    /// Heap bytes freed with the value, each allocation by [`allocated`]; `size_of` is not included.
    fn heap_bytes(&self) -> usize;
}

/// Bytes an allocation of `len` bytes takes from the system: the allocator's header and rounding included.
///
/// By glibc's malloc: eight bytes before each piece, pieces of 16 bytes, none below 32, whole pages when large. Other
/// allocators round to classes that are within an eighth of it.
pub const fn allocated(len: usize) -> usize {
    if len == 0 {
        0
    } else if len >= MAPPED {
        (len + 16).next_multiple_of(PAGE)
    } else {
        let rounded = (len + 8).next_multiple_of(16);
        if rounded < 32 { 32 } else { rounded }
    }
}

/// Bytes used of a limit, shared by all threads.
#[derive(Debug)]
pub(super) struct StoreBudget {
    taken: AtomicUsize,
    limit: usize,
}

impl StoreBudget {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            limit,
        }
    }

    /// Adds `bytes`, even above the limit: the caller evicts before it stores.
    pub(super) fn take(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        let before = self.taken.fetch_sub(bytes, Ordering::AcqRel);
        debug_assert!(before >= bytes, "{bytes} given back of {before} taken");
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    pub(super) fn is_over(&self) -> bool {
        self.taken() > self.limit
    }
}
