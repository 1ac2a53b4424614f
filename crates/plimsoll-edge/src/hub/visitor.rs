//! One client of the hub: a stage of its connection. What is said to it is written by its loop's house; here is what it
//! says itself, and how it goes.

mod answers;
mod controls;
mod deflated;

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use plimsoll_hub::channels::Position;
use plimsoll_hub::{ClientId, Format, sse};
use plimsoll_wire::websocket::closing::{self, code};
use plimsoll_wire::websocket::frame::{Frame, write};
use plimsoll_wire::websocket::{Closing, Event, Opcode, Reader, Role};

use super::Hub;
use super::dialog::Dialog;
use super::hooks::{Hooks, Person};
use super::house::{House, Room};
use super::leaving::Left;
use super::ledger::Bounds;
use super::token::{Access, Gate, Grant};
use crate::client::Client;
use crate::clock;
use crate::deadline::TICK_MS;
use crate::loop_state::LoopState;

/// Most pieces that are read before others have their turn.
const READS_MAX: usize = 8;
/// How long a client has to take its farewell and to answer it, ticks.
const FAREWELL_TICKS: u64 = 200;
/// A ping without a payload.
const PING: &[u8] = b"\x89\x00";

/// Somebody at the door of the hub, whose request is answered.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) hub: Arc<Hub>,
    pub(crate) format: Format,
    /// The head of the answer.
    pub(crate) head: Vec<u8>,
    /// What a reader of Server-Sent Events subscribes to, and until where it was there last.
    pub(crate) channels: Vec<String>,
    pub(crate) since: Option<Position>,
    /// What its token lets it do.
    pub(crate) grant: Option<Box<Grant>>,
    /// What it wants of the application, where there is one that is asked.
    pub(crate) dialog: Option<Box<Dialog>>,
    /// Channels that the application has let it read.
    pub(crate) settled: Vec<String>,
    /// Whom the application is told of when it has left, where it wants to know.
    pub(crate) person: Option<Box<Person>>,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Visitor {
    house: Rc<House>,
    reader: Reader,
    id: ClientId,
    deadline: usize,
    format: Format,
    closing: Closing,
    /// It broke a rule: nothing more is read.
    is_broken: bool,
    /// It was asked whether it is there, and has not said anything since.
    is_asked: bool,
    /// When it was looked at last, something waited for it of which it had taken nothing.
    was_stuck: bool,
    strikes: u8,
    grant: Option<Box<Grant>>,
    dialog: Option<Box<Dialog>>,
    person: Option<Box<Person>>,
    /// What is done when it is first looked after.
    arrival: Option<Box<(Arrival, Vec<u8>)>>,
}

impl Visitor {
    /// Lets a client in; `early` is what it said behind its request.
    pub(crate) fn new(
        client: Client,
        mut arrival: Arrival,
        early: Vec<u8>,
        cx: &Context<'_>,
        house: Rc<House>,
        event_loop: &LoopState,
        deadline: usize,
    ) -> Self {
        let format = arrival.format;
        let grant = arrival.grant.take();
        let dialog = arrival.dialog.take();
        let person = arrival.person.take();
        let visitor = Self {
            id: house.welcome(client, cx.waker(), format),
            reader: Reader::new(Role::Server, format == Format::Deflated),
            house,
            deadline,
            format,
            closing: Closing::default(),
            is_broken: false,
            is_asked: false,
            was_stuck: false,
            strikes: 0,
            grant,
            dialog,
            person,
            arrival: Some(Box::new((arrival, early))),
        };
        event_loop.set_deadline(deadline, visitor.pause());
        visitor
    }

    /// Until it is asked whether it is there, or its token is over, ticks.
    fn pause(&self) -> u64 {
        let ping = self.house.ping_ticks.get();
        let left_s = self.grant.as_ref().map(|grant| {
            let left_s = grant.left_s(clock::unix_s()).unwrap_or_default();
            left_s.min(1e9)
        });
        left_s.map_or(ping, |left_s| ping.min(ticks_of(left_s)))
    }

    /// Who it is.
    fn user(&self) -> Option<Rc<str>> {
        self.grant.as_ref()?.user()
    }

