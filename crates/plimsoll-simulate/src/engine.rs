//! Discrete events: the state of a world at a moment, and what each event does to it.
//!
//! A request of a client is a *visit*; each attempt of it is a *request* to a tier, and so is each call. Both live in flat arrays
//! and refer to each other by index. An event is a number: its kind, and the visit, request or tier that it is about. Nothing is
//! allocated for an event.
//!
//! The walk of a request: [`Engine::arrive`] at its tier, where it takes a slot or waits in the queue; service; its calls, one
//! step after the other; [`Engine::complete`], which gives the slot to the next and sends the answer to whoever waits for it.

mod clients;
mod requests;
mod tiers;

use plimsoll_model::seed::Seed;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::compiled::CompiledWorld;
use crate::event_heap::EventHeap;
use clients::ClientState;
use requests::Requests;
use tiers::TierState;

pub(crate) use clients::ClientCounts;
pub(crate) use tiers::TierCounts;

/// What an event is about, in the three highest bits of its number.
const ARRIVAL: u32 = 0;
/// A request reaches its tier.
const DELIVERY: u32 = 1 << KIND_SHIFT;
/// The service of a request ends.
const SERVED: u32 = 2 << KIND_SHIFT;
/// An answer reaches whoever waits for it.
const ANSWER: u32 = 3 << KIND_SHIFT;
/// The first of the queue of a tier may have waited too long.
const QUEUE_TIMER: u32 = 4 << KIND_SHIFT;
/// A client's patience is over.
const PATIENCE: u32 = 5 << KIND_SHIFT;
/// A client sends: again after a failure, or after a time to think.
const SEND: u32 = 6 << KIND_SHIFT;

const KIND_SHIFT: u32 = 29;
/// Bits of an event that are an index.
const INDEX_MASK: u32 = (1 << KIND_SHIFT) - 1;
/// Index of nothing.
const NOTHING: u32 = u32::MAX;

/// Streams of random numbers: a change of a world leaves the arrivals of its clients as they are.
#[derive(Debug)]
struct RandomStreams {
    arrivals: Xoshiro256PlusPlus,
    services: Xoshiro256PlusPlus,
    choices: Xoshiro256PlusPlus,
    ways: Xoshiro256PlusPlus,
}

impl RandomStreams {
    fn new(seed: Seed) -> Self {
        let stream = |label| seed.derive(label).generator();
        Self {
            arrivals: stream(1),
            services: stream(2),
            choices: stream(3),
            ways: stream(4),
        }
    }
}

/// A world at a moment of its time.
#[derive(Debug)]
pub(crate) struct Engine {
    world: CompiledWorld,
    now_ns: u64,
    heap: EventHeap,
    random: RandomStreams,
    requests: Requests,
    tiers: Vec<TierState>,
    clients: ClientState,
    events: u64,
    /// Moment from which times are counted, ns.
    counted_from_ns: u64,
    is_full: bool,
}

/// How far an engine got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The given number of events happened.
    Events,
    /// The given moment is reached.
    Time,
    /// There are too many requests at once.
    Full,
}

impl Engine {
    /// A world in which nothing has happened yet.
    pub(crate) fn new(world: CompiledWorld, seed: Seed) -> Self {
        let tiers = world.tiers.iter().map(TierState::new).collect();
        let clients = ClientState::new(&world);
        let mut engine = Self {
            world,
            now_ns: 0,
            heap: EventHeap::default(),
            random: RandomStreams::new(seed),
            requests: Requests::default(),
            tiers,
            clients,
            events: 0,
            counted_from_ns: 0,
            is_full: false,
        };
        engine.begin();
        engine
    }

    /// Lets events happen: at most so many, and none after this moment.
    pub(crate) fn run(&mut self, events_max: u64, until_ns: u64) -> Progress {
        for _ in 0..events_max {
            let Some((at_ns, event)) = self.heap.pop_until(until_ns) else {
                self.now_ns = until_ns;
                return Progress::Time;
            };
            self.now_ns = at_ns;
            self.events += 1;
            let index = event & INDEX_MASK;
            match event & !INDEX_MASK {
                ARRIVAL => self.client_arrives(),
                DELIVERY => self.arrive(index),
                SERVED => self.served(index),
                ANSWER => self.answer(index),
                QUEUE_TIMER => self.check_queue(index),
                PATIENCE => self.patience_ends(index),
                _ => self.send_again(index),
            }
            if self.is_full {
                return Progress::Full;
            }
        }
        Progress::Events
    }

    /// Forgets what was counted: the world is warm.
    pub(crate) fn reset_counts(&mut self) {
        self.counted_from_ns = self.now_ns;
        self.clients.counts.reset();
        for tier in &mut self.tiers {
            tier.reset_counts(self.now_ns);
        }
    }

    /// The moment, ns.
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Moment from which times are counted, ns.
    pub(crate) fn counted_from_ns(&self) -> u64 {
        self.counted_from_ns
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// What clients got.
    pub(crate) fn clients(&self) -> &ClientCounts {
        &self.clients.counts
    }

    /// What each tier did up to now.
    pub(crate) fn tier_counts(&mut self) -> impl Iterator<Item = &TierCounts> {
        let now_ns = self.now_ns;
        self.tiers
            .iter_mut()
            .map(move |tier| tier.counts_at(now_ns))
    }
}
