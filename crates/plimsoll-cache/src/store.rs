//! Where answers are kept: one store for all loops, within a budget of bytes that counts everything.
//!
//! It knows nothing of HTTP. A key is bytes with a hash; a value is the caller's and says what it weighs. Several values
//! of one key (variants) stand beside each other, and the caller says which of them it means: the newest that matches is
//! taken. Time is handed in. [`Store::get`] finds, [`Store::begin`] gathers those who miss behind one leader, and the
//! leader stores what it got; purges count for every thread before they return. What was decided and measured stands in
//! `docs/decisions/0141-the-store.md`.
//!
//! ```
//! use std::sync::Arc;
//! use std::task::Waker;
//! use plimsoll_cache::store::{Begin, Copied, How, Limits, Named, Store, Turn, Weigh, allocated};
//!
//! struct Page { language: &'static str, body: bytes::Bytes }
//! impl Weigh for Page {
//!     fn heap_bytes(&self) -> usize { allocated(self.body.len()) + allocated(32) }
//! }
//!
//! let store: Arc<Store<Page, &'static str>> = Arc::new(Store::new(Limits::of_bytes(64 << 20)));
//! let key = Named { hash: 42, key: b"https://news.example/" };
//! let german = |page: &Page| page.language == "de";
//!
//! assert!(store.get(&key, german).is_none());
//! let Begin::Lead(leader) = store.begin(&key, 0, 0, german) else { panic!("nobody else asks") };
//! let Begin::Follow(mut follower) = store.begin(&key, 0, 0, german) else { panic!("one leads") };
//! leader.head(Arc::new("200"), Some(5));
//! leader.append(b"Hallo", 0);
//! let mut read = [0; 16];
//! assert!(matches!(follower.turn(Waker::noop()), Turn::Head(_)));
//! assert_eq!(follower.copy(0, &mut read, Waker::noop()), Copied::Bytes(5));
//! leader.store(&[], german, |body| Page { language: "de", body });
//! assert_eq!(follower.copy(5, &mut read, Waker::noop()), Copied::End);
//!
//! let hit = store.get(&key, german).expect("it was stored");
//! assert_eq!(&hit.object.value().body[..], b"Hallo");
//! store.purge_everything(How::Soft);
//! assert!(store.get(&key, german).expect("it is there").purged);
//! ```
//!
//! Not here yet: a tier on disk. Its room is between a miss and a fill: what [`Shard::evict`] lets go would be handed to
//! it, and [`Store::begin`]'s leader would ask it before the origin.

mod budget;
mod fill;
mod ghost;
mod lead;
mod pass;
mod purge;
mod queue;
mod shard;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::budget::Budget;
use self::fill::Fill;
use self::purge::{About, Purges, Whom};
use self::shard::Shard;

pub use self::budget::{Weigh, allocated};
pub use self::fill::{Copied, Follower, Turn};
pub use self::lead::{Begin, Leader};
pub use self::purge::How;

/// How much memory one shard is meant for, so that a table of it grows in well under a millisecond.
const SHARD_BYTES: usize = 4 << 20;

/// At least so many shards, so that loops seldom meet; at most so many.
const SHARDS: (usize, usize) = (16, 4096);

/// So many objects are walked under one lock.
const WALK_STEP: usize = 256;

/// What is asked for, without owning it.
pub trait Lookup {
    /// The key's hash, all 64 bits well mixed and unpredictable to strangers.
    fn hash(&self) -> u64;
    /// Whether these bytes are the key.
    fn is(&self, key: &[u8]) -> bool;
    /// The key's bytes, asked for on a miss only. A purge by prefix compares them from their beginning.
    fn to_key(&self) -> Box<[u8]>;
}

/// A key that stands somewhere as bytes.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// See [`Lookup::hash`].
    pub hash: u64,
    /// The bytes.
    pub key: &'a [u8],
}

impl Lookup for Named<'_> {
    fn hash(&self) -> u64 {
        self.hash
    }

    fn is(&self, key: &[u8]) -> bool {
        self.key == key
    }

    fn to_key(&self) -> Box<[u8]> {
        self.key.into()
    }
}

