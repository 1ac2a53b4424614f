//! One event loop: takes arrivals when they are due, drives connections, counts outcomes.
//!
//! A loop shares no state with others while it runs. A usual request takes one `send` and one `recv`; a connection is
//! registered once (edge-triggered); the loop waits with the precision of the kernel's timer.
//!
//! An [`Engine`] holds components and connects them; their fields are private, so that each keeps its own rules. An
//! arrival of a plain load passes them in this order, each file once:
//!
//! 1. `event_loop` wakes when an arrival is due, and again for each event of a connection.
//! 2. `arrival` takes it from the `scheduler`, and adds it to `requests`, which holds its time-out.
//! 3. `dispatch` sends it on an idle connection, has one opened, or queues it.
//! 4. `dialing` opens a connection; `connections` counts it against the limit.
//! 5. `establishing` continues once the target has accepted: it begins TLS, whose handshake is read in 7.
//! 6. `sending` writes the request that `requests` made from its template.
//! 7. `receiving` reads the response through the `receive_buffer`.
//! 8. `completion` judges it, follows a redirect or tries again, and frees the connection for the next in the queue.
//! 9. `ending` takes the request out of `requests`, and counts it.
//! 10. `recorder` adds it to the window of the second in which it ended, and hands over windows that are over.
//!
//! Each stage reports to `recorder` what it did, by a method per fact; `event_loop` is where a stage waits for the next.
//! What fails leaves this order for `closing` (a connection) or `expiry` (a deadline), and meets it again in `ending`.
//! Other technologies replace stages, in files of their own: `http2_*` replaces 6 to 8, `websocket_*` all after 5, and
//! `websocket_hooks` is the part of it that other loads pass too. Users of journeys (`user_*`, and `script_*` where a
//! process drives them) are what is due in 2, and continue after 9.

mod arrival;
mod closing;
mod completion;
mod dialing;
mod dispatch;
mod ending;
mod establishing;
mod event_loop;
mod expiry;
mod http2_connections;
mod http2_streams;
mod receiving;
mod script_processes;
mod script_users;
mod sending;
mod user_answers;
mod user_carry_over;
mod user_pages;
mod user_polls;
mod user_steps;
mod websocket_cuts;
mod websocket_ends;
mod websocket_events;
mod websocket_hooks;
mod websocket_io;
mod websocket_messages;
mod websocket_reconnects;
mod websocket_users;

use std::sync::Arc;

use plimsoll_model::seed::Seed;
use plimsoll_wire::head::HeadMemo;

use crate::clock::LoadClock;
use crate::connections::{ConnectionLimits, Connections};
use crate::error::LoadError;
use crate::http2::Http2LoopState;
use crate::poller::Poller;
use crate::polls::Polls;
use crate::prepared_load::{Paths, PreparedLoad};
use crate::process::ExternalScripts;
use crate::receive_buffer::ReceiveBuffer;
use crate::recorder::Recorder;
use crate::requests::Requests;
use crate::scheduler::{People, Scheduler};
use crate::stop_signal::{StopSignal, command};
use crate::virtual_users::{LoopCarryOver, VirtualUsers};
use crate::websocket_session::WebSocketSessions;

/// The batch size where broadcasts arrive on thousands of connections while messages are due.
const WEBSOCKET_EVENTS_MAX: usize = 64;

/// Arrivals handled before the next poll.
const ARRIVALS_MAX: usize = 64;

pub(crate) use user_carry_over::Returns;

/// One event loop.
pub(crate) struct Engine {
    prepared: Arc<PreparedLoad>,
    signal: Arc<StopSignal>,
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
    /// What users fetch by polling, in a load in which some do.
    polls: Option<Box<Polls>>,
    /// How users resume from the previous load, in a session carry-over.
    returns: Option<Returns>,
    /// External scripts that drive users.
    scripts: ExternalScripts,
    connections: Connections,
    received: ReceiveBuffer,
    http2: Http2LoopState,
    memo: HeadMemo,
    /// Deadline of unfinished requests; known once the load has ended.
    drain_end_ns: u64,
    command: u8,
    /// Changes of the load that are taken up already.
    changes: usize,
}

impl Engine {
    pub(crate) fn new(
        prepared: &Arc<PreparedLoad>,
        index: u32,
        signal: Arc<StopSignal>,
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
            .add_waker(signal.waker())
            .map_err(system("register a waker"))?;
        let seed = returns.map_or(prepared.seed(), |returns| returns.seed);
        let scheduler = scheduler(prepared, seed, index);
        let scripts = ExternalScripts::start(prepared.scenario(), prepared.inputs(), &poller)?;
        let virtual_users = VirtualUsers::new(prepared, index, carry_over);
        let limits = ConnectionLimits {
            open_max: prepared.connections_of(index),
            // Ten thousand idle connections must not take twice their memory.
            reserved: match prepared.agenda() {
                None => 0,
                Some(_) => prepared.connections_of(index),
            },
            users: match prepared.plan().transport.http2 {
                None => scheduler.users(),
                Some(_) => 0,
            },
            of_journeys: virtual_users.is_some(),
        };
        let clock = prepared.clock();
        Ok(Self {
            signal,
            clock,
            poller,
            paths: prepared.paths(index),
            recorder,
            requests: Requests::new(prepared.timing().timeout_ns(), prepared.waiting_max()),
            virtual_users,
            websockets: WebSocketSessions::new(prepared, index),
            polls: Polls::new(prepared),
            returns,
            scripts,
            connections: Connections::new(limits, index),
            received: ReceiveBuffer::new(prepared, clock),
            http2: Http2LoopState::new(prepared.origins_count()),
            memo: HeadMemo::default(),
            drain_end_ns: prepared.timing().drain_end(scheduler.end_ns()),
            command: command::RUN,
            changes: 0,
            scheduler,
            prepared: Arc::clone(prepared),
        })
    }
}

fn scheduler(prepared: &PreparedLoad, seed: Seed, index: u32) -> Scheduler {
    let (start_ns, loops) = (prepared.start_ns(), prepared.plan().cores);
    let people = prepared
        .scenario()
        .and_then(|scenario| People::new(prepared.load(), scenario, seed, start_ns, index, loops));
    if let Some(people) = people {
        return Scheduler::People(Box::new(people));
    }
    Scheduler::new(
        prepared.load(),
        prepared.seed(),
        start_ns,
        (index, loops),
        prepared.streams_max(),
    )
}
