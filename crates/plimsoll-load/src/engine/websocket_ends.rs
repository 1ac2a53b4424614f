//! WebSockets end: closed by either side, cut, or at the end of the load.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::websocket::closing::code;

use super::Engine;
use crate::list::NONE;
use crate::websocket_session::{ABNORMAL, Lost};

/// How long the target gets to answer a close and to close the connection: thousands are closed at once.
pub(super) const FAREWELL_NS: u64 = 5_000_000_000;

impl Engine {
    /// The target closed or reset the connection.
    pub(super) fn websocket_is_cut(&mut self, id: u32) {
        let now = self.clock.now();
        self.close_seconds(now);
        let outcome = if self.connections[id].is_handshaking() {
            Outcome::Tls
        } else {
            Outcome::Reset
        };
        self.websocket_failed(id, outcome, now);
    }

    /// Nothing more will arrive on a connection.
    pub(super) fn websocket_failed(&mut self, id: u32, outcome: Outcome, now: u64) {
        if self.owned(id).is_some() {
            return self.socket_is_lost(id, outcome, (Some(ABNORMAL), true), now);
        }
        let connection = &self.connections[id];
        if connection.request() != NONE {
            return self.fail(id, outcome, now);
        }
        if !connection.is_closing() {
            self.count_close(ABNORMAL);
            self.lose_websocket(id, now);
            self.depart(id, outcome, now);
        }
        self.close(id, true);
    }

    /// The target or the network ended a WebSocket of a load from flags.
    pub(super) fn lose_websocket(&mut self, id: u32, since: u64) {
        let path = self
            .websockets
            .as_mut()
            .and_then(|websockets| websockets.path(id));
        if let Some(path) = path {
            let lost = Lost {
                path,
                since,
                tries: 0,
            };
            self.schedule_reconnect(lost, since);
        }
    }

    /// A subscriber unsubscribes; a pending message of it ends.
    pub(super) fn depart(&mut self, id: u32, outcome: Outcome, now: u64) {
        let Some(websockets) = &mut self.websockets else {
            return;
        };
        websockets.leave(id, now);
        if let Some(sent) = websockets.give_up_answer(id) {
            self.message_failed(sent, outcome, now);
        }
    }

    /// The same, with time for the target to close the connection.
    pub(super) fn take_leave(&mut self, id: u32, outcome: Outcome, now: u64) {
        self.depart(id, outcome, now);
        self.retire_for(id, now, FAREWELL_NS);
    }

    /// Ends a WebSocket.
    pub(super) fn end_websocket(&mut self, id: u32, code: u16, outcome: Outcome, now: u64) {
        if let Some(websockets) = &mut self.websockets {
            websockets.bid_farewell(id, code);
        }
        self.transmit(id);
        if self.is_stream(id) {
            // A stream continues until its last subscriber leaves.
            self.depart(id, outcome, now);
            return self.close(id, false);
        }
        self.take_leave(id, outcome, now);
    }

    /// The load is over: ends all WebSockets without a pending response. The others end with theirs.
    pub(super) fn end_websockets(&mut self, now: u64) {
        let Some(websockets) = &mut self.websockets else {
            return;
        };
        if !websockets.end() {
            return;
        }
        for id in websockets.all_open() {
            let is_at_rest = self
                .websockets
                .as_mut()
                .is_some_and(|websockets| websockets.is_at_rest(id));
            if is_at_rest {
                self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
            }
        }
    }

    /// At the end of the drain: no subscriber is left.
    pub(super) fn leave_all(&mut self, now: u64) {
        self.close_polls();
        let open = self
            .websockets
            .as_ref()
            .map(|websockets| websockets.all_open());
        for id in open.unwrap_or_default() {
            self.depart(id, Outcome::Timeout, now);
        }
        self.flush_websockets();
    }
}
