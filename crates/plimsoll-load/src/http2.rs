//! HTTP/2 on one connection, without I/O: bytes go in and come out, streams begin and end; and what a loop has of it
//! beside its connections.
//!
//! The protocol is the `h2` crate's, which is written as futures. The loop polls them itself whenever bytes arrive, so
//! that no second runtime is needed and every moment is taken from the same clock as with HTTP/1.1
//! (docs/decisions/0090-http2-by-h2-in-the-loop.md).

mod loop_state;
mod message;
mod pipe;
mod stream;
mod wakes;

use std::future::Future as _;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{self, Connection, SendRequest};
use http::Request;
use plimsoll_model::plan::STREAMS_MAX;
use plimsoll_wire::head::HeadLimits;
use plimsoll_wire::response::Expected;
use slab::Slab;

use self::pipe::{H2PipeEnd, Pipe};
use self::stream::Http2Stream;
use self::wakes::{Wakes, stream_waker};

pub(crate) use loop_state::Http2LoopState;
pub(crate) use message::{AnswerHead, request};
pub(crate) use stream::{Again, StreamFailure, Take};

/// Flow-control window of one response, bytes: the same as in browsers.
const STREAM_WINDOW: u32 = 6 << 20;

/// Flow-control window of a connection.
const CONNECTION_WINDOW: u32 = 15 << 20;

/// What HTTP/2 counts for each header beside its name and value, bytes (RFC 9113, 6.5.2).
const HEADER_OVERHEAD: usize = 32;

/// Longest list of headers that h2 hands over, bytes: several times the limit, so that the outcome can name the limit. A
/// longer one is a protocol error of h2, from which its cause cannot be told.
fn header_list_max(limits: HeadLimits) -> u32 {
    let longest = limits.len + HEADER_OVERHEAD * limits.headers;
    u32::try_from(4 * longest).unwrap_or(u32::MAX)
}

/// How a request ended.
#[derive(Debug)]
pub(crate) struct StreamEnd {
    pub(crate) request: u32,
    pub(crate) result: Result<AnswerHead, StreamFailure>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    /// Open streams continue; no new request is sent.
    Draining,
    /// Closed.
    Over,
}

/// One connection's state.
pub(crate) struct Http2Connection {
    pipe: Pipe,
    connection: Connection<H2PipeEnd, Bytes>,
    /// `None` after GOAWAY.
    sender: Option<SendRequest<Bytes>>,
    streams: Slab<Http2Stream>,
    streams_max: usize,
    standing: Standing,
    has_capacity: bool,
    /// It ended because of a protocol or TLS error.
    is_failed: bool,
    wakes: Arc<Wakes>,
    waker: Waker,
    /// State of the streams, by number.
    wakers: Vec<Waker>,
    /// When bytes last arrived, ns of run time.
    last_received_ns: u64,
}

impl std::fmt::Debug for Http2Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Http2Connection")
            .field("streams", &self.streams.len())
            .field("standing", &self.standing)
            .finish_non_exhaustive()
    }
}

impl Http2Connection {
    /// A connection with at most so many concurrent requests, established at `now`.
    ///
    /// The target's settings are still unknown: until then one request is sent, so that a target with a lower limit has
    /// nothing to refuse.
    pub(crate) fn new(streams_max: u32, limits: HeadLimits, now: u64) -> Option<Box<Self>> {
        let pipe = Pipe::default();
        let mut builder = client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(header_list_max(limits))
            .initial_max_send_streams(1);
        let wakes = Arc::new(Wakes::default());
        let own = Waker::from(Arc::clone(&wakes));
        // It only waits for room to write, of which there is enough.
        let handshake = pin!(builder.handshake(pipe.inner()));
        let Poll::Ready(Ok((sender, connection))) = handshake.poll(&mut Context::from_waker(&own))
        else {
            return None;
        };
        Some(Box::new(Self {
            pipe,
            connection,
            sender: Some(sender),
            streams: Slab::new(),
            streams_max: streams_max.min(STREAMS_MAX) as usize,
            standing: Standing::Open,
            has_capacity: true,
            is_failed: false,
            wakes,
            waker: own,
            wakers: Vec::new(),
            last_received_ns: now,
        }))
    }

    /// Bytes arrived from the target. Returns false when too many are unread.
    pub(crate) fn push(&mut self, bytes: &[u8], now: u64) -> bool {
        self.last_received_ns = now;
        self.pipe.push(bytes)
    }

    /// The target closed its side.
    pub(crate) fn end(&mut self) {
        self.pipe.end();
    }

    pub(crate) fn has_outward(&self) -> bool {
        self.pipe.has_outward()
    }