    /// Whether its token is over.
    fn is_spent(&self) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| grant.left_s(clock::unix_s()).is_none())
            && (self.house.gate.borrow().is_some() || self.house.hooks.borrow().is_some())
    }

    /// Memory that it takes for what is not whole.
    pub(crate) fn memory(&self) -> usize {
        self.reader.memory()
    }

    /// Looks after it until it goes.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, event_loop: &LoopState) -> Poll<()> {
        // With a budget of writes it would look as if it took nothing.
        let looked = poll_fn(|cx| self.look_after(cx, event_loop));
        pin!(tokio::task::unconstrained(looked)).poll(cx)
    }

    fn look_after(&mut self, cx: &mut Context<'_>, event_loop: &LoopState) -> Poll<()> {
        let house = Rc::clone(&self.house);
        let mut room = house.room.borrow_mut();
        let room = &mut *room;
        if let Some(arrival) = self.arrival.take() {
            self.arrive(*arrival, room, event_loop);
        }
        if let Some((code, why)) = self.why_end(room, event_loop) {
            self.end(room, event_loop, code, why);
        }
        self.take_answers(room);
        room.audience.flush(self.id, &mut room.seats);
        let is_here = self.read(cx, room, event_loop);
        room.settle(&house.figures);
        let Some(seat) = room.seats.get(self.id) else {
            return Poll::Ready(());
        };
        seat.flush();
        if !is_here || seat.is_gone || self.is_over() && !room.audience.is_waiting(self.id) {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Whether all was said that is said to one that goes.
    fn is_over(&self) -> bool {
        match self.format {
            Format::Sse | Format::Mercure => !self.closing.may_send(),
            Format::WebSocket | Format::Deflated => self.is_broken || self.closing.is_complete(),
        }
    }

    /// The answer to its request, and what it wanted with it.
    fn arrive(
        &mut self,
        (arrival, mut early): (Arrival, Vec<u8>),
        room: &mut Room,
        event_loop: &LoopState,
    ) {
        let user = self.user();
        let speaker = self.house.speaker(self.id, self.format, user.as_deref());
        let head = Bytes::from(arrival.head);
        room.audience.say(self.id, head, &mut room.seats);
        let (gate, hooks, bounds) = self.house.deciders();
        let mut access = access(
            (gate.as_deref(), hooks.as_deref(), &bounds),
            &mut self.grant,
            None,
            room.audience.has_any(self.id),
        );
        access.settled = &arrival.settled;
        room.desk(&mut self.house.shards()).attend(
            &speaker,
            &access,
            arrival.channels,
            arrival.since,
        );
        self.hear(&mut early, room, event_loop);
    }

    /// Why a client that did nothing wrong must go.
    fn why_end(&self, room: &mut Room, event_loop: &LoopState) -> Option<(u16, &'static str)> {
        if !self.closing.may_send() {
            None
        } else if event_loop.is_draining() {
            Some((code::GOING_AWAY, "the server is ending"))
        } else if self.is_spent() {
            let why = match *self.house.gate.borrow() {
                Some(_) => "the token has expired",
                None => "what the application allowed has expired",
            };
            Some((code::POLICY, why))
        } else if !self.house.is_open.get() {
            Some((code::GOING_AWAY, "the hub is closed"))
        } else if room
            .seats
            .get(self.id)
            .is_some_and(|seat| seat.is_condemned)
        {
            Some((code::TRY_LATER, "messages were not read in time"))
        } else if self.reader.memory() > 0 && event_loop.memory.is_full() {
            Some((code::TRY_LATER, "there is no room for a message in pieces"))
        } else {
            None
        }
    }

    /// Says farewell: nothing follows but what is begun.
    fn end(&mut self, room: &mut Room, event_loop: &LoopState, code: u16, why: &str) {
        let user = self.user();
        let speaker = self.house.speaker(self.id, self.format, user.as_deref());
        room.desk(&mut self.house.shards()).retire(&speaker);
        if self.closing.send() && !self.format.is_events() {
            let payload = closing::payload(Some(code), why);
            self.say(room, Opcode::Close, &payload);
        }
        event_loop.set_deadline(self.deadline, FAREWELL_TICKS);
    }

    /// Says something that only it is told.
    fn say(&self, room: &mut Room, opcode: Opcode, payload: &[u8]) {
        let mut frame = Vec::new();
        write(&mut frame, &Frame::plain(opcode, payload), None);
        room.audience
            .say(self.id, Bytes::from(frame), &mut room.seats);
    }

    /// Reads what is there; whether it is still connected.
    fn read(&mut self, cx: &mut Context<'_>, room: &mut Room, event_loop: &LoopState) -> bool {
        let mut shared = event_loop.shared.borrow_mut();
        for _ in 0..READS_MAX {
            let Some(seat) = room.seats.get(self.id) else {
                return false;
            };
            let count = match seat.client.poll_read(cx, &mut shared) {
                Poll::Ready(Ok(count)) if count > 0 => count,
                Poll::Ready(_) => return false,
                Poll::Pending => return true,
            };
            event_loop.figures.bytes_in.add(count as u64);
            self.is_asked = false;
            self.hear(&mut shared[..count], room, event_loop);
        }
        cx.waker().wake_by_ref();
        true
    }

    /// Takes what it says. A reader of Server-Sent Events has nothing to say.
    fn hear(&mut self, bytes: &mut [u8], room: &mut Room, event_loop: &LoopState) {
        if self.format.is_events() {
            return;
        }
        let limits = self.house.wire_limits.get();
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_broken {
            let taken = match self.reader.next(rest, &limits) {
                Ok((taken, Some(event))) => {
                    self.take(event, room, event_loop);
                    taken
                }
                Ok((taken, None)) => taken,
                Err(fault) => {
                    let why = fault.to_string();
                    return self.cast_out(room, event_loop, fault.close_code(), &why);
                }
            };
            rest = &mut rest[taken..];
        }
    }

    /// It broke a rule: it is told so, and not heard any more.
    fn cast_out(&mut self, room: &mut Room, event_loop: &LoopState, code: u16, why: &str) {
        self.is_broken = true;
        self.end(room, event_loop, code, why);
    }

    fn take(&mut self, event: Event<'_>, room: &mut Room, event_loop: &LoopState) {
        match event {
            Event::Text(text) => self.command(&text, room, event_loop),
            Event::Deflated(packed) => self.take_deflated(&packed, room, event_loop),
            Event::Binary(_) => self.refuse_bytes(room, event_loop),
            Event::Ping(payload) => self.take_control(Some(&payload), room, event_loop),
            Event::Pong(_) => self.take_control(None, room, event_loop),
            Event::Close(close) => {
                let is_owed = self.closing.receive();
                let user = self.user();
                let speaker = self.house.speaker(self.id, self.format, user.as_deref());
                room.desk(&mut self.house.shards()).retire(&speaker);
                if is_owed {
                    let payload = closing::payload(close.code, "");
                    self.say(room, Opcode::Close, &payload);
                }
                event_loop.set_deadline(self.deadline, FAREWELL_TICKS);
            }
        }
    }

    fn refuse_bytes(&mut self, room: &mut Room, event_loop: &LoopState) {
        let why = "only messages of text are understood";
        self.cast_out(room, event_loop, code::UNSUPPORTED, why);
    }

    fn command(&mut self, text: &str, room: &mut Room, event_loop: &LoopState) {
        if !self.closing.may_send() {
            return;
        }
        let user = self.user();
        let speaker = self.house.speaker(self.id, self.format, user.as_deref());
        let (gate, hooks, bounds) = self.house.deciders();
        let mut access = access(
            (gate.as_deref(), hooks.as_deref(), &bounds),
            &mut self.grant,
            self.dialog.as_deref_mut(),
            room.audience.has_any(self.id),
        );
        let is_in_rate = room
            .desk(&mut self.house.shards())
            .take(&speaker, &mut access, text);
        self.ask(hooks.as_ref(), room);
        if !is_in_rate {
            self.strike(room, event_loop);
        } else if self.grant.is_some() && self.closing.may_send() {
            // It may be another token.
            event_loop.set_deadline(self.deadline, self.pause());
        }
    }

    /// Its time has come: it is asked whether it is there. Whether it is not.
    pub(crate) fn expired(&mut self, event_loop: &LoopState) -> bool {
        if !self.closing.may_send() {
            // It had time for its farewell.
            return true;
        }
        let house = Rc::clone(&self.house);
        let mut room = house.room.borrow_mut();
        let room = &mut *room;
        if self.is_spent() {
            if let Some(seat) = room.seats.get(self.id) {
                seat.wake();
            }
            event_loop.set_deadline(self.deadline, FAREWELL_TICKS);
            return false;
        }
        let is_waiting = room.audience.is_waiting(self.id);
        let Some(seat) = room.seats.get(self.id) else {
            return true;
        };
        let has_moved = std::mem::take(&mut seat.has_moved);
        let is_stuck = is_waiting && !has_moved;
        let is_silent = !self.format.is_events() && self.is_asked && !is_waiting;
        if is_stuck && self.was_stuck || is_silent {
            return true;
        }
        self.was_stuck = is_stuck;
        let question = match self.format {
            Format::Sse | Format::Mercure => sse::HEARTBEAT.as_bytes(),
            Format::WebSocket | Format::Deflated => PING,
        };
        if !is_waiting {
            let question = Bytes::from_static(question);
            room.audience.say(self.id, question, &mut room.seats);
            self.is_asked = true;
        }
        self.strikes = 0;
        room.settle(&house.figures);
        event_loop.set_deadline(self.deadline, self.pause());
        false
    }

    /// Its connection goes on without the hub.
    pub(crate) fn leave(self) -> Client {
        let seat = self.house.room.borrow_mut().seats.take(self.id);
        match seat.map(|seat| seat.client) {
            Some(Client::Stream(mut stream)) => {
                // Its answer ends with it.
                stream.end();
                Client::Stream(stream)
            }
            Some(client) => client,
            None => Client::Gone,
        }
    }
}

/// What a client may do now.
fn access<'a>(
    (gate, hooks, bounds): (Option<&'a Gate>, Option<&'a Hooks>, &'a Bounds),
    grant: &'a mut Option<Box<Grant>>,
    dialog: Option<&'a mut Dialog>,
    is_known: bool,
) -> Access<'a> {
    Access {
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

/// A time in ticks, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and decades"
)]
fn ticks_of(seconds: f64) -> u64 {
    (seconds * 1000.0 / TICK_MS as f64).ceil() as u64 + 1
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let user = self.user();
        self.house.dismiss(self.id, self.format, user.as_deref());
        if let Some(person) = self.person.take() {
            let client = self.dialog.as_ref().and_then(|dialog| dialog.name());
            self.house.tell_of(Left {
                person: *person,
                user,
                client: client.map(str::to_owned),
            });
        }
    }
}
