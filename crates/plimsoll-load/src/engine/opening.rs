//! Connections are opened and established.

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;

use super::Engine;
use crate::connections::{NewConnection, TransportStage};
use crate::poller::ENDED;
use crate::transport::{DialFailure, connect_outcome};
use crate::virtual_users::UserRequest;

/// Pause before connecting again to a unix socket whose backlog was full: unlike TCP, the kernel does not try again
/// by itself.
const BACKLOG_PAUSE_NS: u64 = 1_000_000;

impl Engine {
    /// Opens a connection for a request.
    pub(super) fn open_for(&mut self, request: u32, now: u64) {
        if self.connections.backlog_is_full() {
            return self.wait(request, now);
        }
        let Err(error) = self.try_open(request, now) else {
            return;
        };
        let second = self.recorder.current();
        let outcome = match error {
            DialFailure::Ports => {
                second.count_ports_exhausted();
                Outcome::Dropped
            }
            DialFailure::Descriptors => {
                second.count_descriptors_exhausted();
                Outcome::Dropped
            }
            DialFailure::BacklogFull if self.is_reopening(request) => Outcome::ConnectRefused,
            DialFailure::BacklogFull => {
                self.connections.pause_until(now + BACKLOG_PAUSE_NS);
                return self.wait(request, now);
            }
            DialFailure::Failed(outcome) => outcome,
        };
        self.end_request(request, outcome, now);
    }

    fn try_open(&mut self, request: u32, now: u64) -> Result<(), DialFailure> {
        let user = self.requests[request].user();
        let call = self.requests[request].call();
        let (origin, has_call) = (call.map_or(0, UserRequest::origin), call.is_some());
        let new = NewConnection {
            origin,
            request,
            user,
            deadline: now.saturating_add(self.prepared.connect_timeout_ns),
            with_timestamps: self.received.reads_timestamps(),
        };
        let transport = self.prepared.transport_to(origin);
        let id = self.connections.open(transport, &self.poller, new)?;
        self.requests[request].assign(id);
        if has_call {
            self.virtual_users().add_connection(user, origin, id);
        }
        Ok(())
    }

    /// Has the kernel report a pending event again, so that other connections are served first.
    pub(super) fn read_later(&mut self, id: u32) {
        let connection = &self.connections[id];
        let (socket, generation) = (connection.socket(), connection.generation());
        if self.poller.repeat(socket, id, generation).is_err() {
            let now = self.clock.now();
            self.fail(id, Outcome::Reset, now);
        }
    }

    pub(super) fn on_connect_event(&mut self, id: u32, flags: EventFlags) {
        let now = self.clock.now();
        let is_websocket =
            self.websockets.is_some() && (self.virtual_users.is_none() || self.is_for_socket(id));
        let connection = &mut self.connections[id];
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            let outcome = match sockopt::socket_error(connection.socket()) {
                Ok(Err(error)) | Err(error) => connect_outcome(error),
                // Established and closed at once.
                Ok(Ok(())) => Outcome::Reset,
            };
            self.fail(id, outcome, now);
        } else if flags.contains(EventFlags::OUT) {
            let origin = connection.origin();
            let by_http2 = self.prepared.offers_http2(origin);
            connection.set_stage(if is_websocket {
                TransportStage::WebSocket
            } else {
                TransportStage::Exchanging
            });
            let generation = connection.generation();
            self.recorder.connection_opened();
            match &self.prepared.transport_to(origin).tls {
                None if by_http2 => self.begin_http2(id, &[], now),
                None => self.make_ready(id, now),
                Some(tls) => {
                    if by_http2 {
                        connection.set_stage(TransportStage::Negotiating);
                    }
                    // Created here rather than at connect: a connection that fails costs no handshake.
                    let Ok(session) = tls.session() else {
                        return self.fail(id, Outcome::Tls, now);
                    };
                    connection.begin_tls(session);
                }
            }
            // An edge is reported once: data that arrived with the connection is read now.
            if flags.intersects(EventFlags::IN | ENDED) && self.connections.contains(id, generation)
            {
                let ended = flags.intersects(ENDED);
                match self.connections[id].stage() {
                    TransportStage::Exchanging => self.read(id, ended),
                    TransportStage::WebSocket => self.read_websocket(id, ended),
                    _ => self.read_multiplexed(id, ended),
                }
            }
        }
    }

    /// A connection is established: its request is sent.
    pub(super) fn make_ready(&mut self, id: u32, now: u64) {
        self.connections.established(id);
        let connection = &self.connections[id];
        let request = connection.request();
        if connection.stage() == TransportStage::WebSocket {
            return self.begin_handshake(id, request, now);
        }
        self.send_on(id, request, now);
    }
}
