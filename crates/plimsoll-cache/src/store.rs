//! The object store: one for all loops, within a byte budget that counts everything.
//!
//! It knows nothing of HTTP. A key is bytes with a hash; a value is the caller's and reports its weight. Several values
//! of one key (variants) are kept side by side, and the caller selects among them: the newest that matches is used.
//! Time is passed in. [`Store::get`] finds a value, [`Store::begin`] collapses concurrent misses behind one leader, and
//! the leader stores what it fetched; a purge is visible to every thread before it returns. Decisions and measurements
//! are in `docs/decisions/0141-the-store.md`.
//!
//! ```
//! use std::sync::Arc;
//! use std::task::Waker;
//! use plimsoll_cache::store::{Begin, Copied, HeadPoll, How, RawKey, Store, StoreLimits, Weigh, allocated};
//!
//! struct Page { language: &'static str, body: bytes::Bytes }
//! impl Weigh for Page {
//!     fn heap_bytes(&self) -> usize { allocated(self.body.len()) + allocated(32) }
//! }
//!
//! let store: Arc<Store<Page, &'static str>> = Arc::new(Store::new(StoreLimits::of_bytes(64 << 20)));
//! let key = RawKey { hash: 42, key: b"https://news.example/" };
//! let german = |page: &Page| page.language == "de";
//!
//! assert!(store.get(&key, german).is_none());
//! let Begin::Lead(leader) = store.begin(&key, 0, 0, german) else { panic!("no other request") };
//! let Begin::Follow(mut follower) = store.begin(&key, 0, 0, german) else { panic!("one leads") };
//! leader.head(Arc::new("200"), Some(5));
//! leader.append(b"Hallo", 0);
//! let mut read = [0; 16];
//! assert!(matches!(follower.poll_head(Waker::noop()), HeadPoll::Head(_)));
//! assert_eq!(follower.copy(0, &mut read, Waker::noop()), Copied::Bytes(5));
//! leader.store(&[], german, |body| Page { language: "de", body });
//! assert_eq!(follower.copy(5, &mut read, Waker::noop()), Copied::End);
//!
//! let hit = store.get(&key, german).expect("it was stored");
//! assert_eq!(&hit.object.value().body[..], b"Hallo");
//! store.purge_everything(How::Soft);
//! assert!(store.get(&key, german).expect("still stored").purged);
//! ```
//!
//! Objects on disk live in files of their own ([`crate::disk`]); [`Store::recall`] brings one back before a miss becomes
//! a fetch.

mod budget;
mod fill;
mod ghost;
mod insertion;
mod key;
mod lead;
mod limits;
mod pass;
mod purge;
mod queue;
mod replay;
mod shard;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::budget::StoreBudget;
use self::fill::Fill;
use self::insertion::InsertEntry;
use self::purge::Purges;
use self::shard::Shard;

pub use self::budget::{Weigh, allocated};
pub use self::fill::{Copied, Follower, HeadPoll};
pub use self::key::{HashedKey, Lookup, RawKey};
pub use self::lead::{Begin, Leader};
pub use self::limits::StoreLimits;
pub use self::purge::How;
pub use self::replay::{PolicyReplay, ReplayRequest};

/// Memory per shard, so that its table grows in well under a millisecond.
const SHARD_BYTES: usize = 4 << 20;

/// Minimum number of shards, so that loops seldom contend; and the maximum.
const SHARDS: (usize, usize) = (16, 4096);

/// A value with the store's metadata.
#[derive(Debug)]
pub struct Object<V> {
    value: V,
    key: Box<[u8]>,
    tags: Box<[u64]>,
    weight: usize,
    /// Insertion order of objects.
    born: u64,
}

impl<V> Object<V> {
    /// The stored value.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its tags.
    pub fn tags(&self) -> &[u64] {
        &self.tags
    }

    /// Bytes counted for it, without the tables.
    pub fn weight(&self) -> usize {
        self.weight
    }
}

/// Result of a hit.
#[derive(Debug)]
pub struct Hit<V> {
    /// The newest that matched.
    pub object: Arc<Object<V>>,
    /// It was soft-purged: treat it as stale.
    pub purged: bool,
}

