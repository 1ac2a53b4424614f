//! Objects in slots, and the slots in two queues: eviction by S3-FIFO.
//!
//! Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023: new objects wait in a small queue for a
//! small share of the bytes. An object used again there moves to the main queue, all others are evicted and remembered
//! as ghosts; a returning ghost enters the main queue at once. The main queue gives another round to objects used since
//! the last one. A hit is one addition and moves nothing.

use std::sync::Arc;

use super::Object;
use super::ghost::Ghosts;

/// No slot.
const NONE: u32 = u32::MAX;

/// The small queue's share of the bytes: 1/32. The paper uses 1/10; in replays 1/32 was better (decision 0141).
const SMALL_QUEUE_SHARE: usize = 32;

/// Growth of the slot table when it is full, as a fraction.
const GROWTH: usize = 8;

/// Maximum hit count, so that yesterday's page is evicted after three rounds.
const CREDIT_MAX: u8 = 3;

/// One object's slot.
#[derive(Debug)]
pub(super) struct ObjectSlot<V> {
    pub(super) object: Option<Arc<Object<V>>>,
    pub(super) hash: u64,
    /// Number of the purge up to which the object was checked.
    pub(super) checked: u64,
    /// Next older; in a free slot the next free one.
    older: u32,
    newer: u32,
    pub(super) hits: u32,
    credit: u8,
    in_main: bool,
    /// Soft-purged: it may be served only where a stale response may.
    pub(super) purged: bool,
}

impl<V> ObjectSlot<V> {
    /// Whether it was used recently.
    pub(super) fn is_recently_hit(&self) -> bool {
        self.credit > 0
    }
}

#[derive(Debug)]
struct FifoQueue {
    newest: u32,
    oldest: u32,
    bytes: usize,
}

impl FifoQueue {
    const EMPTY: Self = Self {
        newest: NONE,
        oldest: NONE,
        bytes: 0,
    };
}

/// The slots of one shard.
#[derive(Debug)]
pub(super) struct Slots<V> {
    places: Vec<ObjectSlot<V>>,
    free: u32,
    live: usize,
    small: FifoQueue,
    main: FifoQueue,
    ghosts: Ghosts,
}

impl<V> Slots<V> {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            live: 0,
            small: FifoQueue::EMPTY,
            main: FifoQueue::EMPTY,
            ghosts: Ghosts::default(),
        }
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Number of slots, free ones included.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of the slots themselves and of the ghosts.
    pub(super) fn footprint(&self) -> usize {
        self.places.capacity() * size_of::<ObjectSlot<V>>() + self.ghosts.footprint()
    }

    pub(super) fn slot(&self, index: u32) -> &ObjectSlot<V> {
        &self.places[index as usize]
    }

    pub(super) fn slot_mut(&mut self, index: u32) -> &mut ObjectSlot<V> {
        &mut self.places[index as usize]
    }

    /// The object in a slot referenced by the table.
    pub(super) fn object(&self, index: u32) -> &Arc<Object<V>> {
        self.slot(index)
            .object
            .as_ref()
            .expect("the table points at taken slots only")
    }

    /// Counts a hit.
    pub(super) fn hit(&mut self, index: u32) {
        let slot = self.slot_mut(index);
        slot.hits = slot.hits.saturating_add(1);
        slot.credit = (slot.credit + 1).min(CREDIT_MAX);
    }

    /// Assigns a slot to a new object; `None` when 2³² - 1 are taken.
    pub(super) fn add(&mut self, hash: u64, checked: u64, object: Arc<Object<V>>) -> Option<u32> {
        let in_main = self.ghosts.take(hash, self.live);
        let slot = ObjectSlot {
            object: Some(object),
            hash,
            checked,
            older: NONE,
            newer: NONE,
            hits: 0,
            credit: 0,
            in_main,
            purged: false,
        };
        let index = if self.free == NONE {
            let index = u32::try_from(self.places.len())
                .ok()
                .filter(|index| *index != NONE)?;
            if self.places.len() == self.places.capacity() {
                // With doubling, up to half of them would be empty, in all shards at the same time.
                self.places.reserve_exact(self.places.len() / GROWTH + 1);
            }
            self.places.push(slot);
            index
        } else {
            let index = self.free;
            self.free = self.slot(index).older;
            *self.slot_mut(index) = slot;
            index
        };
        self.live += 1;
        self.link(index);
        Some(index)
    }

    /// Replaces an older object, keeping its hit count and queue position.
    pub(super) fn replace(&mut self, index: u32, object: Arc<Object<V>>) -> Arc<Object<V>> {
        let weight = object.weight;
        let slot = self.slot_mut(index);
        slot.purged = false;
        let former = slot
            .object
            .replace(object)
            .expect("only what is held is replaced");
        let queue = self.queue_of(index);
        queue.bytes = queue.bytes + weight - former.weight;
        former
    }

    /// Frees a slot.
    pub(super) fn remove(&mut self, index: u32) -> Arc<Object<V>> {
        self.unlink(index);
        let free = self.free;
        let slot = self.slot_mut(index);
        slot.older = free;
        let object = slot.object.take().expect("only what is held is removed");
        self.free = index;
        self.live -= 1;
        object
    }

    /// The next object to evict; it is still in its slot. `None` when there is none.
    ///
    /// Terminates: each step spends a credit, moves an object out of the small queue, or returns.
    pub(super) fn next_to_leave(&mut self) -> Option<u32> {
        loop {
            let small_share = (self.small.bytes + self.main.bytes) / SMALL_QUEUE_SHARE;
            let from_small = self.small.bytes > small_share || self.main.oldest == NONE;
            let index = if from_small {
                self.small.oldest
            } else {
                self.main.oldest
            };
            if index == NONE {
                return None;
            }
            let slot = self.slot(index);
            if slot.credit == 0 {
                if from_small {
                    self.ghosts.add(slot.hash, self.live);
                }
                return Some(index);
            }
            self.unlink(index);
            let slot = self.slot_mut(index);
            slot.credit = if from_small { 0 } else { slot.credit - 1 };
            slot.in_main = true;
            self.link(index);
        }
    }

    fn queue_of(&mut self, index: u32) -> &mut FifoQueue {
        if self.slot(index).in_main {
            &mut self.main
        } else {
            &mut self.small
        }
    }

    /// Appends a slot to its queue as the newest.
    fn link(&mut self, index: u32) {
        let weight = self.object(index).weight;
        let queue = self.queue_of(index);
        let former = std::mem::replace(&mut queue.newest, index);
        queue.bytes += weight;
        if former == NONE {
            queue.oldest = index;
        } else {
            self.slot_mut(former).newer = index;
        }
        let slot = self.slot_mut(index);
        slot.older = former;
        slot.newer = NONE;
    }

    /// Takes a slot out of its queue.
    fn unlink(&mut self, index: u32) {
        let weight = self.object(index).weight;
        let (older, newer) = (self.slot(index).older, self.slot(index).newer);
        let queue = self.queue_of(index);
        queue.bytes -= weight;
        if older == NONE {
            queue.oldest = newer;
        }
        if newer == NONE {
            queue.newest = older;
        }
        if older != NONE {
            self.slot_mut(older).newer = newer;
        }
        if newer != NONE {
            self.slot_mut(newer).older = older;
        }
    }
}
