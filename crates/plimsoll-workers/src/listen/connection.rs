//! One connection of a worker, in the coordinator.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_peer::{Channel, ChannelError, Hello, Role, ServerStream};

use super::{POLL, Shared};
use crate::coordinator::ConnectionId;
use crate::error::WorkersError;
use crate::linger::linger;
use crate::message::{MESSAGE_LEN_MAX, ToCoordinator, ToWorker};

/// Longest silence in the handshake, and longest time that a worker takes nothing.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time between two looks at the state once the load was started: what a worker sends ends the wait sooner.
const RUNNING_POLL: Duration = Duration::from_millis(250);
/// Looks at a connection that is to end, until the worker has closed it.
const LAST_LOOKS: u32 = 10;

/// Lets a worker in, and serves it until the connection ends.
pub(super) fn serve(shared: &Shared, socket: TcpStream, has_greeted: &AtomicBool) {
    let mut channel = match greet(shared, socket) {
        Ok(channel) => channel,
        Err(error @ WorkersError::Version(_)) => {
            shared.lock().refused(&error.to_string());
            shared.changed.notify_all();
            return;
        }
        // A stranger, or a worker whose line was cut: it is nobody's business, or comes again.
        Err(_) => return,
    };
    has_greeted.store(true, Ordering::Relaxed);
    let id = shared.lock().connected(shared.clock.now_ns());
    let is_last = exchange(shared, &mut channel, id).is_ok();
    shared.lock().disconnected(id);
    shared.changed.notify_all();
    if is_last {
        linger(&mut channel, |stream| &stream.sock, LAST_LOOKS);
    }
}

fn greet(shared: &Shared, socket: TcpStream) -> Result<Channel<ServerStream>, WorkersError> {
    let io = |error| WorkersError::Channel(ChannelError::Io(error));
    socket.set_nodelay(true).map_err(io)?;
    socket.set_read_timeout(Some(TIMEOUT)).map_err(io)?;
    socket.set_write_timeout(Some(TIMEOUT)).map_err(io)?;
    let mut channel = Channel::accept(socket, Arc::clone(&shared.config), MESSAGE_LEN_MAX)?;
    let own = Hello::of_this_build(Role::Coordinator);
    channel.send(&own)?;
    let other: Hello = channel.receive()?;
    own.judge(&other)?;
    let socket = &channel.stream().sock;
    socket.set_read_timeout(Some(POLL)).map_err(io)?;
    Ok(channel)
}

/// Sends what the worker lacks, and takes what it sends, until one of them is to send no more.
fn exchange(
    shared: &Shared,
    channel: &mut Channel<ServerStream>,
    id: ConnectionId,
) -> Result<(), ChannelError> {
    loop {
        // Read before: what the closing coordinator has decided is sent.
        let is_closing = shared.is_closing.load(Ordering::Relaxed);
        let outgoing = shared.lock().take_outgoing(id, shared.clock.now_ns());
        for message in &outgoing.messages {
            channel.send(message)?;
            if matches!(message, ToWorker::Start(_)) {
                let socket = &channel.stream().sock;
                socket.set_read_timeout(Some(RUNNING_POLL))?;
            }
        }
        if outgoing.is_last || is_closing {
            return Ok(());
        }
        match channel.receive::<ToCoordinator>() {
            Ok(message) => {
                let now_ns = shared.clock.now_ns();
                shared.lock().received(id, message, now_ns);
                shared.changed.notify_all();
            }
            Err(ChannelError::Silent) => {}
            Err(error) => return Err(error),
        }
    }
}