/// What the store may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes for everything: objects, keys, tables, answers on their way.
    pub bytes: usize,
    /// Bytes of one object, of memory as counted; larger ones are not stored.
    pub object_bytes: usize,
    /// Values of one key; the oldest leaves.
    pub variants: usize,
    /// Fetches under way.
    pub fills: usize,
    /// Followers of one fetch.
    pub followers: usize,
    /// How long an uncacheable key is remembered, in nanoseconds.
    pub pass_ns: u64,
    /// How many such keys are.
    pub passes: usize,
    /// Purges by prefix that are kept as records.
    pub prefixes: usize,
    /// Purges by key, and by tag, that are kept as records.
    pub hashes: usize,
}

impl Limits {
    /// The usual ones for a budget of so many bytes.
    pub fn of_bytes(bytes: usize) -> Self {
        Self {
            bytes,
            object_bytes: bytes / 8,
            variants: 16,
            fills: 4096,
            followers: 65_536,
            pass_ns: 60_000_000_000,
            passes: 65_536,
            prefixes: 64,
            hashes: 4096,
        }
    }
}

/// A value with what the store must know of it.
#[derive(Debug)]
pub struct Object<V> {
    value: V,
    key: Box<[u8]>,
    tags: Box<[u64]>,
    weight: usize,
    /// The order in which objects came.
    born: u64,
}

impl<V> Object<V> {
    /// What was stored.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// Under which key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// With which tags.
    pub fn tags(&self) -> &[u64] {
        &self.tags
    }

    /// Bytes counted for it, the tables' left out.
    pub fn weight(&self) -> usize {
        self.weight
    }
}

/// What a lookup found.
#[derive(Debug)]
pub struct Hit<V> {
    /// The newest that matched.
    pub object: Arc<Object<V>>,
    /// It was purged softly: treat it as stale.
    pub purged: bool,
}

/// What became of a value.
#[derive(Debug)]
pub enum Put<V> {
    /// It is stored, and this is it. `purged` if a soft purge came since it was asked for.
    Stored(Hit<V>),
    /// It is larger than one object may be, or was no longer held whole.
    TooLarge,
    /// No room could be made.
    Full,
    /// A hard purge came since it was asked for.
    Purged,
}

/// The number of the last purge when a request was sent: what [`Store::put`] must know of it.
#[derive(Debug, Clone, Copy)]
pub struct Asked(u64);

/// Sums for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes taken, of [`Limits::bytes`].
    pub bytes: usize,
    /// Objects held.
    pub objects: usize,
    /// Objects that left for want of room, since the start.
    pub evicted_total: u64,
    /// Fetches under way.
    pub fills: usize,
    /// Keys remembered as uncacheable, those whose time is over included.
    pub passes: usize,
}

/// One object in [`Store::most_asked`].
#[derive(Debug)]
pub struct Asks<V> {
    /// Hits since it came, through its renewals.
    pub hits: u32,
    /// The object.
    pub object: Arc<Object<V>>,
}

/// Answers of one cache: `V` is what is stored, `H` what is told of an answer on its way.
#[derive(Debug)]
pub struct Store<V, H> {
    shards: Box<[Mutex<Shard<V, H>>]>,
    budget: Arc<Budget>,
    purges: Purges,
    limits: Limits,
    /// Whose turn it is to let somebody go.
    hand: AtomicUsize,
    born: AtomicU64,
    fills: AtomicUsize,
    evicted: AtomicU64,
}

impl<V: Weigh, H> Store<V, H> {
    /// An empty store.
    pub fn new(limits: Limits) -> Self {
        let (fewest, most) = SHARDS;
        let count = (limits.bytes / SHARD_BYTES).next_power_of_two().clamp(fewest, most);
        let passes_max = limits.passes.div_ceil(count);
        let budget = Budget::new(limits.bytes);
        budget.take(count * size_of::<Mutex<Shard<V, H>>>());
        Self {
            shards: (0..count).map(|_| Mutex::new(Shard::new(passes_max))).collect(),
            budget: Arc::new(budget),
            purges: Purges::new(limits.prefixes, limits.hashes),
            limits,
            hand: AtomicUsize::new(0),
            born: AtomicU64::new(0),
            fills: AtomicUsize::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    /// The limits it was made with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The newest value of a key that `matches`; a hit allocates nothing.
    ///
    /// `matches` runs under the shard's lock: it compares, and calls nothing of the store.
    pub fn get(&self, key: &impl Lookup, mut matches: impl FnMut(&V) -> bool) -> Option<Hit<V>> {
        let mut gone = Vec::new();
        let hash = key.hash();
        let mut shard = self.shard(hash);
        let found = shard.find(hash, &self.purges, &mut gone, |object| {
            key.is(&object.key) && matches(&object.value)
        });
        let hit = found.map(|index| {
            shard.slots.hit(index);
            Hit {
                object: Arc::clone(shard.slots.object(index)),
                purged: shard.slots.slot(index).purged,
            }
        });
        drop(shard);
        self.let_go(gone);
        hit
    }

    /// To be asked before a request is sent whose answer is given to [`Self::put`].
    pub fn asked(&self) -> Asked {
        Asked(self.purges.last())
    }

    /// Stores a value that nobody waits for. It takes the place of those variants that it `supersedes`.
    ///
    /// `tags` are hashes by which it is purged along with others.
    pub fn put(
        &self,
        key: &impl Lookup,
        asked: Asked,
        tags: &[u64],
        supersedes: impl FnMut(&V) -> bool,
        value: V,
    ) -> Put<V> {
        let entry = Entry {
            hash: key.hash(),
            key: key.to_key(),
            begun: asked.0,
            tags,
        };
        self.insert(entry, value, supersedes, None)
    }

    /// Sums, by a look at every shard.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures {
            bytes: self.budget.taken(),
            evicted_total: self.evicted.load(Ordering::Relaxed),
            fills: self.fills.load(Ordering::Relaxed),
            ..Figures::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            figures.objects += shard.slots.live();
            figures.passes += shard.passes.len();
        }
        figures
    }

