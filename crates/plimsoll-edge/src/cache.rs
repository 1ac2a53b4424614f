//! Copies of answers, shared by all loops: what they are kept under, and what is known of them.
//!
//! The rules are those of `plimsoll_cache`; here they meet requests, routes and the clock. A copy belongs to a
//! [`Space`]: routes that could answer the same URL differently never share one. Decision 0142 says how the cache
//! stands in the road of a request.

pub(crate) mod disk;
pub(crate) mod fetch;
pub(crate) mod order;
pub(crate) mod pacing;
mod policy;
pub(crate) mod subject;
pub(crate) mod unkept;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_cache::disk::{BLOCK_LEN, Copy as CopyOnDisk, CopyRef};
use plimsoll_cache::store::{How, Limits, Lookup, Put, Store, Weigh, allocated};
use plimsoll_cache::vary::{Vary, write_selecting};
use plimsoll_cache::{KeyRef, KeyRule, Moment, Policy, Seed, Stored, Terms};
use plimsoll_config::edge::Route;
use plimsoll_wire::head::Header;

use crate::clock::{self, Nanoseconds};
use crate::fragments::{Draft, Mosaic};
use crate::pool::lock;

use self::disk::{Body, Disk, Spool};
use self::fetch::Begun;
use self::pacing::Pacing;
use self::unkept::Refused;

pub(crate) use order::PurgeOrder;
pub(crate) use policy::RouteCache;

/// Renewals of one copy are tried at most this often.
const RETRY_NS: Nanoseconds = 1_000_000_000;
/// For how long an origin is left alone with a page for which it has failed.
const REST_NS: Nanoseconds = 1_000_000_000;
/// For how long a copy stands in at once after its origin has failed: whoever asks waits for nothing, and the origin is
/// tried beside. After that it may have got well with nobody asking.
const ILL_NS: Nanoseconds = 30_000_000_000;

/// What a file that is held open takes, with what the kernel keeps for it, bytes.
const OPEN_FILE: usize = 1024;

/// How many reasons for which answers were not kept are remembered.
const REFUSALS: u64 = 4096;

/// All copies of an edge.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(crate) store: Arc<Store<Page, Told>>,
    pub(crate) seed: Seed,
    /// Where copies are too, and outlive the process.
    pub(crate) disk: Option<Arc<Disk>>,
    /// Another edge uses the folder of its disk.
    pub(crate) awaits_disk: AtomicBool,
    /// Bytes it may take.
    pub(crate) size: u64,
    /// When something was last purged softly, milliseconds since 1970; 0 for never.
    purged_at: AtomicU64,
    /// Orders to purge so far.
    purges: AtomicU64,
    /// How fast what was purged is renewed.
    pub(crate) pacing: Pacing,
    /// How the routes make keys.
    rules: Mutex<Vec<KeyRule>>,
    /// Why answers were not kept, the last for each place; which place is a key's is said by its hash.
    refusals: Box<[Mutex<Option<Refused>>]>,
}

impl Cache {
    /// An empty one of so many bytes, with what there is on disk; `None` when the system gives no random numbers.
    pub(crate) fn new(size: u64, disk: Option<Arc<Disk>>) -> Option<Self> {
        let seed = match &disk {
            Some(disk) => disk.seed(),
            None => disk::random_seed()?,
        };
        let purged_at = disk.as_ref().map_or(0, |disk| disk.purged_at().ms());
        let limits = Limits::of_bytes(usize::try_from(size).unwrap_or(usize::MAX));
        Some(Self {
            store: Arc::new(Store::new(limits)),
            seed,
            disk,
            awaits_disk: AtomicBool::new(false),
            size,
            purged_at: AtomicU64::new(purged_at),
            purges: AtomicU64::new(0),
            pacing: Pacing::default(),
            rules: Mutex::default(),
            refusals: (0..REFUSALS).map(|_| Mutex::default()).collect(),
        })
    }

