//! One request and its response, between a client and an upstream server.
//!
//! Bytes move both ways at once: a server may respond before it has read the whole request. [`transfer`] moves them;
//! [`answer`] and the wire crate interpret them.

mod answer;
mod cache_role;
mod coding;
mod course;
mod link;
mod pace;
mod received_head;
mod record;
mod response_body;
mod revalidation;
mod spare;
mod storage;
mod transfer;
pub(crate) mod tunnel;
mod upload;
mod waiting_client;
mod waits;

use std::rc::Rc;

use plimsoll_cache::CacheStatus;
use plimsoll_config::edge::{CompressCoding, Timeouts};
use plimsoll_net::upstream::Upstream;
use plimsoll_wire::head::BodyLength;

use crate::balance::{Permit, PoolRequest};
use crate::client::channel::ClientChannel;
use crate::event_loop::EventLoop;
use crate::lookup::fetch::{CacheOutcome, Fetch};
use crate::lookup::keyed_request::KeyedRequest;
use crate::message::outgoing::Outgoing;
use crate::settings::Settings;
use crate::telemetry::moments::Moments;
use answer::UpstreamResponse;
use cache_role::CacheRole;
use link::UpstreamLink;
use record::ExchangeRecord;
pub(crate) use spare::SpareExchanges;
use upload::RequestUpload;
use waiting_client::WaitingClient;
use waits::ExchangeWaits;

/// Slowest accepted client, bytes a second, once it has been waited for as long as its timeout.
///
/// Otherwise a client that takes a byte now and then could hold an upstream permit indefinitely.
pub(crate) const SLOWEST: u64 = 512;
/// Facts of a request that are needed when its response arrives.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one request"
)]
pub(crate) struct Facts {
    pub(crate) is_head: bool,
    /// The request may be repeated without changing the result.
    pub(crate) is_idempotent: bool,
    pub(crate) is_1_1: bool,
    pub(crate) keep_alive: bool,
    pub(crate) upgrade: bool,
    /// The route's fallback may replace the response.
    pub(crate) takes_page: bool,
    pub(crate) is_get: bool,
    /// The coding that the client accepts, on a route that compresses.
    pub(crate) coding: Option<CompressCoding>,
    pub(crate) route: usize,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeEnd {
    /// The client has the response; whether its connection can be reused.
    Done { keep: bool },
    /// Both sides switched to another protocol.
    Switched,
    /// The client has received nothing, and will not receive anything from this server.
    Failed(UpstreamFailure),
    /// The client has received a part, and will not receive the rest.
    Broken,
    /// The client disconnected.
    ClientGone,
    /// The client's body is not acceptable; the status for the client.
    Refused(u16),
    /// The client is answered in another way; see [`Exchange::take_outcome`].
    Diverted,
}

/// Why a server gave no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamFailure {
    /// The connection failed.
    NoConnection,
    /// The server closed the connection.
    Reset,
    /// Timeout.
    Timeout,
    /// The response is not valid HTTP.
    BadAnswer,
    /// The head of the response is longer than allowed.
    HeadTooLong,
    /// The response has more headers than allowed.
    TooManyHeaders,
}

/// The client's side of an exchange.
pub(crate) struct Side<'a> {
    pub(crate) client: &'a mut ClientChannel,
    pub(crate) event_loop: &'a EventLoop,
    pub(crate) deadline: usize,
}

/// A request in progress.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    facts: Facts,
    record: ExchangeRecord,
    /// The settings in effect when it began.
    settings: Option<Rc<Settings>>,
    link: UpstreamLink,
    upload: RequestUpload,
    waiting_client: WaitingClient,
    cache: CacheRole,
    answer: UpstreamResponse,
    to_client: Outgoing,
    waits: ExchangeWaits,
}

impl Exchange {
    /// Resets everything but its memory.
    fn clear(&mut self) {
        self.settings = None;
        self.link.clear();
        self.upload.clear();
        self.to_client.clear();
        self.answer.clear();
        self.record.clear();
        self.waiting_client = WaitingClient::default();
        self.cache = CacheRole::default();
        self.waits = ExchangeWaits::default();
    }

