//! A response is complete or never will be: the request is judged, followed by a redirect, or sent once more, and its
//! connection is freed.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::response::AnswerEnd;

use super::Engine;
use super::sending::is_last;
use crate::list::NONE;

impl Engine {
    /// An answer is complete.
    #[inline]
    pub(super) fn complete(&mut self, id: u32, reusable: bool, peer_closed: bool) {
        let now = self.clock.now();
        let done = self
            .received
            .take_arrival()
            .map_or(now, |arrived| arrived.min(now));
        // Counts from here on belong to the second in which the request ended.
        self.recorder.roll(now);
        let connection = &mut self.connections[id];
        let (request_id, reader) = (connection.request(), connection.reader());
        let (status, coding) = (reader.status(), reader.coding());
        let body_len = reader.content_len();
        let kept = reusable && !connection.is_writing() && reader.keeps_alive();
        let kept = kept && !is_last(&self.prepared, connection);
        self.recorder.current().count_body(coding, body_len);
        if self.virtual_users.is_some() {
            return self.complete_call(id, kept, peer_closed, now);
        }
        let mut goes_on_for_ever = false;
        if let Some(location) = self.connections[id].reader_mut().take_location() {
            if self.requests[request_id].follow(&self.prepared, status, &location) {
                self.recorder.current().count_redirect();
                if kept {
                    self.send_on(id, request_id, now);
                } else {
                    self.let_go(id, peer_closed, now);
                    self.dispatch(request_id, now);
                }
                return;
            }
            goes_on_for_ever =
                self.requests[request_id].has_used_up_redirects(&self.prepared, status);
        }
        // A followed redirect is an intermediate step; only the final status counts.
        self.recorder.answered(status, done);
        let outcome = self.outcome_of(status, goes_on_for_ever);
        self.connections[id].take_request();
        self.requests[request_id].set_body_len(body_len);
        self.end_request(request_id, outcome, done);
        if kept {
            self.keep(id, now);
        } else {
            self.let_go(id, peer_closed, now);
        }
        self.arrive_ready(now);
    }

    /// The outcome of a request by the status of its last response.
    #[inline]
    pub(super) fn outcome_of(&self, status: u16, goes_on_for_ever: bool) -> Outcome {
        if self.prepared.good().contains(status) && !goes_on_for_ever {
            Outcome::Ok
        } else {
            Outcome::WrongStatus
        }
    }

    /// A connection is free: a waiting request takes it, or it becomes idle.
    #[inline]
    fn keep(&mut self, id: u32, now: u64) {
        if !self.connections.is_shared(id) {
            return self.connections.release(id);
        }
        match self.dequeue() {
            Some(request) => self.send_on(id, request, now),
            None => self.connections.release(id),
        }
    }

    /// A connection accepts no further request.
    pub(super) fn let_go(&mut self, id: u32, peer_closed: bool, now: u64) {
        if peer_closed {
            self.close(id, true);
            self.serve_waiting(now);
        } else {
            self.retire(id, now);
        }
    }

    /// The target closed the connection.
    pub(super) fn cut(&mut self, id: u32) {
        let now = self.clock.now();
        let connection = &self.connections[id];
        if connection.request() == NONE {
            self.close(id, true);
            return self.serve_waiting(now);
        }
        if connection.is_handshaking() {
            return self.fail(id, Outcome::Tls, now);
        }
        match connection.reader().end() {
            // Over TLS, a closing alert ends such a body; otherwise anyone could truncate it.
            AnswerEnd::Complete if !connection.may_end_body() => {
                self.fail(id, Outcome::BodyCut, now);
            }
            AnswerEnd::Complete => self.complete(id, false, true),
            AnswerEnd::BeforeAnswer => self.broken(id, now),
            AnswerEnd::InHead => self.fail(id, Outcome::Protocol, now),
            AnswerEnd::InBody => self.fail(id, Outcome::BodyCut, now),
        }
    }

    /// The connection was reset, or closed before any byte of the response. The target may have closed a keep-alive
    /// connection while the request was in transit: an idempotent request is then sent once more.
    pub(super) fn broken(&mut self, id: u32, now: u64) {
        let connection = &self.connections[id];
        let (request_id, kept) = (connection.request(), connection.was_kept());
        let begun = connection.reader().has_begun();
        let Some(request) = self.requests.get_mut(request_id) else {
            return self.fail(id, Outcome::Reset, now);
        };
        if !kept || begun || !request.is_idempotent(&self.prepared) || !request.retry(1) {
            let outcome = if connection.is_handshaking() {
                Outcome::Tls
            } else {
                Outcome::Reset
            };
            return self.fail(id, outcome, now);
        }
        self.requests[request_id].unassign();
        self.recorder.current().count_retry();
        self.close(id, true);
        self.open_for(request_id, now);
    }
}
