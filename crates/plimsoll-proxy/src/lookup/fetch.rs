//! A request in flight whose response concerns the cache.

use std::rc::Rc;
use std::sync::Arc;

use plimsoll_cache::store::{self, Follower, Hit, Leader, Object};
use plimsoll_cache::storing::Simple;
use plimsoll_cache::{CacheStatus, Moment};

use super::disk::Spool;
use super::keyed_request::KeyedRequest;
use super::pace::Pace;
use super::{Cache, CachedResponse, ResponseMetadata};

/// The last purges when a request was sent, in memory and on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) store: store::PurgeEpoch,
    pub disk: u64,
}

/// How the cache takes part in an exchange.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub cache: Arc<Cache>,
    pub(crate) keyed_request: KeyedRequest,
    pub(crate) role: FetchRole,
    /// The stored response that is revalidated, or served if the upstream fails.
    pub(crate) copy: Option<Hit<CachedResponse>>,
    /// Whether the request is conditional.
    pub(crate) is_conditional: bool,
    pub(crate) requested_at: Moment,
    /// Purges up to these do not affect the response.
    pub(crate) begun: Begun,
    /// `Cache-Status` of the response.
    pub status: CacheStatus,
    /// For a request whose response alone decides whether it is stored.
    pub(crate) simple: Option<Simple>,
    /// Whether uncollapsed fetching (hit-for-miss) is already remembered for long enough.
    pub(crate) is_known_to_pass: bool,
}

impl Fetch {
    /// Whether its response may be stored: the whole body is read then.
    pub(crate) fn fills(&self) -> bool {
        matches!(self.role, FetchRole::Lead(_) | FetchRole::Solo(_))
    }

    /// Header lines of a conditional request.
    pub(crate) fn conditions(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        if let Some(copy) = self.copy.as_ref().filter(|_| self.is_conditional) {
            let stored = &copy.object.value().metadata.stored;
            stored.write_conditions(&mut lines);
        }
        lines
    }

    /// The fetch failed: wakes those that wait for it. Returns what may be served instead.
    pub(crate) fn fail(self) -> (Option<Hit<CachedResponse>>, KeyedRequest) {
        if let FetchRole::Lead(leader) = self.role {
            leader.fail();
        }
        (self.copy, self.keyed_request)
    }
}

/// Who an exchange fetches for.
#[derive(Debug)]
pub(crate) enum FetchRole {
    /// All requests for the same key.
    Lead(Leader<CachedResponse, ResponseMetadata>),
    /// A single request, with its variant: no other request waits for it. The response may still be stored.
    Solo(u64),
    /// A single request that is not cacheable; its response may still invalidate stored responses.
    Watch,
}

/// Outcome of an exchange whose response is not streamed directly to the client.
#[derive(Debug)]
pub(crate) enum CacheOutcome {
    /// The response is being stored, and the client reads along.
    Collapsed(Follower<ResponseMetadata>, Rc<Pace>, CacheStatus),
    /// A stored response is served.
    Page(Arc<Object<CachedResponse>>, CacheStatus),
    /// A response that is not stored any more is served once.
    Once(Arc<CachedResponse>, CacheStatus),
    /// The upstream reported an error; a stored response can replace it.
    Ill(u16),
    /// The response is for something else: the request is repeated without a condition.
    Again,
    /// The response is not stored, and no client waits for it.
    Nothing,
}

/// A response that is stored while it arrives.
#[derive(Debug)]
pub(crate) struct Filling {
    pub(crate) leader: Leader<CachedResponse, ResponseMetadata>,
    pub(crate) metadata: Arc<ResponseMetadata>,
    pub(crate) labels: Box<[u64]>,
    pub(crate) begun: Begun,
    /// Writes it to disk, if it may be long.
    pub(crate) spool: Option<Spool>,
    pub cache: Arc<Cache>,
    /// Hash and variant of requests that must not collapse, because the response is for one client only.
    pub(crate) passes: Option<(u64, u64)>,
    /// Bytes of its body so far.
    pub len: u64,
    /// Whether it still fits into memory.
    pub(crate) fits: bool,
    pub status: CacheStatus,
    /// Progress of the client that triggered the fetch.
    pub(crate) pace: Rc<Pace>,
}
