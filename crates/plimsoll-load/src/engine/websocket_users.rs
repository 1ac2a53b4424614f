//! WebSockets of users: opened and closed by their steps, used by messages, lost and reopened.

use plimsoll_model::outcome::Outcome;
use plimsoll_wire::head::ContentCoding;
use plimsoll_wire::websocket::closing::code;

use super::Engine;
use super::websocket_ends::FAREWELL_NS;
use super::websocket_events::SWITCHED;
use crate::due::ScheduledArrival;
use crate::handshake::KEY;
use crate::list::NONE;
use crate::spread::first_due;
use crate::virtual_users::RequestRole;
use crate::virtual_users::{MessageSource, OpenedSocket, UserSocket};
use crate::websocket_session::{Fed, Owned, SessionEnd, WebSocketTimer};

impl Engine {
    /// A user opens a WebSocket; an open one is closed first.
    pub(super) fn open_socket(&mut self, user: u32, index: u32, due: u64, now: u64) {
        self.close_socket(user, code::NORMAL, now);
        let request = self.virtual_users().begin_socket(user, index);
        self.start_request(user, request, RequestRole::Opening, None, due, now);
    }

    /// A user closes its WebSocket, if it has one.
    pub(super) fn close_socket(&mut self, user: u32, code: u16, now: u64) {
        if let Some(connection) = self.virtual_users().drop_socket(user) {
            self.end_websocket(connection, code, Outcome::Dropped, now);
        }
    }

    /// Closes a connection of a user who leaves.
    pub(super) fn release_connection(&mut self, id: u32, now: u64) {
        let owned = self.owned(id);
        let is_ready = owned.is_some_and(|owned| owned.is_ready());
        if is_ready {
            self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
        } else if self.connections[id].request() != NONE {
            // It was being reopened.
            self.end_with(id, Outcome::Dropped, now);
        } else {
            self.close(id, false);
        }
    }

    /// Whether a connection is being opened for a user's WebSocket.
    pub(super) fn is_for_socket(&self, id: u32) -> bool {
        self.is_socket_request(self.connections[id].request())
    }

    /// Whether a request reopens a lost WebSocket: it does not wait, since its user may leave.
    pub(super) fn is_reopening(&self, request: u32) -> bool {
        self.role_of(request) == Some(RequestRole::Reopening)
    }

    /// Whether a request opens a WebSocket.
    pub(super) fn is_socket_request(&self, request: u32) -> bool {
        self.role_of(request).is_some_and(RequestRole::opens)
    }

    fn role_of(&self, request: u32) -> Option<RequestRole> {
        self.requests.get(request)?.role()
    }

    /// A connection is established: sends the handshake of a user's WebSocket on it.
    pub(super) fn begin_user_handshake(&mut self, id: u32, request: u32, now: u64) {
        let request = &self.requests[request];
        let user = request.user();
        let (Some(call), Some(virtual_users), Some(websockets)) = (
            request.call(),
            self.virtual_users.as_deref_mut(),
            self.websockets.as_deref_mut(),
        ) else {
            return;
        };
        let Some(socket) = virtual_users.user_socket(user) else {
            return self.fail(id, Outcome::Dropped, now);
        };
        let index = socket.index();
        let is_stream = virtual_users.socket(index).is_stream;
        let key = memchr::memmem::find(call.bytes(), KEY.as_bytes());
        let mut bytes = Vec::new();
        if is_stream && !socket.last_event().is_empty() {
            let end = call.bytes().len().saturating_sub(2);
            bytes.extend_from_slice(&call.bytes()[..end]);
            bytes.extend_from_slice(b"Last-Event-ID: ");
            bytes.extend_from_slice(socket.last_event().as_bytes());
            bytes.extend_from_slice(b"\r\n\r\n");
        }
        let bytes = if bytes.is_empty() {
            call.bytes()
        } else {
            &bytes
        };
        let path = String::from_utf8_lossy(call.path()).into_owned();
        let channel = self.prepared.channels().number(&path);
        websockets.name_channel(channel, Some(path), self.recorder.current().websocket());
        let mut owned = Box::new(Owned::new(user, index, channel));
        let mut first = Vec::new();
        if let Some(opcode) = virtual_users.fill(user, MessageSource::First(index), now, &mut first)
        {
            owned.begin_with(opcode, first);
        }
        let key = key.filter(|_| !is_stream);
        websockets.begin_handshake_with(id, channel, (bytes, key), Some(owned));
        self.transmit(id);
    }

