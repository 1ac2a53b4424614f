//! WebSockets: handshakes asked for and answered, messages sent when they are due and heard when they come, ends counted.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::websocket::closing::code;
use plimsoll_wire::websocket::handshake::AnswerFault;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::exchange::{READS_MAX, put};
use super::opening::ENDED;
use super::{ARRIVALS_MAX, BUFFER_LEN, Engine, TALKS_MAX};
use crate::clock;
use crate::connection::{Connection, Phase, UNSENT};
use crate::due::NEVER;
use crate::list::NONE;
use crate::recorder::Ended;
use crate::talk::{ABNORMAL, End, Fed, Lost, Moment, Scene, Sent, Talks};

/// How long the target gets to answer a close and to close the connection: thousands are closed at once.
pub(super) const FAREWELL_NS: u64 = 5_000_000_000;

impl Engine {
    /// Closes every second that is over at `now`, with what was heard in it.
    #[inline]
    pub(super) fn roll(&mut self, now: u64) {
        if now >= self.recorder.end_ns() {
            self.hand_over_talks();
        }
        self.recorder.roll(now);
    }

    fn hand_over_talks(&mut self) {
        if let Some(talks) = &mut self.talks {
            talks.hand_over(self.recorder.current().talk());
        }
    }

    /// A connection is made: asks for a WebSocket on it.
    pub(super) fn ask_to_talk(&mut self, id: u32, request_id: u32, now: u64) {
        let request = &mut self.requests[request_id as usize];
        if request.sent == UNSENT {
            request.sent = now;
        }
        let (path, is_users) = (request.path, request.call.is_some());
        self.recorder.current().window.sent += 1;
        if is_users {
            return self.ask_for_user(id, request_id, now);
        }
        if let Some(talks) = &mut self.talks {
            let template = self.order.templates[path as usize].head(false);
            if self
                .order
                .load
                .websockets()
                .is_some_and(|load| load.is_stream)
            {
                talks.ask_for(id, path, (template, None), None);
            } else {
                talks.ask(id, path, template);
            }
            self.transmit(id);
        }
    }

    /// Writes what was made ready, behind what waits already. A broken socket shows when it is read.
    pub(super) fn transmit(&mut self, id: u32) {
        let Some(talks) = self.talks.as_mut().filter(|talks| !talks.out.is_empty()) else {
            return;
        };
        let connection = &mut self.connections[id as usize];
        let mut written = 0;
        if !connection.writing {
            written = write(connection, &talks.out).unwrap_or(0);
            connection.writing |= written < talks.out.len();
        }
        self.recorder.current().window.bytes_out += written as u64;
        talks.keep(id, written);
        talks.out.clear();
    }

    /// Writes what waits.
    fn transmit_rest(&mut self, id: u32) {
        let connection = &mut self.connections[id as usize];
        let Some(unsent) = self.talks.as_mut().and_then(|talks| talks.unsent(id)) else {
            return;
        };
        let written = write(connection, unsent).unwrap_or(0);
        unsent.drain(..written);
        if unsent.is_empty() {
            // One that reads again holds no memory.
            *unsent = Vec::new();
        } else {
            connection.writing = true;
        }
        self.recorder.current().window.bytes_out += written as u64;
    }

