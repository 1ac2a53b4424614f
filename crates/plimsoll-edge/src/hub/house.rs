//! The hub in one loop: its clients, and what comes for them.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use plimsoll_hub::channels::Subscriber;
use plimsoll_hub::desk::{Desk, Speaker};
use plimsoll_hub::{Audience, ClientId, Format};
use plimsoll_wire::websocket::Limits as WireLimits;
use plimsoll_wire::websocket::deflate::Inflater;

use super::Hub;
use super::hooks::{Hooks, Kind, Links};
use super::inbox::{Dated, Letter};
use super::leaving::{self, Leaving, Left};
use super::ledger::Bounds;
use super::seats::{Seat, Seats};
use super::token::Gate;
use super::world::{FromLoop, World};
use crate::client::Client;
use crate::clock::Clock;
use crate::figures::Figures;

/// Most bytes that the kernel holds unsent for a client. Left to itself it holds some 2.5 MB for each that does not read,
/// all of them older than what the client would be given in their place.
const UNSENT_MAX: u32 = 64 * 1024;

/// The hub in one loop.
#[derive(Debug)]
pub(crate) struct House {
    pub(super) world: Arc<World>,
    number: u8,
    clock: Clock,
    pub(super) figures: Arc<Figures>,
    /// What a client's messages may be.
    pub(super) wire_limits: Cell<WireLimits>,
    pub(super) ping_ticks: Cell<u64>,
    /// Who asks clients for tokens.
    pub(super) gate: RefCell<Option<Arc<Gate>>>,
    /// What an application is asked, and this loop's connections to it.
    pub(super) hooks: RefCell<Option<Arc<Hooks>>>,
    pub(crate) links: Rc<Links>,
    bounds: RefCell<Bounds>,
    /// Clients that were given a name.
    named: Cell<u64>,
    /// Who has left, and is to be told of.
    leaving: Rc<Leaving>,
    /// Whether the configuration still has it.
    pub(super) is_open: Cell<bool>,
    pub(super) room: RefCell<Room>,
}

/// Its clients.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) audience: Audience,
    pub(super) seats: Seats,
    /// Made for the first message that came compressed.
    pub(super) inflater: Option<Inflater>,
    pub(super) inflated: Vec<u8>,
}

impl House {
    /// Opens it for a loop, whose tasks are spawned where this is called.
    pub(crate) fn open(hub: &Hub, number: usize, clock: Clock, figures: &Arc<Figures>) -> Rc<Self> {
        let house = Rc::new(Self {
            world: Arc::clone(&hub.world),
            // Bounded by `LOOPS_MAX`.
            number: u8::try_from(number).unwrap_or_default(),
            clock,
            figures: Arc::clone(figures),
            wire_limits: Cell::new(hub.wire_limits()),
            ping_ticks: Cell::new(hub.ping_ticks()),
            gate: RefCell::new(hub.gate.clone()),
            hooks: RefCell::new(hub.hooks.clone()),
            bounds: RefCell::new(hub.bounds()),
            links: Rc::new(Links::new(clock)),
            named: Cell::new(0),
            leaving: Rc::default(),
            is_open: Cell::new(true),
            room: RefCell::new(Room {
                audience: Audience::new(hub.audience_limits()),
                seats: Seats::default(),
                inflater: None,
                inflated: Vec::new(),
            }),
        });
        let delivering = deliver(Rc::downgrade(&house), Arc::clone(&hub.world), number);
        // A budget of writes would look like clients that take nothing.
        tokio::task::spawn_local(tokio::task::unconstrained(delivering));
        leaving::begin(&house, &house.leaving);
        house
    }

    /// Whether it is the one of this hub.
    pub(crate) fn is_of(&self, hub: &Hub) -> bool {
        Arc::ptr_eq(&self.world, &hub.world)
    }

    /// Follows a new configuration.
    pub(crate) fn follow(&self, hub: &Hub) {
        self.wire_limits.set(hub.wire_limits());
        self.ping_ticks.set(hub.ping_ticks());
        self.gate.borrow_mut().clone_from(&hub.gate);
        self.hooks.borrow_mut().clone_from(&hub.hooks);
        *self.bounds.borrow_mut() = hub.bounds();
        self.room
            .borrow_mut()
            .audience
            .follow(hub.audience_limits());
    }

    /// The configuration has no hub any more: its clients go when they are woken.
    pub(crate) fn close(&self) {
        self.is_open.set(false);
    }

    /// Who decides what clients may do.
    pub(super) fn deciders(&self) -> (Option<Arc<Gate>>, Option<Arc<Hooks>>, Bounds) {
        (
            self.gate.borrow().clone(),
            self.hooks.borrow().clone(),
            self.bounds.borrow().clone(),
        )
    }

    /// What an application is asked, and how it is reached.
    pub(super) fn asks(&self) -> (Option<Arc<Hooks>>, Rc<Links>) {
        (self.hooks.borrow().clone(), Rc::clone(&self.links))
    }

