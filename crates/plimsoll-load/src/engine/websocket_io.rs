//! WebSockets: handshakes, scheduled messages, received messages, and ends.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::websocket::closing::code;
use plimsoll_wire::websocket::handshake::HandshakeError;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::receiving::READS_MAX;
use super::{ARRIVALS_MAX, Engine, WEBSOCKET_EVENTS_MAX};
use crate::clock;
use crate::due::NEVER;
use crate::list::NONE;
use crate::poller::ENDED;
use crate::receive_buffer::BUFFER_LEN;
use crate::recorder::RequestEnd;
use crate::websocket_session::{
    ABNORMAL, Fed, Lost, Moment, Owned, ReceiveContext, Sent, SessionEnd, WebSocketSessions,
};

/// How long the target gets to answer a close and to close the connection: thousands are closed at once.
pub(super) const FAREWELL_NS: u64 = 5_000_000_000;

impl Engine {
    /// Closes every second that is over at `now`, with its received messages.
    #[inline]
    pub(super) fn roll(&mut self, now: u64) {
        if now >= self.recorder.end_ns() {
            self.flush_websockets();
        }
        self.recorder.roll(now);
    }

    fn flush_websockets(&mut self) {
        if let Some(websockets) = &mut self.websockets {
            websockets.flush(self.recorder.current().websocket());
        }
    }

    /// A connection is established: sends the handshake on it.
    pub(super) fn begin_handshake(&mut self, id: u32, request_id: u32, now: u64) {
        let request = &mut self.requests[request_id];
        request.mark_sent(now);
        let (path, is_users) = (request.path(), request.call().is_some());
        self.recorder.current().count_sent();
        if is_users {
            return self.begin_user_handshake(id, request_id, now);
        }
        if let Some(websockets) = &mut self.websockets {
            let template = self.prepared.templates[path as usize].head(false);
            if self
                .prepared
                .load
                .websockets()
                .is_some_and(|load| load.is_stream)
            {
                websockets.begin_handshake_with(id, path, (template, None), None);
            } else {
                websockets.begin_handshake(id, path, template);
            }
            self.transmit(id);
        }
    }

    /// Writes prepared bytes behind those that are pending. A broken socket shows when it is read.
    pub(super) fn transmit(&mut self, id: u32) {
        let Some(websockets) = self
            .websockets
            .as_mut()
            .filter(|websockets| !websockets.output().is_empty())
        else {
            return;
        };
        let connection = &mut self.connections[id];
        let mut written = 0;
        if !connection.is_writing() {
            written = connection.write_frames(websockets.output());
        }
        self.recorder.current().count_bytes_out(written as u64);
        websockets.output_written(id, written);
    }

    /// Writes pending bytes.
    fn transmit_rest(&mut self, id: u32) {
        let connection = &mut self.connections[id];
        let Some(unsent) = self
            .websockets
            .as_mut()
            .and_then(|websockets| websockets.unsent(id))
        else {
            return;
        };
        let written = connection.write_frames(unsent);
        unsent.drain(..written);
        if unsent.is_empty() {
            // A connection whose target reads again holds no buffer.
            *unsent = Vec::new();
        }
        self.recorder.current().count_bytes_out(written as u64);
    }

    pub(super) fn on_websocket_event(&mut self, id: u32, flags: EventFlags) {
        let connection = &mut self.connections[id];
        if flags.contains(EventFlags::OUT) {
            if connection.is_writing() {
                self.transmit_rest(id);
            } else {
                // Handshake bytes that did not fit the socket.
                connection.flush_tls();
            }
        }
        if flags.intersects(EventFlags::IN | ENDED) {
            self.read_websocket(id, flags.intersects(ENDED));
        }
    }

    /// Reads available bytes. `ended` means that the target closed its side.
    pub(super) fn read_websocket(&mut self, id: u32, ended: bool) {
        let generation = self.connections[id].generation();
        for _ in 0..READS_MAX {
            let socket = self.connections[id].socket();
            let received = self.received.receive_stamped(socket);
            let (count, timestamp_ns) = match received {
                Ok((0, _)) => return self.websocket_is_cut(id),
                Ok(received) => received,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => return self.websocket_is_cut(id),
            };
            let now = self.clock.now();
            self.roll(now);
            let at = Moment {
                now,
                unix_us: timestamp_ns.unwrap_or_else(clock::wall_ns) / 1000,
            };
            let fed = match self.feed_websocket(id, count, at) {
                Ok(fed) => fed,
                Err(outcome) => return self.websocket_failed(id, outcome, now),
            };
            self.conclude(id, fed, timestamp_ns, now);
            // A short read has emptied the socket; its next byte triggers a new edge.
            if !self.connections.contains(id, generation) || (count < BUFFER_LEN && !ended) {
                return;
            }
        }
        self.read_later(id);
    }