    /// Routes make keys so from now on.
    pub(crate) fn follow(&self, routes: &[Route]) {
        let mut rules = lock(&self.rules);
        rules.clear();
        for caching in routes.iter().filter_map(|route| route.cache.as_ref()) {
            let rule = policy::key_rule(caching);
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }

    fn rules(&self) -> Vec<KeyRule> {
        lock(&self.rules).clone()
    }

    /// An answer was not kept.
    pub(crate) fn note_refusal(&self, refused: Refused) {
        let place = self.place(refused.hash);
        *lock(place) = Some(refused);
    }

    /// Why the last answer was not kept.
    fn refusal(&self, hash: u64) -> Option<Refused> {
        lock(self.place(hash))
            .clone()
            .filter(|refused| refused.hash == hash)
    }

    fn place(&self, hash: u64) -> &Mutex<Option<Refused>> {
        &self.refusals[usize::try_from(hash % REFUSALS).unwrap_or_default()]
    }

    /// When copies that are marked as purged were purged, at the latest.
    pub(crate) fn purged_at(&self) -> Moment {
        Moment::from_ms(self.purged_at.load(Ordering::Relaxed))
    }

    /// The longest body that is kept on such terms.
    pub(crate) fn body_len_max(&self, terms: &Terms) -> u64 {
        let disk = self.disk.as_ref();
        let disk = disk.filter(|_| Disk::is_worth(terms, terms.received_at));
        let on_disk = disk.map_or(0, |disk| disk.body_len_max());
        on_disk.max(self.store.limits().object_bytes as u64)
    }

    /// To be asked before a request is sent whose answer may be kept.
    pub(crate) fn begun(&self) -> Begun {
        Begun {
            // First, since a purge tells the disk first.
            store: self.store.asked(),
            disk: self.disk.as_ref().map_or(0, |disk| disk.purges()),
        }
    }

    /// All copies of a key are wrong from now on.
    pub(crate) fn drop_key(&self, key: &impl Lookup) {
        if let Some(disk) = &self.disk {
            disk.drop_key(key.hash(), clock::moment());
        }
        self.store.purge(key, How::Hard);
    }

    /// All copies with a tag are wrong from now on.
    pub(crate) fn drop_tag(&self, tag: u64) {
        if let Some(disk) = &self.disk {
            disk.drop_tag(tag, clock::moment());
        }
        self.store.purge_tag(tag, How::Hard);
    }

    /// The way to the disk of an answer that is kept while it comes, when it may be long.
    pub(crate) fn spool(
        &self,
        told: &Arc<Told>,
        key: &[u8],
        tags: &[u64],
        begun: Begun,
    ) -> Option<Spool> {
        let disk = self.disk.as_ref()?;
        let may_be_long = told.len.is_none_or(|len| len > BLOCK_LEN as u64);
        let terms = told.stored.terms();
        let is_worth = told.may_go_to_disk() && Disk::is_worth(terms, terms.received_at);
        let is_wanted = may_be_long && is_worth;
        is_wanted.then(|| Spool::new(disk, told, key.into(), tags.into(), begun.disk))
    }

    /// A copy came into memory, or is too large for it: it goes to the disk.
    pub(crate) fn note_put(
        &self,
        put: &Put<Page>,
        spool: Option<Spool>,
        begun: Begun,
        now: Moment,
    ) {
        let Some(disk) = &self.disk else {
            return;
        };
        match (put, spool) {
            (Put::Stored(hit), _) if hit.purged => {}
            (Put::Stored(_), Some(spool)) if spool.has_begun() => spool.end(None),
            (Put::Stored(hit), _) => disk.keep(&hit.object, begun.disk, now),
            (Put::TooLarge | Put::Full, Some(spool)) => spool.end(Some(begun.store)),
            (Put::TooLarge | Put::Full | Put::Purged, _) => {}
        }
    }
}

/// What a request asks the store for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    key: KeyRef<'a>,
    hash: u64,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(key: KeyRef<'a>, seed: Seed) -> Self {
        Self {
            key,
            hash: key.hash(seed),
        }
    }

