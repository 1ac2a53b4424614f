//! Connections of HTTP/2: bytes between their sockets and their state, and the results of their streams.

use std::collections::VecDeque;

use plimsoll_model::outcome::Outcome;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use slab::Slab;

use super::exchange::{READS_MAX, put, receive};
use super::opening::ENDED;
use super::{BUFFER_LEN, Engine};
use crate::connection::{ConnectionPhase, Request, TransportStage};
use crate::list::NONE;
use crate::multiplex::{AnswerHead, Multiplex, Standing, Take};

impl Engine {
    /// A connection is established and the target speaks HTTP/2: its request is sent. `early` holds bytes of the
    /// target that were already received.
    pub(super) fn begin_http2(&mut self, id: u32, early: &[u8], now: u64) {
        let streams = self
            .prepared
            .plan
            .transport
            .http2
            .map_or(1, |http2| http2.streams);
        let Some(mut multiplex) = Multiplex::new(streams, now) else {
            return self.fail(id, Outcome::Protocol, now);
        };
        multiplex.push(early, now);
        self.connecting.remove(&mut self.connections, id);
        let connection = &mut self.connections[id as usize];
        connection.stage = TransportStage::Multiplexing;
        connection.phase = ConnectionPhase::Busy;
        connection.multiplex = Some(multiplex);
        let request = std::mem::replace(&mut connection.request, NONE);
        let generation = connection.generation;
        self.send_stream(id, request, now);
        if self.stands(id, generation) {
            self.attend(id, None, false);
        }
    }