    /// The `count` objects with most hits, most first.
    pub fn most_asked(&self, count: usize) -> Vec<Asks<V>> {
        let mut most: Vec<Asks<V>> = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let len = u32::try_from(shard.slots.len()).expect("slots are counted in 32 bits");
            for slot in (0..len).map(|index| shard.slots.slot(index)) {
                let least = if most.len() < count { 0 } else { most.last().map_or(u32::MAX, |asks| asks.hits) };
                if let Some(object) = slot.object.as_ref().filter(|_| slot.hits > least) {
                    let at = most.partition_point(|asks| asks.hits >= slot.hits);
                    let object = Arc::clone(object);
                    most.insert(at, Asks { hits: slot.hits, object });
                    most.truncate(count);
                }
            }
        }
        most
    }

    /// Purges all variants of a key.
    pub fn purge(&self, key: &impl Lookup, how: How) {
        let hash = key.hash();
        let full = self.purges.record(About::Key(hash), how);
        if how == How::Hard {
            let mut shard = self.shard(hash);
            let variants = shard.variants(hash, |other| key.is(other));
            let gone = variants.into_iter().map(|index| shard.remove(index)).collect();
            drop(shard);
            self.let_go(gone);
        }
        if full {
            self.walk();
        }
    }

    /// Purges every key that begins with these bytes.
    pub fn purge_prefix(&self, prefix: &[u8], how: How) {
        self.purge_many(About::Prefix(prefix), how);
    }

    /// Purges everything that was stored with this tag.
    pub fn purge_tag(&self, tag: u64, how: How) {
        self.purge_many(About::Tag(tag), how);
    }

    /// Purges everything.
    pub fn purge_everything(&self, how: How) {
        self.purge_many(About::Everything, how);
    }

    fn purge_many(&self, about: About<'_>, how: How) {
        let full = self.purges.record(about, how);
        // What is to be gone is gone in memory too when the call returns.
        if full || how == How::Hard {
            self.walk();
        }
    }

    /// Holds every object against the purges so far, a few at a time so that no loop waits long, and drops the records.
    fn walk(&self) {
        let last = self.purges.last();
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
                drop(shard);
                self.let_go(gone);
                if done {
                    break;
                }
                from = to;
            }
        }
        self.purges.drop_to(last);
    }

    fn insert(
        &self,
        entry: Entry<'_>,
        value: V,
        mut supersedes: impl FnMut(&V) -> bool,
        fill: Option<&Arc<Fill<H>>>,
    ) -> Put<V> {
        let object = self.object(&entry, value);
        if object.weight > self.limits.object_bytes {
            return Put::TooLarge;
        }
        self.budget.take(object.weight);
        if !self.make_room() {
            self.budget.give_back(object.weight);
            return Put::Full;
        }
        let mut gone = Vec::new();
        let mut guard = self.shard(entry.hash);
        let shard = &mut *guard;
        // Under the lock: a walk that drops records passes here before or after, not meanwhile.
        let checked = self.purges.last();
        let whom = Whom {
            hash: entry.hash,
            key: &object.key,
        };
        let met = self.purges.met(entry.begun, whom, &object.tags);
        let found = if met == Some(How::Hard) {
            None
        } else {
            let instead = self.clear_way(shard, &object.key, entry.hash, &mut supersedes, &mut gone);
            shard.put(entry.hash, checked, Arc::clone(&object), instead, &mut gone)
        };
        if let Some(index) = found {
            shard.slots.slot_mut(index).purged = met == Some(How::Soft);
            shard.passes.forget(entry.hash);
        }
        if let Some(fill) = fill {
            self.end_fill(shard, fill);
        }
        self.settle(shard);
        drop(guard);
        self.let_go(gone);
        match (found, met) {
            (Some(_), met) => {
                self.make_room();
                let purged = met.is_some();
                Put::Stored(Hit { object, purged })
            }
            (None, met) => {
                self.budget.give_back(object.weight);
                if met.is_some() { Put::Purged } else { Put::Full }
            }
        }
    }

    fn object(&self, entry: &Entry<'_>, value: V) -> Arc<Object<V>> {
        // The two counts of an `Arc` stand before it.
        let own = allocated(size_of::<Object<V>>() + 2 * size_of::<usize>());
        let parts = allocated(entry.key.len()) + allocated(size_of_val(entry.tags));
        Arc::new(Object {
            weight: own + parts + value.heap_bytes(),
            value,
            key: entry.key.clone(),
            tags: entry.tags.into(),
            born: self.born.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Takes out the variants that are superseded, but for one, whose place the newcomer gets; and the oldest if there
    /// are too many.
    fn clear_way(
        &self,
        shard: &mut Shard<V, H>,
        key: &[u8],
        hash: u64,
        supersedes: &mut impl FnMut(&V) -> bool,
        gone: &mut Vec<Arc<Object<V>>>,
    ) -> Option<u32> {
        let variants = shard.variants(hash, |other| other == key);
        let (superseded, mut others): (Vec<u32>, Vec<u32>) = variants
            .into_iter()
            .partition(|index| supersedes(&shard.slots.object(*index).value));
        let (instead, surplus) = superseded.split_first().map_or((None, &[][..]), |(first, rest)| (Some(*first), rest));
        gone.extend(surplus.iter().map(|index| shard.remove(*index)));
        others.sort_unstable_by_key(|index| shard.slots.object(*index).born);
        let too_many = (others.len() + 1).saturating_sub(self.limits.variants.max(1));
        gone.extend(others.drain(..too_many).map(|index| shard.remove(index)));
        instead
    }

    /// Takes of the budget, or gives back, what the shard's tables have become larger or smaller by.
    fn settle(&self, shard: &mut Shard<V, H>) {
        let footprint = shard.footprint();
        if footprint > shard.paid {
            self.budget.take(footprint - shard.paid);
        } else {
            self.budget.give_back(shard.paid - footprint);
        }
        shard.paid = footprint;
    }

    /// Lets objects go, shard by shard in turn, until the budget holds. Says whether it does.
    ///
    /// One lock at a time and one object for each: whoever needs a megabyte does not hold up a loop for it.
    fn make_room(&self) -> bool {
        let mut idle = 0;
        while self.budget.is_over() {
            let turn = self.hand.fetch_add(1, Ordering::Relaxed) & (self.shards.len() - 1);
            let mut shard = lock(&self.shards[turn]);
            let evicted = shard.evict();
            self.settle(&mut shard);
            drop(shard);
            let Some(object) = evicted else {
                idle += 1;
                if idle > self.shards.len() {
                    return false;
                }
                continue;
            };
            idle = 0;
            self.evicted.fetch_add(1, Ordering::Relaxed);
            self.budget.give_back(object.weight);
        }
        true
    }

    /// Gives back what objects took; they die here, outside the locks, unless somebody still reads them.
    fn let_go(&self, gone: Vec<Arc<Object<V>>>) {
        for object in gone {
            self.budget.give_back(object.weight);
        }
    }

    fn end_fill(&self, shard: &mut Shard<V, H>, fill: &Arc<Fill<H>>) {
        if shard.end_fill(fill) {
            self.fills.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard<V, H>> {
        // Bits that neither the table's place (lowest) nor its tag (highest seven) is made of.
        let part = usize::try_from(hash >> 40 & 0xffff).expect("sixteen bits");
        lock(&self.shards[part & (self.shards.len() - 1)])
    }
}

/// Under what a value is stored.
struct Entry<'a> {
    hash: u64,
    key: Box<[u8]>,
    begun: u64,
    tags: &'a [u64],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
