//! Purges as records that each object is compared with at its next lookup.
//!
//! A purge is a numbered record; an object has the number up to which it was checked. So a purge of everything costs
//! one addition whatever the store holds, is visible to every thread before the call returns, and a hit pays one
//! comparison of two numbers. Records are few: when a list is full, or when memory must really be freed, the store
//! sweeps all objects once and drops the records.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use super::key::Lookup;
use super::{Store, Weigh, lock};

/// Objects swept under one lock.
const WALK_STEP: usize = 64;

/// Effect of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Objects become stale: they may still be served where stale responses may, while they are renewed.
    Soft,
    /// Objects are removed and their memory is freed.
    Hard,
}

/// The last purge of each kind that affects an object: numbers of purges, 0 for none.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    soft: u64,
    hard: u64,
}

impl Last {
    fn note(&mut self, number: u64, how: How) {
        match how {
            How::Soft => self.soft = self.soft.max(number),
            How::Hard => self.hard = self.hard.max(number),
        }
    }

    fn join(&mut self, other: Self) {
        self.soft = self.soft.max(other.soft);
        self.hard = self.hard.max(other.hard);
    }

    fn since(self, checked: u64) -> Option<How> {
        if self.hard > checked {
            Some(How::Hard)
        } else if self.soft > checked {
            Some(How::Soft)
        } else {
            None
        }
    }
}

#[derive(Debug, Default)]
struct Records {
    everything: Last,
    /// By key prefix.
    prefixes: Vec<(Box<[u8]>, Last)>,
    /// By hash of the key.
    keys: HashMap<u64, Last>,
    tags: HashMap<u64, Last>,
    /// Over all tags, for unknown ones: a response in progress has no tags yet.
    any_tag: Last,
    /// Records dropped after a sweep: objects not checked since count as affected.
    dropped: Last,
}

/// Scope of a purge.
#[derive(Debug, Clone, Copy)]
pub(super) enum About<'a> {
    Everything,
    Prefix(&'a [u8]),
    /// A key hash: colliding keys are purged along.
    Key(u64),
    Tag(u64),
}

/// Subject of a check.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whom<'a> {
    pub(super) hash: u64,
    pub(super) key: &'a [u8],
}

/// Result of recording a purge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded {
    /// Its number.
    pub(super) number: u64,
    /// A list is full: the records must be dropped, after all objects were checked.
    pub(super) is_full: bool,
}

/// All purges in force.
#[derive(Debug)]
pub(super) struct Purges {
    /// The number of the last purge.
    last: AtomicU64,
    records: RwLock<Records>,
    prefixes_max: usize,
    hashes_max: usize,
}

impl Purges {
    pub(super) fn new(prefixes_max: usize, hashes_max: usize) -> Self {
        Self {
            last: AtomicU64::new(0),
            records: RwLock::default(),
            prefixes_max,
            hashes_max,
        }
    }

    /// The number of the last purge.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    /// Records a purge. It is visible to every thread whose lookup starts after this returns.
    pub(super) fn record(&self, about: About<'_>, how: How) -> Recorded {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let number = self.last() + 1;
        match about {
            About::Everything => records.everything.note(number, how),
            About::Prefix(prefix) => {
                let known = records
                    .prefixes
                    .iter_mut()
                    .find(|(known, _)| **known == *prefix);
                if let Some((_, last)) = known {
                    last.note(number, how);
                } else {
                    let mut last = Last::default();
                    last.note(number, how);
                    records.prefixes.push((prefix.into(), last));
                }
            }
            About::Key(hash) => records.keys.entry(hash).or_default().note(number, how),
            About::Tag(tag) => {
                records.tags.entry(tag).or_default().note(number, how);
                records.any_tag.note(number, how);
            }
        }
        let is_full = records.prefixes.len() >= self.prefixes_max
            || records.tags.len() >= self.hashes_max
            || records.keys.len() >= self.hashes_max;
        // Last, and inside the lock: a thread that reads the number finds its record.
        self.last.store(number, Ordering::SeqCst);
        Recorded { number, is_full }
    }

