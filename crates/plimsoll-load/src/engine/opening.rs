//! Connections: opened, established, failed and closed.

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::{self, EventFlags};
use rustix::net::sockopt;

use super::Engine;
use crate::connection::{ConnectionPhase, TargetConnection, TransportStage};
use crate::due::NOBODY;
use crate::list::NONE;
use crate::rx_timestamp;
use crate::transport::{DialFailure, connect_outcome};

/// How long the target gets to close a connection after its last answer.
const CLOSING_NS: u64 = 1_000_000_000;

/// Pause before connecting again to a unix socket whose backlog was full: unlike TCP, the kernel does not try again
/// by itself.
const BACKLOG_PAUSE_NS: u64 = 1_000_000;

/// The events for which a connection is registered, once.
const INTEREST: EventFlags = EventFlags::IN
    .union(EventFlags::OUT)
    .union(EventFlags::RDHUP)
    .union(EventFlags::ET);

/// The connection has ended, or was never established.
pub(super) const ENDED: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

impl Engine {
    /// Whether another connection may be opened. One that only waits for its close does not count.
    pub(super) fn has_capacity(&self) -> bool {
        !self.backlog_is_full && self.connections.len() - self.closing.len() < self.connections_max
    }

    /// Whether this slot still holds the same connection.
    pub(super) fn stands(&self, id: u32, generation: u32) -> bool {
        self.connections
            .get(id as usize)
            .is_some_and(|connection| connection.generation == generation)
    }

    /// Opens a connection for a request.
    pub(super) fn open_for(&mut self, request: u32, now: u64) {
        if self.backlog_is_full {
            return self.wait(request, now);
        }
        let Err(error) = self.try_open(request, now) else {
            return;
        };
        let own = &mut self.recorder.current().window.generator;
        let outcome = match error {
            DialFailure::Ports => {
                own.ports_exhausted += 1;
                Outcome::Dropped
            }
            DialFailure::Descriptors => {
                own.descriptors_exhausted += 1;
                Outcome::Dropped
            }
            DialFailure::BacklogFull if self.is_reopening(request) => Outcome::ConnectRefused,
            DialFailure::BacklogFull => {
                self.backlog_is_full = true;
                self.backlog_retry_ns = now + BACKLOG_PAUSE_NS;
                return self.wait(request, now);
            }
            DialFailure::Failed(outcome) => outcome,
        };
        self.end_request(request, outcome, now);
    }

    fn try_open(&mut self, request: u32, now: u64) -> Result<(), DialFailure> {
        let user = self.requests[request as usize].user;
        let call = self.requests[request as usize].call.as_ref();
        let (origin, has_call) = (call.map_or(0, |call| call.origin), call.is_some());
        let socket = self
            .prepared
            .transport_to(origin)
            .dial(&mut self.address_cursor)?;
        if self.timestamps.is_some() {
            // Without kernel timestamps a response counts from the time it is read: a little late.
            let _ = rx_timestamp::enable(&socket);
        }
        let deadline = now.saturating_add(self.prepared.connect_timeout_ns);
        // All ones is the waker.
        self.generation = (self.generation + 1) % (u32::MAX - 1);
        // Where users share connections, no user owns one.
        let is_owned = has_call || (user as usize) < self.users.len();
        let owner = if is_owned { user } else { NOBODY };
        let mut connection =
            TargetConnection::new(socket, self.generation, request, owner, deadline);
        connection.origin = origin;
        let entry = self.connections.vacant_entry();
        let id = u32::try_from(entry.key()).expect("connections are far below 2^32");
        let data = u64::from(self.generation) << 32 | u64::from(id);
        epoll::add(
            &self.epoll,
            &connection.socket,
            epoll::EventData::new_u64(data),
            INTEREST,
        )
        .map_err(|_| DialFailure::Descriptors)?;
        entry.insert(connection);
        self.connecting.push_back(&mut self.connections, id);
        let request = &mut self.requests[request as usize];
        request.connection = id;
        if has_call {
            self.virtual_users().users[user as usize]
                .lines
                .push((origin, id));
        } else if is_owned {
            self.users[user as usize] = id;
        }
        Ok(())
    }

    /// Has the kernel report a pending event again, so that other connections are served first.
    pub(super) fn read_later(&mut self, id: u32) {
        let connection = &self.connections[id as usize];
        let data =
            epoll::EventData::new_u64(u64::from(connection.generation) << 32 | u64::from(id));
        if epoll::modify(&self.epoll, &connection.socket, data, INTEREST).is_err() {
            let now = self.clock.now();
            self.fail(id, Outcome::Reset, now);
        }
    }

