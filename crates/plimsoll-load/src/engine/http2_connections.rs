//! Connections of HTTP/2: bytes between their sockets and their state, and the results of their streams.

use std::collections::VecDeque;

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::Engine;
use super::receiving::READS_MAX;
use crate::connections::{ConnectionPhase, TransportStage};
use crate::http2::{AnswerHead, Http2Connection, Standing, Take};
use crate::poller::ENDED;
use crate::receive_buffer::BUFFER_LEN;
use crate::requests::Requests;

impl Engine {
    /// A connection is established and the target speaks HTTP/2: its request is sent. `early` holds bytes of the
    /// target that were already received.
    pub(super) fn begin_http2(&mut self, id: u32, early: &[u8], now: u64) {
        let streams = self.prepared.streams_max();
        let limits = self.prepared.request().expected().head;
        let Some(mut http2) = Http2Connection::new(streams, limits, now) else {
            return self.fail(id, Outcome::Protocol, now);
        };
        http2.push(early, now);
        self.connections.established(id);
        let connection = &mut self.connections[id];
        connection.begin_http2(http2);
        let (request, generation) = (connection.take_request(), connection.generation());
        self.send_stream(id, request, now);
        if self.connections.contains(id, generation) {
            self.attend(id, None, false);
        }
    }

    /// The handshake is done, and the target chose HTTP/1.1.
    fn begin_http1(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id];
        connection.set_stage(TransportStage::Exchanging);
        self.http2.set_http1(connection.origin());
        let lined_up = self.http2.take_line(id);
        self.make_ready(id, now);
        self.dispatch_again(lined_up, now);
    }

    /// Sends requests some other way than on the connection they waited for.
    fn dispatch_again(&mut self, requests: VecDeque<u32>, now: u64) {
        for request in requests {
            self.requests[request].unassign();
            self.dispatch_call(request, now);
        }
    }

    pub(super) fn on_http2_event(&mut self, id: u32, flags: EventFlags) {
        let connection = &mut self.connections[id];
        let was_writing = connection.is_writing();
        if flags.contains(EventFlags::OUT) {
            if was_writing {
                self.flush(id);
            } else if connection.stage() == TransportStage::Negotiating {
                connection.flush_tls();
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read_http2(id, flags.intersects(ENDED));
        } else if was_writing && self.connections[id].stage() == TransportStage::Http2 {
            // The socket is writable again, which unblocks the connection.
            self.attend(id, None, false);
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    pub(super) fn read_http2(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id].generation();
        for _ in 0..READS_MAX {
            let socket = self.connections[id].socket();
            let received = self
                .received
                .receive(socket, BUFFER_LEN, RecvFlags::empty());
            let count = match received {
                Ok(0) => return self.on_peer_end(id),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => return self.on_peer_end(id),
            };
            let now = self.clock.now();
            if let Err(outcome) = self.take_in(id, count, now) {
                return self.fail(id, outcome, now);
            }
            let arrived = self.received.take_arrival();
            if !self.connections.contains(id, generation) {
                return;
            }
            match self.connections[id].stage() {
                TransportStage::Http2 => self.attend(id, arrived, false),
                TransportStage::Exchanging => return self.read(id, ended),
                TransportStage::Dialing
                | TransportStage::Negotiating
                | TransportStage::WebSocket => {}
            }
            // A short read has emptied the socket; its next byte triggers a new edge.
            if !self.connections.contains(id, generation) || (count < BUFFER_LEN && !ended) {
                return;
            }
        }
        self.read_later(id);
    }

    /// The target closed or reset the connection.
    fn on_peer_end(&mut self, id: u32) {
        let connection = &mut self.connections[id];
        if let Some(http2) = connection.http2_mut() {
            http2.end();
            return self.attend(id, None, true);
        }
        let now = self.clock.now();
        self.fail(id, Outcome::Tls, now);
    }

    /// Processes `count` bytes of the buffer: decrypts them, and passes them to the connection.
    fn take_in(&mut self, id: u32, count: usize, now: u64) -> Result<(), Outcome> {
        let connection = &mut self.connections[id];
        let mut fits = true;
        let Some(mut session) = connection.take_tls() else {
            if let Some(http2) = connection.http2_mut() {
                fits = http2.push(self.received.received(count), now);
            }
            self.recorder.current().count_bytes_in(count as u64);
            return if fits { Ok(()) } else { Err(Outcome::Protocol) };
        };
        let mut early = Vec::new();
        let decrypted = self.received.decrypt(count, &mut session, |bytes| {
            match connection.http2_mut() {
                Some(http2) => fits &= http2.push(bytes, now),
                // The target may send data as soon as it has chosen the protocol.
                None => early.extend_from_slice(bytes),
            }
        });
        self.recorder.current().count_bytes_in(decrypted.len);
        // Handshake responses, or the alert with the reason; a broken socket shows when it is read.
        let _ = session.flush(connection.socket());
        let is_negotiating = connection.stage() == TransportStage::Negotiating;
        let is_made = is_negotiating && !session.is_handshaking();
        let chose_http2 = session.chose_http2();
        connection.return_tls(session);
        if !decrypted.is_valid {
            return Err(Outcome::Tls);
        }
        if !fits {
            return Err(Outcome::Protocol);
        }
        if is_made {
            let took_ns = connection.end_phase(now);
            self.recorder.current().count_handshake(took_ns);
            if chose_http2 {
                self.begin_http2(id, &early, now);
            } else if early.is_empty() {
                self.begin_http1(id, now);
            } else {
                return Err(Outcome::Protocol);
            }
        }
        Ok(())
    }

    /// Writes a connection's pending output, as far as the socket takes it.
    pub(super) fn flush(&mut self, id: u32) {
        let count = self.connections[id].flush_http2();
        self.recorder.current().count_bytes_out(count);
    }

    /// Collects results of a connection's streams, and continues with those that ended. `arrived` is the arrival time,
    /// if the kernel reported it.
    pub(super) fn attend(&mut self, id: u32, arrived: Option<u64>, peer_closed: bool) {
        let now = self.clock.now();
        let done = arrived.map_or(now, |arrived| arrived.min(now));
        // Counts from here on belong to the second in which the request ended.
        self.recorder.roll(now);
        let generation = self.connections[id].generation();
        loop {
            let connection = &mut self.connections[id];
            let was_kept = connection.was_kept();
            let Some(http2) = connection.http2_mut() else {
                return;
            };
            let mut ends = self.http2.take_ends();
            let mut sink = AnswerSink {
                requests: &mut self.requests,
                done,
            };
            http2.poll(&mut sink, &mut ends);
            self.flush(id);
            self.settle(id, now);
            // Before its user continues, who may reuse the connection at once.
            self.yield_connection(id, generation, now);
            for end in ends.drain(..) {
                self.stream_ended(end, was_kept, now, done);
            }
            self.http2.return_ends(ends);
            if !self.connections.contains(id, generation) {
                return;
            }
            let http2 = self.connections[id].http2();
            let goes_on =
                |http2: &Http2Connection| http2.standing() != Standing::Over && http2.is_woken();
            if !http2.is_some_and(goes_on) {
                break;
            }
        }
        self.settle(id, now);
        if self.connections.contains(id, generation) {
            self.release_if_finished(id, peer_closed, now);
        }
    }

    /// Processes connections with results that became known during other work.
    pub(super) fn attend_woken(&mut self) {
        while let Some((id, generation)) = self.http2.next_woken() {
            if self.connections.contains(id, generation) {
                self.attend(id, None, false);
            }
        }
    }

    /// Whether a connection can carry another request now.
    fn takes_stream(&self, id: u32) -> bool {
        let http2 = self.connections[id].http2();
        http2.is_some_and(Http2Connection::has_capacity)
    }

    /// Sends requests that wait for a connection as far as possible, and lists it if it has room for more.
    pub(super) fn settle(&mut self, id: u32, now: u64) {
        let generation = self.connections[id].generation();
        while self.connections.contains(id, generation) && self.takes_stream(id) {
            let next = if self.virtual_users.is_some() {
                self.http2.next_in_line(id)
            } else {
                self.dequeue()
            };
            match next {
                Some(request) => self.send_stream(id, request, now),
                None => break,
            }
        }
        if !self.connections.contains(id, generation) {
            return;
        }
        self.enlist(id);
        if !self.connections[id].is_http2_open() {
            let lined_up = self.http2.take_line(id);
            self.dispatch_again(lined_up, now);
        }
    }

    /// Lists a connection among those that can be reassigned, or removes it. A user's own connection can be reassigned
    /// only when no stream is open on it.
    pub(super) fn enlist(&mut self, id: u32) {
        let http2 = self.connections[id].http2();
        let is_empty = http2.is_some_and(Http2Connection::is_empty);
        let is_free = self.takes_stream(id) && (is_empty || self.virtual_users.is_none());
        self.connections.set_available(id, is_free);
    }

    /// Drops a connection that accepts no further request.
    fn release_if_finished(&mut self, id: u32, peer_closed: bool, now: u64) {
        let connection = &self.connections[id];
        let Some(http2) = connection.http2() else {
            return;
        };
        if peer_closed {
            // Open streams have been notified; none may be left behind in any case.
            return self.fail(id, Outcome::Reset, now);
        }
        if connection.is_closing() || !http2.is_empty() {
            return;
        }
        match http2.standing() {
            Standing::Over if http2.is_failed() => {
                self.close(id, false);
                self.serve_waiting(now);
            }
            // It has sent GOAWAY; the target closes, and `TIME_WAIT` stays on its side.
            Standing::Over => self.retire(id, now),
            Standing::Draining => {
                if let Some(http2) = self.connections[id].http2_mut() {
                    http2.send_goaway();
                }
                self.flush(id);
                self.close(id, false);
                self.serve_waiting(now);
            }
            Standing::Open => {
                let generation = connection.generation();
                self.yield_connection(id, generation, now);
            }
        }
    }

    /// An idle connection of a user gives its slot to a waiting call.
    fn yield_connection(&mut self, id: u32, generation: u32, now: u64) {
        let is_wanted = self.requests.queue_len() > 0 && self.virtual_users.is_some();
        let is_idle = self.connections.contains(id, generation)
            && self.connections[id].phase() == ConnectionPhase::Idle;
        if is_wanted && is_idle && self.evict() {
            self.serve_waiting(now);
        }
    }
}

/// Passes parts of responses to the calls that need them.
struct AnswerSink<'a> {
    requests: &'a mut Requests,
    /// When they arrived.
    done: u64,
}

impl Take for AnswerSink<'_> {
    fn head(&mut self, request: u32, answer: &AnswerHead, len: u64, write: &dyn Fn(&mut Vec<u8>)) {
        let Some(request) = self.requests.get_mut(request) else {
            return;
        };
        request.mark_first_byte(self.done);
        let Some(call) = request.call_mut() else {
            return;
        };
        call.count_bytes(len);
        call.take_head(answer.sets_cookie, write);
    }

    fn content(&mut self, request: u32, bytes: &[u8]) {
        let request = self.requests.get_mut(request);
        if let Some(call) = request.and_then(|request| request.call_mut()) {
            call.count_bytes(bytes.len() as u64);
            plimsoll_wire::response::Sink::content(call, bytes);
        }
    }
}