    /// The handshake is done, and the target chose HTTP/1.1.
    fn begin_http1(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id as usize];
        connection.stage = TransportStage::Exchanging;
        // From now on users open several connections to it, as browsers do.
        self.chose_http1[usize::from(connection.origin)] = true;
        let lined_up = self.lined_up.remove(&id).unwrap_or_default();
        self.make_ready(id, now);
        self.dispatch_again(lined_up, now);
    }

    /// Sends requests some other way than on the connection they waited for.
    fn dispatch_again(&mut self, requests: VecDeque<u32>, now: u64) {
        for request in requests {
            self.requests[request as usize].connection = NONE;
            self.dispatch_call(request, now);
        }
    }

    pub(super) fn on_multiplexed(&mut self, id: u32, flags: EventFlags) {
        let connection = &mut self.connections[id as usize];
        let was_writing = connection.writing;
        if flags.contains(EventFlags::OUT) {
            if was_writing {
                self.flush(id);
            } else if connection.stage == TransportStage::Negotiating
                && let Some(session) = &mut connection.tls
            {
                // A broken socket shows when it is read.
                let _ = session.flush(&connection.socket);
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read_multiplexed(id, flags.intersects(ENDED));
        } else if was_writing && self.connections[id as usize].stage == TransportStage::Multiplexing
        {
            // The socket is writable again, which unblocks the connection.
            self.attend(id, None, false);
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    pub(super) fn read_multiplexed(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id as usize].generation;
        for _ in 0..READS_MAX {
            let received = receive(
                &self.connections[id as usize].socket,
                &mut self.buffer[..BUFFER_LEN],
                RecvFlags::empty(),
                self.timestamps.as_mut(),
                &mut self.arrived,
                self.clock,
            );
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
            let arrived = self.arrived.take();
            if !self.stands(id, generation) {
                return;
            }
            match self.connections[id as usize].stage {
                TransportStage::Multiplexing => self.attend(id, arrived, false),
                TransportStage::Exchanging => return self.read(id, ended),
                TransportStage::Dialing
                | TransportStage::Negotiating
                | TransportStage::WebSocket => {}
            }
            // A short read has emptied the socket; its next byte triggers a new edge.
            if !self.stands(id, generation) || (count < BUFFER_LEN && !ended) {
                return;
            }
        }
        self.read_later(id);
    }

    /// The target closed or reset the connection.
    fn on_peer_end(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        if let Some(multiplex) = &mut connection.multiplex {
            multiplex.end();
            return self.attend(id, None, true);
        }
        let now = self.clock.now();
        self.fail(id, Outcome::Tls, now);
    }

    /// Processes `count` bytes of the buffer: decrypts them, and passes them to the connection.
    fn take_in(&mut self, id: u32, count: usize, now: u64) -> Result<(), Outcome> {
        let connection = &mut self.connections[id as usize];
        let mut fits = true;
        let Some(mut session) = connection.tls.take() else {
            if let Some(multiplex) = &mut connection.multiplex {
                fits = multiplex.push(&self.buffer[..count], now);
            }
            self.recorder.current().window.bytes_in += count as u64;
            return if fits { Ok(()) } else { Err(Outcome::Protocol) };
        };
        let (mut input, mut early, mut plain_len) = (&self.buffer[..count], Vec::new(), 0);
        let mut result = Ok(());
        while !input.is_empty() && result.is_ok() {
            let received = session.receive(&mut input, &mut self.plain, |bytes| {
                plain_len += bytes.len();
                match &mut connection.multiplex {
                    Some(multiplex) => fits &= multiplex.push(bytes, now),
                    // The target may send data as soon as it has chosen the protocol.
                    None => early.extend_from_slice(bytes),
                }
            });
            result = received.map_err(|_| Outcome::Tls);
        }
        self.recorder.current().window.bytes_in += plain_len as u64;
        // Handshake responses, or the alert with the reason; a broken socket shows when it is read.
        let _ = session.flush(&connection.socket);
        let is_made = connection.stage == TransportStage::Negotiating && !session.is_handshaking();
        let chose_http2 = session.chose_http2();
        connection.tls = Some(session);
        result?;
        if !fits {
            return Err(Outcome::Protocol);
        }
        if is_made {
            self.recorder.current().window.handshakes += 1;
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
        let connection = &mut self.connections[id as usize];
        let Some(multiplex) = &mut connection.multiplex else {
            return;
        };
        if !connection.writing && !multiplex.has_outward() {
            return;
        }
        let (socket, tls) = (&connection.socket, &mut connection.tls);
        let written = multiplex.write_with(|bytes| match tls {
            None if bytes.is_empty() => Ok(0),
            None => put(socket, bytes, &[]).map_err(Into::into),
            Some(session) => session.send(socket, bytes, &[]),
        });
        let sealed = |tls: &Option<Box<crate::tls::TlsSession>>| {
            tls.as_ref().is_none_or(|session| !session.wants_write())
        };
        match written {
            Ok(count) => {
                connection.writing = multiplex.has_outward() || !sealed(tls);
                self.recorder.current().window.bytes_out += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                connection.writing = true;
            }
            // The socket reports it as a separate event; streams end then.
            Err(_) => connection.writing = false,
        }
    }

    /// Collects results of a connection's streams, and continues with those that ended. `arrived` is the arrival time,
    /// if the kernel reported it.
    pub(super) fn attend(&mut self, id: u32, arrived: Option<u64>, peer_closed: bool) {
        let now = self.clock.now();
        let done = arrived.map_or(now, |arrived| arrived.min(now));
        // Counts from here on belong to the second in which the request ended.
        self.recorder.roll(now);
        let generation = self.connections[id as usize].generation;
        loop {
            let connection = &mut self.connections[id as usize];
            let Some(multiplex) = &mut connection.multiplex else {
                return;
            };
            let was_kept = connection.served > 1;
            let mut ends = std::mem::take(&mut self.ends);
            multiplex.poll(&mut AnswerSink(&mut self.requests), &mut ends);
            self.flush(id);
            self.settle(id, now);
            // Before its user continues, who may reuse the connection at once.
            self.yield_connection(id, generation, now);
            for end in ends.drain(..) {
                self.stream_ended(end, was_kept, now, done);
            }
            self.ends = ends;
            if !self.stands(id, generation) {
                return;
            }
            let multiplex = self.connections[id as usize].multiplex.as_deref();
            let goes_on = |multiplex: &Multiplex| {
                multiplex.standing() != Standing::Over && multiplex.is_woken()
            };
            if !multiplex.is_some_and(goes_on) {
                break;
            }
        }
        self.settle(id, now);
        if self.stands(id, generation) {
            self.release_if_finished(id, peer_closed, now);
        }
    }

    /// Processes connections with results that became known during other work.
    pub(super) fn attend_woken(&mut self) {
        while let Some((id, generation)) = self.woken.pop() {
            if self.stands(id, generation) {
                self.attend(id, None, false);
            }
        }
    }

    /// Whether a connection can carry another request now.
    fn takes_stream(&self, id: u32) -> bool {
        let multiplex = self.connections[id as usize].multiplex.as_ref();
        multiplex.is_some_and(|multiplex| multiplex.has_capacity())
    }

    /// Sends requests that wait for a connection as far as possible, and lists it if it has room for more.
    pub(super) fn settle(&mut self, id: u32, now: u64) {
        let generation = self.connections[id as usize].generation;
        while self.stands(id, generation) && self.takes_stream(id) {
            let next = if self.virtual_users.is_some() {
                self.lined_up.get_mut(&id).and_then(VecDeque::pop_front)
            } else {
                self.pop_waiting()
            };
            match next {
                Some(request) => self.send_stream(id, request, now),
                None => break,
            }
        }
        if !self.stands(id, generation) {
            return;
        }
        self.enlist(id);
        if !self.connections[id as usize].is_http2_open()
            && let Some(lined_up) = self.lined_up.remove(&id)
        {
            self.dispatch_again(lined_up, now);
        }
    }

    /// Lists a connection among those that can be reassigned, or removes it. A user's own connection can be reassigned
    /// only when no stream is open on it.
    pub(super) fn enlist(&mut self, id: u32) {
        let is_free = self.takes_stream(id);
        let of_user = self.virtual_users.is_some();
        let connection = &mut self.connections[id as usize];
        let is_empty = |multiplex: &Multiplex| multiplex.is_empty();
        let is_free =
            is_free && (!of_user || connection.multiplex.as_deref().is_some_and(is_empty));
        match connection.phase {
            ConnectionPhase::Idle if !is_free => {
                connection.phase = ConnectionPhase::Busy;
                self.idle.remove(&mut self.connections, id);
            }
            ConnectionPhase::Busy if is_free => {
                connection.phase = ConnectionPhase::Idle;
                self.idle.push_back(&mut self.connections, id);
            }
            _ => {}
        }
    }

    /// Drops a connection that accepts no further request.
    fn release_if_finished(&mut self, id: u32, peer_closed: bool, now: u64) {
        let connection = &self.connections[id as usize];
        let Some(multiplex) = &connection.multiplex else {
            return;
        };
        let is_closing = connection.phase == ConnectionPhase::Closing;
        if peer_closed {
            // Open streams have been notified; none may be left behind in any case.
            return self.fail(id, Outcome::Reset, now);
        }
        if is_closing || !multiplex.is_empty() {
            return;
        }
        match multiplex.standing() {
            Standing::Over if multiplex.is_failed() => {
                self.close(id, false);
                self.serve_waiting(now);
            }
            // It has sent GOAWAY; the target closes, and `TIME_WAIT` stays on its side.
            Standing::Over => self.retire(id, now),
            Standing::Draining => {
                if let Some(multiplex) = &mut self.connections[id as usize].multiplex {
                    multiplex.send_goaway();
                }
                self.flush(id);
                self.close(id, false);
                self.serve_waiting(now);
            }
            Standing::Open => {
                let generation = connection.generation;
                self.yield_connection(id, generation, now);
            }
        }
    }

    /// An idle connection of a user gives its slot to a waiting call.
    fn yield_connection(&mut self, id: u32, generation: u32, now: u64) {
        let is_wanted = self.waiting.len() > 0 && self.virtual_users.is_some();
        let is_idle = self.stands(id, generation)
            && self.connections[id as usize].phase == ConnectionPhase::Idle;
        if is_wanted && is_idle && self.evict() {
            self.serve_waiting(now);
        }
    }
}

/// Passes parts of responses to the calls that need them.
struct AnswerSink<'a>(&'a mut Slab<Request>);

impl Take for AnswerSink<'_> {
    fn head(&mut self, request: u32, answer: &AnswerHead, len: u64, write: &dyn Fn(&mut Vec<u8>)) {
        let request = self.0.get_mut(request as usize);
        let Some(call) = request.and_then(|request| request.call.as_mut()) else {
            return;
        };
        call.bytes_in += len;
        if call.keeps_head || (call.keeps_cookies && answer.sets_cookie) {
            write(&mut call.head);
        }
    }

    fn content(&mut self, request: u32, bytes: &[u8]) {
        let request = self.0.get_mut(request as usize);
        if let Some(call) = request.and_then(|request| request.call.as_mut()) {
            call.bytes_in += bytes.len() as u64;
            plimsoll_wire::response::Sink::content(&mut **call, bytes);
        }
    }
}
