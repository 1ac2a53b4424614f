//! A connection is established: the target has accepted it, and TLS begins where it is used.

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;

use super::Engine;
use crate::connections::TransportStage;
use crate::poller::ENDED;
use crate::transport::connect_outcome;

impl Engine {
    /// The target has accepted a connection, or refused it.
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
            self.recorder.connection_opened(connection.end_phase(now));
            match self.prepared.transport_to(origin).tls() {
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
                    _ => self.read_http2(id, ended),
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
