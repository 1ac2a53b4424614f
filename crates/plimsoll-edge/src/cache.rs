//! Copies of answers, shared by all loops: what they are kept under, and what is known of them.
//!
//! The rules are those of `plimsoll_cache`; here they meet requests, routes and the clock. A copy belongs to a
//! [`Space`]: routes that could answer the same URL differently never share one. Decision 0142 says how the cache
//! stands in the road of a request.

pub(crate) mod address;
pub(crate) mod as_forwarded;
mod cached_response;
pub(crate) mod disk;
pub(crate) mod fetch;
pub(crate) mod keyed_request;
pub(crate) mod pace;
pub(crate) mod pacing;
mod policy;
pub(crate) mod purge;
mod response_metadata;
pub(crate) mod store_rejection;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_cache::disk::BLOCK_LEN;
use plimsoll_cache::store::{How, Lookup, Put, Store, StoreLimits};
use plimsoll_cache::{KeyRef, KeyRule, Moment, Seed, Terms};
use plimsoll_config::edge::RouteConfig;

use crate::clock;
use crate::lock::lock;

use self::disk::{DiskCache, Spool};
use self::fetch::Begun;
use self::pacing::Pacing;
use self::store_rejection::RejectedResponse;

pub(crate) use cached_response::CachedResponse;
pub(crate) use policy::RouteCache;
pub(crate) use purge::{CacheView, PurgeOrder};
pub(crate) use response_metadata::ResponseMetadata;

/// How many reasons for which answers were not kept are remembered.
const REFUSALS: u64 = 4096;

/// All copies of an edge.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(crate) store: Arc<Store<CachedResponse, ResponseMetadata>>,
    pub(crate) seed: Seed,
    /// Where copies are too, and outlive the process.
    pub(crate) disk: Option<Arc<DiskCache>>,
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
    refusals: Box<[Mutex<Option<RejectedResponse>>]>,
}

impl Cache {
    /// An empty one of so many bytes, with what there is on disk; `None` when the system gives no random numbers.
    pub(crate) fn new(size: u64, disk: Option<Arc<DiskCache>>) -> Option<Self> {
        let seed = match &disk {
            Some(disk) => disk.seed(),
            None => disk::random_seed()?,
        };
        let purged_at = disk.as_ref().map_or(0, |disk| disk.purged_at().ms());
        let limits = StoreLimits::of_bytes(usize::try_from(size).unwrap_or(usize::MAX));
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
    pub(crate) fn follow(&self, routes: &[RouteConfig]) {
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
    pub(crate) fn note_refusal(&self, refused: RejectedResponse) {
        let place = self.place(refused.hash);
        *lock(place) = Some(refused);
    }

    /// Why the last answer was not kept.
    fn refusal(&self, hash: u64) -> Option<RejectedResponse> {
        lock(self.place(hash))
            .clone()
            .filter(|refused| refused.hash == hash)
    }

    fn place(&self, hash: u64) -> &Mutex<Option<RejectedResponse>> {
        &self.refusals[usize::try_from(hash % REFUSALS).unwrap_or_default()]
    }

    /// When copies that are marked as purged were purged, at the latest.
    pub(crate) fn purged_at(&self) -> Moment {
        Moment::from_ms(self.purged_at.load(Ordering::Relaxed))
    }

    /// The longest body that is kept on such terms.
    pub(crate) fn body_len_max(&self, terms: &Terms) -> u64 {
        let disk = self.disk.as_ref();
        let disk = disk.filter(|_| DiskCache::is_worth(terms, terms.received_at));
        let on_disk = disk.map_or(0, |disk| disk.body_len_max());
        on_disk.max(self.store.limits().object_bytes as u64)
    }

    /// To be asked before a request is sent whose answer may be kept.
    pub(crate) fn begun(&self) -> Begun {
        Begun {
            // First, since a purge tells the disk first.
            store: self.store.purge_epoch(),
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
        metadata: &Arc<ResponseMetadata>,
        key: &[u8],
        tags: &[u64],
        begun: Begun,
    ) -> Option<Spool> {
        let disk = self.disk.as_ref()?;
        let may_be_long = metadata.len().is_none_or(|len| len > BLOCK_LEN as u64);
        let terms = metadata.stored.terms();
        let is_worth = metadata.may_go_to_disk() && DiskCache::is_worth(terms, terms.received_at);
        let is_wanted = may_be_long && is_worth;
        is_wanted.then(|| Spool::new(disk, metadata, key.into(), tags.into(), begun.disk))
    }

    /// A copy came into memory, or is too large for it: it goes to the disk.
    pub(crate) fn note_put(
        &self,
        put: &Put<CachedResponse>,
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
pub(crate) struct HashedKey<'a> {
    key: KeyRef<'a>,
    hash: u64,
}

impl<'a> HashedKey<'a> {
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

impl Lookup for HashedKey<'_> {
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