    /// Handles an event of a user's WebSocket.
    pub(super) fn conclude_owned(&mut self, id: u32, fed: Fed, done: u64, now: u64) {
        let connection = &self.connections[id];
        let (request, is_open) = (connection.request(), !connection.is_closing());
        let generation = connection.generation();
        if let Some(head) = &fed.head {
            self.take_head(request, head, now);
        }
        self.transmit(id);
        let owned = self.owned(id);
        let is_ready = owned.is_some_and(|owned| owned.is_ready());
        if self.role_of(request).is_some_and(RequestRole::opens) {
            if is_ready {
                self.socket_is_ready(id, now);
            }
        } else if let Some(message) = fed.answer {
            self.message_came(id, &message, done);
        }
        if self.connections.contains(id, generation) {
            match fed.end {
                Some(SessionEnd::Refused(error)) => self.refuse(id, &error, now),
                Some(SessionEnd::Closed(code)) if is_open => {
                    let is_stream = self.is_stream(id);
                    self.socket_is_lost(id, Outcome::Reset, (Some(code), is_stream), now);
                }
                Some(SessionEnd::Broken(error)) if is_open => {
                    self.count_error(error);
                    self.socket_is_lost(id, Outcome::Protocol, (None, true), now);
                }
                Some(SessionEnd::ProtocolError(error)) if is_open => {
                    self.count_error(error.to_string());
                    if let Some(websockets) = &mut self.websockets {
                        websockets.bid_farewell(id, error.close_code());
                    }
                    self.transmit(id);
                    self.socket_is_lost(id, Outcome::Protocol, (None, false), now);
                }
                // Data that arrives during the closing handshake is ignored.
                Some(
                    SessionEnd::Closed(_) | SessionEnd::ProtocolError(_) | SessionEnd::Broken(_),
                )
                | None => {}
            }
        }
        self.arrive_ready(now);
    }

    /// The response to a user's handshake.
    fn take_head(&mut self, request: u32, head: &[u8], now: u64) {
        let Some(request) = self.requests.get_mut(request) else {
            return;
        };
        let user = request.user();
        if let (Some(call), Some(virtual_users)) =
            (request.call_mut(), self.virtual_users.as_deref_mut())
        {
            let socket = virtual_users.user_socket(user);
            let is_stream =
                socket.is_some_and(|socket| virtual_users.socket(socket.index()).is_stream);
            let status = if is_stream { 200 } else { SWITCHED };
            call.set_answer(status, ContentCoding::Other);
            if !call.is_once() {
                self.recorder.answered(status, now);
            }
            call.count_bytes(head.len() as u64);
            virtual_users.keep_cookies_of(user, call, head, now);
        }
    }