    /// One whose hash is known.
    pub(crate) fn hashed(key: KeyRef<'a>, hash: u64) -> Self {
        Self { key, hash }
    }
}

impl Lookup for Wanted<'_> {
    fn hash(&self) -> u64 {
        self.hash
    }

    fn is(&self, key: &[u8]) -> bool {
        self.key.is_written(key)
    }

    fn to_key(&self) -> Box<[u8]> {
        self.key.to_key().into_bytes()
    }
}

/// Routes that answer alike: where requests go, and what is done to them and to their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space(pub(crate) u64);

/// Whom a copy is for, and its head.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) stored: Stored,
    space: Space,
    /// The fields it varies by, and what they said.
    names: Box<str>,
    values: Box<[u8]>,
    /// Length of the body, as far as it is known when the head comes.
    pub(crate) len: Option<u64>,
    /// Its body may hold tags of fragments.
    pub(crate) draft: Option<Box<Draft>>,
}

impl Told {
    /// For the requests that say the same as this one; `None` when it says too much to be told apart.
    pub(crate) fn new(
        stored: Stored,
        vary: &Vary,
        space: Space,
        request: &[Header<'_>],
        policy: &Policy,
        len: Option<u64>,
    ) -> Option<Self> {
        let names = match vary {
            Vary::Nothing => Box::default(),
            Vary::Fields(names) => names.clone(),
            Vary::Everything => return None,
        };
        let mut values = Vec::new();
        if !names.is_empty() && !write_selecting(&mut values, &names, request, policy) {
            return None;
        }
        Some(Self {
            stored,
            space,
            names,
            values: values.into_boxed_slice(),
            len,
            draft: None,
        })
    }

    /// As it was read from the disk, with a body of so many bytes.
    fn of_copy(copy: CopyOnDisk, len: u64) -> Self {
        Self {
            stored: copy.stored,
            space: Space(copy.space),
            names: copy.names,
            values: copy.values,
            len: Some(len),
            draft: None,
        }
    }

    /// Pages that are put together stay in memory, where they lie taken apart.
    fn may_go_to_disk(&self) -> bool {
        self.draft.is_none()
    }

    /// What is written of it.
    fn copy_ref<'a>(&'a self, key: &'a [u8], tags: &'a [u64]) -> CopyRef<'a> {
        CopyRef {
            key,
            tags,
            space: self.space.0,
            names: &self.names,
            values: &self.values,
            stored: &self.stored,
        }
    }

    /// A hash of all that tells it apart from other copies of its key.
    fn identity(&self, seed: Seed) -> u64 {
        let parts = [
            &self.space.0.to_le_bytes()[..],
            self.names.as_bytes(),
            b"\n",
            &self.values,
        ];
        seed.hash(&parts.concat())
    }

    /// The same copy with a new head, which may vary by something else now.
    pub(crate) fn renewed(
        &self,
        stored: Stored,
        vary: &Vary,
        request: &[Header<'_>],
        policy: &Policy,
    ) -> Self {
        let (space, len) = (self.space, self.len);
        let mut values = Vec::new();
        match vary {
            Vary::Fields(names)
                if *names != self.names && write_selecting(&mut values, names, request, policy) =>
            {
                Self {
                    stored,
                    space,
                    names: names.clone(),
                    values: values.into_boxed_slice(),
                    len,
                    draft: self.draft.clone(),
                }
            }
            _ => self.with_head(stored),
        }
    }

    /// The same copy with a new head, for the same requests.
    pub(crate) fn with_head(&self, stored: Stored) -> Self {
        Self {
            stored,
            space: self.space,
            names: self.names.clone(),
            values: self.values.clone(),
            len: self.len,
            draft: self.draft.clone(),
        }
    }

    /// The fields it varies by.
    pub(crate) fn names(&self) -> &str {
        &self.names
    }

    pub(crate) fn is_in(&self, space: Space) -> bool {
        self.space == space
    }

    /// Whether it is for this request. `room` is written over.
    #[inline]
    pub(crate) fn is_for(
        &self,
        space: Space,
        request: &[Header<'_>],
        policy: &Policy,
        room: &mut Vec<u8>,
    ) -> bool {
        self.space == space
            && (self.names.is_empty()
                || (write_selecting(room, &self.names, request, policy) && **room == *self.values))
    }

    /// Whether it varies by language alone and says that it is in this one.
    pub(crate) fn is_in_language(&self, space: Space, language: &[u8]) -> bool {
        let is_in = |own: &[u8]| own.eq_ignore_ascii_case(language);
        self.space == space
            && &*self.names == "accept-language"
            && self.stored.language().is_some_and(is_in)
    }

    /// Whether it stands for all the requests that another one does.
    pub(crate) fn supersedes(&self, other: &Self) -> bool {
        self.space == other.space
            && (self.names.is_empty() || (self.names == other.names && self.values == other.values))
    }
}

/// A copy.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) told: Arc<Told>,
    pub(crate) body: Body,
    /// Its body taken apart, where fragments may be put in.
    pub(crate) mosaic: Option<Arc<Mosaic>>,
    /// When it was last tried to renew it, and when its origin last failed; 0 for never.
    tried: AtomicU64,
    failed: AtomicU64,
}

