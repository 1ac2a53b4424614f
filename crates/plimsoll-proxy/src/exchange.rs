//! One request and its response, between a client and an upstream server.
//!
//! Bytes move both ways at once: a server may respond before it has read the whole request. Each direction applies
//! backpressure when its receiver is slow, so an exchange never holds more than one buffer of each. [`answer`] and the
//! wire crate interpret the bytes; this module moves them.

mod answer;
mod cache_role;
mod coding;
mod link;
mod pace;
mod record;
mod response_body;
mod revalidation;
mod spare;
mod storage;
pub(crate) mod tunnel;
mod upload;
mod waiting_client;
mod waits;

use std::rc::Rc;
use std::task::{Context, Poll};

use plimsoll_cache::CacheStatus;
use plimsoll_config::edge::{CompressCoding, Timeouts};
use plimsoll_net::client_socket::poll_read;
use plimsoll_net::upstream::Upstream;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::head::BodyLength;

use crate::balance::{Permit, PoolRequest};
use crate::client::ClientStream;
use crate::event_loop::EventLoop;
use crate::lookup::fetch::{CacheOutcome, Fetch};
use crate::lookup::keyed_request::KeyedRequest;
use crate::message::outgoing::GATHERED_MAX;
use crate::message::outgoing::Outgoing;
use crate::message::receive_buffer::ReceiveBuffer;
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
}

/// The client's side of an exchange.
pub(crate) struct Side<'a> {
    pub(crate) client: &'a mut ClientStream,
    pub(crate) received: &'a mut ReceiveBuffer,
    pub(crate) event_loop: &'a EventLoop,
    pub(crate) deadline: usize,
}