    /// Has the application told that a client has left.
    pub(super) fn tell_of(&self, left: Left) {
        if !self.leaving.push(left)
            && let Some(hooks) = &*self.hooks.borrow()
        {
            hooks.miss(Kind::Disconnect, "more clients leave than it is told of");
        }
    }

    /// What tells a client from all others, of this edge and of others.
    pub(super) fn name_client(&self) -> String {
        let count = self.named.get() + 1;
        self.named.set(count);
        format!("{}-{}-{count}", self.world.life(), self.number)
    }

    pub(super) fn speaker<'a>(
        &self,
        client: ClientId,
        format: Format,
        user: Option<&'a str>,
    ) -> Speaker<'a> {
        Speaker {
            client,
            format,
            subscriber: Subscriber {
                event_loop: self.number,
                user,
            },
            now_ms: self.world.now_ms(),
        }
    }

    /// A place for a client.
    pub(super) fn welcome(&self, client: Client, waker: &Waker, format: Format) -> ClientId {
        client.bound_unsent(UNSENT_MAX);
        let mut room = self.room.borrow_mut();
        let id = room.audience.enter(self.world.now_ms(), format);
        room.seats.give(id, Seat::new(client, waker.clone()));
        self.count_of(format).increment();
        id
    }

    /// A client is gone.
    pub(super) fn dismiss(&self, id: ClientId, format: Format, user: Option<&str>) {
        let mut room = self.room.borrow_mut();
        room.desk(&mut self.shards())
            .dismiss(&self.speaker(id, format, user));
        room.seats.take(id);
        room.settle(&self.figures);
        drop(room);
        self.count_of(format).decrement();
    }

    /// All channels, for a client of this loop.
    pub(super) fn shards(&self) -> FromLoop<'_> {
        FromLoop {
            world: &self.world,
            event_loop: usize::from(self.number),
        }
    }

    fn count_of(&self, format: Format) -> &crate::figures::Counter {
        match format {
            Format::Sse => &self.figures.hub_events,
            Format::Mercure => &self.figures.hub_mercure,
            Format::WebSocket | Format::Deflated => &self.figures.hub_sockets,
        }
    }

    /// Hands messages to everybody here who wants them.
    fn hand_out(&self, batch: &mut Vec<Dated>) {
        let mut room = self.room.borrow_mut();
        let room = &mut *room;
        for (at, message) in batch.drain(..) {
            room.audience.deliver(&message, &mut room.seats);
            let lag = self.clock.now().saturating_sub(at);
            self.figures.hub_lag.record(lag);
        }
        room.settle(&self.figures);
    }

    /// Tells clients what became of what they offered.
    fn hand_letters(&self, letters: Vec<Letter>) {
        let mut room = self.room.borrow_mut();
        for letter in letters {
            let Letter {
                visit,
                channel,
                id,
                done,
            } = letter;
            room.desk(&mut self.shards())
                .answer(visit, &channel, id.as_deref(), done);
        }
        room.settle(&self.figures);
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // So that whoever delivers sees that nobody is here any more.
        self.world
            .inbox(usize::from(self.number))
            .ready
            .notify_one();
        self.leaving.close();
    }
}

impl Room {
    /// Where a client's words are taken.
    pub(super) fn desk<'a, 'w>(
        &'a mut self,
        shards: &'a mut FromLoop<'w>,
    ) -> Desk<'a, FromLoop<'w>, Seats> {
        Desk {
            shards,
            audience: &mut self.audience,
            outlet: &mut self.seats,
        }
    }

    /// Lets those go who are too slow, and tells what has happened.
    pub(super) fn settle(&mut self, figures: &Figures) {
        for id in self.audience.take_condemned() {
            self.seats.condemn(id);
        }
        let counts = self.audience.counts();
        figures.hub_delivered.raise(counts.delivered);
        figures.hub_dropped.raise(counts.dropped);
        figures.hub_disconnected.raise(counts.disconnected);
        figures.hub_recovered.raise(counts.recovered);
        figures.hub_unrecovered.raise(counts.unrecovered);
        figures
            .bytes_out
            .add(std::mem::take(&mut self.seats.written));
    }
}

/// Hands out what comes for a loop, until its house is gone.
async fn deliver(house: Weak<House>, world: Arc<World>, number: usize) {
    let inbox = world.inbox(number);
    let mut batch = Vec::new();
    while house.strong_count() > 0 {
        inbox.ready.notified().await;
        loop {
            inbox.take(&mut batch);
            let letters = inbox.take_letters();
            let has_any = !batch.is_empty() || !letters.is_empty();
            let Some(house) = house.upgrade().filter(|_| has_any) else {
                break;
            };
            house.hand_out(&mut batch);
            if !letters.is_empty() {
                house.hand_letters(letters);
            }
            drop(house);
            // Requests, and clients that say something, have their turn.
            tokio::task::yield_now().await;
        }
    }
}
