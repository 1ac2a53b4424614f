//! A worker's socket and threads: its own thread speaks with the coordinator, another one waits for the windows of the load.

mod load;
mod preparation;

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use plimsoll_load::{LoopShare, SessionCarryOver, Stay};
use plimsoll_model::plan::Plan;
use plimsoll_peer::{Channel, ChannelError, ClientStream, Hello, Role, Token};
use rustls::ClientConfig;

use crate::clock::{PeerClock, SECOND_NS, wall_ns};
use crate::error::WorkersError;
use crate::linger::linger;
use crate::load_order::{LoadOrder, UsersReturn};
use crate::message::{Join, MESSAGE_LEN_MAX, Start, StayedUsers, ToWorker};
use crate::worker::{ArrivalClocks, WorkerAction, WorkerEnd, WorkerState};
use load::{CarriedLoad, LoadEvent};
use preparation::PreparedPart;

/// Longest time between two looks at the load.
const POLL: Duration = Duration::from_millis(20);
/// Longest time that the first connection may take.
const JOIN_WITHIN: Duration = Duration::from_secs(20);
/// Shares of that time for each step of a connection: to connect, two of the handshake, to greet; one is left.
const STEPS: u32 = 5;
/// Shortest time of a step.
const STEP_MIN: Duration = Duration::from_millis(50);
/// Longest time that the coordinator takes nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Looks at a connection that is to end, until the coordinator has closed it.
const LAST_LOOKS: u32 = 25;
/// How far ahead the start must be, at least, ns: less could be missed by the loops.
const START_AHEAD_NS: i64 = 50_000_000;

/// How a worker joins.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// The coordinator as the user named it.
    pub coordinator: String,
    /// Its addresses; the first that accepts a connection is used.
    pub addresses: Vec<SocketAddr>,
    /// The token that the coordinator printed.
    pub token: String,
    /// Name of the worker in reports.
    pub name: String,
    /// Region of the worker in reports.
    pub region: Option<String>,
    /// Whether the coordinator is in the network of this process; `None` where its address shows that.
    pub is_near: Option<bool>,
}

/// What a worker asks of its caller.
pub struct WorkerHooks<'a> {
    /// Whether the plan's targets may be loaded from here; the error is the reason.
    pub permit: &'a dyn Fn(&Plan) -> Result<(), String>,
    /// Takes what the user must know.
    pub report: &'a dyn Fn(&str),
    /// Whether the user wants an end.
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// Joins a coordinator, carries the part that it gives in each of its loads, and returns when it has all results.
///
/// # Errors
/// When the coordinator cannot be reached, refuses, or is silent for five seconds; when the part cannot be carried; or when it
/// was stopped.
pub fn work(options: &WorkerOptions, hooks: &WorkerHooks<'_>) -> Result<(), WorkersError> {
    let token = Token::parse(&options.token)?;
    let instance = getrandom::u64().map_err(plimsoll_peer::PeerError::Random)?;
    let dialer = Dialer {
        addresses: options.addresses.clone(),
        config: token.client_config()?,
    };
    let channel = dialer.dial(JOIN_WITHIN).map_err(|error| match error {
        WorkersError::Channel(ChannelError::Io(source)) => WorkersError::Connect {
            address: options.coordinator.clone(),
            source,
        },
        other => other,
    })?;
    let join = Join {
        name: options.name.clone(),
        region: options.region.clone(),
        instance,
        resumes: false,
    };
    let mut running = RunningWorker {
        hooks,
        is_near: options.is_near,
        dialer,
        clock: PeerClock::start(),
        state: WorkerState::new(join),
        channel: None,
        part: None,
        load: None,
        returning: None,
        stayed: None,
        idle: sync_channel(1),
    };
    (hooks.report)(&format!("joined {}", options.coordinator));
    running.connected(channel);
    running.run()
}

/// Makes connections to the coordinator.
#[derive(Debug)]
struct Dialer {
    addresses: Vec<SocketAddr>,
    config: Arc<ClientConfig>,
}

