//! Complete answers to users: judged, and their connections kept or not.

use plimsoll_model::outcome::Outcome;

use super::Engine;
use crate::crowd::{Judged, Verdict};
use crate::list::NONE;
use crate::multiplex::Answer;

/// A call whose answer was judged.
pub(super) struct JudgedCall {
    pub(super) verdict: Verdict,
    pub(super) status: u16,
    pub(super) once: bool,
    /// Where it goes next.
    pub(super) origin: u16,
}

impl Engine {
    /// Judges an answer to a user; `None` when nobody asked.
    pub(super) fn judge_call(&mut self, id: u32, answer: &Answer, now: u64) -> Option<JudgedCall> {
        let request = &mut self.requests[id as usize];
        let (call, crowd) = (request.call.as_mut()?, self.crowd.as_deref_mut()?);
        call.status = answer.status;
        call.coding = answer.coding;
        let judged = Judged {
            now,
            due: request.due,
            location: answer.location.as_deref(),
            good: &self.order.good,
        };
        let verdict = crowd.judge(request.user, call, &judged);
        Some(JudgedCall {
            verdict,
            status: call.status,
            once: call.once,
            origin: call.origin,
        })
    }

    /// An answer to a user is complete.
    pub(super) fn complete_call(&mut self, id: u32, kept: bool, peer_closed: bool, now: u64) {
        let connection = &mut self.connections[id as usize];
        let request_id = connection.request;
        let answer = Answer {
            status: connection.reader.status(),
            coding: connection.reader.coding(),
            location: connection.reader.take_location(),
            sets_cookie: false,
        };
        let Some(judged) = self.judge_call(request_id, &answer, now) else {
            return self.fail(id, Outcome::Protocol, now);
        };
        let connection = &mut self.connections[id as usize];
        match judged.verdict {
            Verdict::Follows => {
                self.recorder.current().window.redirects += 1;
                if kept && connection.origin == judged.origin {
                    return self.send_on(id, request_id, now);
                }
                connection.request = NONE;
                self.requests[request_id as usize].connection = NONE;
                self.free_line(id, kept, peer_closed, now);
                self.dispatch_call(request_id, now);
            }
            Verdict::Ended(outcome) => {
                if !judged.once {
                    self.recorder.answered(judged.status, now);
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