    /// Processes `count` bytes of the buffer, decrypted where needed.
    fn feed_websocket(&mut self, id: u32, count: usize, at: Moment) -> Result<Fed, Outcome> {
        let mut fed = Fed::default();
        let Some(feed_websocket) = &mut self.websockets else {
            return Ok(fed);
        };
        feed_websocket.clear_output();
        let connection = &mut self.connections[id];
        let current = self.recorder.current();
        if !connection.is_secure() {
            current.count_bytes_in(count as u64);
        }
        let mut context = ReceiveContext {
            agenda: self.prepared.agenda.as_ref(),
            virtual_users: self.virtual_users.as_deref_mut(),
            at,
            second: current.websocket(),
            fed: &mut fed,
        };
        let Some(mut session) = connection.take_tls() else {
            feed_websocket.feed(id, self.received.received(count), &mut context);
            return Ok(fed);
        };
        let decrypted = self.received.decrypt(count, &mut session, |bytes| {
            feed_websocket.feed(id, bytes, &mut context);
        });
        let current = self.recorder.current();
        current.count_bytes_in(decrypted.len);
        // Handshake responses, or the alert with the reason.
        let _ = session.flush(connection.socket());
        let is_made = connection.is_connecting() && !session.is_handshaking();
        connection.return_tls(session);
        if !decrypted.is_valid {
            return Err(Outcome::Tls);
        }
        if is_made {
            current.count_handshake();
            self.make_ready(id, at.now);
        }
        Ok(fed)
    }

    /// Handles received events.
    fn conclude(&mut self, id: u32, fed: Fed, timestamp_ns: Option<u64>, now: u64) {
        if self.owned(id).is_some() {
            let done = timestamp_ns.map_or(now, |timestamp_ns| self.clock.moment_of(timestamp_ns));
            return self.conclude_owned(id, fed, done.min(now), now);
        }
        let generation = self.connections[id].generation();
        if fed.opened {
            self.websocket_opened(id, now);
            if !self.connections.contains(id, generation) {
                return;
            }
        }
        if let Some(sent) = fed.answered {
            let arrived =
                timestamp_ns.map_or(now, |timestamp_ns| self.clock.moment_of(timestamp_ns));
            self.message_answered(id, sent, arrived.min(now));
        }
        self.transmit(id);
        let is_open = !self.connections[id].is_closing();
        match fed.end {
            Some(SessionEnd::Refused(error)) => self.refuse(id, &error, now),
            Some(SessionEnd::Closed(code)) if is_open => {
                self.count_close(code);
                self.lose_websocket(id, now);
                self.take_leave(id, Outcome::Reset, now);
            }
            Some(SessionEnd::ProtocolError(error)) if is_open => {
                self.count_error(error.to_string());
                self.end_websocket(id, error.close_code(), Outcome::Protocol, now);
            }
            Some(SessionEnd::Broken(error)) if is_open => {
                self.count_error(error);
                self.end_websocket(id, code::PROTOCOL, Outcome::Protocol, now);
            }
            // Data that arrives during the closing handshake is ignored.
            Some(SessionEnd::Closed(_) | SessionEnd::ProtocolError(_) | SessionEnd::Broken(_))
            | None => {}
        }
    }

