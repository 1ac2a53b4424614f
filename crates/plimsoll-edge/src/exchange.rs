//! One request and its answer, between a client and a server.
//!
//! Bytes move both ways at once: a server may answer before it has read the whole request. Each direction holds back
//! when its receiver is slow, so that an exchange never holds more than a buffer of each. What the bytes mean is
//! settled by [`answer`] and the wire crate; here they are moved.

mod answer;
mod coding;
mod link;
mod pace;
mod revalidation;
mod storage;
mod waits;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use plimsoll_cache::CacheStatus;
use plimsoll_config::edge::CompressCoding;
use plimsoll_wire::framing::BodyReader;

use crate::cache::fetch::{CacheOutcome, Fetch};
use crate::cache::keyed_request::KeyedRequest;
use crate::client::{ClientStream, poll_read, poll_write};
use crate::clock::Nanoseconds;
use crate::event_loop::EventLoop;
use crate::forward;
use crate::moments::Moments;
use crate::outgoing::GATHERED_MAX;
use crate::outgoing::Outgoing;
use crate::pool::server::UpstreamServer;
use crate::pool::{Permit, PoolRequest};
use crate::settings::Settings;
use crate::upstream::Upstream;
use answer::UpstreamResponse;
pub(crate) use link::UpstreamLink;
use waits::ExchangeWait;

/// Slowest client that is borne with, bytes a second, once it has been waited for as long as its time-out.
///
/// A byte now and then would otherwise hold a place with a server for as long as somebody likes.
pub(crate) const SLOWEST: u64 = 512;
/// What is remembered of a request while its answer is fetched.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one request"
)]
pub(crate) struct Facts {
    pub(crate) is_head: bool,
    /// It may be sent twice without doing twice what was meant once.
    pub(crate) is_idempotent: bool,
    pub(crate) is_1_1: bool,
    pub(crate) keep_alive: bool,
    pub(crate) upgrade: bool,
    /// The route's fallback may stand in for its answer.
    pub(crate) takes_page: bool,
    pub(crate) is_get: bool,
    /// How the client takes its answer, on a route that compresses.
    pub(crate) coding: Option<CompressCoding>,
    pub(crate) route: usize,
}

/// Finished exchanges whose memory is kept.
const SPARE_MAX: usize = 64;

thread_local! {
    /// Those of the loop, which has this thread for itself.
    #[expect(clippy::vec_box, reason = "the boxes themselves are used again")]
    static SPARE: RefCell<Vec<Box<Exchange>>> = const { RefCell::new(Vec::new()) };
}

/// An exchange that holds nothing, with the memory of a finished one.
pub(crate) fn new_exchange() -> Box<Exchange> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Keeps the memory of a finished exchange.
pub(crate) fn recycle(mut exchange: Box<Exchange>) {
    exchange.clear();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < SPARE_MAX {
            spare.push(exchange);
        }
    });
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeEnd {
    /// The client has its answer; whether its connection can be used again.
    Done { keep: bool },
    /// Both sides speak another protocol from here on.
    Switched,
    /// The client has got nothing yet, and will not get it from the server.
    Failed(UpstreamFailure),
    /// The client has got a part, and will not get the rest.
    Broken,
    /// The client has left.
    ClientGone,
    /// The client's body is not acceptable; the status that says so.
    Refused(u16),
    /// The client is answered otherwise; [`Exchange::kept`] says how.
    Diverted,
}

/// Why a server gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamFailure {
    /// No connection could be made.
    NoConnection,
    /// It closed the connection.
    Reset,
    /// It took too long.
    Timeout,
    /// What it said is not HTTP.
    BadAnswer,
}

/// The client's side of an exchange.
pub(crate) struct Side<'a> {
    pub(crate) client: &'a mut ClientStream,
    /// Bytes that came and were not used yet.
    pub(crate) held: &'a mut Vec<u8>,
    pub(crate) event_loop: &'a Rc<EventLoop>,
    pub(crate) deadline: usize,
}

/// What a round of an exchange came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeProgress {
    /// Everything waits.
    Still,
    /// Something was written, and what is read next waits: another round would find nothing.
    Sent,
    /// Something was read: there may be more, and there may be something to write now.
    Moved,
}

