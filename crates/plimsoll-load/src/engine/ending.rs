//! The end of a request: it leaves all lists, is counted once, and its user continues.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::recorder::RequestEnd;

impl Engine {
    /// Counts the end of a request. The caller handles its connection, if any.
    #[inline]
    pub(super) fn end_request(&mut self, id: u32, outcome: Outcome, now: u64) {
        let mut request = self.requests.remove(id);
        self.recorder.set_waiting(self.requests.queue_len());
        if let Some(call) = request.take_call() {
            return self.call_ended(&request, call, outcome, now);
        }
        if self.has_returned(id, outcome, now) {
            return;
        }
        if !outcome.is_ok() {
            self.handshake_failed(outcome);
        }
        self.recorder.ended(RequestEnd {
            url_row: self.prepared.request().row(request.path()),
            ..request.ended(outcome, now)
        });
        if request.has_user() {
            let unsent = request.is_unsent();
            self.scheduler.user_is_done(request.user(), now, unsent);
        }
    }
}
