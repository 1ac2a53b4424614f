//! Arrivals: sent when due, on a free connection or a new one, or queued for one.

use plimsoll_model::outcome::Outcome;

use super::{ARRIVALS_MAX, Engine};
use crate::connection::Request;
use crate::due::ScheduledArrival;
use crate::list::NONE;

impl Engine {
    /// Handles arrivals due at `now`. Returns whether more may be due at once.
    pub(super) fn take_up(&mut self, now: u64) -> bool {
        let release = now - now % self.prepared.tick_ns;
        let mut now = now;
        for _ in 0..ARRIVALS_MAX {
            let Some(due) = self.scheduler.pop(release) else {
                let next_due = self.scheduler.next_due().min(self.next_message());
                self.recorder.settle(next_due);
                return false;
            };
            self.arrive(due, now);
            // Each send takes some microseconds, which count towards the lag of the next.
            now = self.clock.now();
        }
        true
    }

    /// One request is due.
    #[inline]
    pub(super) fn arrive(&mut self, due: ScheduledArrival, now: u64) {
        if self.virtual_users.is_some() {
            return self.run_user(due, now);
        }
        self.recorder.offered(due.at, now);
        if due.at.saturating_add(self.prepared.timeout_ns) <= now {
            // A generator this far behind drops the request instead of sending it late.
            self.recorder.drop_at_once(due.at, now);
            self.handshake_failed(Outcome::Dropped);
            return self.scheduler.user_is_done(due.user, now, true);
        }
        let path = self.paths.next();
        let id = self.requests.insert(Request::new(due.at, due.user, path));
        let id = u32::try_from(id).expect("requests at once are far below 2^32");
        self.by_due.push_back(&mut self.requests, id);
        self.dispatch(id, now);
    }

    /// Sends a request on its user's connection or a free one; opens a connection; or queues the request.
    #[inline]
    pub(super) fn dispatch(&mut self, id: u32, now: u64) {
        let request = &self.requests[id as usize];
        if request.call.is_some() {
            self.dispatch_call(id, now);
        } else if let Some(&connection) = self.users.get(request.user as usize) {
            match connection {
                NONE => self.open_for(id, now),
                connection => self.send_on(connection, id, now),
            }
        } else if let Some(connection) = self.idle.last() {
            self.idle.remove(&mut self.connections, connection);
            self.send_on(connection, id, now);
        } else if self.has_capacity() {
            self.open_for(id, now);
        } else {
            self.wait(id, now);
        }
    }

    /// Queues a request for a connection, within the limit.
    pub(super) fn wait(&mut self, id: u32, now: u64) {
        if self.waiting.len() >= self.prepared.waiting_max {
            return self.end_request(id, Outcome::Dropped, now);
        }
        self.requests[id as usize].waiting = true;
        self.waiting.push_back(&mut self.requests, id);
        self.recorder.waiting += 1;
    }

    /// Takes the request that has waited longest.
    pub(super) fn pop_waiting(&mut self) -> Option<u32> {
        let id = self.waiting.first()?;
        self.leave_waiting(id);
        Some(id)
    }

    /// Removes a request from the queue for a connection.
    pub(super) fn leave_waiting(&mut self, id: u32) {
        self.waiting.remove(&mut self.requests, id);
        self.requests[id as usize].waiting = false;
        self.recorder.waiting -= 1;
    }

    /// Opens connections for queued requests within the limits.
    pub(super) fn serve_waiting(&mut self, now: u64) {
        while self.has_capacity() {
            let Some(id) = self.pop_waiting() else { return };
            self.open_for(id, now);
        }
    }
}