/// One request on its way.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one exchange"
)]
pub(crate) struct Exchange {
    pub(crate) facts: Facts,
    pub(crate) moments: Moments,
    pub(crate) settings: Option<Rc<Settings>>,
    pub(crate) pool_request: Option<PoolRequest>,
    pub(crate) permit: Option<Permit>,
    /// Who was asked last.
    pub(crate) server: Option<Arc<UpstreamServer>>,
    pub(crate) link: UpstreamLink,
    /// The request as the server gets it: its head, then pieces of its body.
    pub(crate) to_server: Outgoing,
    pub(crate) body: BodyReader,
    /// Whether the body goes on in chunks.
    pub(crate) body_is_chunked: bool,
    pub(crate) body_done: bool,
    /// Whether `to_server` still holds the whole request.
    pub(crate) is_whole: bool,
    /// The beginning of its line in the access log.
    pub(crate) line: Vec<u8>,
    /// Somebody will be told which server it was.
    pub(crate) is_reported: bool,
    /// Its place in line, of which it is the turn; and whether the client came by TLS.
    pub(crate) queue_number: Option<(u64, bool)>,
    /// A cookie that lets the client past the line.
    pub(crate) pass: Option<String>,
    /// What the cache wants of it.
    pub(crate) fetch: Option<Box<Fetch>>,
    /// What is said of the cache.
    pub(crate) cache_status: Option<CacheStatus>,
    /// How the client is answered when the answer does not go on as it comes.
    pub(crate) cache_outcome: Option<CacheOutcome>,
    /// What was asked for, when it is.
    pub(crate) keyed_request: Option<KeyedRequest>,
    pub(crate) bytes_out: u64,
    answer: UpstreamResponse,
    to_client: Outgoing,
    /// The server takes no more of the request.
    deaf: bool,
    attempts: u8,
    waits: ExchangeWait,
    /// Since when the client is waited for, and for how long it was before.
    waits_since: Nanoseconds,
    waited: Nanoseconds,
}

impl Exchange {
    /// Forgets everything but its memory.
    pub(crate) fn clear(&mut self) {
        self.settings = None;
        self.permit = None;
        self.server = None;
        self.pool_request = None;
        self.link.clear();
        self.to_server.clear();
        self.to_client.clear();
        self.answer.clear();
        self.line.clear();
        self.queue_number = None;
        self.pass = None;
        self.fetch = None;
        self.cache_status = None;
        self.cache_outcome = None;
        self.keyed_request = None;
        self.moments = Moments::default();
        self.bytes_out = 0;
        self.deaf = false;
        self.attempts = 0;
        self.waits = ExchangeWait::Nothing;
        self.waited = 0;
    }

