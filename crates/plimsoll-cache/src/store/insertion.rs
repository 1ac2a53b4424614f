//! Insertion: room is made first, then the value is stored.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fill::Fill;
use super::lead::of_kind;
use super::purge::{How, Whom};
use super::shard::Shard;
use super::{Hit, Object, Put, Store, Weigh, allocated, lock};

/// Key and metadata under which a value is stored.
pub(super) struct InsertEntry<'a> {
    pub(super) hash: u64,
    pub(super) key: Box<[u8]>,
    pub(super) begun: u64,
    pub(super) variant: u64,
    pub(super) tags: &'a [u64],
    /// A value restored from elsewhere; whether it was soft-purged meanwhile.
    pub(super) recalled: Option<bool>,
}

impl<V: Weigh, H> Store<V, H> {
    pub(super) fn insert(
        &self,
        entry: InsertEntry<'_>,
        value: V,
        mut supersedes: impl FnMut(&V) -> bool,
        fill: Option<&Arc<Fill<H>>>,
    ) -> Put<V> {
        let InsertEntry {
            hash,
            begun,
            variant,
            recalled,
            ..
        } = entry;
        let object = self.object(entry, value);
        let refused = |put: Put<V>| {
            self.budget.give_back(object.weight);
            put
        };
        if object.weight > self.limits.object_bytes {
            return Put::TooLarge;
        }
        self.budget.take(object.weight);
        if !self.evict_to_budget(hash) {
            return refused(Put::Full);
        }
        let mut gone = Vec::new();
        let mut guard = self.shard(hash);
        let shard = &mut *guard;
        // Under the lock: a sweep after which records are dropped passes this shard before or after, not in between.
        let checked = self.purges.last();
        let key = &object.key;
        let met = self.purges.met(begun, Whom { hash, key }, &object.tags);
        let is_late = recalled.is_some() && Self::has_variant(shard, key, hash, &mut supersedes);
        let found = if met == Some(How::Hard) || is_late {
            None
        } else {
            let instead = self.clear_way(shard, key, hash, &mut supersedes, &mut gone);
            shard.put(hash, checked, Arc::clone(&object), instead, &mut gone)
        };
        let purged = met == Some(How::Soft) || recalled == Some(true);
        if let Some(index) = found {
            shard.slots.slot_mut(index).purged = purged;
            shard.passes.forget(of_kind(hash, variant));
        }
        if let Some(fill) = fill {
            self.end_fill(shard, fill);
        }
        self.settle(shard);
        drop(guard);
        self.let_go(gone);
        match (found, met) {
            (Some(_), _) => {
                // The tables may have grown.
                self.evict_to_budget(hash);
                Put::Stored(Hit { object, purged })
            }
            (None, Some(_)) => refused(Put::Purged),
            (None, None) => refused(Put::Full),
        }
    }

    fn object(&self, entry: InsertEntry<'_>, value: V) -> Arc<Object<V>> {
        // The two counts of an `Arc` stand before it.
        let own = allocated(size_of::<Object<V>>() + 2 * size_of::<usize>());
        let key_and_tags = allocated(entry.key.len()) + allocated(size_of_val(entry.tags));
        Arc::new(Object {
            weight: own + key_and_tags + value.heap_bytes(),
            value,
            key: entry.key,
            tags: entry.tags.into(),
            born: self.born.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Whether a variant exists that a new value would supersede.
    fn has_variant(
        shard: &Shard<V, H>,
        key: &[u8],
        hash: u64,
        supersedes: &mut impl FnMut(&V) -> bool,
    ) -> bool {
        let variants = shard.variants(hash, |other| other == key);
        let mut variants = variants.into_iter();
        variants.any(|index| supersedes(&shard.slots.object(index).value))
    }

    /// Removes superseded variants except one, whose slot the new value takes; and the oldest if there are too many.
    fn clear_way(
        &self,
        shard: &mut Shard<V, H>,
        key: &[u8],
        hash: u64,
        supersedes: &mut impl FnMut(&V) -> bool,
        gone: &mut Vec<Arc<Object<V>>>,
    ) -> Option<u32> {
        let variants = shard.variants(hash, |other| other == key);
        let (older, mut others): (Vec<u32>, Vec<u32>) = variants
            .into_iter()
            .partition(|index| supersedes(&shard.slots.object(*index).value));
        let mut older = older.into_iter();
        let instead = older.next();
        gone.extend(older.map(|index| shard.remove(index)));
        // Unused ones go first, so that a flood of variants evicts itself.
        others.sort_unstable_by_key(|index| {
            let slot = shard.slots.slot(*index);
            (slot.is_recently_hit(), shard.slots.object(*index).born)
        });
        let too_many = (others.len() + 1).saturating_sub(self.limits.variants.max(1));
        gone.extend(others.drain(..too_many).map(|index| shard.remove(index)));
        instead
    }

    /// Updates the totals by a shard's change: bytes of its tables, number of its objects.
    pub(super) fn settle(&self, shard: &mut Shard<V, H>) {
        let footprint = shard.footprint();
        if footprint > shard.paid {
            self.budget.take(footprint - shard.paid);
        } else {
            self.budget.give_back(shard.paid - footprint);
        }
        shard.paid = footprint;
        let live = shard.slots.live();
        self.live.fetch_add(live, Ordering::AcqRel);
        self.live.fetch_sub(
            std::mem::replace(&mut shard.counted, live),
            Ordering::AcqRel,
        );
    }

    /// Evicts objects until the budget holds, for room in the shard of `hash`. Returns whether it holds.
    ///
    /// One lock and one object at a time: an insertion of a megabyte must not block a loop. Evicts from that shard if
    /// it holds its share of the objects, else from the next that does: otherwise chance would empty one shard of its
    /// hot pages while another grows. By number and not by bytes, so that a large object takes its room from all shards
    /// and not from its neighbors.
    pub(super) fn evict_to_budget(&self, hash: u64) -> bool {
        let mut index = self.shard_index(hash);
        let mut idle = 0;
        while self.budget.is_over() {
            let fair = if idle < self.shards.len() {
                self.live.load(Ordering::Acquire) / self.shards.len()
            } else {
                0
            };
            let mut shard = lock(&self.shards[index]);
            let live = shard.slots.live();
            let evicted = if live >= fair { shard.evict() } else { None };
            self.settle(&mut shard);
            drop(shard);
            let Some(object) = evicted else {
                idle += 1;
                if idle > 2 * self.shards.len() {
                    return false;
                }
                index =
                    self.eviction_cursor.fetch_add(1, Ordering::Relaxed) & (self.shards.len() - 1);
                continue;
            };
            idle = 0;
            self.evicted.fetch_add(1, Ordering::Relaxed);
            self.budget.give_back(object.weight);
        }
        true
    }

    /// Releases removed objects; they are freed here, outside the locks, unless they are still read.
    pub(super) fn let_go(&self, gone: Vec<Arc<Object<V>>>) {
        for object in gone {
            self.budget.give_back(object.weight);
        }
    }
}
