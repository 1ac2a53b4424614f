//! The exchange: a request is written, its response read, its end counted.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::response::{AnswerEnd, Progress};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::Engine;
use super::intake::{FeedOutcome, Intake};
use crate::connections::TargetConnection;
use crate::list::NONE;
use crate::poller::ENDED;
use crate::prepared_load::PreparedLoad;

/// Full buffers read from one connection before other connections are served.
pub(super) const READS_MAX: usize = 16;

impl Engine {
    /// Sends a request on a connection that is ready for it.
    #[inline]
    pub(super) fn send_on(&mut self, id: u32, request_id: u32, now: u64) {
        let connection = self.connections.occupy(id);
        if connection.multiplex().is_some() {
            return self.send_stream(id, request_id, now);
        }
        let request = &mut self.requests[request_id];
        connection.begin_exchange(request_id);
        request.assign(id);
        request.mark_sent(now);
        if let Some(call) = request.call_mut() {
            call.begin_answer();
            if is_last(&self.prepared, connection) {
                call.close_after();
            }
            connection.set_keeps_body(call.wants_body());
        }
        self.recorder.current().count_sent();
        self.write(id, now);
    }

    /// Writes the rest of a request. Returns whether the connection is still open.
    #[inline]
    fn write(&mut self, id: u32, now: u64) -> bool {
        let connection = &mut self.connections[id];
        let request = &self.requests[connection.request()];
        let is_last = is_last(&self.prepared, connection);
        let (head, body) = request.payload(&self.prepared, is_last);
        let Ok(count) = connection.write(head, body) else {
            self.broken(id, now);
            return false;
        };
        self.recorder.current().count_bytes_out(count as u64);
        true
    }

    #[inline]
    pub(super) fn on_ready(&mut self, id: u32, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            let connection = &mut self.connections[id];
            if connection.is_writing() {
                let now = self.clock.now();
                if !self.write(id, now) {
                    return;
                }
            } else {
                // Handshake bytes that did not fit the socket.
                connection.flush_tls();
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read(id, flags.intersects(ENDED));
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    #[inline]
    pub(super) fn read(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id].generation();
        for _ in 0..READS_MAX {
            let connection = &self.connections[id];
            let (asked, flags) = connection.next_read();
            let secure = connection.is_secure();
            let count = match self.received.receive(connection.socket(), asked, flags) {
                Ok(0) => return self.cut(id),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    let now = self.clock.now();
                    return self.broken(id, now);
                }
            };
            let taken = if secure {
                self.take_secure(id, count)
            } else if flags == RecvFlags::TRUNC {
                self.skip(id, count)
            } else {
                self.take(id, count)
            };
            if secure && !self.connections.contains(id, generation) {
                return;
            }
            match taken {
                // A short read has emptied the socket; its next byte triggers a new edge.
                FeedOutcome::More if count < asked && !ended => return,
                FeedOutcome::More => {}
                FeedOutcome::Complete { exactly } => {
                    return self.complete(id, exactly && !ended, ended);
                }
                FeedOutcome::Failed(outcome) => {
                    let now = self.clock.now();
                    return self.fail(id, outcome, now);
                }
            }
        }
        self.read_later(id);
    }

    /// Processes `count` bytes of the buffer without TLS.
    #[inline]
    fn take(&mut self, id: u32, count: usize) -> FeedOutcome {
        self.recorder.current().count_bytes_in(count as u64);
        let connection = &mut self.connections[id];
        let mut intake = Intake {
            prepared: &self.prepared,
            memo: &mut self.memo,
            requests: &mut self.requests,
            virtual_users: self.virtual_users.as_deref_mut(),
        };
        intake.feed(connection, self.received.received(count))
    }

    /// Accounts for `count` body bytes that the kernel discarded.
    fn skip(&mut self, id: u32, count: usize) -> FeedOutcome {
        self.recorder.current().count_bytes_in(count as u64);
        let connection = &mut self.connections[id];
        if let Some(request) = self.requests.get_mut(connection.request())
            && let Some(call) = request.call_mut()
        {
            call.bytes_in += count as u64;
        }
        match connection.reader_mut().skip(count as u64) {
            Progress::More => FeedOutcome::More,
            Progress::Complete(_) => FeedOutcome::Complete { exactly: true },
        }
    }

    /// Decrypts `count` bytes of the buffer, and processes the plaintext.
    fn take_secure(&mut self, id: u32, count: usize) -> FeedOutcome {
        let connection = &mut self.connections[id];
        let Some(mut session) = connection.take_tls() else {
            return FeedOutcome::Failed(Outcome::Tls);
        };
        let mut taken = FeedOutcome::More;
        let mut intake = Intake {
            prepared: &self.prepared,
            memo: &mut self.memo,
            requests: &mut self.requests,
            virtual_users: self.virtual_users.as_deref_mut(),
        };
        let decrypted = self.received.decrypt(count, &mut session, |bytes| {
            taken = match taken {
                FeedOutcome::More => intake.feed(connection, bytes),
                FeedOutcome::Complete { .. } => FeedOutcome::Complete { exactly: false },
                FeedOutcome::Failed(outcome) => FeedOutcome::Failed(outcome),
            };
        });
        if !decrypted.is_valid {
            // The alert with the reason; it does not matter here whether it arrives.
            let _ = session.flush(connection.socket());
            taken = match taken {
                FeedOutcome::Complete { .. } => FeedOutcome::Complete { exactly: false },
                _ => FeedOutcome::Failed(Outcome::Tls),
            };
        }
        self.recorder.current().count_bytes_in(decrypted.len);
        if session.flush(connection.socket()).is_err() && taken == FeedOutcome::More {
            taken = FeedOutcome::Failed(Outcome::Reset);
        }
        let is_made = connection.is_connecting() && !session.is_handshaking();
        connection.return_tls(session);
        if is_made && taken == FeedOutcome::More {
            self.recorder.current().count_handshake();
            let now = self.clock.now();
            self.make_ready(id, now);
        }
        taken
    }

    /// An answer is complete.
    #[inline]
    fn complete(&mut self, id: u32, reusable: bool, peer_closed: bool) {
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
        let kept = reusable && !connection.is_writing() && reader.keeps_alive();
        let kept = kept && !is_last(&self.prepared, connection);
        self.recorder.current().count_coding(coding);
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
        let good = self.prepared.good.get(usize::from(status));
        if good.is_some_and(|good| *good) && !goes_on_for_ever {
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
    fn cut(&mut self, id: u32) {
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

/// Whether the connection has sent its last request.
pub(super) fn is_last(prepared: &PreparedLoad, connection: &TargetConnection) -> bool {
    connection.has_served(prepared.plan.transport.requests_per_connection)
}