impl Dialer {
    /// A connection on which both sides have greeted.
    fn dial(&self, within: Duration) -> Result<Channel<ClientStream>, WorkersError> {
        let io = |error| WorkersError::Channel(ChannelError::Io(error));
        let step = (within / STEPS).max(STEP_MIN);
        let socket = self.connect(step).map_err(io)?;
        socket.set_nodelay(true).map_err(io)?;
        socket.set_read_timeout(Some(step)).map_err(io)?;
        socket.set_write_timeout(Some(step)).map_err(io)?;
        let mut channel = Channel::connect(socket, Arc::clone(&self.config), MESSAGE_LEN_MAX)?;
        let other: Hello = channel.receive()?;
        let own = Hello::of_this_build(Role::Worker);
        channel.send(&own)?;
        own.judge(&other)?;
        let socket = &channel.stream().sock;
        socket.set_read_timeout(Some(POLL)).map_err(io)?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT)).map_err(io)?;
        Ok(channel)
    }

    /// The first address that accepts, within a time for all of them.
    fn connect(&self, within: Duration) -> std::io::Result<TcpStream> {
        let count = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX);
        let each = (within / count.max(1)).max(STEP_MIN);
        let mut last = std::io::ErrorKind::AddrNotAvailable.into();
        for address in &self.addresses {
            match TcpStream::connect_timeout(address, each) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The loops of a load that run here, from which the places of its users follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OwnLoops {
    share: LoopShare,
    /// Those of all workers together.
    all: u32,
}

/// A worker that goes on.
struct RunningWorker<'a> {
    hooks: &'a WorkerHooks<'a>,
    is_near: Option<bool>,
    dialer: Dialer,
    clock: PeerClock,
    state: WorkerState,
    channel: Option<Channel<ClientStream>>,
    part: Option<PreparedPart>,
    load: Option<CarriedLoad>,
    /// The loops of the load that goes on, where its users stay for the next one.
    returning: Option<OwnLoops>,
    /// Users of the last load in which they stayed, and its loops.
    stayed: Option<(OwnLoops, SessionCarryOver)>,
    /// Nothing is ever sent on it: to wait for a time.
    idle: (SyncSender<()>, Receiver<()>),
}

