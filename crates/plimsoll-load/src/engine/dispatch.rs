//! A request is given to a free connection or a new one, or queued for one.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::list::NONE;

impl Engine {
    /// Sends a request on its user's connection or an idle one; opens a connection; or queues the request.
    #[inline]
    pub(super) fn dispatch(&mut self, id: u32, now: u64) {
        let request = &self.requests[id];
        if request.call().is_some() {
            self.dispatch_call(id, now);
        } else if let Some(connection) = self.connections.of_user(request.user()) {
            match connection {
                NONE => self.open_for(id, now),
                connection => self.send_on(connection, id, now),
            }
        } else if let Some(connection) = self.connections.last_idle() {
            self.send_on(connection, id, now);
        } else if self.connections.have_capacity() {
            self.open_for(id, now);
        } else {
            self.wait(id, now);
        }
    }

    /// Queues a request for a connection, within the limit.
    pub(super) fn wait(&mut self, id: u32, now: u64) {
        if !self.requests.enqueue(id) {
            return self.end_request(id, Outcome::Dropped, now);
        }
        self.recorder.set_waiting(self.requests.queue_len());
    }

    /// Takes the request that has waited longest.
    #[inline]
    pub(super) fn dequeue(&mut self) -> Option<u32> {
        let id = self.requests.dequeue()?;
        self.recorder.set_waiting(self.requests.queue_len());
        Some(id)
    }

    /// Opens connections for queued requests within the limits.
    pub(super) fn serve_waiting(&mut self, now: u64) {
        while self.connections.have_capacity() {
            let Some(id) = self.dequeue() else { return };
            self.open_for(id, now);
        }
    }
}
