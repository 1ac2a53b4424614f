//! Idle connections to upstream servers, which one loop keeps for its next requests.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use plimsoll_net::clock::{EdgeClock, Nanoseconds, nanoseconds};
use plimsoll_net::upstream::Upstream;
use tokio::io::{AsyncRead as _, ReadBuf};

use crate::balance::server::UpstreamServer;

/// A request that must not be sent twice only uses a connection that was used within this time: servers close idle
/// connections, and a close that crosses such a request would lose it.
const FRESH_NS: Nanoseconds = 1_000_000_000;

/// Idle connections to all servers.
#[derive(Debug, Default)]
pub(super) struct IdleConnections {
    /// By the slot of the server.
    servers: RefCell<Vec<IdleOf>>,
}

/// Idle connections to one server. Slots are reused when servers are removed; the owner is recorded here.
#[derive(Debug, Default)]
struct IdleOf {
    server: usize,
    connections: Vec<IdleConnection>,
}

/// An idle connection to an upstream server.
#[derive(Debug)]
struct IdleConnection {
    stream: Upstream,
    since: Nanoseconds,
    keep_ns: Nanoseconds,
}

impl IdleConnections {
    /// A connection to a server, the one used last first. One that the server has closed or sent data on is dropped.
    pub(super) fn take(
        &self,
        server: &UpstreamServer,
        may_repeat: bool,
        clock: EdgeClock,
    ) -> Option<Upstream> {
        let mut servers = self.servers.borrow_mut();
        let idle = servers.get_mut(server.slot)?;
        if idle.server != server.id {
            return None;
        }
        let idle = &mut idle.connections;
        while let Some(mut connection) = idle.pop() {
            let too_old = !may_repeat && clock.now().saturating_sub(connection.since) > FRESH_NS;
            if too_old {
                // Connections below are older still.
                idle.push(connection);
                return None;
            }
            if is_quiet(&mut connection.stream) {
                return Some(connection.stream);
            }
        }
        None
    }

    /// Keeps a connection to a server for `keep`, unless there are already `most`. `since` is accurate to a tick.
    pub(super) fn put(
        &self,
        server: &UpstreamServer,
        stream: Upstream,
        (since, keep): (Nanoseconds, Duration),
        most: u32,
    ) {
        let mut servers = self.servers.borrow_mut();
        if servers.len() <= server.slot {
            servers.resize_with(server.slot + 1, IdleOf::default);
        }
        let idle = &mut servers[server.slot];
        if idle.server != server.id {
            // The slot belonged to a server that was removed.
            idle.connections.clear();
            idle.server = server.id;
        }
        let idle = &mut idle.connections;
        if idle.len() < most as usize {
            idle.push(IdleConnection {
                stream,
                since,
                keep_ns: nanoseconds(keep),
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let servers = self.servers.borrow();
        servers.iter().all(|idle| idle.connections.is_empty())
    }

    /// Closes connections that were idle for too long, and those that their servers have closed.
    pub(super) fn close_expired(&self, now: Nanoseconds) {
        for idle in self.servers.borrow_mut().iter_mut() {
            idle.connections.retain_mut(|connection| {
                now.saturating_sub(connection.since) < connection.keep_ns
                    && is_quiet(&mut connection.stream)
            });
        }
    }
}

/// Whether a connection is open and no bytes have arrived. Costs no system call when nothing has happened.
fn is_quiet(stream: &mut Upstream) -> bool {
    if let Upstream::Plain(stream) = stream {
        // Nothing is to be woken, so no waker is registered.
        let read = stream.try_read(&mut [0]);
        return read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
    }
    let mut cx = Context::from_waker(Waker::noop());
    let mut byte = [0];
    let mut buffer = ReadBuf::new(&mut byte);
    Pin::new(stream)
        .poll_read(&mut cx, &mut buffer)
        .is_pending()
}