/// Result of one round of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeProgress {
    /// No progress.
    Still,
    /// Something was written, and the next read is pending: another round would find nothing.
    Sent,
    /// Something was read: there may be more, and something to write.
    Moved,
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

    /// Makes progress in both directions.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Poll<ExchangeEnd> {
        let mut moved = false;
        loop {
            let step = self.step(cx, side);
            moved |= matches!(step, Ok(ExchangeProgress::Moved | ExchangeProgress::Sent));
            match step {
                Ok(_) if self.cache.is_diverted() => return Poll::Ready(ExchangeEnd::Diverted),
                Ok(ExchangeProgress::Moved | ExchangeProgress::Sent) if self.answer.is_coding() => {
                    // Compression is CPU-bound: other tasks run between two pieces.
                    self.keep_deadline(side, true);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Ok(ExchangeProgress::Moved) if !self.has_delivered() => {}
                Ok(_) => {
                    let is_flushed = match side.client.poll_flush(cx) {
                        Poll::Ready(Ok(())) => true,
                        Poll::Ready(Err(_)) => return Poll::Ready(ExchangeEnd::ClientGone),
                        Poll::Pending => false,
                    };
                    if is_flushed && self.has_delivered() {
                        return Poll::Ready(self.done());
                    }
                    if let Poll::Ready(Err(_)) = self.link.poll_flush(cx) {
                        self.upload.stop();
                    }
                    self.keep_deadline(side, moved);
                    return Poll::Pending;
                }
                Err(end) => return Poll::Ready(end),
            }
        }
    }

    /// Whether the whole response has arrived and was written to the client.
    #[inline]
    fn has_delivered(&self) -> bool {
        self.answer.is_complete() && self.to_client.is_empty()
    }

    /// One round in all directions.
    fn step(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
    ) -> Result<ExchangeProgress, ExchangeEnd> {
        if self.link.is_connecting() && !self.poll_connection(cx, side)? {
            return Ok(ExchangeProgress::Still);
        }
        let sent = self.send(cx);
        let taken = self.take_body(cx, side)?;
        let delivered = self.deliver(cx, side)?;
        let received = self.receive(cx, side)?;
        Ok(if taken || received {
            ExchangeProgress::Moved
        } else if sent || delivered {
            ExchangeProgress::Sent
        } else {
            ExchangeProgress::Still
        })
    }

    /// Sends the request to the server.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(stream) = self.link.stream() else {
            return false;
        };
        self.upload.send(cx, stream)
    }

    /// Reads the client's body, as far as the server has taken what came before.
    fn take_body(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
    ) -> Result<bool, ExchangeEnd> {
        if !self.upload.wants_body() || self.answer.is_complete() {
            return Ok(false);
        }
        self.upload.begin_piece();
        if !side.received.is_empty() {
            let received = side.received.take();
            let taken = self.feed(&received)?;
            side.received.put_back(received);
            side.received.skip(taken);
            return Ok(true);
        }
        let mut shared = side.event_loop.shared.borrow_mut();
        match side.client.poll_read(cx, &mut shared) {
            Poll::Ready(Ok(count)) if count > 0 => {
                side.event_loop.figures.bytes_in.add(count as u64);
                let taken = self.feed(&shared[..count])?;
                side.received.append(&shared[taken..count]);
                Ok(true)
            }
            Poll::Ready(_) => Err(ExchangeEnd::ClientGone),
            Poll::Pending => Ok(false),
        }
    }

    /// Takes a piece of the client's body; returns how many bytes belonged to it.
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, ExchangeEnd> {
        self.upload.feed(bytes).map_err(|error| {
            let status = if error == Http1Error::BodyTooLong {
                413
            } else {
                400
            };
            self.refusal(status)
        })
    }

    fn refusal(&self, status: u16) -> ExchangeEnd {
        if self.record.bytes_out() > 0 || !self.to_client.is_empty() {
            ExchangeEnd::Broken
        } else {
            ExchangeEnd::Refused(status)
        }
    }

    /// Writes pending output to the client.
    fn deliver(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Result<bool, ExchangeEnd> {
        let mut moved = false;
        while !self.to_client.is_empty() {
            match side.client.poll_write(cx, self.to_client.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.to_client.advance(count);
                    self.record.sent(count);
                    moved = true;
                }
                Poll::Ready(_) => return Err(ExchangeEnd::ClientGone),
                Poll::Pending => break,
            }
        }
        self.to_client.clear_if_written();
        Ok(moved)
    }

    /// Reads the response, and writes it directly to the client as far as possible.
    fn receive(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Result<bool, ExchangeEnd> {
        if !self.to_client.is_empty() || self.answer.is_complete() {
            return Ok(false);
        }
        if self.is_in_vain() {
            return Err(ExchangeEnd::Broken);
        }
        if self.is_far_ahead(cx) {
            return Ok(false);
        }
        let Some(stream) = self.link.stream() else {
            return Ok(false);
        };
        let mut shared = side.event_loop.shared.borrow_mut();
        match poll_read(stream, cx, &mut shared) {
            Poll::Ready(Ok(count)) if count > 0 => {
                let direct = self.take_answer(&shared[..count], side)?;
                self.pass(cx, side, &shared[direct])?;
                Ok(true)
            }
            Poll::Ready(end) => {
                drop(shared);
                self.server_ended(side, end.is_ok())?;
                Ok(true)
            }
            Poll::Pending => {
                drop(shared);
                // Nothing more for now: flush, so that the client gets everything available.
                self.flush_coder(side)
            }
        }
    }

    /// Writes pending output and then `direct`; what does not fit is buffered.
    fn pass(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
        direct: &[u8],
    ) -> Result<(), ExchangeEnd> {
        let mut direct = direct;
        if direct.len() <= GATHERED_MAX && !self.to_client.is_empty() {
            self.to_client.append(direct);
            direct = &[];
        }
        while !(self.to_client.is_empty() && direct.is_empty()) {
            let first = self.to_client.left();
            let first_len = first.len();
            match side.client.poll_write(cx, first, direct) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.record.sent(count);
                    self.to_client.advance(count.min(first_len));
                    direct = &direct[count.saturating_sub(first_len)..];
                }
                Poll::Ready(_) => return Err(ExchangeEnd::ClientGone),
                Poll::Pending => {
                    self.to_client.append(direct);
                    return Ok(());
                }
            }
        }
        self.to_client.clear();
        Ok(())
    }

    fn done(&mut self) -> ExchangeEnd {
        if self.answer.has_switched() {
            return ExchangeEnd::Switched;
        }
        ExchangeEnd::Done {
            keep: self.answer.keeps_client() && self.upload.is_received(),
        }
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

    fn failure(&self, failure: UpstreamFailure) -> ExchangeEnd {
        if self.record.bytes_out() > 0 || !self.to_client.is_empty() {
            ExchangeEnd::Broken
        } else {
            ExchangeEnd::Failed(failure)
        }
    }
}