impl RunningWorker<'_> {
    fn run(&mut self) -> Result<(), WorkersError> {
        let mut is_stopped = false;
        loop {
            self.send();
            self.receive();
            self.take_load_events();
            self.state.tick(self.clock.now_ns());
            if !is_stopped && (self.hooks.is_stopped)() {
                is_stopped = true;
                self.state.fail("its user stopped it".to_owned());
            }
            while let Some(action) = self.state.next_action() {
                if let WorkerAction::Exit(end) = action {
                    self.send();
                    if let Some(channel) = &mut self.channel {
                        linger(channel, |stream| &stream.sock, LAST_LOOKS);
                    }
                    return result_of(end);
                }
                self.act(action);
            }
        }
    }

    fn connected(&mut self, channel: Channel<ClientStream>) {
        self.channel = Some(channel);
        self.state.connected(self.clock.now_ns());
    }

    fn disconnected(&mut self) {
        self.channel = None;
        self.state.disconnected(self.clock.now_ns());
    }

    /// Sends all that is pending.
    fn send(&mut self) {
        while let Some(channel) = &mut self.channel
            && let Some(message) = self.state.next_outgoing()
        {
            match channel.send(&message) {
                Ok(()) => {}
                Err(ChannelError::Frame(error)) => self.state.fail(error.to_string()),
                Err(_) => self.disconnected(),
            }
        }
    }

    /// Takes the next message, or waits for a moment.
    fn receive(&mut self) {
        let Some(channel) = &mut self.channel else {
            self.wait();
            return;
        };
        match channel.receive::<ToWorker>() {
            Ok(message) => {
                let clocks = ArrivalClocks {
                    now_ns: self.clock.now_ns(),
                    wall_ns: wall_ns(),
                };
                self.state.received(message, clocks);
            }
            Err(ChannelError::Silent) => {}
            Err(_) => self.disconnected(),
        }
    }

    /// Waits for a moment, without a connection.
    fn wait(&self) {
        match self.idle.1.recv_timeout(POLL) {
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    fn take_load_events(&mut self) {
        while let Some(load) = &self.load
            && let Some(event) = load.next_event()
        {
            match event {
                LoadEvent::Second { window, host } => self.state.second(window, host),
                LoadEvent::Ended {
                    used,
                    plan_error,
                    carry_over,
                } => {
                    let stayed = StayedUsers::of(&carry_over.places());
                    if let Some(loops) = self.returning.take() {
                        self.stayed = Some((loops, carry_over));
                    }
                    self.state.load_ended(used, plan_error, stayed);
                    self.load = None;
                }
                LoadEvent::Lost => {
                    self.load = None;
                    self.state.fail(
                        "the load engine ended unexpectedly; its messages are above".to_owned(),
                    );
                }
            }
        }
    }

    fn act(&mut self, action: WorkerAction) {
        match action {
            WorkerAction::Prepare {
                index,
                workers,
                text,
            } => self.prepare((index, workers), &text),
            WorkerAction::Begin(start) => {
                if let Err(error) = self.begin(&start) {
                    self.state.fail(error);
                }
            }
            WorkerAction::StopLoad => {
                if let Some(load) = &self.load {
                    load.stop();
                }
            }
            WorkerAction::AbortLoad => {
                if let Some(load) = &self.load {
                    load.abort();
                }
            }
            WorkerAction::Connect { within_ns } => {
                // The old connection is of no use, whatever becomes of the new one.
                self.channel = None;
                if let Ok(channel) = self.dialer.dial(Duration::from_nanos(within_ns)) {
                    self.connected(channel);
                }
            }
            // Ends the loop of the caller.
            WorkerAction::Exit(_) => {}
        }
    }

    fn prepare(&mut self, (index, workers): (u32, u32), text: &str) {
        let socket = self.channel.as_ref().map(|channel| &channel.stream().sock);
        let by_address = socket.is_some_and(|socket| {
            let addresses = socket
                .peer_addr()
                .and_then(|peer| Ok((peer.ip(), socket.local_addr()?.ip())));
            addresses.is_ok_and(|(peer, own)| peer == own || peer.to_canonical().is_loopback())
        });
        let is_near = self.is_near.unwrap_or(by_address);
        let prepared = preparation::prepare((index, workers), text, is_near, self.hooks.permit);
        match prepared {
            Ok(part) => {
                (self.hooks.report)(&format!(
                    "ready to carry part {} of {workers} of the load on {}",
                    index + 1,
                    part.target()
                ));
                self.part = Some(part);
                self.state.prepared(Ok(()));
            }
            Err(error) => self.state.prepared(Err(error)),
        }
    }

    fn begin(&mut self, start: &Start) -> Result<(), String> {
        let part = self.part.as_ref().ok_or("no task was taken")?;
        let after_ns = i64::from(start.second) * 1_000_000_000;
        let begins_ns = start.epoch_ns.saturating_add(after_ns);
        let now_ns = i64::try_from(self.clock.now_ns()).unwrap_or(i64::MAX);
        let ahead_ns = begins_ns.saturating_sub(now_ns);
        if ahead_ns < START_AHEAD_NS {
            return Err(format!(
                "the start came too late: {} ms ahead, needed: {} ms; look for a slow line to the coordinator",
                ahead_ns / 1_000_000,
                START_AHEAD_NS / 1_000_000
            ));
        }
        let load = part.load(start, self.clock.instant_of(start.epoch_ns))?;
        let loops = OwnLoops {
            share: load.share,
            all: load.job.plan.cores,
        };
        let stay = self.stay(&start.order, loops);
        self.returning = stay.is_some().then_some(loops);
        self.load = Some(CarriedLoad::begin(load, stay)?);
        let is_first = start.round == 0;
        if is_first {
            (self.hooks.report)("the load begins");
        }
        Ok(())
    }

    /// The users who return to a load of these loops. Those of others are forgotten: their places are elsewhere now.
    fn stay(&mut self, order: &LoadOrder, loops: OwnLoops) -> Option<Stay> {
        let UsersReturn { within, seed } = order.users_return?;
        let stayed = self.stayed.take().filter(|(of, _)| *of == loops);
        Some(Stay {
            carry_over: stayed.map(|(_, users)| users).unwrap_or_default(),
            within,
            seed,
        })
    }
}

fn result_of(end: WorkerEnd) -> Result<(), WorkersError> {
    match end {
        WorkerEnd::Done => Ok(()),
        WorkerEnd::Refused(reason) => Err(WorkersError::Refused(reason)),
        WorkerEnd::Failed(reason) => Err(WorkersError::Part(reason)),
        WorkerEnd::Silent(silent_ns) => {
            Err(WorkersError::Silent(silent_ns as f64 / SECOND_NS as f64))
        }
        WorkerEnd::Closed => Err(WorkersError::Channel(ChannelError::Closed)),
    }
}
