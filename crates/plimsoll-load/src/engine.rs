//! One event loop: takes arrivals when they are due, drives connections, counts outcomes.
//!
//! A loop shares no state with others while it runs. A usual request takes one `send` and one `recv`; a connection is
//! registered once (edge-triggered); the loop waits with the precision of the kernel's timer.

mod arrival;
mod ending;
mod expiry;
mod http2_connections;
mod http2_streams;
mod intake;
mod opening;
mod receiving;
mod script_processes;
mod script_users;
mod user_answers;
mod user_carry_over;
mod user_pages;
mod user_steps;
mod websocket_io;
mod websocket_reconnects;
mod websocket_users;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use plimsoll_model::seed::Seed;
use plimsoll_wire::head::HeadMemo;
use rustix::fd::OwnedFd;

use crate::clock::{self, LoadClock};
use crate::connections::{ConnectionLimits, Connections, TransportStage};
use crate::due::NEVER;
use crate::error::LoadError;
use crate::http2_state::Http2State;
use crate::poller::{self, Event, EventSource, Poller};
use crate::prepared_load::{Paths, PreparedLoad};
use crate::process::ExternalScripts;
use crate::receive_buffer::ReceiveBuffer;
use crate::recorder::Recorder;
use crate::requests::Requests;
use crate::scheduler::{People, Scheduler};
use crate::virtual_users::{LoopCarryOver, VirtualUsers};
use crate::websocket_session::{REST_NS, WebSocketSessions};

/// Events taken from the kernel in one batch; bounds the delay of arrivals by a batch.
const EVENTS_MAX: usize = 256;

/// The batch size where broadcasts arrive on thousands of connections while messages are due.
const WEBSOCKET_EVENTS_MAX: usize = 64;

/// Arrivals handled before the next poll.
const ARRIVALS_MAX: usize = 64;

/// Requested state of a loop.
pub(crate) mod command {
    pub(crate) const RUN: u8 = 0;
    /// No further arrivals; requests in flight drain.
    pub(crate) const STOP: u8 = 1;
    /// No further arrivals, and no drain.
    pub(crate) const ABORT: u8 = 2;
}

pub(crate) use user_carry_over::Returns;

/// Handle that stops a loop.
#[derive(Debug)]
pub(crate) struct Signal {
    pub(crate) command: AtomicU8,
    pub(crate) waker: OwnedFd,
}

pub(crate) struct Engine {
    prepared: Arc<PreparedLoad>,
    signal: Arc<Signal>,
    clock: LoadClock,
    poller: Poller,
    scheduler: Scheduler,
    paths: Paths,
    recorder: Recorder,
    requests: Requests,
    /// Users of journeys.
    virtual_users: Option<Box<VirtualUsers>>,
    /// WebSockets, in a load of WebSockets.
    websockets: Option<Box<WebSocketSessions>>,
    /// How users resume from the previous load, in a session carry-over.
    returns: Option<Returns>,
    /// External scripts that drive users.
    scripts: ExternalScripts,
    connections: Connections,
    received: ReceiveBuffer,
    http2: Http2State,
    memo: HeadMemo,
    /// Deadline of unfinished requests; known once the load has ended.
    drain_end_ns: u64,
    command: u8,
}

