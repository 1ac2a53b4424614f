//! The end of a request: it leaves all lists, is counted once, and its user continues.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::connection::UNSENT;
use crate::recorder::RequestEnd;

impl Engine {
    /// Counts the end of a request. The caller handles its connection, if any.
    #[inline]
    pub(super) fn end_request(&mut self, id: u32, outcome: Outcome, now: u64) {
        if self.requests[id as usize].waiting {
            self.leave_waiting(id);
        }
        if let Some(expiry) = self.requests[id as usize].own_expiry() {
            self.by_expiry.remove(&(expiry, id));
        } else {
            self.by_due.remove(&mut self.requests, id);
        }
        let mut request = self.requests.remove(id as usize);
        if let Some(call) = request.call.take() {
            return self.call_ended(&request, call, outcome, now);
        }
        if self.has_returned(id, outcome, now) {
            return;
        }
        if !outcome.is_ok() {
            self.handshake_failed(outcome);
        }
        let unsent = request.sent == UNSENT;
        self.recorder.ended(RequestEnd {
            outcome,
            due: request.due,
            sent: if unsent { now } else { request.sent },
            done: now,
        });
        if request.has_user() {
            self.scheduler.user_is_done(request.user, now, unsent);
        }
    }
}