    /// A user's WebSocket is open, and its initial messages are sent.
    fn socket_is_ready(&mut self, id: u32, now: u64) {
        let connection = &mut self.connections[id];
        let (generation, request_id) = (connection.generation(), connection.take_request());
        let request = &self.requests[request_id];
        let (user, due) = (request.user(), request.due());
        let is_return = self.role_of(request_id) == Some(RequestRole::Reopening);
        let opened = self.virtual_users().socket_opened(user, id, is_return);
        let Some(OpenedSocket {
            index,
            number,
            lost_ns,
            cut,
        }) = opened
        else {
            // Its user has left, or has opened another.
            self.end_request(request_id, Outcome::Ok, now);
            return self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
        };
        let builder = self.recorder.current().websocket();
        let lost_for = now.saturating_sub(lost_ns);
        match cut {
            Some(cut) => builder.of_cut(cut).back(lost_for),
            None if is_return => builder.reconnected(lost_for),
            None => builder.connected(now.saturating_sub(due)),
        }
        self.schedule_drop(id, user, index, now);
        let beat = self.virtual_users().socket(index).beat.as_ref();
        if let Some(every_ns) = beat.map(|(every_ns, _)| *every_ns)
            && let Some(websockets) = &mut self.websockets
        {
            let first = first_due(number, now, every_ns);
            websockets.remind(first, WebSocketTimer::Beat(id, generation));
        }
        if is_return {
            self.subscribe_again(id, user, now);
        }
        self.end_request(request_id, Outcome::Ok, now);
        if self.websockets_are_over() {
            self.end_websocket(id, code::GOING_AWAY, Outcome::Dropped, now);
        }
    }

    /// A user sends a message, waits for one, or both. Returns whether the user continues at once.
    pub(super) fn exchange_message(
        &mut self,
        user: u32,
        index: u32,
        due: ScheduledArrival,
        now: u64,
    ) -> bool {
        let virtual_users = self.virtual_users();
        let (awaited, is_asked) = virtual_users.exchange(index);
        let socket = virtual_users.user_socket(user);
        let id = socket.map_or(NONE, UserSocket::connection);
        let websockets = self.websockets.as_mut();
        let is_open = id != NONE && websockets.is_some_and(|websockets| websockets.takes(id));
        let Some(awaited) = awaited else {
            if is_open {
                self.send_user_message(id, user, index, now);
            } else {
                self.recorder.current().websocket().unsent();
            }
            return true;
        };
        self.be_late(due, now);
        let request = self.await_message(user, awaited, due.at, now);
        if !is_open {
            if is_asked {
                self.recorder.current().websocket().unsent();
            }
            if let Some(call) = self.requests[request].call_mut() {
                call.set_reason("no WebSocket of this user is open".to_owned());
            }
            self.end_request(request, Outcome::Reset, now);
            return false;
        }
        self.requests[request].assign(id);
        self.requests[request].mark_sent(now);
        self.connections[id].set_request(request);
        if is_asked {
            self.recorder.current().count_sent();
            self.send_user_message(id, user, index, now);
        }
        let (Some(websockets), Some(virtual_users)) =
            (&mut self.websockets, self.virtual_users.as_deref_mut())
        else {
            return false;
        };
        if let Some(message) = websockets.want(id, awaited, virtual_users, (is_asked, now)) {
            self.message_came(id, &message, now);
        }
        false
    }

    /// The request under which an awaited message is counted.
    fn await_message(&mut self, user: u32, awaited: u32, due: u64, now: u64) -> u32 {
        let mut call = self.virtual_users().awaiting(user, awaited);
        call.set_expiry(self.own_expiry(user, awaited, RequestRole::Message, due));
        self.await_response(user, call, due, now)
    }

    /// Sends a user's message.
    pub(super) fn send_user_message(&mut self, id: u32, user: u32, exchange: u32, now: u64) {
        let mut text = Vec::new();
        let opcode =
            self.virtual_users()
                .fill(user, MessageSource::Exchange(exchange), now, &mut text);
        if let (Some(opcode), Some(websockets)) = (opcode, &mut self.websockets) {
            websockets.clear_output();
            websockets.queue_message(id, opcode, &text);
            self.count_sent(text.len() as u64);
            self.transmit(id);
        }
    }

