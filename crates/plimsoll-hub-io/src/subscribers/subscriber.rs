//! One client of the hub: a stage of its connection. Messages to it are written by its loop's local hub; this module
//! handles what it sends, and its disconnect.

mod answers;
mod controls;
mod deflated;
mod disconnect;
mod keep_alive;

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use plimsoll_hub::channels::Since;
use plimsoll_hub::{ClientFormat, ClientId, sse};
use plimsoll_net::client_socket::ClientSocket;
use plimsoll_net::clock;
use plimsoll_net::loop_state::LoopState;
use plimsoll_wire::websocket::closing::{self, code};
use plimsoll_wire::websocket::frame::{Frame, write};
use plimsoll_wire::websocket::{Closing, Event, Opcode, Role, WebSocketReader};

use self::disconnect::CLOSE_TIMEOUT_TICKS;
use super::disconnect_reports::DisconnectedClient;
use super::local_hub::{LocalHub, SubscriberTable};
use crate::access::connection_quota::ConnectionLimits;
use crate::access::dialog::Dialog;
use crate::access::hooks::{ClientIdentity, Hooks};
use crate::access::token::{ClientAccess, Grant, TokenGate};
use crate::hub::ActiveHub;
use crate::hub::active::ActiveReader;

/// Maximum number of reads before the task yields.
const READS_MAX: usize = 8;

/// A client whose request is answered but that is not registered yet.
#[derive(Debug)]
pub struct Arrival {
    /// The hub that it enters.
    pub hub: Arc<ActiveHub>,
    /// How messages are written to it.
    pub format: ClientFormat,
    /// The head of the response.
    pub head: Vec<u8>,
    /// Subscriptions of a reader of Server-Sent Events, and its last position.
    pub channels: Vec<String>,
    /// From where a reader continues.
    pub since: Since,
    /// The id from which a Mercure reader wants to continue. The response says from which it does.
    pub event_id: Option<String>,
    /// Its entry in the list of active subscriptions, if there is one.
    pub active: Option<ActiveReader>,
    /// Rights granted by its token.
    pub grant: Option<Box<Grant>>,
    /// Its hook requests, where hooks are configured.
    pub dialog: Option<Box<Dialog>>,
    /// Channels that the application allows it to read.
    pub settled: Vec<String>,
    /// Identity to report when it disconnects, where that hook is configured.
    pub person: Option<Box<ClientIdentity>>,
}

/// One client.
#[derive(Debug)]
pub struct SubscriberConnection {
    local_hub: Rc<LocalHub>,
    reader: WebSocketReader,
    id: ClientId,
    deadline: usize,
    format: ClientFormat,
    closing: Closing,
    /// It violated the protocol: nothing more is read.
    is_broken: bool,
    /// A ping is unanswered.
    is_pinged: bool,
    /// At the last check, data was pending of which it had read nothing.
    was_stuck: bool,
    strikes: u8,
    grant: Option<Box<Grant>>,
    dialog: Option<Box<Dialog>>,
    person: Option<Box<ClientIdentity>>,
    /// Dropped after its subscriptions have ended.
    active: Option<Box<ActiveReader>>,
    /// Actions of the first poll.
    arrival: Option<Box<(Arrival, Vec<u8>)>>,
}

impl SubscriberConnection {
    /// Registers a client; `early` is what it sent behind its request.
    pub fn new(
        client: ClientSocket,
        mut arrival: Arrival,
        early: Vec<u8>,
        cx: &Context<'_>,
        local_hub: Rc<LocalHub>,
        event_loop: &LoopState,
        deadline: usize,
    ) -> Self {
        let format = arrival.format;
        let grant = arrival.grant.take();
        let dialog = arrival.dialog.take();
        let person = arrival.person.take();
        let active = arrival.active.take().map(Box::new);
        let connection = Self {
            id: local_hub.welcome(client, cx.waker(), format),
            reader: WebSocketReader::new(Role::Server, format == ClientFormat::Deflated),
            local_hub,
            deadline,
            format,
            closing: Closing::default(),
            is_broken: false,
            is_pinged: false,
            was_stuck: false,
            strikes: 0,
            grant,
            dialog,
            person,
            active,
            arrival: Some(Box::new((arrival, early))),
        };
        event_loop.set_deadline(deadline, connection.pause());
        connection
    }

    /// Its user.
    fn user(&self) -> Option<Rc<str>> {
        self.grant.as_ref()?.user()
    }

    /// Memory held for incomplete messages.
    pub fn memory(&self) -> usize {
        self.reader.memory()
    }

