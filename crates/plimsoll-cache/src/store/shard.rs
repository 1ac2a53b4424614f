//! One shard of the store; objects are assigned by hash, and looked up under its lock.

use std::sync::Arc;

use hashbrown::HashTable;

use super::Object;
use super::fill::Fill;
use super::pass::Passes;
use super::purge::{How, Purges, Whom};
use super::queue::Slots;

#[derive(Debug)]
pub(super) struct Shard<V, H> {
    table: HashTable<u32>,
    pub(super) slots: Slots<V>,
    pub(super) fills: HashTable<Arc<Fill<H>>>,
    pub(super) passes: Passes,
    /// [`Self::footprint`] when the budget was last updated.
    pub(super) paid: usize,
    /// Number of objects at the last count.
    pub(super) counted: usize,
}

impl<V, H> Shard<V, H> {
    pub(super) fn new(passes_max: usize) -> Self {
        Self {
            table: HashTable::new(),
            slots: Slots::new(),
            fills: HashTable::new(),
            passes: Passes::new(passes_max),
            paid: 0,
            counted: 0,
        }
    }

    /// Bytes of the tables, without objects.
    pub(super) fn footprint(&self) -> usize {
        self.table.allocation_size()
            + self.slots.footprint()
            + self.fills.allocation_size()
            + self.passes.footprint()
    }

    /// The newest object of a key that `matches`, unless hard-purged. Purged objects go into `gone`.
    pub(super) fn find(
        &mut self,
        hash: u64,
        purges: &Purges,
        gone: &mut Vec<Arc<Object<V>>>,
        mut matches: impl FnMut(&Object<V>) -> bool,
    ) -> Option<u32> {
        loop {
            let mut newest: Option<(u32, u64)> = None;
            for &index in self.table.iter_hash(hash) {
                let slot = self.slots.slot(index);
                let Some(object) = slot.object.as_ref().filter(|_| slot.hash == hash) else {
                    continue;
                };
                if newest.is_none_or(|(_, born)| object.born > born) && matches(object) {
                    newest = Some((index, object.born));
                }
            }
            let (index, _) = newest?;
            if self.check(index, purges) == Some(How::Hard) {
                gone.push(self.remove(index));
                continue;
            }
            return Some(index);
        }
    }

    /// Checks an object against the purges since its last check; a soft-purged one is marked.
    pub(super) fn check(&mut self, index: u32, purges: &Purges) -> Option<How> {
        let last = purges.last();
        let slot = self.slots.slot(index);
        if slot.checked == last {
            return None;
        }
        let object = self.slots.object(index);
        let whom = Whom {
            hash: slot.hash,
            key: &object.key,
        };
        let met = purges.met(slot.checked, whom, &object.tags);
        let slot = self.slots.slot_mut(index);
        slot.checked = last;
        slot.purged |= met == Some(How::Soft);
        met
    }

    /// All objects of a key.
    pub(super) fn variants(&self, hash: u64, mut same: impl FnMut(&[u8]) -> bool) -> Vec<u32> {
        let of_key = |index: &&u32| {
            let slot = self.slots.slot(**index);
            slot.hash == hash && slot.object.as_ref().is_some_and(|object| same(&object.key))
        };
        self.table.iter_hash(hash).filter(of_key).copied().collect()
    }

    /// Inserts an object, in the slot of `instead` if there is one, which is pushed to `gone`.
    pub(super) fn put(
        &mut self,
        hash: u64,
        checked: u64,
        object: Arc<Object<V>>,
        instead: Option<u32>,
        gone: &mut Vec<Arc<Object<V>>>,
    ) -> Option<u32> {
        if let Some(index) = instead {
            gone.push(self.slots.replace(index, object));
            self.slots.slot_mut(index).checked = checked;
            return Some(index);
        }
        let index = self.slots.add(hash, checked, object)?;
        let slots = &self.slots;
        self.table
            .insert_unique(hash, index, |other| slots.slot(*other).hash);
        Some(index)
    }

    pub(super) fn remove(&mut self, index: u32) -> Arc<Object<V>> {
        let hash = self.slots.slot(index).hash;
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == index) {
            entry.remove();
        }
        self.slots.remove(index)
    }

    /// Evicts the next object.
    pub(super) fn evict(&mut self) -> Option<Arc<Object<V>>> {
        let index = self.slots.next_to_leave()?;
        Some(self.remove(index))
    }

    /// The fill of a key in progress.
    pub(super) fn fill(
        &self,
        hash: u64,
        variant: u64,
        mut same: impl FnMut(&[u8]) -> bool,
    ) -> Option<&Arc<Fill<H>>> {
        self.fills.find(hash, |fill| {
            fill.hash == hash && fill.variant == variant && same(&fill.key)
        })
    }

    /// Removes exactly this fill; returns whether it was still there.
    pub(super) fn end_fill(&mut self, fill: &Arc<Fill<H>>) -> bool {
        match self
            .fills
            .find_entry(fill.hash, |other| Arc::ptr_eq(other, fill))
        {
            Ok(entry) => {
                entry.remove();
                true
            }
            Err(_) => false,
        }
    }
}
