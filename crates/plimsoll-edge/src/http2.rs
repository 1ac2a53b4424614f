//! HTTP/2 towards clients: each stream is a connection of one request to the rest of the edge.
//!
//! A stream's request is written as HTTP/1.1 and read by the same reader as any other, so that what is refused there is
//! refused here too, and nothing can be smuggled on the way down. The answer comes back in the edge's own framing and
//! goes out in frames. What HTTP/2 itself bounds (resets, headers, streams, small frames of data) is bounded by the h2
//! crate, and frames that bring nothing forward by [`meter`].

mod held;
mod meter;
mod stream;

use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use h2::Reason;
use h2::server::{Builder, Connection as Frames};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::client::Client;
use crate::connection::{Connection, Peer};
use crate::event_loop::EventLoop;
use held::{Inbound, Outbound};
use meter::{Meter, Metered};
use stream::Stream;
pub(crate) use stream::Stream as ClientStream;

/// Streams of one connection at once.
const STREAMS_MAX: u32 = 128;
/// Requests of one connection at once, those included that the client has reset and a server still works on.
const UNFINISHED_MAX: usize = 3 * STREAMS_MAX as usize;
/// Bytes that a client may send ahead, of a stream and of a connection.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Bytes of answers that wait for a client, of each stream.
const SEND_MAX: usize = 128 * 1024;
/// How often a connection without streams is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Serves a connection to its end, and counts it meanwhile.
pub(crate) async fn serve<T>(io: T, peer: Peer, event_loop: Rc<EventLoop>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    event_loop.figures.accepted.increment();
    event_loop.figures.connections.increment();
    serve_counted(io, &peer, &event_loop).await;
    event_loop.figures.connections.decrement();
}

/// Serves a connection that is counted already.
pub(crate) async fn serve_counted<T>(io: T, peer: &Peer, event_loop: &Rc<EventLoop>)
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
        .max_header_list_size(limits.head_len_max);
    let meter = Rc::new(Meter::default());
    let io = Metered {
        io,
        meter: Rc::clone(&meter),
    };
    let handshake = builder.handshake::<_, Outbound>(io);
    let Ok(Ok(frames)) = tokio::time::timeout(limits.head_timeout, handshake).await else {
        return;
    };
    streams(frames, &meter, peer, event_loop).await;
}

async fn streams<T>(
    mut frames: Frames<T, Outbound>,
    meter: &Rc<Meter>,
    peer: &Peer,
    event_loop: &Rc<EventLoop>,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut idle = Duration::ZERO;
    let mut is_ending = false;
    let mut inbound = Inbound::new(event_loop);
    loop {
        let limits = event_loop.settings().limits;
        let accepted = poll_fn(|cx| {
            let polled = frames.poll_accept(cx);
            // What came is with its stream now.
            inbound.count();
            polled
        });
        match tokio::time::timeout(LOOK, accepted).await {
            Ok(Some(Ok((request, respond)))) => {
                idle = Duration::ZERO;
                // Each stream holds the meter.
                if Rc::strong_count(meter) > UNFINISHED_MAX {
                    frames.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                    break;
                }
                let stream = Stream::new(request, respond, Rc::clone(meter), event_loop);
                if let Some(body) = stream.awaited() {
                    inbound.add(body);
                }
                let client = Client::Stream(Box::new(stream));
                let connection = Connection::of_stream(client, peer.clone(), event_loop);
                tokio::task::spawn_local(connection);
            }
            Ok(Some(Err(_)) | None) => break,
            Err(_) => {
                let is_quiet = !frames.has_streams();
                idle = if is_quiet {
                    idle + LOOK
                } else {
                    Duration::ZERO
                };
                let is_over = idle >= limits.idle_timeout || event_loop.is_draining();
                if is_over && !is_ending {
                    is_ending = true;
                    frames.graceful_shutdown();
                }
                // Whoever does not let it end in peace is cut off.
                if is_ending && is_quiet && idle >= limits.idle_timeout + limits.write_timeout {
                    return;
                }
            }
        }
    }
    // What was answered last may still be on its way.
    let flushed = poll_fn(|cx| frames.poll_closed(cx));
    let _ = tokio::time::timeout(LOOK, flushed).await;
}
