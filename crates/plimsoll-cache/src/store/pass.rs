//! Recently uncacheable keys, so that no request waits behind a private page.

use std::collections::{HashMap, VecDeque};

/// Hashes with an expiry, bounded, the oldest forgotten first.
///
/// By hash alone: colliding keys share an entry that only means "do not wait", which is safe for both.
#[derive(Debug)]
pub(super) struct Passes {
    until_ns: HashMap<u64, u64>,
    order: VecDeque<u64>,
    max: usize,
}

impl Passes {
    pub(super) fn new(max: usize) -> Self {
        Self {
            until_ns: HashMap::new(),
            order: VecDeque::new(),
            max: max.max(1),
        }
    }

    pub(super) fn remember(&mut self, hash: u64, until_ns: u64) {
        if self.until_ns.insert(hash, until_ns).is_some() {
            return;
        }
        self.order.push_back(hash);
        while self.order.len() > self.max {
            if let Some(oldest) = self.order.pop_front() {
                self.until_ns.remove(&oldest);
            }
        }
    }

    pub(super) fn has(&self, hash: u64, now_ns: u64) -> bool {
        self.until(hash, now_ns).is_some()
    }

    /// Expiry of an entry, if it has not expired.
    pub(super) fn until(&self, hash: u64, now_ns: u64) -> Option<u64> {
        // Most sites have none: skips hashing.
        if self.until_ns.is_empty() {
            return None;
        }
        let until_ns = self.until_ns.get(&hash).copied();
        until_ns.filter(|until_ns| *until_ns > now_ns)
    }

    /// It was stored after all. Its position in the queue stays, and has no effect when it is reached.
    pub(super) fn forget(&mut self, hash: u64) {
        if let Some(until_ns) = self.until_ns.get_mut(&hash) {
            *until_ns = 0;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.until_ns.len()
    }

    pub(super) fn footprint(&self) -> usize {
        // A table slot of 17 bytes at seven eighths full.
        self.until_ns.capacity() * 20 + self.order.capacity() * size_of::<u64>()
    }
}