    /// Serves it until it disconnects.
    pub fn poll(&mut self, cx: &mut Context<'_>, event_loop: &LoopState) -> Poll<()> {
        // With a write budget it would appear not to read.
        let driving = poll_fn(|cx| self.drive(cx, event_loop));
        pin!(tokio::task::unconstrained(driving)).poll(cx)
    }

    fn drive(&mut self, cx: &mut Context<'_>, event_loop: &LoopState) -> Poll<()> {
        let local_hub = Rc::clone(&self.local_hub);
        let mut subscribers = local_hub.subscribers.borrow_mut();
        let subscribers = &mut *subscribers;
        if let Some(arrival) = self.arrival.take() {
            self.arrive(*arrival, subscribers, event_loop);
        }
        if let Some((code, why)) = self.why_end(subscribers, event_loop) {
            self.end(subscribers, event_loop, code, why);
        }
        self.take_answers(subscribers);
        subscribers
            .audience
            .flush(self.id, &mut subscribers.sockets);
        let is_here = self.read(cx, subscribers, event_loop);
        subscribers.settle(&local_hub.figures);
        let Some(socket) = subscribers.sockets.get(self.id) else {
            return Poll::Ready(());
        };
        socket.flush();
        if !is_here || socket.is_gone || self.is_over() && !subscribers.audience.is_waiting(self.id)
        {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Writes the response, and performs the subscriptions of the request.
    fn arrive(
        &mut self,
        (arrival, mut early): (Arrival, Vec<u8>),
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) {
        // It is not told of its own subscriptions.
        if let Some(active) = &mut self.active {
            active.announce();
        }
        let user = self.user();
        let speaker = self
            .local_hub
            .speaker(self.id, self.format, user.as_deref());
        let (gate, hooks, bounds) = self.local_hub.deciders();
        let mut access = access(
            (gate.as_deref(), hooks.as_deref(), &bounds),
            &mut self.grant,
            None,
            subscribers.audience.has_any(self.id),
        );
        access.settled = &arrival.settled;
        let mut shards = self.local_hub.shards();
        let attendance = subscribers.command_handler(&mut shards).attend(
            &speaker,
            &access,
            &arrival.channels,
            arrival.since,
        );
        // Before the response, too: a client that has read it finds itself counted.
        self.local_hub.count_in(self.format);
        let is_recovered = attendance.is_recovered();
        // Any other id than the one that was named tells of a loss.
        let follows = |id: String| {
            if is_recovered {
                id
            } else {
                sse::EARLIEST.to_owned()
            }
        };
        let event_id = arrival.event_id.map(follows);
        let head = with_event_id(arrival.head, event_id.as_deref());
        subscribers
            .audience
            .send(self.id, Bytes::from(head), &mut subscribers.sockets);
        subscribers
            .command_handler(&mut shards)
            .begin(&speaker, attendance);
        self.receive(&mut early, subscribers, event_loop);
    }

    /// Sends a message to this client alone.
    fn send_frame(&self, subscribers: &mut SubscriberTable, opcode: Opcode, payload: &[u8]) {
        let mut frame = Vec::new();
        write(&mut frame, &Frame::plain(opcode, payload), None);
        subscribers
            .audience
            .send(self.id, Bytes::from(frame), &mut subscribers.sockets);
    }

    /// Reads pending data; whether it is still connected.
    fn read(
        &mut self,
        cx: &mut Context<'_>,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) -> bool {
        let mut shared = event_loop.shared.borrow_mut();
        for _ in 0..READS_MAX {
            let Some(socket) = subscribers.sockets.get(self.id) else {
                return false;
            };
            let count = match socket.client.poll_read(cx, &mut shared) {
                Poll::Ready(Ok(count)) if count > 0 => count,
                Poll::Ready(_) => return false,
                Poll::Pending => return true,
            };
            event_loop.figures.bytes_in.add(count as u64);
            self.is_pinged = false;
            self.receive(&mut shared[..count], subscribers, event_loop);
        }
        cx.waker().wake_by_ref();
        true
    }

    /// Handles received data. A reader of Server-Sent Events sends none.
    fn receive(
        &mut self,
        bytes: &mut [u8],
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) {
        if self.format.is_events() {
            return;
        }
        let limits = self.local_hub.wire_limits.get();
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_broken {
            let taken = match self.reader.next(rest, &limits) {
                Ok((taken, Some(event))) => {
                    self.take(event, subscribers, event_loop);
                    taken
                }
                Ok((taken, None)) => taken,
                Err(error) => {
                    let why = error.to_string();
                    return self.cast_out(subscribers, event_loop, error.close_code(), &why);
                }
            };
            rest = &mut rest[taken..];
        }
    }

    fn take(
        &mut self,
        event: Event<'_>,
        subscribers: &mut SubscriberTable,
        event_loop: &LoopState,
    ) {
        match event {
            Event::Text(text) => self.command(&text, subscribers, event_loop),
            Event::Deflated(packed) => self.take_deflated(&packed, subscribers, event_loop),
            Event::Binary(_) => self.refuse_bytes(subscribers, event_loop),
            Event::Ping(payload) => self.take_control(Some(&payload), subscribers, event_loop),
            Event::Pong(_) => self.take_control(None, subscribers, event_loop),
            Event::Close(close) => {
                let is_owed = self.closing.receive();
                self.retire(subscribers);
                if is_owed {
                    let payload = closing::payload(close.code, "");
                    self.send_frame(subscribers, Opcode::Close, &payload);
                }
                event_loop.set_deadline(self.deadline, CLOSE_TIMEOUT_TICKS);
            }
        }
    }

    fn refuse_bytes(&mut self, subscribers: &mut SubscriberTable, event_loop: &LoopState) {
        let why = "only text messages are supported";
        self.cast_out(subscribers, event_loop, code::UNSUPPORTED, why);
    }

    fn command(&mut self, text: &str, subscribers: &mut SubscriberTable, event_loop: &LoopState) {
        if !self.closing.may_send() {
            return;
        }
        let user = self.user();
        let speaker = self
            .local_hub
            .speaker(self.id, self.format, user.as_deref());
        let (gate, hooks, bounds) = self.local_hub.deciders();
        let mut access = access(
            (gate.as_deref(), hooks.as_deref(), &bounds),
            &mut self.grant,
            self.dialog.as_deref_mut(),
            subscribers.audience.has_any(self.id),
        );
        let is_in_rate = subscribers
            .command_handler(&mut self.local_hub.shards())
            .take(&speaker, &mut access, text);
        self.send_questions(hooks.as_ref(), subscribers);
        if !is_in_rate {
            self.strike(subscribers, event_loop);
        } else if self.grant.is_some() && self.closing.may_send() {
            // The token may have changed.
            event_loop.set_deadline(self.deadline, self.pause());
        }
    }

    /// Detaches its connection from the hub, and returns its socket.
    pub fn leave(self) -> Option<ClientSocket> {
        let socket = self
            .local_hub
            .subscribers
            .borrow_mut()
            .sockets
            .take(self.id);
        let mut client = socket?.client;
        if let ClientSocket::Stream(stream) = &mut client {
            // The response ends with the connection.
            stream.end();
        }
        Some(client)
    }
}

/// A complete head with the id of the event after which a reader's events begin.
fn with_event_id(mut head: Vec<u8>, event_id: Option<&str>) -> Vec<u8> {
    if let Some(event_id) = event_id {
        head.truncate(head.len().saturating_sub(2));
        head.extend_from_slice(format!("Last-Event-ID: {event_id}\r\n\r\n").as_bytes());
    }
    head
}

/// Current rights of a client.
fn access<'a>(
    (gate, hooks, bounds): (
        Option<&'a TokenGate>,
        Option<&'a Hooks>,
        &'a ConnectionLimits,
    ),
    grant: &'a mut Option<Box<Grant>>,
    dialog: Option<&'a mut Dialog>,
    is_known: bool,
) -> ClientAccess<'a> {
    ClientAccess {
        gate,
        grant,
        is_known,
        now_s: clock::unix_s(),
        hooks: hooks.map(|hooks| &hooks.config),
        dialog,
        settled: &[],
        bounds: Some(bounds),
    }
}

impl Drop for SubscriberConnection {
    fn drop(&mut self) {
        let user = self.user();
        self.local_hub
            .dismiss(self.id, self.format, user.as_deref());
        if let Some(person) = self.person.take() {
            let client = self.dialog.as_ref().and_then(|dialog| dialog.name());
            self.local_hub.report_disconnect(DisconnectedClient {
                person: *person,
                user,
                client: client.map(str::to_owned),
            });
        }
        // Its places of a user and of a token, and its entry in the list, are free before it is no longer counted.
        drop((self.grant.take(), self.active.take()));
        // It is counted from its first poll on.
        if self.arrival.is_none() {
            self.local_hub.count_out(self.format);
        }
    }
}