impl Engine {
    pub(crate) fn new(
        prepared: &Arc<PreparedLoad>,
        index: u32,
        signal: Arc<Signal>,
        recorder: Recorder,
        (returns, carry_over): (Option<Returns>, LoopCarryOver),
    ) -> Result<Self, LoadError> {
        let system = |action| {
            move |source: rustix::io::Errno| LoadError::System {
                action,
                source: source.into(),
            }
        };
        let poller = Poller::new().map_err(system("make an epoll"))?;
        poller
            .add_waker(&signal.waker)
            .map_err(system("register a waker"))?;
        let seed = returns.map_or(prepared.seed, |returns| returns.seed);
        let scheduler = scheduler(prepared, seed, index);
        let scenario = prepared.plan.scenario.as_ref();
        let scenario = scenario.filter(|_| prepared.program.is_some());
        let scripts = ExternalScripts::start(scenario, &prepared.inputs, &poller)?;
        let virtual_users = VirtualUsers::new(prepared, index, carry_over);
        let limits = ConnectionLimits {
            open_max: prepared.connections_of(index),
            // Ten thousand idle connections must not take twice their memory.
            reserved: match prepared.agenda {
                None => 0,
                Some(_) => prepared.connections_of(index),
            },
            users: match prepared.plan.transport.http2 {
                None => scheduler.users(),
                Some(_) => 0,
            },
            of_journeys: virtual_users.is_some(),
        };
        let clock = LoadClock::new(prepared.epoch);
        Ok(Self {
            signal,
            clock,
            poller,
            paths: prepared.paths(index),
            recorder,
            requests: Requests::new(prepared.timeout_ns, prepared.waiting_max),
            virtual_users,
            websockets: WebSocketSessions::new(prepared, index),
            returns,
            scripts,
            connections: Connections::new(limits, index),
            received: ReceiveBuffer::new(prepared, clock),
            http2: Http2State::new(prepared.others.len() + 1),
            memo: HeadMemo::default(),
            drain_end_ns: scheduler.end_ns().saturating_add(prepared.drain_ns),
            command: command::RUN,
            scheduler,
            prepared: Arc::clone(prepared),
        })
    }

