//! Stored responses, shared by all event loops: cache keys, and the reasons of store rejections.
//!
//! The caching rules are those of `plimsoll_cache`; this module applies them to requests, routes and the clock. A
//! stored response belongs to a `Space`: routes that could answer the same URL differently never share one. Decision
//! 0142 describes where the cache sits in the path of a request.

pub mod address;
pub mod as_forwarded;
mod cached_response;
pub mod disk;
pub mod fetch;
pub mod keyed_request;
pub mod pace;
mod policy;
pub mod purge;
pub mod purge_pacing;
mod response_metadata;
pub mod store_rejection;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_cache::disk::BLOCK_LEN;
use plimsoll_cache::store::{How, Lookup, Put, Store, StoreLimits};
use plimsoll_cache::{KeyRule, Moment, Seed, Terms};
use plimsoll_config::edge::RouteConfig;
use plimsoll_net::clock;
use plimsoll_net::lock::lock;

use self::disk::{DiskCache, Spool};
use self::fetch::Begun;
use self::purge_pacing::Pacing;
use self::store_rejection::RejectedResponse;

pub(crate) use cached_response::CachedResponse;
pub(crate) use policy::RouteCache;
pub use purge::{CacheView, PurgeOrder};
pub(crate) use response_metadata::ResponseMetadata;

/// Number of store rejections that are remembered.
const REFUSALS: u64 = 4096;

/// Wall-clock time in the unit of the cache.
pub fn wall_moment() -> Moment {
    Moment::from_ms(clock::unix_ms())
}

/// The cache of an edge.
#[derive(Debug)]
pub struct Cache {
    pub(crate) store: Arc<Store<CachedResponse, ResponseMetadata>>,
    pub(crate) seed: Seed,
    /// The disk tier, which outlives the process.
    pub disk: Option<Arc<DiskCache>>,
    /// Another edge still uses the directory of the disk tier.
    pub awaits_disk: AtomicBool,
    /// Capacity, bytes.
    pub size: u64,
    /// Time of the last soft purge, milliseconds since 1970; 0 for never.
    purged_at: AtomicU64,
    /// Purges so far.
    purges: AtomicU64,
    /// Limits how fast purged responses are revalidated.
    pub(crate) pacing: Pacing,
    /// The cache key rules of the routes.
    rules: Mutex<Vec<KeyRule>>,
    /// Store rejections, the last one of each slot; the hash of the key selects the slot.
    refusals: Box<[Mutex<Option<RejectedResponse>>]>,
}

impl Cache {
    /// An empty cache of this capacity, with its disk tier; `None` when the system provides no random numbers.
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

    /// Replaces the cache key rules of the routes.
    pub fn follow(&self, routes: &[RouteConfig]) {
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

    /// Records a store rejection.
    pub(crate) fn note_refusal(&self, refused: RejectedResponse) {
        let place = self.place(refused.hash);
        *lock(place) = Some(refused);
    }

    /// The last store rejection of a key.
    fn refusal(&self, hash: u64) -> Option<RejectedResponse> {
        lock(self.place(hash))
            .clone()
            .filter(|refused| refused.hash == hash)
    }

    fn place(&self, hash: u64) -> &Mutex<Option<RejectedResponse>> {
        &self.refusals[usize::try_from(hash % REFUSALS).unwrap_or_default()]
    }

    /// The time of the last soft purge: responses marked as purged were purged no later.
    pub(crate) fn purged_at(&self) -> Moment {
        Moment::from_ms(self.purged_at.load(Ordering::Relaxed))
    }

    /// The longest body that is stored on such terms.
    pub(crate) fn body_len_max(&self, terms: &Terms) -> u64 {
        let disk = self.disk.as_ref();
        let disk = disk.filter(|_| DiskCache::is_worth(terms, terms.received_at));
        let on_disk = disk.map_or(0, |disk| disk.body_len_max());
        on_disk.max(self.store.limits().object_bytes as u64)
    }

    /// Must be called before a request is sent whose response may be stored.
    pub(crate) fn begun(&self) -> Begun {
        Begun {
            // Disk first, because a purge reaches the disk first too.
            store: self.store.purge_epoch(),
            disk: self.disk.as_ref().map_or(0, |disk| disk.purges()),
        }
    }

    /// Hard-purges all stored responses of a key.
    pub(crate) fn drop_key(&self, key: &impl Lookup) {
        if let Some(disk) = &self.disk {
            disk.drop_key(key.hash(), wall_moment());
        }
        self.store.purge(key, How::Hard);
    }

    /// Hard-purges all stored responses with a tag.
    pub(crate) fn drop_tag(&self, tag: u64) {
        if let Some(disk) = &self.disk {
            disk.drop_tag(tag, wall_moment());
        }
        self.store.purge_tag(tag, How::Hard);
    }

    /// Starts writing a response to disk while it arrives; `None` when it is short, or not worth a file.
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

    /// A response was stored in memory, or is too large for it: it is written to disk.
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

/// Routes that answer alike: same upstream, same changes to requests and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space(pub(crate) u64);
