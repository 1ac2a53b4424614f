//! A request on its way to a server whose answer the cache has a part in.

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
    pub(crate) disk: u64,
}

/// What the cache wants of an exchange.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) cache: Arc<Cache>,
    pub(crate) keyed_request: KeyedRequest,
    pub(crate) role: FetchRole,
    /// The copy that is renewed, or that answers when the servers fail.
    pub(crate) copy: Option<Hit<CachedResponse>>,
    /// Whether the servers are asked if that copy has changed.
    pub(crate) is_conditional: bool,
    pub(crate) requested_at: Moment,
    /// Purges up to then do not meet the answer.
    pub(crate) begun: Begun,
    /// What is said of the answer.
    pub(crate) status: CacheStatus,
    /// The answer alone says whether it is kept.
    pub(crate) simple: Option<Simple>,
    /// That nobody waits for such an answer is remembered for long enough already.
    pub(crate) is_known_to_pass: bool,
}

impl Fetch {
    /// Whether its answer may become a copy: all of it is wanted then.
    pub(crate) fn fills(&self) -> bool {
        matches!(self.role, FetchRole::Lead(_) | FetchRole::Solo(_))
    }

    /// Header lines that ask the server whether the copy has changed.
    pub(crate) fn conditions(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        if let Some(copy) = self.copy.as_ref().filter(|_| self.is_conditional) {
            let stored = &copy.object.value().metadata.stored;
            stored.write_conditions(&mut lines);
        }
        lines
    }

    /// There is no answer: whoever waits for it is told so. Gives what may stand in for it.
    pub(crate) fn fail(self) -> (Option<Hit<CachedResponse>>, KeyedRequest) {
        if let FetchRole::Lead(leader) = self.role {
            leader.fail();
        }
        (self.copy, self.keyed_request)
    }
}

/// Whom an exchange fetches for.
#[derive(Debug)]
pub(crate) enum FetchRole {
    /// Everybody who asks for the same.
    Lead(Leader<CachedResponse, ResponseMetadata>),
    /// The one who asked, of so many kinds of requests for the same; the answer may be kept all the same.
    Solo(u64),
    /// The one who asked, for something that is no copy's: what its answer means for copies is looked at.
    Watch,
}

/// What becomes of an exchange whose answer does not go on to the client as it comes.
#[derive(Debug)]
pub(crate) enum CacheOutcome {
    /// It is kept, and read along.
    Collapsed(Follower<ResponseMetadata>, Rc<Pace>, CacheStatus),
    /// A copy answers.
    Page(Arc<Object<CachedResponse>>, CacheStatus),
    /// A copy that is not kept any longer answers, once.
    Once(Arc<CachedResponse>, CacheStatus),
    /// The server is ill, by its own word; there is a copy for that.
    Ill(u16),
    /// What it said is about something else: it is asked again without a condition.
    Again,
    /// It is not kept, and nobody asked for it.
    Nothing,
}

/// An answer that is kept while it comes.
#[derive(Debug)]
pub(crate) struct Filling {
    pub(crate) leader: Leader<CachedResponse, ResponseMetadata>,
    pub(crate) metadata: Arc<ResponseMetadata>,
    pub(crate) labels: Box<[u64]>,
    pub(crate) begun: Begun,
    /// Its way to the disk, when it may be long.
    pub(crate) spool: Option<Spool>,
    pub(crate) cache: Arc<Cache>,
    /// Hash and kind of requests that shall not wait for each other, for nobody else may be given it.
    pub(crate) passes: Option<(u64, u64)>,
    /// Bytes of its body so far.
    pub(crate) len: u64,
    /// Whether it can still be kept whole.
    pub(crate) fits: bool,
    pub(crate) status: CacheStatus,
    /// How far the one who asked is.
    pub(crate) pace: Rc<Pace>,
}
