//! Complete responses to users: judged, and their connections returned to keep-alive or closed.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::http2::AnswerHead;
use crate::virtual_users::{AnswerContext, AnswerVerdict};

/// A call whose response was judged.
pub(super) struct EvaluatedAnswer {
    pub(super) verdict: AnswerVerdict,
    pub(super) status: u16,
    pub(super) once: bool,
    /// Where it is redirected.
    pub(super) origin: u16,
}

impl Engine {
    /// Judges a response to a user; `None` when no request is pending.
    pub(super) fn evaluate_answer(
        &mut self,
        id: u32,
        answer: &AnswerHead,
        now: u64,
    ) -> Option<EvaluatedAnswer> {
        let request = &mut self.requests[id];
        let (user, due) = (request.user(), request.due());
        let (call, virtual_users) = (request.call_mut()?, self.virtual_users.as_deref_mut()?);
        call.set_answer(answer.status, answer.coding);
        let context = AnswerContext {
            now,
            due,
            location: answer.location.as_deref(),
            good: self.prepared.good(),
        };
        let verdict = virtual_users.evaluate(user, call, &context);
        if let Some((len, decoded)) = call.take_decoded() {
            let second = self.recorder.current();
            second.count_decoded(answer.coding, len, decoded);
        }
        Some(EvaluatedAnswer {
            verdict,
            status: call.status(),
            once: call.is_once(),
            origin: call.origin(),
        })
    }

    /// A response to a user is complete.
    pub(super) fn complete_call(&mut self, id: u32, kept: bool, peer_closed: bool, now: u64) {
        let connection = &mut self.connections[id];
        let request_id = connection.request();
        let answer = AnswerHead {
            status: connection.reader().status(),
            coding: connection.reader().coding(),
            location: connection.reader_mut().take_location(),
            sets_cookie: false,
            body_len: connection.reader().content_len(),
        };
        let Some(evaluated) = self.evaluate_answer(request_id, &answer, now) else {
            return self.fail(id, Outcome::Protocol, now);
        };
        let connection = &mut self.connections[id];
        match evaluated.verdict {
            AnswerVerdict::Follows => {
                self.recorder.current().count_redirect();
                if kept && connection.origin() == evaluated.origin {
                    return self.send_on(id, request_id, now);
                }
                connection.take_request();
                self.requests[request_id].unassign();
                self.free_line(id, kept, peer_closed, now);
                self.dispatch_call(request_id, now);
            }
            AnswerVerdict::Ended(outcome) => {
                if !evaluated.once {
                    self.recorder.answered(evaluated.status, now);
                }
                connection.take_request();
                // Before its user continues, who may reuse the connection at once.
                self.free_line(id, kept, peer_closed, now);
                self.end_request(request_id, outcome, now);
            }
        }
        self.arrive_ready(now);
    }

    fn free_line(&mut self, id: u32, kept: bool, peer_closed: bool, now: u64) {
        if kept {
            self.keep_line(id, now);
        } else {
            self.let_go(id, peer_closed, now);
        }
    }
}