    /// Starts an exchange of a request that has come this far, for a server of the pool that was asked.
    pub(crate) fn begin(
        &mut self,
        facts: Facts,
        moments: Moments,
        settings: &Rc<Settings>,
        pool_request: PoolRequest,
    ) {
        self.facts = facts;
        self.record.begin(moments);
        self.settings = Some(Rc::clone(settings));
        self.link.set_pool_request(pool_request);
    }

    pub(crate) fn facts(&self) -> Facts {
        self.facts
    }

    /// The settings in effect when it began: a reload may have changed the routes.
    pub(crate) fn settings(&self) -> Option<Rc<Settings>> {
        self.settings.clone()
    }

    /// The pool grants a server.
    pub(crate) fn set_permit(&mut self, permit: Permit) {
        self.link.set_permit(permit);
    }

    /// Timeouts of its pool.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.link.timeouts()
    }

    /// Starts a request with a body of this length, at most `max` bytes; returns the buffer for its head.
    pub(crate) fn begin_upload(
        &mut self,
        has_body: bool,
        length: BodyLength,
        max: u64,
    ) -> &mut Vec<u8> {
        self.upload.begin(has_body, length, max)
    }

    /// Whether a part of the client's body was not read.
    pub(crate) fn has_unread_body(&self) -> bool {
        !self.upload.is_received()
    }

    /// Sets the role of the cache, and the `Cache-Status` of a response that it does not change.
    pub(crate) fn set_fetch(&mut self, fetch: Option<Box<Fetch>>, status: Option<CacheStatus>) {
        self.cache = CacheRole::new(fetch, status);
    }

    /// Takes the fetch for the cache, if there is one without a response.
    pub(crate) fn take_fetch(&mut self) -> Option<Box<Fetch>> {
        self.cache.take_fetch()
    }

    /// Takes how the client of a diverted exchange is answered.
    pub(crate) fn take_outcome(&mut self) -> Option<(CacheOutcome, KeyedRequest)> {
        self.cache.take_outcome()
    }

    /// Whether other requests wait for its fetch.
    pub(crate) fn leads(&self) -> bool {
        self.cache.leads()
    }

    /// The client has a place in a waiting room, with whether it used TLS, or a cookie that admits it past the room.
    pub(crate) fn set_waiting_client(&mut self, number: Option<(u64, bool)>, pass: Option<String>) {
        self.waiting_client = WaitingClient::new(number, pass);
    }

    /// The client's place in the waiting room, until a server answers.
    pub(crate) fn queue_number(&self) -> Option<u64> {
        self.waiting_client.number()
    }

    /// A cookie that admits the client past the waiting room.
    pub(crate) fn waiting_pass(&self) -> Option<&str> {
        self.waiting_client.pass()
    }

    pub(crate) fn take_waiting_pass(&mut self) -> Option<String> {
        self.waiting_client.take_pass()
    }

    /// What it reports so far.
    #[inline]
    pub(crate) fn record(&self) -> &ExchangeRecord {
        &self.record
    }

    pub(crate) fn record_mut(&mut self) -> &mut ExchangeRecord {
        &mut self.record
    }

    /// Memory for bytes in flight.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.upload.memory() + self.to_client.memory() + self.answer.memory()
    }

    /// The status sent to the client, if any.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.status()
    }

    /// Takes output for the client that is still pending from before the response.
    pub(crate) fn take_early(&mut self) -> Outgoing {
        std::mem::take(&mut self.to_client)
    }

    /// Whether nothing more will come from the server.
    pub(crate) fn has_all(&self) -> bool {
        self.answer.is_complete()
    }

    /// Continues without its client: deadlines restart.
    pub(crate) fn detach(&mut self) {
        self.to_client.clear();
        self.record.clear_line();
        self.waits.restart();
    }

    /// Takes the upstream connection, for a tunnel.
    pub(crate) fn take_link(&mut self) -> Option<(Upstream, Option<Permit>)> {
        Some((self.link.take()?, self.link.take_permit()))
    }
}