    /// Memory it takes for bytes on their way.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.to_server.memory() + self.to_client.memory() + self.answer.memory()
    }

    /// The status the client got, if it got one.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.status()
    }

    /// Moves what can be moved.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Poll<ExchangeEnd> {
        let mut moved = false;
        loop {
            let step = self.step(cx, side);
            moved |= matches!(step, Ok(ExchangeProgress::Moved | ExchangeProgress::Sent));
            match step {
                Ok(_) if self.cache_outcome.is_some() => return Poll::Ready(ExchangeEnd::Diverted),
                Ok(ExchangeProgress::Moved | ExchangeProgress::Sent) if self.answer.is_coding() => {
                    // What compresses takes its time: others have their turn between two pieces.
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
                        // It may have answered before it closed; what it said is still to be read.
                        self.deaf = true;
                    }
                    self.keep_deadline(side, moved);
                    return Poll::Pending;
                }
                Err(end) => return Poll::Ready(end),
            }
        }
    }

    /// Whether all of the answer has come and was written to the client.
    #[inline]
    fn has_delivered(&self) -> bool {
        self.answer.is_complete() && self.to_client.is_empty()
    }

    /// One round of everything.
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

    /// The request goes to the server.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        let Some(stream) = self.link.stream() else {
            return false;
        };
        while !self.to_server.is_empty() && !self.deaf {
            match poll_write(stream, cx, self.to_server.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.to_server.advance(count);
                    moved = true;
                }
                // It may have answered before it closed; what it said is still to be read.
                Poll::Ready(_) => {
                    self.deaf = true;
                    moved = true;
                }
                Poll::Pending => break,
            }
        }
        moved
    }

    /// The client's body is taken as far as the server has taken what came before.
    fn take_body(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
    ) -> Result<bool, ExchangeEnd> {
        if self.body_done || self.deaf || !self.to_server.is_empty() || self.answer.is_complete() {
            return Ok(false);
        }
        self.is_whole = false;
        self.to_server.clear();
        if !side.held.is_empty() {
            let held = std::mem::take(side.held);
            let taken = self.feed(&held)?;
            *side.held = held;
            side.held.drain(..taken);
            return Ok(true);
        }
        let mut shared = side.event_loop.shared.borrow_mut();
        match side.client.poll_read(cx, &mut shared) {
            Poll::Ready(Ok(count)) if count > 0 => {
                side.event_loop.figures.bytes_in.add(count as u64);
                let taken = self.feed(&shared[..count])?;
                side.held.extend_from_slice(&shared[taken..count]);
                Ok(true)
            }
            Poll::Ready(_) => Err(ExchangeEnd::ClientGone),
            Poll::Pending => Ok(false),
        }
    }

    /// Takes a piece of the client's body; how much of it was body.
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, ExchangeEnd> {
        let out = &mut self.to_server.bytes;
        let taken = if self.body_is_chunked {
            self.body
                .take(bytes, |content| forward::chunk(out, content))
        } else {
            self.body
                .take(bytes, |content| out.extend_from_slice(content))
        };
        let taken = taken.map_err(|error| {
            let status = if error == plimsoll_wire::error::Http1Error::BodyTooLong {
                413
            } else {
                400
            };
            self.refusal(status)
        })?;
        if self.body.is_complete() {
            self.body_done = true;
            if self.body_is_chunked {
                self.to_server.bytes.extend_from_slice(forward::LAST_CHUNK);
            }
        }
        Ok(taken)
    }

    fn refusal(&self, status: u16) -> ExchangeEnd {
        if self.bytes_out > 0 || !self.to_client.is_empty() {
            ExchangeEnd::Broken
        } else {
            ExchangeEnd::Refused(status)
        }
    }

    /// What the client did not take at once goes on.
    fn deliver(&mut self, cx: &mut Context<'_>, side: &mut Side<'_>) -> Result<bool, ExchangeEnd> {
        let mut moved = false;
        while !self.to_client.is_empty() {
            match side.client.poll_write(cx, self.to_client.left(), &[]) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.to_client.advance(count);
                    self.bytes_out += count as u64;
                    moved = true;
                }
                Poll::Ready(_) => return Err(ExchangeEnd::ClientGone),
                Poll::Pending => break,
            }
        }
        self.to_client.clear_if_written();
        Ok(moved)
    }

    /// The answer comes, and goes to the client at once as far as it takes it.
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
                // Nothing more for now: the client gets all there is so far.
                self.flush_coder(side)
            }
        }
    }

    /// Writes what is to go out and then `direct`; what does not fit is kept.
    fn pass(
        &mut self,
        cx: &mut Context<'_>,
        side: &mut Side<'_>,
        direct: &[u8],
    ) -> Result<(), ExchangeEnd> {
        let mut direct = direct;
        if direct.len() <= GATHERED_MAX && !self.to_client.is_empty() {
            self.to_client.bytes.extend_from_slice(direct);
            direct = &[];
        }
        while !(self.to_client.is_empty() && direct.is_empty()) {
            let first = self.to_client.left();
            let first_len = first.len();
            match side.client.poll_write(cx, first, direct) {
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.bytes_out += count as u64;
                    self.to_client.advance(count.min(first_len));
                    direct = &direct[count.saturating_sub(first_len)..];
                }
                Poll::Ready(_) => return Err(ExchangeEnd::ClientGone),
                Poll::Pending => {
                    self.to_client.bytes.extend_from_slice(direct);
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
            keep: self.answer.keeps_client() && self.body_done,
        }
    }

    /// What is still to be given to the client of what came before the answer.
    pub(crate) fn take_early(&mut self) -> Outgoing {
        std::mem::take(&mut self.to_client)
    }

    /// Whether there is nothing more to come from the server.
    pub(crate) fn has_all(&self) -> bool {
        self.answer.is_complete()
    }

    /// It goes on without its client: deadlines begin anew.
    pub(crate) fn detach(&mut self) {
        self.to_client.clear();
        self.line.clear();
        self.waits = ExchangeWait::Nothing;
    }

    /// Both ends, for a tunnel.
    pub(crate) fn take_link(&mut self) -> Option<(Upstream, Option<Permit>)> {
        Some((self.link.take()?, self.permit.take()))
    }

    fn failure(&self, failure: UpstreamFailure) -> ExchangeEnd {
        if self.bytes_out > 0 || !self.to_client.is_empty() {
            ExchangeEnd::Broken
        } else {
            ExchangeEnd::Failed(failure)
        }
    }
}