/// What [`Store::lookup`] found.
#[derive(Debug)]
pub enum LookupOutcome<V> {
    /// A value.
    Hit(Hit<V>),
    /// None; the key is remembered as uncacheable for requests of this kind.
    Pass(Remembered),
    /// Neither.
    Nothing,
}

/// A key remembered as uncacheable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// More than half of its time remains: it need not be recorded again.
    pub is_recent: bool,
}

/// Result of storing a value.
#[derive(Debug)]
pub enum Put<V> {
    /// It is stored. `purged` if a soft purge came since it was requested.
    Stored(Hit<V>),
    /// It exceeds the object limit, or was no longer held completely.
    TooLarge,
    /// No room could be made.
    Full,
    /// A hard purge came since it was requested.
    Purged,
}

/// Number of the last purge when a request was sent; needed by [`Store::put`].
#[derive(Debug, Clone, Copy)]
pub struct PurgeEpoch(u64);

/// Totals for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreMetrics {
    /// Bytes taken, of [`StoreLimits::bytes`].
    pub bytes: usize,
    /// Objects held.
    pub objects: usize,
    /// Evictions since the start.
    pub evicted_total: u64,
    /// Fetches in progress.
    pub fills: usize,
    /// Keys remembered as uncacheable, expired ones included.
    pub passes: usize,
}

/// One object in [`Store::hottest_objects`].
#[derive(Debug)]
pub struct HotObject<V> {
    /// Hits since it was stored, renewals included.
    pub hits: u32,
    /// The object.
    pub object: Arc<Object<V>>,
}

/// Objects of one cache: `V` is the stored value, `H` the head of a response in progress.
#[derive(Debug)]
pub struct Store<V, H> {
    shards: Box<[Mutex<Shard<V, H>>]>,
    budget: Arc<StoreBudget>,
    purges: Purges,
    limits: StoreLimits,
    /// The next shard to evict from.
    eviction_cursor: AtomicUsize,
    /// Objects held.
    live: AtomicUsize,
    born: AtomicU64,
    fills: AtomicUsize,
    evicted: AtomicU64,
}

