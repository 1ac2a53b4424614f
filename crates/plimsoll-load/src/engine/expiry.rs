//! Time-outs of requests and connections.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::due::NEVER;
use crate::list::NONE;

impl Engine {
    /// Ends expired requests and connections, then serves waiting requests.
    pub(super) fn expire(&mut self, now: u64) {
        if now < self.next_expiry() {
            return;
        }
        while let Some(id) = self.requests.first_expired(now) {
            self.give_up(id, now, Outcome::ConnectTimeout);
        }
        self.give_up_answers(now);
        while let Some(id) = self.connections.late_connecting(now) {
            self.end_with(id, Outcome::ConnectTimeout, now);
        }
        while let Some(id) = self.connections.late_closing(now) {
            self.close(id, false);
        }
        self.connections.end_pause(now);
        self.serve_waiting(now);
    }

    /// When the next request or connection expires.
    pub(super) fn next_expiry(&self) -> u64 {
        let answer = self
            .websockets
            .as_ref()
            .map_or(NEVER, |websockets| websockets.next_expiry());
        self.requests
            .next_expiry()
            .min(answer)
            .min(self.connections.next_deadline())
    }

    /// Ends a request without a response; `connecting` is its outcome while its connection is being opened.
    fn give_up(&mut self, id: u32, now: u64, connecting: Outcome) {
        if self.give_up_message(id, now) {
            return;
        }
        let request = &self.requests[id];
        let connection = request.connection();
        let outcome = if !request.is_unsent() {
            Outcome::Timeout
        } else if connection != NONE {
            connecting
        } else {
            Outcome::Dropped
        };
        if connection == NONE {
            self.end_request(id, outcome, now);
        } else if !self.give_up_stream(id, connecting, now) {
            self.end_with(connection, outcome, now);
        }
    }

    /// At the end of the drain: nothing remains, not even a connection.
    pub(super) fn give_up_everything(&mut self) {
        let now = self.clock.now();
        self.close_seconds(now);
        if let Some(virtual_users) = &mut self.virtual_users {
            virtual_users.end();
        }
        while let Some(id) = self.requests.first() {
            self.give_up(id, now, Outcome::Dropped);
        }
        if self.virtual_users.is_some() {
            // Users who were about to continue have no pending request.
            self.leave_all(now);
            return self.close_everything();
        }
        // Arrivals that a lagging generator never handled.
        while let Some(due) = self.scheduler.pop(NEVER - 1) {
            self.recorder.offered(due.at, now);
            self.recorder.drop_at_once(due.at, now);
            self.handshake_failed(Outcome::Dropped);
        }
        self.leave_all(now);
        self.close_everything();
    }

    fn close_everything(&mut self) {
        for id in self.connections.ids() {
            self.close(id, false);
        }
    }
}
