//! Complete answers to users: judged, and their connections kept or not.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::crowd::{Judged, Verdict};
use crate::list::NONE;

impl Engine {
    /// An answer to a user is complete.
    pub(super) fn complete_call(&mut self, id: u32, kept: bool, peer_closed: bool, now: u64) {
        let connection = &mut self.connections[id as usize];
        let request_id = connection.request;
        let location = connection.reader.take_location();
        let request = &mut self.requests[request_id as usize];
        let (Some(call), Some(crowd)) = (&mut request.call, self.crowd.as_deref_mut()) else {
            return self.fail(id, Outcome::Protocol, now);
        };
        call.status = connection.reader.status();
        call.coding = connection.reader.coding();
        let judged = Judged {
            now,
            due: request.due,
            location: location.as_deref(),
            good: &self.order.good,
        };
        let verdict = crowd.judge(request.user, call, &judged);
        let (status, once, origin) = (call.status, call.once, call.origin);
        match verdict {
            Verdict::Follows => {
                self.recorder.current().window.redirects += 1;
                if kept && connection.origin == origin {
                    return self.send_on(id, request_id, now);
                }
                connection.request = NONE;
                request.connection = NONE;
                self.free_line(id, kept, peer_closed, now);
                self.dispatch_call(request_id, now);
            }
            Verdict::Ended(outcome) => {
                if !once {
                    self.recorder.answered(status, now);
                }
                connection.request = NONE;
                // Before its user goes on, who may use it again at once.
                self.free_line(id, kept, peer_closed, now);
                self.end_request(request_id, outcome, now);
            }
        }
        if let Some(due) = self.source.pop_ready() {
            self.arrive(due, now);
        }
    }

    fn free_line(&mut self, id: u32, kept: bool, peer_closed: bool, now: u64) {
        if kept {
            self.keep_line(id, now);
        } else {
            self.let_go(id, peer_closed, now);
        }
    }
}