impl<V: Weigh, H> Store<V, H> {
    /// An empty store.
    pub fn new(limits: StoreLimits) -> Self {
        let (fewest, most) = SHARDS;
        let count = (limits.bytes / SHARD_BYTES)
            .next_power_of_two()
            .clamp(fewest, most);
        let passes_max = limits.passes.div_ceil(count);
        let budget = StoreBudget::new(limits.bytes);
        budget.take(count * size_of::<Mutex<Shard<V, H>>>());
        Self {
            shards: (0..count)
                .map(|_| Mutex::new(Shard::new(passes_max)))
                .collect(),
            budget: Arc::new(budget),
            purges: Purges::new(limits.prefixes, limits.hashes),
            limits,
            eviction_cursor: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            born: AtomicU64::new(0),
            fills: AtomicUsize::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    /// The limits it was made with.
    pub fn limits(&self) -> &StoreLimits {
        &self.limits
    }

    /// The newest value of a key that `matches`; a hit allocates nothing.
    ///
    /// `matches` runs under the shard's lock: it compares, and calls nothing of the store.
    pub fn get(&self, key: &impl Lookup, matches: impl FnMut(&V) -> bool) -> Option<Hit<V>> {
        let mut gone = Vec::new();
        let mut shard = self.shard(key.hash());
        let hit = self.find(&mut shard, key, matches, &mut gone);
        drop(shard);
        self.let_go(gone);
        hit
    }

    /// Like [`Self::get`]; on a miss also returns whether the key is remembered as uncacheable for requests of this
    /// kind ([`Self::remember_pass`]), in the same lookup.
    pub fn lookup(
        &self,
        key: &impl Lookup,
        variant: u64,
        now_ns: u64,
        matches: impl FnMut(&V) -> bool,
    ) -> LookupOutcome<V> {
        let mut gone = Vec::new();
        let hash = key.hash();
        let mut shard = self.shard(hash);
        let outcome = match self.find(&mut shard, key, matches, &mut gone) {
            Some(hit) => LookupOutcome::Hit(hit),
            None => match shard.passes.until(lead::of_kind(hash, variant), now_ns) {
                Some(until_ns) => LookupOutcome::Pass(Remembered {
                    is_recent: until_ns - now_ns > self.limits.pass_ns / 2,
                }),
                None => LookupOutcome::Nothing,
            },
        };
        drop(shard);
        self.let_go(gone);
        outcome
    }

    fn find(
        &self,
        shard: &mut Shard<V, H>,
        key: &impl Lookup,
        mut matches: impl FnMut(&V) -> bool,
        gone: &mut Vec<Arc<Object<V>>>,
    ) -> Option<Hit<V>> {
        let found = shard.find(key.hash(), &self.purges, gone, |object| {
            key.is(&object.key) && matches(&object.value)
        });
        let hit = found.map(|index| {
            shard.slots.hit(index);
            Hit {
                object: Arc::clone(shard.slots.object(index)),
                purged: shard.slots.slot(index).purged,
            }
        });
        if !gone.is_empty() {
            self.settle(shard);
        }
        hit
    }

    /// To be called before a request is sent whose response is passed to [`Self::put`].
    pub fn purge_epoch(&self) -> PurgeEpoch {
        PurgeEpoch(self.purges.last())
    }

    /// Stores a value without waiting readers. It replaces the variants that it `supersedes`.
    ///
    /// `tags` are hashes by which it is purged along with others.
    pub fn put(
        &self,
        key: &impl Lookup,
        epoch: PurgeEpoch,
        tags: &[u64],
        supersedes: impl FnMut(&V) -> bool,
        value: V,
    ) -> Put<V> {
        let entry = InsertEntry {
            hash: key.hash(),
            key: key.to_key(),
            begun: epoch.0,
            variant: 0,
            tags,
            recalled: None,
        };
        self.insert(entry, value, supersedes, None)
    }

    /// Restores a value that was kept elsewhere, soft-purged meanwhile or not. A value that it would supersede is
    /// newer, and stays. Read `epoch` before you check whether the value was purged.
    pub fn recall(
        &self,
        key: &impl Lookup,
        epoch: PurgeEpoch,
        tags: &[u64],
        purged: bool,
        supersedes: impl FnMut(&V) -> bool,
        value: V,
    ) -> Put<V> {
        let entry = InsertEntry {
            hash: key.hash(),
            key: key.to_key(),
            begun: epoch.0,
            variant: 0,
            tags,
            recalled: Some(purged),
        };
        self.insert(entry, value, supersedes, None)
    }

    /// Totals over all shards.
    pub fn metrics(&self) -> StoreMetrics {
        let mut metrics = StoreMetrics {
            bytes: self.budget.taken(),
            evicted_total: self.evicted.load(Ordering::Relaxed),
            fills: self.fills.load(Ordering::Relaxed),
            ..StoreMetrics::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            metrics.objects += shard.slots.live();
            metrics.passes += shard.passes.len();
        }
        metrics
    }

    /// The `count` objects with most hits, most first.
    pub fn hottest_objects(&self, count: usize) -> Vec<HotObject<V>> {
        let mut most: Vec<HotObject<V>> = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let len = u32::try_from(shard.slots.len()).expect("slots are counted in 32 bits");
            for slot in (0..len).map(|index| shard.slots.slot(index)) {
                let least = if most.len() < count {
                    0
                } else {
                    most.last().map_or(u32::MAX, |hot| hot.hits)
                };
                if let Some(object) = slot.object.as_ref().filter(|_| slot.hits > least) {
                    let at = most.partition_point(|hot| hot.hits >= slot.hits);
                    let object = Arc::clone(object);
                    most.insert(
                        at,
                        HotObject {
                            hits: slot.hits,
                            object,
                        },
                    );
                    most.truncate(count);
                }
            }
        }
        most
    }

    fn end_fill(&self, shard: &mut Shard<V, H>, fill: &Arc<Fill<H>>) {
        if shard.end_fill(fill) {
            self.fills.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard<V, H>> {
        lock(&self.shards[self.shard_index(hash)])
    }

    fn shard_index(&self, hash: u64) -> usize {
        // Bits used neither for the table's position (lowest) nor for its tag (highest seven).
        let bits = usize::try_from(hash >> 40 & 0xffff).expect("sixteen bits");
        bits & (self.shards.len() - 1)
    }
}

/// Locks state that stays consistent even when a thread panicked while holding the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