    /// Effect of the purges after `checked` on an object.
    pub(super) fn met(&self, checked: u64, whom: Whom<'_>, tags: &[u64]) -> Option<How> {
        if self.last() == checked {
            return None;
        }
        self.met_by(checked, whom, |records, last| {
            for tag in tags {
                last.join(records.tags.get(tag).copied().unwrap_or_default());
            }
        })
    }

    /// Possible effect of the purges after `begun` on a response whose tags are unknown yet: any tag might match.
    pub(super) fn might_meet(&self, begun: u64, whom: Whom<'_>) -> bool {
        self.last() != begun
            && self
                .met_by(begun, whom, |records, last| last.join(records.any_tag))
                .is_some()
    }

    fn met_by(
        &self,
        checked: u64,
        whom: Whom<'_>,
        by_tag: impl FnOnce(&Records, &mut Last),
    ) -> Option<How> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        let mut last = records.everything;
        last.join(records.dropped);
        for (prefix, purged) in &records.prefixes {
            if whom.key.starts_with(prefix) {
                last.join(*purged);
            }
        }
        if let Some(purged) = records.keys.get(&whom.hash) {
            last.join(*purged);
        }
        by_tag(&records, &mut last);
        last.since(checked)
    }

    /// Drops the records up to `number`, against which every object was checked.
    ///
    /// A purge that came during the sweep keeps its whole record, with the older number of the other kind if there is
    /// one.
    pub(super) fn drop_to(&self, number: u64) {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let mut dropped = records.dropped;
        let mut keep = |last: &Last| {
            let newer = last.soft.max(last.hard) > number;
            if !newer {
                dropped.join(*last);
            }
            newer
        };
        records.prefixes.retain(|(_, last)| keep(last));
        records.keys.retain(|_, last| keep(last));
        records.tags.retain(|_, last| keep(last));
        records.dropped = dropped;
    }
}

impl<V: Weigh, H> Store<V, H> {
    /// Purges all variants of a key.
    pub fn purge(&self, key: &impl Lookup, how: How) {
        let hash = key.hash();
        let purge = self.purges.record(About::Key(hash), how);
        if how == How::Hard {
            let mut shard = self.shard(hash);
            let variants = shard.variants(hash, |other| key.is(other));
            let gone = variants
                .into_iter()
                .map(|index| shard.remove(index))
                .collect();
            self.settle(&mut shard);
            drop(shard);
            self.let_go(gone);
        }
        if purge.is_full {
            self.walk();
            self.purges.drop_to(purge.number);
        }
    }

    /// Purges every key with this prefix.
    pub fn purge_prefix(&self, prefix: &[u8], how: How) {
        self.purge_many(About::Prefix(prefix), how);
    }

    /// Purges everything stored with this tag.
    pub fn purge_tag(&self, tag: u64, how: How) {
        self.purge_many(About::Tag(tag), how);
    }

    /// Purges everything.
    pub fn purge_everything(&self, how: How) {
        self.purge_many(About::Everything, how);
    }

    fn purge_many(&self, about: About<'_>, how: How) {
        let purge = self.purges.record(about, how);
        // Hard-purged objects are freed when the call returns.
        if purge.is_full || how == How::Hard {
            self.walk();
        }
        if purge.is_full {
            self.purges.drop_to(purge.number);
        }
    }

    /// Checks every object against the purges so far, a few at a time so that no loop waits long.
    fn walk(&self) {
        for shard in &self.shards {
            let mut from = 0;
            loop {
                let mut gone = Vec::new();
                let mut shard = lock(shard);
                let to = shard.slots.len().min(from + WALK_STEP);
                for index in (from..to).filter_map(|index| u32::try_from(index).ok()) {
                    let held = shard.slots.slot(index).object.is_some();
                    if held && shard.check(index, &self.purges) == Some(How::Hard) {
                        gone.push(shard.remove(index));
                    }
                }
                let done = to == shard.slots.len();
                self.settle(&mut shard);
                drop(shard);
                self.let_go(gone);
                if done {
                    break;
                }
                from = to;
            }
        }
    }
}