    pub(super) fn on_talking(&mut self, id: u32, flags: EventFlags) {
        let connection = &mut self.connections[id as usize];
        if flags.contains(EventFlags::OUT) {
            if connection.writing {
                self.transmit_rest(id);
            } else if let Some(session) = &mut connection.tls {
                // A handshake that did not fit the socket.
                let _ = session.flush(&connection.socket);
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read_talk(id, flags.intersects(ENDED));
        }
    }

    /// Reads what has come. `ended` says that the target will send nothing after it.
    pub(super) fn read_talk(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id as usize].generation;
        for _ in 0..READS_MAX {
            let socket = &self.connections[id as usize].socket;
            let (buffer, flags) = (&mut self.buffer[..], RecvFlags::empty());
            let received = match &mut self.stamps {
                Some(stamps) => stamps.receive(socket, buffer, flags),
                None => rustix::net::recv(socket, buffer, flags).map(|(_, count)| (count, None)),
            };
            let (count, stamp_ns) = match received {
                Ok((0, _)) => return self.talk_is_cut(id),
                Ok(received) => received,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => return self.talk_is_cut(id),
            };
            let now = self.clock.now();
            self.roll(now);
            let at = Moment {
                now,
                unix_us: stamp_ns.unwrap_or_else(clock::wall_ns) / 1000,
            };
            let fed = match self.take_talk(id, count, at) {
                Ok(fed) => fed,
                Err(outcome) => return self.talk_fails(id, outcome, now),
            };
            self.conclude(id, fed, stamp_ns, now);
            // A short read has emptied the socket, and its next byte is a new edge.
            if !self.stands(id, generation) || (count < BUFFER_LEN && !ended) {
                return;
            }
        }
        self.read_later(id);
    }

    /// Takes `count` bytes of the buffer, decrypted if they must be.
    fn take_talk(&mut self, id: u32, count: usize, at: Moment) -> Result<Fed, Outcome> {
        let mut fed = Fed::default();
        let Some(talks) = &mut self.talks else {
            return Ok(fed);
        };
        talks.out.clear();
        let connection = &mut self.connections[id as usize];
        let current = self.recorder.current();
        let is_plain = connection.tls.is_none();
        if is_plain {
            current.window.bytes_in += count as u64;
        }
        let mut scene = Scene {
            agenda: self.order.agenda.as_ref(),
            crowd: self.crowd.as_deref_mut(),
            at,
            second: current.talk(),
            fed: &mut fed,
        };
        let Some(session) = &mut connection.tls else {
            talks.feed(id, &mut self.buffer[..count], &mut scene);
            return Ok(fed);
        };
        let (mut input, mut plain_len) = (&self.buffer[..count], 0);
        let mut result = Ok(());
        while !input.is_empty() && result.is_ok() {
            result = session.receive(&mut input, &mut self.plain, |bytes| {
                plain_len += bytes.len();
                talks.feed(id, bytes, &mut scene);
            });
        }
        let current = self.recorder.current();
        current.window.bytes_in += plain_len as u64;
        // Answers of the handshake, or the alert that says what is wrong.
        let _ = session.flush(&connection.socket);
        let is_made = connection.phase == Phase::Connecting && !session.is_handshaking();
        result.map_err(|_| Outcome::Tls)?;
        if is_made {
            current.window.handshakes += 1;
            self.make_ready(id, at.now);
        }
        Ok(fed)
    }

    /// Does what follows from what came.
    fn conclude(&mut self, id: u32, fed: Fed, stamp_ns: Option<u64>, now: u64) {
        if self
            .talks
            .as_mut()
            .is_some_and(|talks| talks.owned(id).is_some())
        {
            let done = stamp_ns.map_or(now, |stamp_ns| self.clock.moment_of(stamp_ns));
            return self.conclude_owned(id, fed, done.min(now), now);
        }
        let generation = self.connections[id as usize].generation;
        if fed.opened {
            self.talk_opened(id, now);
            if !self.stands(id, generation) {
                return;
            }
        }
        if let Some(sent) = fed.answered {
            let arrived = stamp_ns.map_or(now, |stamp_ns| self.clock.moment_of(stamp_ns));
            self.message_answered(id, sent, arrived.min(now));
        }
        self.transmit(id);
        let is_open = self.connections[id as usize].phase != Phase::Closing;
        match fed.end {
            Some(End::Refused(fault)) => self.refuse(id, &fault, now),
            Some(End::Closed(code)) if is_open => {
                self.count_close(code);
                self.lose_talk(id, now);
                self.take_leave(id, Outcome::Reset, now);
            }
            Some(End::Faulty(fault)) if is_open => {
                self.count_fault(fault.to_string());
                self.end_talk(id, fault.close_code(), Outcome::Protocol, now);
            }
            Some(End::Broken(fault)) if is_open => {
                self.count_fault(fault);
                self.end_talk(id, code::PROTOCOL, Outcome::Protocol, now);
            }
            // What comes while both say farewell changes nothing.
            Some(End::Closed(_) | End::Faulty(_) | End::Broken(_)) | None => {}
        }
    }