    /// The awaited message of a user has arrived.
    fn message_came(&mut self, id: u32, message: &[u8], done: u64) {
        let request_id = self.connections[id].take_request();
        let owned = self.owned(id);
        let index = owned.map(|owned| owned.socket());
        let (Some(index), Some(virtual_users)) = (index, self.virtual_users.as_deref_mut()) else {
            return;
        };
        let Some(request) = self.requests.get_mut(request_id) else {
            return;
        };
        let (user, due) = (request.user(), request.due());
        let Some(call) = request.call_mut() else {
            return;
        };
        let done = done.max(due);
        let json_at = virtual_users.socket(index).layout.offset(message);
        call.set_message(message, json_at);
        let outcome = virtual_users.evaluate_message(user, call, due, done);
        if outcome.is_ok() {
            self.recorder.current().websocket().answered(done - due);
        }
        self.end_request(request_id, outcome, done);
        if self.websockets_are_over() {
            let now = self.clock.now();
            self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
        }
    }

    /// Stops waiting for a message; returns whether a request is counted for it.
    pub(super) fn give_up_message(&mut self, request: u32, now: u64) -> bool {
        if self.role_of(request) != Some(RequestRole::Message) {
            return false;
        }
        let id = self.requests[request].connection();
        self.recorder.current().websocket().unanswered();
        let mut generation = None;
        if id != NONE {
            let connection = &mut self.connections[id];
            connection.take_request();
            generation = Some(connection.generation());
            if let Some(websockets) = &mut self.websockets {
                websockets.unwant(id);
            }
        }
        self.end_request(request, Outcome::Timeout, now);
        // A user who left for it has closed its WebSocket already.
        let is_there = generation.is_some_and(|generation| {
            self.connections.contains(id, generation) && !self.connections[id].is_closing()
        });
        if is_there && self.websockets_are_over() {
            self.end_websocket(id, code::NORMAL, Outcome::Dropped, now);
        }
        true
    }

    /// A user subscribes to a channel.
    pub(super) fn listen(&mut self, user: u32, subscription: u32, now: u64) {
        let name = self.virtual_users().channel(user, subscription, now);
        let channel = name
            .as_ref()
            .map(|name| self.prepared.channels().number(name));
        let socket = self.virtual_users().user_socket(user);
        let Some(id) = socket.map(UserSocket::connection) else {
            return;
        };
        let owned = self.owned(id);
        let of_url = owned.map(|owned| owned.channel());
        let Some(channel) = channel.or(of_url) else {
            return;
        };
        self.virtual_users()
            .add_subscription(user, subscription, channel);
        if let Some(websockets) = &mut self.websockets {
            let second = self.recorder.current().websocket();
            websockets.listen(id, (subscription, channel), now, second, name);
        }
    }

    /// The target or the network ended a user's WebSocket: with a code, if one was sent, and perhaps with the
    /// connection.
    pub(super) fn socket_is_lost(
        &mut self,
        id: u32,
        outcome: Outcome,
        (code, is_cut): (Option<u16>, bool),
        now: u64,
    ) {
        let connection = &mut self.connections[id];
        let (is_closing, request) = (connection.is_closing(), connection.take_request());
        let owned = self.owned(id);
        let known = owned.map(|owned| (owned.user(), owned.is_ready()));
        if let Some((user, is_ready)) = known.filter(|_| !is_closing) {
            if is_ready {
                if let Some(code) = code {
                    self.count_close(code);
                }
                let websockets = self.websockets.as_mut();
                let last = websockets.map(|websockets| websockets.last_event(id));
                self.depart(id, outcome, now);
                self.miss_socket(user, id, last.unwrap_or_default(), now);
            } else if let (Some(websockets), Some(code)) = (&mut self.websockets, code) {
                websockets.set_cause(format!("closed with {code} before it was ready"));
            }
        }
        if is_cut {
            self.close(id, true);
        } else if !is_closing {
            self.retire_for(id, now, FAREWELL_NS);
        }
        if request != NONE {
            self.end_request(request, outcome, now);
        }
        self.serve_waiting(now);
    }
}
