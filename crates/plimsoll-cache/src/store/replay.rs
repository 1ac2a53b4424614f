//! What a store of some size would have answered, from keys and sizes alone.
//!
//! The same queues and weights as the store's, in one piece instead of in shards, and without bodies: a day of requests
//! can be replayed through several sizes at once.

use std::sync::Arc;

use hashbrown::HashTable;

use super::queue::Slots;
use super::{Object, Weigh, allocated};

/// A request that a cache may answer.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRequest {
    /// The key's 64-bit hash, well mixed.
    pub hash: u64,
    /// Bytes of the key.
    pub key_len: usize,
    /// Bytes of the response, head included.
    pub response_len: usize,
    /// Time of the request, seconds from any start.
    pub now_s: u32,
}

/// A stored response without its bytes.
#[derive(Debug)]
struct Phantom {
    stored_s: u32,
    heap_bytes: usize,
}

impl Weigh for Phantom {
    fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }
}

/// A store without bodies, for requests in the order of their times.
#[derive(Debug)]
pub struct PolicyReplay {
    table: HashTable<u32>,
    slots: Slots<Phantom>,
    bytes: usize,
    limit: usize,
    object_bytes: usize,
}

impl PolicyReplay {
    /// An empty store of `bytes` that refuses responses of more than `object_bytes`.
    pub fn new(bytes: usize, object_bytes: usize) -> Self {
        Self {
            table: HashTable::new(),
            slots: Slots::new(),
            bytes: 0,
            limit: bytes,
            object_bytes,
        }
    }

    /// Number of responses held.
    pub fn len(&self) -> usize {
        self.slots.live()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the store answers, with a response not older than `lifetime_s`. If not, the response is stored.
    pub fn request(&mut self, request: &ReplayRequest, lifetime_s: u32) -> bool {
        let slots = &self.slots;
        let known = self
            .table
            .find(request.hash, |index| {
                slots.slot(*index).hash == request.hash
            })
            .copied();
        if let Some(index) = known {
            let age_s = request
                .now_s
                .saturating_sub(self.slots.object(index).value.stored_s);
            if age_s <= lifetime_s {
                self.slots.hit(index);
                return true;
            }
        }
        self.store(request, known);
        false
    }

    fn store(&mut self, request: &ReplayRequest, instead: Option<u32>) {
        let value = Phantom {
            stored_s: request.now_s,
            heap_bytes: allocated(request.response_len),
        };
        let own = allocated(size_of::<Object<Phantom>>() + 2 * size_of::<usize>());
        let weight = own + allocated(request.key_len) + value.heap_bytes();
        if weight > self.object_bytes {
            return;
        }
        let object = Arc::new(Object {
            value,
            key: Box::default(),
            tags: Box::default(),
            weight,
            born: 0,
        });
        self.bytes += weight;
        if let Some(index) = instead {
            self.bytes -= self.slots.replace(index, object).weight;
        } else if let Some(index) = self.slots.add(request.hash, 0, object) {
            let slots = &self.slots;
            self.table
                .insert_unique(request.hash, index, |other| slots.slot(*other).hash);
        } else {
            self.bytes -= weight;
        }
        self.evict();
    }

    fn evict(&mut self) {
        while self.bytes + self.bookkeeping() > self.limit {
            let Some(index) = self.slots.next_to_leave() else {
                return;
            };
            self.remove(index);
        }
    }

    /// Bytes of the table and the slots for what is held: after [`Self::narrow`] most slots may be free, which those of a
    /// store for the sample alone would not be.
    fn bookkeeping(&self) -> usize {
        let allocated = self.table.allocation_size() + self.slots.footprint();
        allocated * self.slots.live() / self.slots.len().max(1)
    }

    fn remove(&mut self, index: u32) {
        let hash = self.slots.slot(index).hash;
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == index) {
            entry.remove();
        }
        self.bytes -= self.slots.remove(index).weight;
    }

    /// Goes on with a sample of the keys: those that `is_kept` does not keep are dropped, and the store has `bytes` from
    /// now on.
    pub fn narrow(&mut self, bytes: usize, is_kept: impl Fn(u64) -> bool) {
        let len = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        for index in 0..len {
            let slot = self.slots.slot(index);
            if slot.object.is_some() && !is_kept(slot.hash) {
                self.remove(index);
            }
        }
        self.limit = bytes;
        self.evict();
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::{RawKey, Store, StoreLimits};
    use super::*;

    struct Body(usize);
    impl Weigh for Body {
        fn heap_bytes(&self) -> usize {
            allocated(self.0)
        }
    }

    fn request(hash: u64, response_len: usize, now_s: u32) -> ReplayRequest {
        ReplayRequest {
            hash,
            key_len: 30,
            response_len,
            now_s,
        }
    }

    #[test]
    fn a_response_is_answered_until_it_is_too_old() {
        let mut replay = PolicyReplay::new(1 << 20, 1 << 17);
        assert!(!replay.request(&request(7, 1000, 0), 60));
        assert!(replay.request(&request(7, 1000, 60), 60));
        assert!(!replay.request(&request(7, 1000, 61), 60));
        assert!(replay.request(&request(7, 1000, 100), 60));
        assert!(!replay.request(&request(8, 1 << 18, 100), 60));
        assert!(
            !replay.request(&request(8, 1 << 18, 100), 60),
            "larger than an object may be"
        );
        assert_eq!(replay.len(), 1);
    }

    #[test]
    fn keys_that_are_not_sampled_leave() {
        let mut replay = PolicyReplay::new(1 << 20, 1 << 17);
        for hash in 0..1000_u64 {
            replay.request(&request(hash, 100, 0), u32::MAX);
        }
        assert_eq!(replay.len(), 1000);
        replay.narrow(1 << 19, |hash| hash % 2 == 0);
        assert_eq!(replay.len(), 500);
        replay.narrow(40_000, |_| true);
        assert!((50..300).contains(&replay.len()), "{}", replay.len());
    }

    /// Keys by a power law: the replay answers as often as the store itself.
    #[test]
    fn the_replay_answers_as_often_as_the_store() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(41);
        for bytes in [2_usize << 20, 8 << 20] {
            let store: Store<Body, ()> = Store::new(StoreLimits::of_bytes(bytes));
            let mut replay = PolicyReplay::new(bytes, bytes / 8);
            let (mut of_store, mut of_replay) = (0_u32, 0_u32);
            for _ in 0..200_000 {
                let share: f64 = random.random();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a rank below a hundred thousand"
                )]
                let rank = (100_000_f64.powf(share)) as u64;
                let hash = rank.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
                    ^ rank.wrapping_mul(0xd6e8_feb8_6659_fd93);
                let len = 500 + usize::try_from(rank % 7).unwrap() * 300;
                let key = RawKey {
                    hash,
                    key: b"https://www.example/some/page/1",
                };
                if store.get(&key, |_| true).is_some() {
                    of_store += 1;
                } else {
                    let epoch = store.purge_epoch();
                    store.put(&key, epoch, &[], |_| true, Body(len));
                }
                of_replay += u32::from(replay.request(&request(hash, len, 0), u32::MAX));
            }
            let difference = f64::from(of_store.abs_diff(of_replay)) / 200_000.0;
            assert!(difference < 0.02, "{of_store} and {of_replay} of 200000");
        }
    }
}
