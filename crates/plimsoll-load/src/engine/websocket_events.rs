//! What arrives on WebSockets of a load from flags: handshakes, responses, refusals.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::error::Http1Error;
use plimsoll_wire::websocket::closing::code;
use plimsoll_wire::websocket::handshake::HandshakeError;

use super::Engine;
use crate::answer_error;
use crate::websocket_session::{Fed, SessionEnd};

/// The status that switches to another protocol.
pub(super) const SWITCHED: u16 = 101;

impl Engine {
    /// Handles received events.
    pub(super) fn conclude(&mut self, id: u32, fed: Fed, timestamp_ns: Option<u64>, now: u64) {
        if self.owned(id).is_some() {
            let done = timestamp_ns.map_or(now, |timestamp_ns| self.clock.moment_of(timestamp_ns));
            return self.conclude_owned(id, fed, done.min(now), now);
        }
        let generation = self.connections[id].generation();
        if fed.opened {
            self.websocket_opened(id, now);
            if !self.connections.contains(id, generation) {
                return;
            }
        }
        if let Some(sent) = fed.answered {
            let arrived =
                timestamp_ns.map_or(now, |timestamp_ns| self.clock.moment_of(timestamp_ns));
            self.message_answered(id, sent, arrived.min(now));
        }
        self.transmit(id);
        let is_open = !self.connections[id].is_closing();
        match fed.end {
            Some(SessionEnd::Refused(error)) => self.refuse(id, &error, now),
            Some(SessionEnd::Closed(code)) if is_open => {
                self.count_close(code);
                self.lose_websocket(id, now);
                self.take_leave(id, Outcome::Reset, now);
            }
            Some(SessionEnd::ProtocolError(error)) if is_open => {
                self.count_error(error.to_string());
                self.end_websocket(id, error.close_code(), Outcome::Protocol, now);
            }
            Some(SessionEnd::Broken(error)) if is_open => {
                self.count_error(error);
                self.end_websocket(id, code::PROTOCOL, Outcome::Protocol, now);
            }
            // Data that arrives during the closing handshake is ignored.
            Some(SessionEnd::Closed(_) | SessionEnd::ProtocolError(_) | SessionEnd::Broken(_))
            | None => {}
        }
    }

    /// A handshake succeeded.
    pub(super) fn websocket_opened(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id];
        let (generation, request) = (connection.generation(), connection.take_request());
        let due = self.requests[request].due();
        let status = if self.is_stream(id) { 200 } else { SWITCHED };
        let websockets = self.websockets.as_ref();
        if websockets.is_some_and(|websockets| !websockets.is_return(request)) {
            self.recorder.answered(status, now);
            let builder = self.recorder.current().websocket();
            builder.connected(now.saturating_sub(due));
        }
        self.end_request(request, Outcome::Ok, now);
        let prepared = &self.prepared;
        let (Some(websockets), Some(agenda)) = (&mut self.websockets, prepared.agenda()) else {
            return;
        };
        if now >= self.scheduler.end_ns() {
            return self.end_websocket(id, code::GOING_AWAY, Outcome::Dropped, now);
        }
        websockets.opened(agenda, (id, generation), now);
        if agenda.greets() && websockets.may_send(id).is_some() {
            let len = websockets.queue_agenda_message(agenda, id);
            self.count_sent(len);
        }
    }

    /// The target refused the handshake.
    pub(super) fn refuse(&mut self, id: u32, error: &HandshakeError, now: u64) {
        let (outcome, cause) = match error {
            HandshakeError::Status(status) => {
                self.recorder.answered(*status, now);
                (Outcome::WrongStatus, format!("status {status}"))
            }
            HandshakeError::Http(
                limit @ (Http1Error::HeadTooLong(_) | Http1Error::TooManyHeaders(_)),
            ) => (answer_error::outcome(*limit), limit.to_string()),
            HandshakeError::Http(_) => (Outcome::Protocol, "not HTTP".to_owned()),
            HandshakeError::NotSwitched => (Outcome::Protocol, "not switched".to_owned()),
            HandshakeError::Accept => (Outcome::Protocol, "wrong accept key".to_owned()),
            HandshakeError::Unasked => (Outcome::Protocol, "unasked protocol".to_owned()),
        };
        if let Some(websockets) = &mut self.websockets {
            websockets.set_cause(cause);
        }
        self.fail(id, outcome, now);
    }

    pub(super) fn count_sent(&mut self, len: u64) {
        self.recorder.current().websocket().sent(len);
    }

    pub(super) fn count_close(&mut self, code: u16) {
        self.recorder.current().websocket().closed(code);
    }

    pub(super) fn count_error(&mut self, error: String) {
        self.recorder.current().websocket().protocol_error(error);
    }
}