    /// A handshake was answered as it should be.
    fn talk_opened(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id as usize];
        let generation = connection.generation;
        let request = std::mem::replace(&mut connection.request, NONE);
        let due = self.requests[request as usize].due;
        let status = if self.is_stream(id) { 200 } else { SWITCHED };
        let talks = self.talks.as_ref();
        if talks.is_some_and(|talks| !talks.returning.contains_key(&request)) {
            self.recorder.answered(status, now);
            let talk = self.recorder.current().talk();
            talk.connected(now.saturating_sub(due));
        }
        self.end_request(request, Outcome::Ok, now);
        let order = &self.order;
        let (Some(talks), Some(agenda)) = (&mut self.talks, &order.agenda) else {
            return;
        };
        if now >= self.source.end_ns() {
            return self.end_talk(id, code::GOING_AWAY, Outcome::Dropped, now);
        }
        talks.opened(agenda, (id, generation), now);
        if Talks::greets(agenda) && talks.may_say(id).is_some() {
            let len = talks.say(agenda, id);
            self.count_sent(len);
        }
    }

    pub(super) fn count_sent(&mut self, len: u64) {
        let window = &mut self.recorder.current().talk().window;
        window.messages_out += 1;
        window.bytes_out += len;
    }

    pub(super) fn count_close(&mut self, code: u16) {
        let closed = &mut self.recorder.current().talk().window.closed;
        *closed.entry(code).or_default() += 1;
    }

    pub(super) fn count_fault(&mut self, fault: String) {
        let faults = &mut self.recorder.current().talk().window.faults;
        *faults.entry(fault).or_default() += 1;
    }

    /// A message was answered at `done`.
    fn message_answered(&mut self, id: u32, sent: Sent, done: u64) {
        let done = done.max(sent.due);
        self.recorder
            .current()
            .talk()
            .answered(done.saturating_sub(sent.due));
        self.recorder.ended(Ended {
            outcome: Outcome::Ok,
            due: sent.due,
            sent: sent.at,
            done,
        });
        let is_over = self.talks.as_ref().is_some_and(|talks| talks.is_over);
        if is_over && self.connections[id as usize].phase != Phase::Closing {
            let now = self.clock.now();
            self.end_talk(id, code::NORMAL, Outcome::Dropped, now);
        }
    }

    /// A message was not answered, and will not be waited for.
    fn message_failed(&mut self, sent: Sent, outcome: Outcome, now: u64) {
        self.recorder.current().talk().window.unanswered += 1;
        self.recorder.ended(Ended {
            outcome,
            due: sent.due,
            sent: sent.at,
            done: now,
        });
    }

    /// The target refuses the handshake.
    pub(super) fn refuse(&mut self, id: u32, fault: &AnswerFault, now: u64) {
        let (outcome, cause) = match fault {
            AnswerFault::Status(status) => {
                self.recorder.answered(*status, now);
                (Outcome::WrongStatus, format!("status {status}"))
            }
            AnswerFault::Http(_) => (Outcome::Protocol, "not HTTP".to_owned()),
            AnswerFault::NotSwitched => (Outcome::Protocol, "not switched".to_owned()),
            AnswerFault::Accept => (Outcome::Protocol, "wrong accept key".to_owned()),
            AnswerFault::Unasked => (Outcome::Protocol, "unasked protocol".to_owned()),
        };
        if let Some(talks) = &mut self.talks {
            talks.cause = Some(cause);
        }
        self.fail(id, outcome, now);
    }

    /// Counts a handshake that opened nothing; does nothing where none is asked for.
    pub(super) fn handshake_failed(&mut self, outcome: Outcome) {
        let Some(talks) = &mut self.talks else { return };
        let cause = talks.cause.take();
        let cause = cause.unwrap_or_else(|| outcome.name().to_owned());
        let failed = &mut self.recorder.current().talk().window.failed;
        *failed.entry(cause).or_default() += 1;
    }

    /// The target closed or reset the connection.
    fn talk_is_cut(&mut self, id: u32) {
        let now = self.clock.now();
        self.roll(now);
        let connection = &self.connections[id as usize];
        let is_shaking = connection.phase == Phase::Connecting && connection.tls.is_some();
        let outcome = if is_shaking {
            Outcome::Tls
        } else {
            Outcome::Reset
        };
        self.talk_fails(id, outcome, now);
    }

    /// Nothing more will come over a connection.
    fn talk_fails(&mut self, id: u32, outcome: Outcome, now: u64) {
        if self
            .talks
            .as_mut()
            .is_some_and(|talks| talks.owned(id).is_some())
        {
            return self.socket_is_lost(id, outcome, (Some(ABNORMAL), true), now);
        }
        let connection = &self.connections[id as usize];
        if connection.request != NONE {
            return self.fail(id, outcome, now);
        }
        if connection.phase != Phase::Closing {
            self.count_close(ABNORMAL);
            self.lose_talk(id, now);
            self.depart(id, outcome, now);
        }
        self.close(id, true);
    }

    /// The target or the network ended a WebSocket of a load of flags.
    fn lose_talk(&mut self, id: u32, since: u64) {
        let path = self.talks.as_mut().and_then(|talks| talks.path(id));
        if let Some(path) = path {
            let lost = Lost {
                path,
                since,
                tries: 0,
            };
            self.miss_talk(lost, since);
        }
    }

    /// A subscriber ceases to listen; what it waited for, if anything, ends so.
    pub(super) fn depart(&mut self, id: u32, outcome: Outcome, now: u64) {
        let Some(talks) = &mut self.talks else { return };
        talks.leave(id, now);
        if let Some(sent) = talks.give_up_answer(id) {
            self.message_failed(sent, outcome, now);
        }
    }

    /// The same, and the target gets time to close the connection.
    fn take_leave(&mut self, id: u32, outcome: Outcome, now: u64) {
        self.depart(id, outcome, now);
        self.retire_for(id, now, FAREWELL_NS);
    }

    /// Ends a WebSocket.
    pub(super) fn end_talk(&mut self, id: u32, code: u16, outcome: Outcome, now: u64) {
        if let Some(talks) = &mut self.talks {
            talks.bid_farewell(id, code);
        }
        self.transmit(id);
        if self.is_stream(id) {
            // Who streams goes on until nobody listens.
            self.depart(id, outcome, now);
            return self.close(id, false);
        }
        self.take_leave(id, outcome, now);
    }

    /// Whether a connection carries a stream of events.
    pub(super) fn is_stream(&mut self, id: u32) -> bool {
        let talks = self.talks.as_mut();
        talks.is_some_and(|talks| talks.is_stream(id))
    }

    /// So many events were handled. A handshake is timed when it is read, so none may wait.
    pub(super) fn note_messages(&mut self, count: usize) {
        let is_more = count >= TALKS_MAX || !self.requests.is_empty() || self.stamps.is_none();
        let now = self.clock.now();
        if let Some(talks) = &mut self.talks {
            talks.rest.note(count, is_more, now);
        }
    }

    /// Whether messages are let gather before they are looked at.
    #[inline]
    pub(super) fn may_rest(&mut self) -> bool {
        let talks = self.talks.as_mut();
        talks.is_some_and(|talks| talks.rest.take())
    }

    /// When the next message is due.
    #[inline]
    pub(super) fn next_message(&self) -> u64 {
        let Some(talks) = &self.talks else {
            return NEVER;
        };
        let due = talks.next_due().min(talks.next_errand());
        if due >= self.source.end_ns() {
            NEVER
        } else {
            due
        }
    }

    /// Sends messages that are due at `now`. Whether more may be due at once.
    #[inline]
    pub(super) fn speak_up(&mut self, now: u64) -> bool {
        if self.talks.is_none() {
            return false;
        }
        if now >= self.source.end_ns() {
            self.end_talks(now);
        }
        self.run_errands(now);
        self.crowd.is_none() && self.send_due(now)
    }

    fn send_due(&mut self, now: u64) -> bool {
        let release = now - now % self.order.tick_ns;
        let mut now = now;
        for _ in 0..ARRIVALS_MAX {
            if self.next_message() > release {
                return false;
            }
            let next = self.talks.as_mut().and_then(|talks| talks.pop_due(release));
            let Some((due, id, generation)) = next else {
                return false;
            };
            if self.stands(id, generation) {
                self.send_message(id, generation, due, now);
                now = self.clock.now();
            }
        }
        true
    }

    /// One message is due.
    fn send_message(&mut self, id: u32, generation: u32, due: u64, now: u64) {
        let (Some(talks), Some(agenda)) = (&mut self.talks, &self.order.agenda) else {
            return;
        };
        let Some(is_read) = talks.may_say(id) else {
            return;
        };
        talks.again(agenda, (due, id, generation));
        let late = talks.give_up_answer(id);
        if let Some(sent) = late {
            self.message_failed(sent, Outcome::Timeout, now);
        }
        self.recorder.offered(due, now);
        if !is_read {
            // What was sent before still waits: this is never sent.
            self.recorder.current().talk().window.unanswered += 1;
            return self.recorder.drop_at_once(due, now);
        }
        let (Some(talks), Some(agenda)) = (&mut self.talks, &self.order.agenda) else {
            return;
        };
        talks.out.clear();
        let len = talks.say(agenda, id);
        talks.await_answer(agenda, id, Sent { due, at: now });
        self.recorder.current().window.sent += 1;
        self.count_sent(len);
        self.transmit(id);
    }

    /// Gives up answers that did not come in time.
    pub(super) fn give_up_answers(&mut self, now: u64) {
        while let Some(talks) = &mut self.talks
            && let Some(id) = talks.pop_expired(now)
        {
            if let Some(sent) = talks.give_up_answer(id) {
                self.message_failed(sent, Outcome::Timeout, now);
            }
            let is_over = self.talks.as_ref().is_some_and(|talks| talks.is_over);
            if is_over {
                self.end_talk(id, code::NORMAL, Outcome::Dropped, now);
            }
        }
    }

    /// The load is over: ends all that wait for no answer. The others end with theirs.
    fn end_talks(&mut self, now: u64) {
        let Some(talks) = &mut self.talks else { return };
        if std::mem::replace(&mut talks.is_over, true) {
            return;
        }
        for id in talks.all_open() {
            let is_at_rest = self
                .talks
                .as_mut()
                .is_some_and(|talks| talks.is_at_rest(id));
            if is_at_rest {
                self.end_talk(id, code::NORMAL, Outcome::Dropped, now);
            }
        }
    }

    /// At the end of the drain: nobody listens any more.
    pub(super) fn leave_all(&mut self, now: u64) {
        let open = self.talks.as_ref().map(|talks| talks.all_open());
        for id in open.unwrap_or_default() {
            self.depart(id, Outcome::Timeout, now);
        }
        self.hand_over_talks();
    }
}

/// The status that switches to another protocol.
pub(super) const SWITCHED: u16 = 101;

/// Writes bytes as far as the socket takes them.
fn write(connection: &mut Connection, bytes: &[u8]) -> Result<usize, Errno> {
    let result = match &mut connection.tls {
        None => put(&connection.socket, bytes, &[]),
        Some(session) => {
            let result = session.send(&connection.socket, bytes, &[]);
            connection.writing = session.wants_write();
            result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }
    };
    if connection.tls.is_none() && result.is_ok() {
        connection.writing = false;
    }
    result
}