    /// A handshake succeeded.
    fn websocket_opened(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id];
        let (generation, request) = (connection.generation(), connection.take_request());
        let due = self.requests[request].due();
        let status = if self.is_stream(id) { 200 } else { SWITCHED };
        let websockets = self.websockets.as_ref();
        if websockets.is_some_and(|websockets| !websockets.is_return(request)) {
            self.recorder.answered(status, now);
            let builder = self.recorder.current().websocket();
            builder.connected(now.saturating_sub(due));
        }
        self.end_request(request, Outcome::Ok, now);
        let prepared = &self.prepared;
        let (Some(websockets), Some(agenda)) = (&mut self.websockets, &prepared.agenda) else {
            return;
        };
        if now >= self.scheduler.end_ns() {
            return self.end_websocket(id, code::GOING_AWAY, Outcome::Dropped, now);
        }
        websockets.opened(agenda, (id, generation), now);
        if WebSocketSessions::greets(agenda) && websockets.may_send(id).is_some() {
            let len = websockets.queue_agenda_message(agenda, id);
            self.count_sent(len);
        }
    }

    pub(super) fn count_sent(&mut self, len: u64) {
        self.recorder.current().websocket().sent(len);
    }

    pub(super) fn count_close(&mut self, code: u16) {
        self.recorder.current().websocket().closed(code);
    }

    pub(super) fn count_error(&mut self, error: String) {
        self.recorder.current().websocket().protocol_error(error);
    }

    /// A message was answered at `done`.
    fn message_answered(&mut self, id: u32, sent: Sent, done: u64) {
        let done = done.max(sent.due);
        self.recorder
            .current()
            .websocket()
            .answered(done.saturating_sub(sent.due));
        self.recorder.ended(RequestEnd {
            outcome: Outcome::Ok,
            due: sent.due,
            sent: sent.at,
            done,
        });
        let is_over = self.websockets_are_over();
        if is_over && !self.connections[id].is_closing() {
            let now = self.clock.now();
            self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
        }
    }

    /// A message has no response in time; it is no longer waited for.
    fn message_failed(&mut self, sent: Sent, outcome: Outcome, now: u64) {
        self.recorder.current().websocket().unanswered();
        self.recorder.ended(RequestEnd {
            outcome,
            due: sent.due,
            sent: sent.at,
            done: now,
        });
    }

    /// The target refused the handshake.
    pub(super) fn refuse(&mut self, id: u32, error: &HandshakeError, now: u64) {
        let (outcome, cause) = match error {
            HandshakeError::Status(status) => {
                self.recorder.answered(*status, now);
                (Outcome::WrongStatus, format!("status {status}"))
            }
            HandshakeError::Http(_) => (Outcome::Protocol, "not HTTP".to_owned()),
            HandshakeError::NotSwitched => (Outcome::Protocol, "not switched".to_owned()),
            HandshakeError::Accept => (Outcome::Protocol, "wrong accept key".to_owned()),
            HandshakeError::Unasked => (Outcome::Protocol, "unasked protocol".to_owned()),
        };
        if let Some(websockets) = &mut self.websockets {
            websockets.set_cause(cause);
        }
        self.fail(id, outcome, now);
    }

    /// Counts a failed handshake; does nothing where none is pending.
    pub(super) fn handshake_failed(&mut self, outcome: Outcome) {
        let Some(websockets) = &mut self.websockets else {
            return;
        };
        let cause = websockets.take_cause();
        let cause = cause.unwrap_or_else(|| outcome.name().to_owned());
        self.recorder.current().websocket().handshake_failed(cause);
    }

    /// The target closed or reset the connection.
    fn websocket_is_cut(&mut self, id: u32) {
        let now = self.clock.now();
        self.roll(now);
        let outcome = if self.connections[id].is_handshaking() {
            Outcome::Tls
        } else {
            Outcome::Reset
        };
        self.websocket_failed(id, outcome, now);
    }

    /// Nothing more will arrive on a connection.
    fn websocket_failed(&mut self, id: u32, outcome: Outcome, now: u64) {
        if self.owned(id).is_some() {
            return self.socket_is_lost(id, outcome, (Some(ABNORMAL), true), now);
        }
        let connection = &self.connections[id];
        if connection.request() != NONE {
            return self.fail(id, outcome, now);
        }
        if !connection.is_closing() {
            self.count_close(ABNORMAL);
            self.lose_websocket(id, now);
            self.depart(id, outcome, now);
        }
        self.close(id, true);
    }

    /// The target or the network ended a WebSocket of a load from flags.
    fn lose_websocket(&mut self, id: u32, since: u64) {
        let path = self
            .websockets
            .as_mut()
            .and_then(|websockets| websockets.path(id));
        if let Some(path) = path {
            let lost = Lost {
                path,
                since,
                tries: 0,
            };
            self.schedule_reconnect(lost, since);
        }
    }

    /// A subscriber unsubscribes; a pending message of it ends.
    pub(super) fn depart(&mut self, id: u32, outcome: Outcome, now: u64) {
        let Some(websockets) = &mut self.websockets else {
            return;
        };
        websockets.leave(id, now);
        if let Some(sent) = websockets.give_up_answer(id) {
            self.message_failed(sent, outcome, now);
        }
    }

    /// The same, with time for the target to close the connection.
    fn take_leave(&mut self, id: u32, outcome: Outcome, now: u64) {
        self.depart(id, outcome, now);
        self.retire_for(id, now, FAREWELL_NS);
    }

    /// Ends a WebSocket.
    pub(super) fn end_websocket(&mut self, id: u32, code: u16, outcome: Outcome, now: u64) {
        if let Some(websockets) = &mut self.websockets {
            websockets.bid_farewell(id, code);
        }
        self.transmit(id);
        if self.is_stream(id) {
            // A stream continues until its last subscriber leaves.
            self.depart(id, outcome, now);
            return self.close(id, false);
        }
        self.take_leave(id, outcome, now);
    }

    /// Whether open WebSockets are being closed, because the load is over.
    pub(super) fn websockets_are_over(&self) -> bool {
        let websockets = self.websockets.as_ref();
        websockets.is_some_and(|websockets| websockets.are_over())
    }

    /// The WebSocket of a user on a connection, if it is one.
    pub(super) fn owned(&mut self, id: u32) -> Option<&mut Owned> {
        self.websockets.as_mut()?.owned(id)
    }

    /// Whether a connection carries an event stream.
    pub(super) fn is_stream(&mut self, id: u32) -> bool {
        let websockets = self.websockets.as_mut();
        websockets.is_some_and(|websockets| websockets.is_stream(id))
    }

    /// Number of events handled. A handshake is timed when it is read, so none may wait.
    pub(super) fn note_messages(&mut self, count: usize) {
        let is_more = count >= WEBSOCKET_EVENTS_MAX
            || !self.requests.is_empty()
            || !self.received.reads_timestamps();
        let now = self.clock.now();
        if let Some(websockets) = &mut self.websockets {
            websockets.note_batch(count, is_more, now);
        }
    }

    /// Whether messages may accumulate before they are read.
    #[inline]
    pub(super) fn may_rest(&mut self) -> bool {
        let websockets = self.websockets.as_mut();
        websockets.is_some_and(|websockets| websockets.take_rest())
    }

    /// When the next message is due.
    #[inline]
    pub(super) fn next_message(&self) -> u64 {
        let Some(websockets) = &self.websockets else {
            return NEVER;
        };
        let due = websockets.next_due();
        if due >= self.scheduler.end_ns() {
            NEVER
        } else {
            due
        }
    }

    /// Sends messages that are due at `now`. Whether more may be due at once.
    #[inline]
    pub(super) fn drive_websockets(&mut self, now: u64) -> bool {
        if self.websockets.is_none() {
            return false;
        }
        if now >= self.scheduler.end_ns() {
            self.end_websockets(now);
        }
        self.run_timers(now);
        self.virtual_users.is_none() && self.send_due(now)
    }

    fn send_due(&mut self, now: u64) -> bool {
        let release = now - now % self.prepared.tick_ns;
        let mut now = now;
        for _ in 0..ARRIVALS_MAX {
            if self.next_message() > release {
                return false;
            }
            let next = self
                .websockets
                .as_mut()
                .and_then(|websockets| websockets.pop_due(release));
            let Some((due, id, generation)) = next else {
                return false;
            };
            if self.connections.contains(id, generation) {
                self.send_message(id, generation, due, now);
                now = self.clock.now();
            }
        }
        true
    }

    /// One message is due.
    fn send_message(&mut self, id: u32, generation: u32, due: u64, now: u64) {
        let (Some(websockets), Some(agenda)) = (&mut self.websockets, &self.prepared.agenda) else {
            return;
        };
        let Some(is_read) = websockets.may_send(id) else {
            return;
        };
        websockets.again(agenda, (due, id, generation));
        let late = websockets.give_up_answer(id);
        if let Some(sent) = late {
            self.message_failed(sent, Outcome::Timeout, now);
        }
        self.recorder.offered(due, now);
        if !is_read {
            // Earlier bytes are still pending: this message is never sent.
            self.recorder.current().websocket().unanswered();
            return self.recorder.drop_at_once(due, now);
        }
        let (Some(websockets), Some(agenda)) = (&mut self.websockets, &self.prepared.agenda) else {
            return;
        };
        websockets.clear_output();
        let len = websockets.queue_agenda_message(agenda, id);
        websockets.await_answer(agenda, id, Sent { due, at: now });
        self.recorder.current().count_sent();
        self.count_sent(len);
        self.transmit(id);
    }

    /// Times out responses.
    pub(super) fn give_up_answers(&mut self, now: u64) {
        while let Some(websockets) = &mut self.websockets
            && let Some(id) = websockets.pop_expired(now)
        {
            if let Some(sent) = websockets.give_up_answer(id) {
                self.message_failed(sent, Outcome::Timeout, now);
            }
            let is_over = self.websockets_are_over();
            if is_over {
                self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
            }
        }
    }

    /// The load is over: ends all WebSockets without a pending response. The others end with theirs.
    fn end_websockets(&mut self, now: u64) {
        let Some(websockets) = &mut self.websockets else {
            return;
        };
        if !websockets.end() {
            return;
        }
        for id in websockets.all_open() {
            let is_at_rest = self
                .websockets
                .as_mut()
                .is_some_and(|websockets| websockets.is_at_rest(id));
            if is_at_rest {
                self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
            }
        }
    }

    /// At the end of the drain: no subscriber is left.
    pub(super) fn leave_all(&mut self, now: u64) {
        let open = self
            .websockets
            .as_ref()
            .map(|websockets| websockets.all_open());
        for id in open.unwrap_or_default() {
            self.depart(id, Outcome::Timeout, now);
        }
        self.flush_websockets();
    }
}

/// The status that switches to another protocol.
pub(super) const SWITCHED: u16 = 101;
