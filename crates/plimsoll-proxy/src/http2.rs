//! HTTP/2 towards clients: each stream is presented to the rest of the edge as a connection with one request.
//!
//! A stream's request is written as HTTP/1.1 and parsed by the same reader as any other, so the same requests are
//! rejected and nothing can be smuggled by the conversion. The response comes back in the edge's own framing and is
//! sent in frames. The h2 crate bounds what HTTP/2 itself bounds (headers, streams, small data frames); the connection
//! meter bounds frames without progress and reset streams, and [`lifetime`] bounds the time of a connection. Decision
//! 0349 describes what is counted.

mod lifetime;

use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use h2::Reason;
use h2::server::{Builder, Connection as Frames};
use plimsoll_net::client_socket::ClientSocket;
use plimsoll_net::clock::nanoseconds;
use plimsoll_net::stream::{ConnectionMeter, Http2Stream, Inbound, Metered, Outbound};
use plimsoll_wire::head::HEADERS_MAX;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::client::ClientStream;
use crate::peer::Peer;
use crate::worker::Worker;
use lifetime::{ConnectionLifetime, LifetimeAction, Observed};

/// Concurrent streams of one connection.
const STREAMS_MAX: u32 = 128;
/// Concurrent requests of one connection, including those that the client has reset while a server still works on them.
const UNFINISHED_MAX: usize = 3 * STREAMS_MAX as usize;
/// Bytes that a client may send ahead, per stream and per connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Bytes of the response buffered for a client, per stream.
const SEND_MAX: usize = 128 * 1024;
/// Reset streams that are remembered for a while: frames that were already on their way to them are no violation.
const RESET_KNOWN_MAX: usize = STREAMS_MAX as usize;
const RESET_KNOWN: Duration = Duration::from_secs(10);
/// Streams of one connection that a client may break by protocol violations.
const BROKEN_MAX: usize = STREAMS_MAX as usize;
/// Streams that a client may reset before the edge has accepted them.
const RESETS_BEFORE_ACCEPT_MAX: usize = 50;
/// How often an idle connection is checked.
const IDLE_POLL: Duration = Duration::from_millis(500);

/// What HTTP/2 counts for each header beside its name and value, bytes (RFC 9113, 6.5.2).
const HEADER_OVERHEAD: u32 = 32;

/// Longest list of headers that h2 hands over, bytes: longer than the longest head, which the reader of heads refuses and
/// the log then explains. What is longer still, h2 answers itself with 431.
fn header_list_max(head_len_max: u32) -> u32 {
    let overhead = HEADER_OVERHEAD * u32::try_from(HEADERS_MAX).unwrap_or(u32::MAX);
    head_len_max.saturating_mul(2).saturating_add(overhead)
}

/// Starts serving the request of a stream, which acts as a client of its own.
pub(crate) type Begin = fn(ClientStream, Peer, &Rc<Worker>);

/// Serves a connection to its end and counts it while it is open.
pub(crate) async fn serve<T>(io: T, peer: Peer, event_loop: Rc<Worker>, begin: Begin)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    event_loop.figures.accepted.increment();
    event_loop.figures.connections.increment();
    serve_counted(io, &peer, &event_loop, begin).await;
    event_loop.figures.connections.decrement();
}

/// Serves a connection that is already counted.
pub(crate) async fn serve_counted<T>(io: T, peer: &Peer, event_loop: &Rc<Worker>, begin: Begin)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let limits = event_loop.settings().limits;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_MAX)
        .max_header_list_size(header_list_max(limits.head_len_max))
        .max_concurrent_reset_streams(RESET_KNOWN_MAX)
        .reset_stream_duration(RESET_KNOWN)
        .max_local_error_reset_streams(Some(BROKEN_MAX))
        .max_pending_accept_reset_streams(RESETS_BEFORE_ACCEPT_MAX);
    let meter = Rc::new(ConnectionMeter::new(event_loop.clock));
    let io = Metered {
        io,
        meter: Rc::clone(&meter),
    };
    let handshake = builder.handshake::<_, Outbound>(io);
    let Ok(Ok(frames)) = tokio::time::timeout(limits.head_timeout, handshake).await else {
        return;
    };
    streams(frames, &meter, peer, event_loop, begin).await;
}

async fn streams<T>(
    mut frames: Frames<T, Outbound>,
    meter: &Rc<ConnectionMeter>,
    peer: &Peer,
    event_loop: &Rc<Worker>,
    begin: Begin,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut lifetime = ConnectionLifetime::new(event_loop.clock.now());
    let mut inbound = Inbound::new(&event_loop.memory);
    loop {
        let accepted = poll_fn(|cx| {
            let polled = frames.poll_accept(cx);
            // The received data belongs to its stream now.
            inbound.count();
            polled
        });
        match tokio::time::timeout(IDLE_POLL, accepted).await {
            Ok(Some(Ok((request, respond)))) => {
                let mut stream =
                    Http2Stream::new(request, respond, Rc::clone(meter), &event_loop.memory);
                // Each stream holds the meter.
                let are_too_many = Rc::strong_count(meter) > UNFINISHED_MAX + 1;
                let is_late = !lifetime.allows_stream(event_loop.clock.now());
                if are_too_many || is_late || meter.has_too_many_resets() {
                    frames.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                    break;
                }
                if !stream.is_reset() {
                    if let Some(body) = stream.awaited() {
                        inbound.add(body);
                    }
                    let client = ClientStream::Socket(ClientSocket::Stream(Box::new(stream)));
                    begin(client, peer.clone(), event_loop);
                }
            }
            Ok(Some(Err(_)) | None) => break,
            Err(_) => {}
        }
        let limits = event_loop.settings().limits;
        let verdict = lifetime.evaluate(&Observed {
            now: event_loop.clock.now(),
            has_streams: frames.has_streams(),
            blocked_since: meter.blocked_since(),
            is_draining: event_loop.is_draining(),
            idle: nanoseconds(limits.idle_timeout),
            write: nanoseconds(limits.write_timeout),
        });
        match verdict {
            LifetimeAction::Stay => {}
            LifetimeAction::Announce => frames.graceful_shutdown(),
            LifetimeAction::CutOff => return,
        }
    }
    // The last response may still be in flight.
    let flushed = poll_fn(|cx| frames.poll_closed(cx));
    let _ = tokio::time::timeout(IDLE_POLL, flushed).await;
}