impl Page {
    pub(crate) fn new(told: Arc<Told>, body: impl Into<Body>) -> Self {
        let body = body.into();
        let draft = told.draft.as_ref();
        let mosaic = draft.and_then(|draft| draft.mosaic(body.in_memory()?));
        Self {
            mosaic: mosaic.map(Arc::new),
            told,
            body,
            tried: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// The same copy with a new head.
    pub(crate) fn with_head(&self, told: Arc<Told>) -> Self {
        Self {
            told,
            body: self.body.clone(),
            mosaic: self.mosaic.clone(),
            tried: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// Length of its body.
    pub(crate) fn len(&self) -> u64 {
        self.body.len()
    }

    /// Whether it is time to try to renew it, and `lets` says that it may be; whoever is told so tries.
    pub(crate) fn is_to_be_tried(&self, now: Nanoseconds, lets: impl FnOnce() -> bool) -> bool {
        let before = self.tried.load(Ordering::Relaxed);
        if before != 0 && now.saturating_sub(before) < RETRY_NS || !lets() {
            return false;
        }
        let exchanged =
            self.tried
                .compare_exchange(before, now.max(1), Ordering::Relaxed, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// Its origin has failed.
    pub(crate) fn note_failure(&self, now: Nanoseconds) {
        self.failed.store(now.max(1), Ordering::Relaxed);
    }

    /// Whether its origin has failed lately.
    pub(crate) fn has_failed(&self, now: Nanoseconds) -> bool {
        self.failed_within(now, ILL_NS)
    }

    /// Whether its origin is left alone for a moment.
    pub(crate) fn rests(&self, now: Nanoseconds) -> bool {
        self.failed_within(now, REST_NS)
    }

    fn failed_within(&self, now: Nanoseconds, span: Nanoseconds) -> bool {
        let failed = self.failed.load(Ordering::Relaxed);
        failed != 0 && now.saturating_sub(failed) < span
    }
}

impl Weigh for Page {
    fn heap_bytes(&self) -> usize {
        let told = &*self.told;
        let stored = told.stored.weight() - size_of::<Stored>();
        // The two counts of an `Arc` stand before it.
        allocated(size_of::<Told>() + 2 * size_of::<usize>())
            + allocated(stored)
            + allocated(told.names.len())
            + allocated(told.values.len())
            + match &self.body {
                Body::Memory(bytes) => allocated(bytes.len()),
                Body::Disk(_) => OPEN_FILE,
            }
            + match (&self.mosaic, self.body.in_memory()) {
                (Some(mosaic), Some(body)) => allocated(mosaic.heap_bytes(body)),
                _ => 0,
            }
    }
}
