//! Requests on connections of HTTP/2: sent, ended, timed out.

use bytes::Bytes;
use http::Request as Message;
use plimsoll_model::outcome::Outcome;

use super::Engine;
use super::sending::is_last;
use crate::connections::TransportStage;
use crate::http2::{
    self, Again, AnswerHead, Http2Connection, Http2LoopState, StreamEnd, StreamFailure,
};
use crate::prepared_load::PreparedLoad;
use crate::requests::Request;

/// Why a request is not sent.
const UNSAYABLE: &str =
    "the request head is not valid in HTTP/2: check the host, the path and the headers";

/// Retries of a request that the target reports as not processed. A target that closes its connections every few
/// requests, which nginx does with `keepalive_requests`, may do so several times in a row.
const UNPROCESSED_RETRIES_MAX: u8 = 8;

impl Engine {
    /// Sends a request on a connection that has room for it.
    pub(super) fn send_stream(&mut self, id: u32, request_id: u32, now: u64) {
        let connection = &mut self.connections[id];
        let request = &mut self.requests[request_id];
        let is_tls = connection.is_secure();
        let message = message(&mut self.http2, &self.prepared, request, is_tls);
        let Some((message, body)) = message else {
            if let Some(call) = request.call_mut() {
                call.set_reason(UNSAYABLE.to_owned());
            }
            self.end_request(request_id, Outcome::Dropped, now);
            return self.enlist(id);
        };
        if let Some(call) = request.call_mut() {
            call.begin_answer();
        }
        let is_sent = connection.http2_mut().is_some_and(|http2| {
            let expected = self.prepared.request().expected();
            http2.send(request_id, message, body, expected)
        });
        if !is_sent {
            request.unassign();
            self.enlist(id);
            let failure = StreamFailure {
                outcome: Outcome::Reset,
                again: Again::Always,
                reason: String::new(),
            };
            return self.stream_failed(request_id, failure, true, now);
        }
        connection.count_stream();
        if is_last(&self.prepared, connection)
            && let Some(http2) = connection.http2_mut()
        {
            http2.leave();
        }
        request.assign(id);
        request.mark_sent(now);
        let generation = connection.generation();
        let is_woken = connection.http2().is_some_and(Http2Connection::is_woken);
        if is_woken {
            self.http2.wake(id, generation);
        }
        self.recorder.current().count_sent();
        self.flush(id);
        self.enlist(id);
    }

    /// A stream has ended, with or without a response.
    pub(super) fn stream_ended(&mut self, end: StreamEnd, was_kept: bool, now: u64, done: u64) {
        let request = end.request;
        self.requests[request].unassign();
        match end.result {
            Ok(answer) => self.stream_answered(request, &answer, now, done),
            Err(failure) => self.stream_failed(request, failure, was_kept, now),
        }
    }

    /// An answer is complete.
    fn stream_answered(&mut self, id: u32, answer: &AnswerHead, now: u64, done: u64) {
        let second = self.recorder.current();
        second.count_body(answer.coding, answer.body_len);
        if self.virtual_users.is_some() {
            self.call_answered(id, answer, now);
            return self.arrive_ready(now);
        }
        let (prepared, request) = (&self.prepared, &mut self.requests[id]);
        let location = answer.location.as_ref();
        if location.is_some_and(|location| request.follow(prepared, answer.status, location)) {
            self.recorder.current().count_redirect();
            self.dispatch(id, now);
        } else {
            let goes_on_for_ever =
                location.is_some() && request.has_used_up_redirects(prepared, answer.status);
            let outcome = self.outcome_of(answer.status, goes_on_for_ever);
            self.recorder.current().count_http2();
            self.recorder.answered(answer.status, done);
            self.requests[id].set_body_len(answer.body_len);
            self.end_request(id, outcome, done);
        }
        self.arrive_ready(now);
    }

    fn call_answered(&mut self, id: u32, answer: &AnswerHead, now: u64) {
        let Some(evaluated) = self.evaluate_answer(id, answer, now) else {
            return self.end_request(id, Outcome::Protocol, now);
        };
        match evaluated.verdict {
            crate::virtual_users::AnswerVerdict::Follows => {
                self.recorder.current().count_redirect();
                self.dispatch_call(id, now);
            }
            crate::virtual_users::AnswerVerdict::Ended(outcome) => {
                if !evaluated.once {
                    self.recorder.current().count_http2();
                    self.recorder.answered(evaluated.status, now);
                }
                self.end_request(id, outcome, now);
            }
        }
    }

    /// The response is incomplete. The request is retried where that is safe.
    fn stream_failed(&mut self, id: u32, failure: StreamFailure, was_kept: bool, now: u64) {
        let request = &mut self.requests[id];
        let retries_max = match failure.again {
            Again::Always => UNPROCESSED_RETRIES_MAX,
            Again::IfIdempotent if was_kept && request.is_idempotent(&self.prepared) => 1,
            Again::IfIdempotent | Again::Never => 0,
        };
        if request.retry(retries_max) {
            self.recorder.current().count_retry();
            return self.dispatch(id, now);
        }
        if let Some(call) = request.call_mut() {
            call.set_reason(failure.reason);
        }
        self.end_request(id, failure.outcome, now);
    }

    /// Aborts a request that is open on a connection, or waits for it; the connection stays open.
    /// Returns whether there was one.
    pub(super) fn give_up_stream(&mut self, id: u32, connecting: Outcome, now: u64) -> bool {
        let request = &self.requests[id];
        let (line, sent) = (request.connection(), request.sent());
        let connection = &mut self.connections[line];
        if connection.request() == id {
            // The connection is being opened for this request. Others that wait for it still have time.
            let next = self.http2.next_in_line(line);
            let Some(next) = next else { return false };
            connection.set_request(next);
            self.end_request(id, connecting, now);
            return true;
        }
        let is_being_made = connection.stage() != TransportStage::Http2;
        let http2 = connection.http2_mut();
        if http2.is_some_and(|http2| http2.cancel(id, sent)) {
            let generation = connection.generation();
            self.http2.wake(line, generation);
            self.flush(line);
            self.enlist(line);
            self.end_request(id, Outcome::Timeout, now);
            return true;
        }
        self.http2.leave_line(line, id);
        let outcome = if is_being_made {
            connecting
        } else {
            Outcome::Dropped
        };
        self.end_request(id, outcome, now);
        true
    }
}

/// Head and body of a request in HTTP/2; `None` when they are not valid there.
fn message(
    http2: &mut Http2LoopState,
    prepared: &PreparedLoad,
    request: &Request,
    is_tls: bool,
) -> Option<(Message<()>, Bytes)> {
    if let Some(call) = request.call() {
        let (head, body) = call.head_and_body();
        let body = Bytes::copy_from_slice(body);
        return Some((http2::request(head, is_tls)?, body));
    }
    if let Some((head, with_body)) = request.redirected() {
        let body = if with_body {
            prepared.request().body().clone()
        } else {
            Bytes::new()
        };
        return Some((http2::request(head, is_tls)?, body));
    }
    let path = request.path();
    let head = http2.head_of_path(path, || {
        http2::request(prepared.request().head(path, false), is_tls)
    })?;
    Some((head, prepared.request().body().clone()))
}