    /// Runs from before the start of the load to the end of the drain. Returns the users who may resume.
    pub(crate) fn run(mut self) -> LoopCarryOver {
        // The default timer slack of 50 µs would delay every send. Where it cannot be set, the recorded lag
        // shows it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        if let Some(virtual_users) = &mut self.virtual_users {
            virtual_users.set_unix_ns(self.clock.unix_ns());
        }
        let events_max = match self.websockets {
            None => EVENTS_MAX,
            Some(_) => WEBSOCKET_EVENTS_MAX,
        };
        let mut events = Vec::with_capacity(events_max);
        if !self.wait_for_start(&mut events) {
            return self.suspend_users(self.prepared.start_ns());
        }
        if self.virtual_users.is_some() {
            self.restore_users(self.prepared.start_ns());
            self.end_when_over(self.prepared.start_ns());
        }
        loop {
            let now = self.clock.now();
            if !self.scripts.is_empty() && now >= self.recorder.end_ns() {
                self.read_process_cpu();
            }
            self.roll(now);
            self.obey(now);
            if self.prepared.linger_ns > 0 {
                // Before the finished second is handed over: some of the arrivals belong to it.
                self.handle_events(&mut events, 0);
            }
            let now = self.clock.now();
            let more = self.take_up(now);
            let more = self.drive_websockets(now) || more;
            self.expire(now);
            if self.http2.has_woken() {
                self.attend_woken();
            }
            if !self.scripts.is_empty() {
                self.expire_waits(now);
                self.flush_processes();
            }
            let now = self.clock.now();
            if self.is_finished(now) {
                break;
            }
            let wait_ns = if more {
                0
            } else {
                self.next_moment(now).saturating_sub(now)
            };
            if wait_ns > 0 && self.may_rest() {
                clock::sleep(wait_ns.min(REST_NS));
            } else if wait_ns > self.prepared.linger_ns {
                self.handle_events(&mut events, wait_ns);
            } else if wait_ns > 0 {
                // The next request is due so soon that responses can wait for it: a wake-up costs more than a request.
                clock::sleep(wait_ns);
            } else if self.prepared.linger_ns == 0 {
                self.handle_events(&mut events, 0);
            }
        }
        self.finish()
    }

    /// Waits for events, or for `wait_ns` to pass, and handles those that came.
    #[inline]
    fn handle_events(&mut self, events: &mut Vec<Event>, wait_ns: u64) {
        self.poller.wait(events, wait_ns);
        let count = events.len();
        for event in events.drain(..) {
            self.on_event(&event);
        }
        if self.websockets.is_some() {
            self.note_messages(count);
        }
    }

    /// Waits for the start; false when the loop is stopped before.
    fn wait_for_start(&mut self, events: &mut Vec<Event>) -> bool {
        loop {
            if self.signal.command.load(Ordering::Relaxed) != command::RUN {
                return false;
            }
            let wait_ns = self.clock.until(self.prepared.start_ns());
            if wait_ns == 0 {
                return true;
            }
            self.poller.wait(events, wait_ns);
            events.clear();
        }
    }

    /// Stops arrivals on request.
    fn obey(&mut self, now: u64) {
        let mut command = self.signal.command.load(Ordering::Relaxed);
        if self.virtual_users.is_some() && self.prepared.plan_error.get().is_some() {
            // Another loop has ended the run.
            command = command.max(command::STOP);
        }
        if command == self.command {
            return;
        }
        self.command = command;
        let end = now.min(self.scheduler.end_ns());
        self.scheduler.cut(end);
        let drain_ns = if command == command::ABORT {
            0
        } else {
            self.prepared.drain_ns
        };
        self.drain_end_ns = self.drain_end_ns.min(end.saturating_add(drain_ns));
    }

    fn is_finished(&mut self, now: u64) -> bool {
        if now < self.scheduler.end_ns() {
            return false;
        }
        now >= self.drain_end_ns
            || (self.requests.is_empty()
                && self.scheduler.next_due() == NEVER
                && (self.websockets.is_none() || self.connections.are_idle()))
    }

    /// The next moment at which work is due without an event.
    fn next_moment(&mut self, now: u64) -> u64 {
        let due = self.scheduler.next_due().min(self.next_message());
        let tick_ns = self.prepared.tick_ns;
        let release = match due {
            NEVER => NEVER,
            due => due.div_ceil(tick_ns) * tick_ns,
        };
        let load_end_ns = self.scheduler.end_ns();
        let end = if now < load_end_ns {
            load_end_ns.min(self.scripts.next_wait())
        } else {
            self.drain_end_ns
        };
        release
            .min(self.next_expiry())
            .min(self.recorder.end_ns())
            .min(end)
    }

    fn on_event(&mut self, event: &Event) {
        let (id, generation) = match poller::source(event) {
            EventSource::Waker => {
                // The request is read at the top of the loop; reading the waker keeps it from firing again.
                let _ = rustix::io::read(&self.signal.waker, &mut [0; 8]);
                return;
            }
            EventSource::Pipe(number) => return self.on_pipe(number),
            EventSource::Connection(id, generation) => (id, generation),
        };
        // A connection closed earlier in this batch has no more events, even if its slot is taken again.
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        if connection.generation() != generation {
            return;
        }
        let flags = event.flags;
        match connection.stage() {
            TransportStage::Exchanging => self.on_ready(id, flags),
            TransportStage::Dialing => self.on_connect_event(id, flags),
            TransportStage::Negotiating | TransportStage::Multiplexing => {
                self.on_multiplexed(id, flags);
            }
            TransportStage::WebSocket => self.on_websocket_event(id, flags),
        }
    }

    /// Fails what is unfinished, closes everything, and hands over the last second.
    fn finish(mut self) -> LoopCarryOver {
        let load_end_ns = self.scheduler.end_ns();
        self.give_up_everything();
        self.dismiss_processes();
        let carry_over = self.suspend_users(load_end_ns);
        self.recorder.finish(load_end_ns);
        carry_over
    }
}

fn scheduler(prepared: &PreparedLoad, seed: Seed, index: u32) -> Scheduler {
    let (start_ns, loops) = (prepared.start_ns(), prepared.plan.cores);
    let scenario = prepared
        .plan
        .scenario
        .as_ref()
        .filter(|_| prepared.program.is_some());
    let people = scenario
        .and_then(|scenario| People::new(&prepared.load, scenario, seed, start_ns, index, loops));
    if let Some(people) = people {
        return Scheduler::People(Box::new(people));
    }
    let streams = prepared
        .plan
        .transport
        .http2
        .map_or(1, |http2| http2.streams);
    Scheduler::new(
        &prepared.load,
        prepared.seed,
        start_ns,
        (index, loops),
        streams,
    )
}
