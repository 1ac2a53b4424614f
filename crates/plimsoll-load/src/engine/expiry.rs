//! Time-outs of requests and connections.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::connection::{TargetConnection, UNSENT};
use crate::due::NEVER;
use crate::list::{List, NONE};
use slab::Slab;

impl Engine {
    /// Ends expired requests and connections, then serves waiting requests.
    pub(super) fn expire(&mut self, now: u64) {
        if now < self.next_expiry() {
            return;
        }
        while let Some(id) = self.by_due.first() {
            let due = self.requests[id as usize].due;
            if due.saturating_add(self.prepared.timeout_ns) > now {
                break;
            }
            self.give_up(id, now, Outcome::ConnectTimeout);
        }
        while let Some(&(expiry, id)) = self.by_expiry.first() {
            if expiry > now {
                break;
            }
            self.give_up(id, now, Outcome::ConnectTimeout);
        }
        self.give_up_answers(now);
        while let Some(id) = first_expired(&self.connecting, &self.connections, now) {
            self.end_with(id, Outcome::ConnectTimeout, now);
        }
        while let Some(id) = first_expired(&self.closing, &self.connections, now) {
            self.close(id, false);
        }
        self.backlog_is_full &= now < self.backlog_retry_ns;
        self.serve_waiting(now);
    }

    /// When the next request or connection expires.
    pub(super) fn next_expiry(&self) -> u64 {
        let request = self.by_due.first().map_or(NEVER, |id| {
            self.requests[id as usize]
                .due
                .saturating_add(self.prepared.timeout_ns)
        });
        let deadline = |list: &List<0>| {
            list.first()
                .map_or(NEVER, |id| self.connections[id as usize].deadline)
        };
        let backlog = if self.backlog_is_full {
            self.backlog_retry_ns
        } else {
            NEVER
        };
        let own = self.by_expiry.first().map_or(NEVER, |(expiry, _)| *expiry);
        let answer = self
            .websockets
            .as_ref()
            .map_or(NEVER, |websockets| websockets.next_expiry());
        request
            .min(own)
            .min(answer)
            .min(backlog)
            .min(deadline(&self.connecting))
            .min(deadline(&self.closing))
    }

    /// Ends a request without a response; `connecting` is its outcome while its connection is being opened.
    fn give_up(&mut self, id: u32, now: u64, connecting: Outcome) {
        if self.give_up_message(id, now) {
            return;
        }
        let request = &self.requests[id as usize];
        let connection = request.connection;
        let outcome = if request.sent != UNSENT {
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
        self.roll(now);
        if let Some(virtual_users) = &mut self.virtual_users {
            virtual_users.ending = true;
        }
        while let Some(id) = self.by_due.first() {
            self.give_up(id, now, Outcome::Dropped);
        }
        while let Some(&(_, id)) = self.by_expiry.first() {
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
        let open: Vec<u32> = (0_u32..)
            .zip(0..self.connections.capacity())
            .filter_map(|(id, index)| self.connections.contains(index).then_some(id))
            .collect();
        for id in open {
            self.close(id, false);
        }
    }
}

fn first_expired(list: &List<0>, connections: &Slab<TargetConnection>, now: u64) -> Option<u32> {
    list.first()
        .filter(|&id| connections[id as usize].deadline <= now)
}
