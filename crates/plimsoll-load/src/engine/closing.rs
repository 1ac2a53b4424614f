//! Connections fail and are closed, with the requests on them.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::http2::Http2Connection;
use crate::list::NONE;

/// How long the target gets to close a connection after its last answer.
const CLOSING_NS: u64 = 1_000_000_000;

impl Engine {
    /// A connection failed under its request, if it has one. A waiting request may take its slot.
    pub(super) fn fail(&mut self, id: u32, outcome: Outcome, now: u64) {
        self.end_with(id, outcome, now);
        self.serve_waiting(now);
    }

    /// Closes a connection and ends its request, if it has one.
    pub(super) fn end_with(&mut self, id: u32, outcome: Outcome, now: u64) {
        let connection = &mut self.connections[id];
        let request = connection.request();
        let http2 = connection.http2_mut();
        let streams = http2.map_or_else(Vec::new, Http2Connection::abandon);
        let lined_up = self.http2.take_line(id);
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
        self.connections.retire(id, now + within_ns);
        self.forget_line(self.connections[id].user(), id);
        self.serve_waiting(now);
    }

    /// Closes a connection. Where the target has not closed it, it is reset: `TIME_WAIT` would hold for two minutes
    /// a port that later trials need, and its responses are complete or failed.
    pub(super) fn close(&mut self, id: u32, peer_closed: bool) {
        if let Some(websockets) = &mut self.websockets {
            websockets.forget(id);
        }
        let connection = self.connections.remove(id);
        if connection.was_established() {
            self.recorder.connection_closed();
            if !peer_closed {
                connection.reset_at_close();
            }
        }
        self.forget_line(connection.user(), id);
    }
}
