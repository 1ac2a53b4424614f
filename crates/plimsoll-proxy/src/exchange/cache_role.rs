//! The role of the cache in an exchange.

use plimsoll_cache::CacheStatus;

use crate::lookup::fetch::{CacheOutcome, Fetch, FetchRole};
use crate::lookup::keyed_request::KeyedRequest;

/// What the cache wants of an exchange, and what came of it.
#[derive(Debug, Default)]
pub(super) struct CacheRole {
    /// The fetch for the cache, until its response has a destination.
    fetch: Option<Box<Fetch>>,
    /// The `Cache-Status` of the response.
    status: Option<CacheStatus>,
    /// How the client is answered when the response is not streamed directly.
    outcome: Option<CacheOutcome>,
    /// The request, with `outcome`.
    keyed_request: Option<KeyedRequest>,
}

impl CacheRole {
    pub(super) fn new(fetch: Option<Box<Fetch>>, status: Option<CacheStatus>) -> Self {
        Self {
            fetch,
            status,
            outcome: None,
            keyed_request: None,
        }
    }

    /// Whether other requests wait for the fetch.
    pub(super) fn leads(&self) -> bool {
        let fetch = self.fetch.as_ref();
        fetch.is_some_and(|fetch| matches!(fetch.role, FetchRole::Lead(_)))
    }

    pub(super) fn take_fetch(&mut self) -> Option<Box<Fetch>> {
        self.fetch.take()
    }

    #[inline]
    pub(super) fn status(&self) -> Option<CacheStatus> {
        self.status
    }

    pub(super) fn set_status(&mut self, status: CacheStatus) {
        self.status = Some(status);
    }

    /// Whether the client is answered in another way than from the server.
    #[inline]
    pub(super) fn is_diverted(&self) -> bool {
        self.outcome.is_some()
    }

    /// The client is answered in this way.
    pub(super) fn divert(&mut self, outcome: CacheOutcome) {
        self.outcome = Some(outcome);
    }

    /// The server reported an error, and the fetch has a stored response to replace it.
    pub(super) fn divert_failed(&mut self, fetch: Fetch, status: u16) {
        self.outcome = Some(CacheOutcome::Ill(status));
        self.fetch = Some(Box::new(fetch));
    }

    /// Whether the client reads along, and has not begun yet.
    pub(super) fn is_collapsed(&self) -> bool {
        matches!(self.outcome, Some(CacheOutcome::Collapsed(..)))
    }

    /// Keeps the request for an outcome, if there is one.
    pub(super) fn keep_request(&mut self, keyed_request: KeyedRequest) {
        if self.outcome.is_some() {
            self.keyed_request = Some(keyed_request);
        }
    }

    /// The outcome, with its request.
    pub(super) fn take_outcome(&mut self) -> Option<(CacheOutcome, KeyedRequest)> {
        Some((self.outcome.take()?, self.keyed_request.take()?))
    }
}