    pub(super) fn on_connect_event(&mut self, id: u32, flags: EventFlags) {
        let now = self.clock.now();
        let is_websocket =
            self.websockets.is_some() && (self.virtual_users.is_none() || self.is_for_socket(id));
        let connection = &mut self.connections[id as usize];
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            let outcome = match sockopt::socket_error(&connection.socket) {
                Ok(Err(error)) | Err(error) => connect_outcome(error),
                // Established and closed at once.
                Ok(Ok(())) => Outcome::Reset,
            };
            self.fail(id, outcome, now);
        } else if flags.contains(EventFlags::OUT) {
            let by_http2 = self.prepared.offers_http2(connection.origin);
            connection.stage = if is_websocket {
                TransportStage::WebSocket
            } else {
                TransportStage::Exchanging
            };
            let generation = connection.generation;
            self.recorder.connections += 1;
            self.recorder.current().window.connections_opened += 1;
            match &self.prepared.transport_to(connection.origin).tls {
                None if by_http2 => self.begin_http2(id, &[], now),
                None => self.make_ready(id, now),
                Some(tls) => {
                    if by_http2 {
                        connection.stage = TransportStage::Negotiating;
                    }
                    // Created here rather than at connect: a connection that fails costs no handshake.
                    connection.tls = tls.session().ok();
                    if let Some(session) = &mut connection.tls {
                        // A broken socket shows when it is read.
                        let _ = session.flush(&connection.socket);
                    } else {
                        return self.fail(id, Outcome::Tls, now);
                    }
                }
            }
            // An edge is reported once: data that arrived with the connection is read now.
            if flags.intersects(EventFlags::IN | ENDED) && self.stands(id, generation) {
                let ended = flags.intersects(ENDED);
                match self.connections[id as usize].stage {
                    TransportStage::Exchanging => self.read(id, ended),
                    TransportStage::WebSocket => self.read_websocket(id, ended),
                    _ => self.read_multiplexed(id, ended),
                }
            }
        }
    }

    /// A connection is established: its request is sent.
    pub(super) fn make_ready(&mut self, id: u32, now: u64) {
        self.connecting.remove(&mut self.connections, id);
        let connection = &mut self.connections[id as usize];
        connection.phase = ConnectionPhase::Busy;
        let request = connection.request;
        if connection.stage == TransportStage::WebSocket {
            return self.begin_handshake(id, request, now);
        }
        self.send_on(id, request, now);
    }

    /// A connection failed under its request, if it has one. A waiting request may take its slot.
    pub(super) fn fail(&mut self, id: u32, outcome: Outcome, now: u64) {
        self.end_with(id, outcome, now);
        self.serve_waiting(now);
    }

    /// Closes a connection and ends its request, if it has one.
    pub(super) fn end_with(&mut self, id: u32, outcome: Outcome, now: u64) {
        let connection = &mut self.connections[id as usize];
        let request = connection.request;
        let multiplex = connection.multiplex.as_mut();
        let streams = multiplex.map_or_else(Vec::new, |multiplex| multiplex.abandon());
        let lined_up = self.lined_up.remove(&id).unwrap_or_default();
        let peer_closed = matches!(
            outcome,
            Outcome::Reset | Outcome::ConnectRefused | Outcome::BodyCut
        );
        self.close(id, peer_closed);
        if request != NONE {
            self.end_request(request, outcome, now);
        }
        // All its requests, sent or waiting for it, end with it.
        for request in streams.into_iter().chain(lined_up) {
            self.end_request(request, outcome, now);
        }
    }

    /// Lets the target close a connection after its last response.
    pub(super) fn retire(&mut self, id: u32, now: u64) {
        self.retire_for(id, now, CLOSING_NS);
    }

    /// The same with a deadline, which is the same for all connections of a loop.
    pub(super) fn retire_for(&mut self, id: u32, now: u64, within_ns: u64) {
        let connection = &mut self.connections[id as usize];
        connection.phase = ConnectionPhase::Closing;
        connection.request = NONE;
        connection.deadline = now + within_ns;
        let user = connection.user;
        if let Some(user) = self.users.get_mut(user as usize) {
            *user = NONE;
        }
        self.forget_line(user, id);
        self.closing.push_back(&mut self.connections, id);
        self.serve_waiting(now);
    }

    /// Closes a connection. Where the target has not closed it, it is reset: `TIME_WAIT` would hold for two minutes
    /// a port that later trials need, and its responses are complete or failed.
    pub(super) fn close(&mut self, id: u32, peer_closed: bool) {
        match self.connections[id as usize].phase {
            ConnectionPhase::Connecting => self.connecting.remove(&mut self.connections, id),
            ConnectionPhase::Idle
                if self.virtual_users.is_some() || self.connections[id as usize].user == NOBODY =>
            {
                self.idle.remove(&mut self.connections, id);
            }
            ConnectionPhase::Closing => self.closing.remove(&mut self.connections, id),
            ConnectionPhase::Busy | ConnectionPhase::Idle => {}
        }
        if let Some(websockets) = &mut self.websockets {
            websockets.forget(id);
        }
        let connection = self.connections.remove(id as usize);
        if connection.stage != TransportStage::Dialing {
            self.recorder.connections -= 1;
            if !peer_closed {
                // Without it the port is only held longer.
                let _ =
                    sockopt::set_socket_linger(&connection.socket, Some(std::time::Duration::ZERO));
            }
        }
        if connection.phase != ConnectionPhase::Closing
            && let Some(user) = self.users.get_mut(connection.user as usize)
        {
            *user = NONE;
        }
        self.forget_line(connection.user, id);
    }
}