    /// Passes pending output to `write`, which returns how much it wrote.
    pub(crate) fn write_with(
        &mut self,
        write: impl FnOnce(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.pipe.write_with(write)
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    /// Whether it ended because of a protocol or TLS error.
    pub(crate) fn is_failed(&self) -> bool {
        self.is_failed
    }

    /// Whether another request may be sent now.
    pub(crate) fn has_capacity(&self) -> bool {
        self.has_capacity
    }

    /// Whether no stream is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Whether [`Http2Connection::poll`] has something to do.
    pub(crate) fn is_woken(&self) -> bool {
        self.wakes.has_any()
    }

    /// Sends a request; `expected` limits the response. Returns whether it was sent.
    pub(crate) fn send(
        &mut self,
        request: u32,
        message: Request<()>,
        body: Bytes,
        expected: Expected,
    ) -> bool {
        let Some(sender) = &mut self.sender else {
            return false;
        };
        let Ok((answer, mut sending)) = sender.send_request(message, body.is_empty()) else {
            self.refresh();
            return false;
        };
        // The body waits in h2 for the target's window.
        if !body.is_empty() && sending.send_data(body, true).is_err() {
            self.refresh();
            return false;
        }
        let index = self
            .streams
            .insert(Http2Stream::new(request, answer, expected));
        while self.wakers.len() <= index {
            let waker = stream_waker(&self.wakes, self.wakers.len());
            self.wakers.push(waker);
        }
        // Events until now are repeated once it is registered.
        if self.streams[index].listen(&self.wakers[index]).is_err() {
            self.streams.remove(index);
            self.refresh();
            return false;
        }
        self.drive();
        self.refresh();
        true
    }

    /// Aborts a request, and resets its stream. Returns whether it was open. A target that has sent nothing since then
    /// receives no further request on this connection.
    pub(crate) fn cancel(&mut self, request: u32, sent: u64) -> bool {
        let mut all = self.streams.iter();
        let Some((index, _)) = all.find(|(_, stream)| stream.request == request) else {
            return false;
        };
        // A stream dropped before its end is reset.
        self.streams.remove(index);
        if self.last_received_ns < sent {
            self.leave();
        }
        self.drive();
        self.refresh();
        true
    }

    /// Sends no new request from now on.
    pub(crate) fn leave(&mut self) {
        if self.standing == Standing::Open {
            self.standing = Standing::Draining;
        }
        self.has_capacity = false;
    }

    /// Removes all open requests from the connection.
    pub(crate) fn abandon(&mut self) -> Vec<u32> {
        self.standing = Standing::Over;
        self.has_capacity = false;
        self.streams.drain().map(|stream| stream.request).collect()
    }

    /// Sends GOAWAY; the connection closes when it is written.
    pub(crate) fn send_goaway(&mut self) {
        self.sender = None;
        self.drive();
        self.standing = Standing::Over;
        self.has_capacity = false;
    }

    /// Collects events: heads and content go to `take`, ends to `ends`.
    pub(crate) fn poll(&mut self, take: &mut impl Take, ends: &mut Vec<StreamEnd>) {
        loop {
            self.drive();
            if self.standing == Standing::Over {
                for (index, _) in &self.streams {
                    self.wakes.wake_stream(index);
                }
            }
            let mut has_polled = false;
            while let Some(index) = self.wakes.take_stream() {
                has_polled = true;
                // A stream that ended since it was woken is gone, or its number is reused; an extra poll does no harm.
                let Some(stream) = self.streams.get_mut(index) else {
                    continue;
                };
                let mut context = Context::from_waker(&self.wakers[index]);
                if let Some(result) = stream.poll(&mut context, take) {
                    let request = self.streams.remove(index).request;
                    ends.push(StreamEnd { request, result });
                }
            }
            if self.standing == Standing::Over || (!has_polled && !self.wakes.has_any()) {
                break;
            }
        }
        if self.standing == Standing::Over {
            let left = self.streams.drain().map(|stream| StreamEnd {
                request: stream.request,
                result: Err(stream.cut()),
            });
            ends.extend(left);
        }
        self.refresh();
    }

    /// Lets h2 read received bytes and write its output.
    fn drive(&mut self) {
        if self.standing == Standing::Over {
            return;
        }
        let mut context = Context::from_waker(&self.waker);
        loop {
            self.wakes.take_connection();
            if let Poll::Ready(result) = Pin::new(&mut self.connection).poll(&mut context) {
                // The reason is in its streams.
                self.standing = Standing::Over;
                self.is_failed = result.is_err();
                return;
            }
            if !self.wakes.connection_is_woken() {
                return;
            }
        }
    }

    fn refresh(&mut self) {
        if self.standing == Standing::Open
            && let Some(sender) = &mut self.sender
        {
            match sender.poll_ready(&mut Context::from_waker(&self.waker)) {
                Poll::Ready(Ok(())) => {
                    let max = self.connection.max_concurrent_send_streams();
                    self.has_capacity = self.streams.len() < max.min(self.streams_max);
                    return;
                }
                Poll::Ready(Err(_)) => self.standing = Standing::Draining,
                Poll::Pending => {}
            }
        }
        self.has_capacity = false;
    }
}
