//! A coordinator and its workers in virtual time, over lines that can be cut.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_load::Used;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;
use plimsoll_model::worker::HostUse;
use plimsoll_testkit::plan::get_root;

use crate::clock::SECOND_NS;
use crate::coordinator::{ConnectionId, CoordinatorState, IfLost, Settings};
use crate::load_order::LoadOrder;
use crate::message::{Join, StayedUsers, ToCoordinator, ToWorker};
use crate::worker::{ArrivalClocks, WorkerAction, WorkerEnd, WorkerState};

/// Step of virtual time, ns.
const STEP_NS: u64 = 2_000_000;
/// Time of a message to a worker, ns.
const OUT_NS: u64 = 2_000_000;
/// Time of a message back, ns: the two differ, so that offsets have an error.
const BACK_NS: u64 = 6_000_000;
/// Where clocks of workers stand at virtual time 0, ns, before they are shifted.
const WORKER_ZERO_NS: i64 = 1_000_000_000_000;
/// Time of day at virtual time 0, ns.
const WALL_NS: i64 = 1_700_000_000_000_000_000;
/// Second of run time in which loads begin.
pub(super) const START_SECOND: u32 = 3;

/// What a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineState {
    Whole,
    /// Nothing passes, and nobody notices.
    Cut,
}

/// A load that goes on in a simulated worker.
#[derive(Debug)]
struct SimulatedLoad {
    /// Virtual time of second 0 of run time, by the worker's clock.
    epoch_ns: i64,
    /// The next second to close, and the end.
    next: u32,
    end: Option<u32>,
    is_aborted: bool,
}

/// A worker with its process and its line.
#[derive(Debug)]
pub(super) struct SimulatedWorker {
    state: WorkerState,
    /// How far its clocks are ahead, ns.
    ahead_ns: i64,
    connection: Option<ConnectionId>,
    line: LineState,
    to_worker: VecDeque<(u64, ToWorker)>,
    to_coordinator: VecDeque<(u64, ToCoordinator)>,
    /// The process does not run: stopped, or killed for good.
    pub(super) is_frozen: bool,
    load: Option<SimulatedLoad>,
    /// By its clock, second 0 of run time of each load that it began.
    pub(super) begun_ns: Vec<i64>,
    /// Numbers of these loads.
    pub(super) begun: Vec<u32>,
    /// When its load was aborted, virtual time.
    pub(super) aborted_ns: Option<u64>,
    pub(super) end: Option<WorkerEnd>,
    part: u64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) coordinator: CoordinatorState,
    pub(super) workers: Vec<SimulatedWorker>,
    pub(super) now_ns: u64,
    /// Virtual time of second 0 of run time.
    epoch_ns: u64,
    lasting: u32,
    is_coordinator_dead: bool,
    pub(super) merged: Vec<Window>,
}

/// What a worker counts in one of its seconds.
pub(super) fn second_of(part: u64, second: u32) -> Window {
    let mut window = Window::new(second);
    window.offered = 10 + part;
    window.outcomes.add_many(Outcome::Ok, 9 + part);
    window.response.record(1000 * (part + 1), 9 + part);
    window.lag.record(50, 10 + part);
    window
}

impl SimulatedWorker {
    fn clock_ns(&self, now_ns: u64) -> u64 {
        let zero = WORKER_ZERO_NS + self.ahead_ns;
        u64::try_from(zero).unwrap() + now_ns
    }

    fn act(&mut self, now_ns: u64) -> bool {
        let mut connects = false;
        while let Some(action) = self.state.next_action() {
            match action {
                WorkerAction::Prepare { text, .. } => {
                    assert_eq!(text, "the task");
                    self.state.prepared(Ok(()));
                }
                WorkerAction::Begin(start) => {
                    assert!(self.load.is_none(), "one load at a time");
                    self.begun_ns.push(start.epoch_ns);
                    self.begun.push(start.round);
                    self.load = Some(SimulatedLoad {
                        epoch_ns: start.epoch_ns,
                        next: start.second,
                        end: None,
                        is_aborted: false,
                    });
                }
                WorkerAction::StopLoad | WorkerAction::AbortLoad => {
                    self.aborted_ns.get_or_insert(now_ns);
                    if let Some(load) = &mut self.load {
                        load.is_aborted = true;
                    }
                }
                WorkerAction::Connect { .. } => connects = true,
                WorkerAction::Exit(end) => {
                    self.end.get_or_insert(end);
                }
            }
        }
        connects
    }

    /// Closes the seconds of its load that are over.
    fn carry(&mut self, now_ns: u64, lasting: u32) {
        let clock_ns = i64::try_from(self.clock_ns(now_ns)).unwrap();
        let part = self.part;
        let Some(load) = &mut self.load else { return };
        let end = *load.end.get_or_insert(load.next + lasting);
        let after = u64::try_from(clock_ns - load.epoch_ns).unwrap_or(0);
        while load.next < end && after >= u64::from(load.next + 1) * SECOND_NS {
            let window = Box::new(second_of(part, load.next));
            load.next += 1;
            self.state.second(window, HostUse::default());
        }
        if load.next == end || load.is_aborted {
            self.load = None;
            let stayed = StayedUsers::of(&[(part + 1, part == 0)]);
            self.state.load_ended(Used::default(), None, stayed);
        }
    }
}

impl Simulation {
    /// So many workers, whose clocks are up to half a second off.
    pub(super) fn new(workers: u32, if_lost: IfLost, lasting: u32) -> Self {
        let worker = |part: u32| SimulatedWorker {
            state: WorkerState::new(join(part, "host")),
            ahead_ns: i64::from(part) * 333_000_000 - 500_000_000,
            connection: None,
            line: LineState::Whole,
            to_worker: VecDeque::new(),
            to_coordinator: VecDeque::new(),
            is_frozen: false,
            load: None,
            begun_ns: Vec::new(),
            begun: Vec::new(),
            aborted_ns: None,
            end: None,
            part: u64::from(part),
        };
        let mut simulation = Self {
            coordinator: CoordinatorState::new(settings(workers, if_lost)),
            workers: (0..workers).map(worker).collect(),
            now_ns: 0,
            epoch_ns: 0,
            lasting,
            is_coordinator_dead: false,
            merged: Vec::new(),
        };
        for at in 0..simulation.workers.len() {
            simulation.connect(at);
        }
        simulation
    }

    /// All have joined, and the load was started.
    pub(super) fn started(workers: u32, if_lost: IfLost, lasting: u32) -> Self {
        let mut simulation = Self::gathered(workers, if_lost, lasting);
        let at = (simulation.epoch_ns(), START_SECOND);
        simulation.coordinator.start(at, &order(false)).unwrap();
        simulation
    }

    /// All have joined, and run time begins.
    pub(super) fn gathered(workers: u32, if_lost: IfLost, lasting: u32) -> Self {
        let mut simulation = Self::new(workers, if_lost, lasting);
        simulation.run_for(1.0);
        assert!(simulation.coordinator.is_ready());
        simulation.epoch_ns = simulation.now_ns + SECOND_NS / 3;
        simulation
    }

    fn epoch_ns(&self) -> i64 {
        i64::try_from(self.epoch_ns).unwrap()
    }

    /// A trial begins in a second or two: the second of run time.
    pub(super) fn start_trial(&mut self) -> u32 {
        let since_ns = self.now_ns.saturating_sub(self.epoch_ns);
        let second = u32::try_from(since_ns / SECOND_NS).unwrap() + 2;
        let at = (self.epoch_ns(), second);
        self.coordinator.start(at, &order(true)).unwrap();
        second
    }

    /// By how much the start of each worker was off, ns.
    pub(super) fn skews_ns(&self) -> Vec<u64> {
        let epoch_ns = self.epoch_ns();
        let workers = self.workers.iter();
        workers
            .map(|worker| {
                let meant = epoch_ns + WORKER_ZERO_NS + worker.ahead_ns;
                (worker.begun_ns[0] - meant).unsigned_abs()
            })
            .collect()
    }

    /// Virtual time since the beginning of the load, s.
    pub(super) fn since_start(&self) -> f64 {
        let start_ns = self.epoch_ns + u64::from(START_SECOND) * SECOND_NS;
        (self.now_ns as f64 - start_ns as f64) / 1e9
    }

    pub(super) fn run_for(&mut self, seconds: f64) {
        let until = self.now_ns as f64 + seconds * 1e9;
        while (self.now_ns as f64) < until {
            self.step();
        }
    }

    /// Runs to a moment after the beginning of the load.
    pub(super) fn run_to(&mut self, since_start: f64) {
        self.run_for(since_start - self.since_start());
    }

    pub(super) fn set_line(&mut self, at: usize, line: LineState) {
        self.workers[at].line = line;
    }

    /// The connection of a worker that has one.
    pub(super) fn connection(&self, at: usize) -> ConnectionId {
        self.workers[at].connection.unwrap()
    }

    /// The process is gone, and its connection closes.
    pub(super) fn kill(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        worker.is_frozen = true;
        worker.to_coordinator.clear();
        if let Some(id) = worker.connection.take() {
            self.coordinator.disconnected(id);
        }
    }

    pub(super) fn kill_coordinator(&mut self) {
        self.is_coordinator_dead = true;
        for at in 0..self.workers.len() {
            let clock_ns = self.workers[at].clock_ns(self.now_ns);
            let worker = &mut self.workers[at];
            worker.connection = None;
            worker.to_worker.clear();
            worker.state.disconnected(clock_ns);
        }
    }

    /// A worker dials; it fails where the line is cut or nobody listens.
    fn connect(&mut self, at: usize) {
        let clock_ns = self.workers[at].clock_ns(self.now_ns);
        let worker = &mut self.workers[at];
        let before = worker.connection.take();
        worker.to_worker.clear();
        worker.to_coordinator.clear();
        if self.is_coordinator_dead || worker.line == LineState::Cut {
            return;
        }
        worker.connection = Some(self.coordinator.connected(self.now_ns));
        worker.state.connected(clock_ns);
        // The other end of the old connection notices after the new one is there.
        if let Some(before) = before {
            self.coordinator.disconnected(before);
        }
    }

    fn step(&mut self) {
        self.now_ns += STEP_NS;
        for at in 0..self.workers.len() {
            self.step_worker(at);
            self.step_connection(at);
        }
        if self.is_coordinator_dead {
            return;
        }
        self.coordinator.tick(self.now_ns);
        while let Some(window) = self.coordinator.next_window() {
            self.merged.push(window);
        }
    }

    fn step_worker(&mut self, at: usize) {
        let (now_ns, lasting) = (self.now_ns, self.lasting);
        let worker = &mut self.workers[at];
        if worker.is_frozen || worker.end.is_some() {
            return;
        }
        let clock_ns = worker.clock_ns(now_ns);
        let clocks = ArrivalClocks {
            now_ns: clock_ns,
            wall_ns: WALL_NS + worker.ahead_ns + i64::try_from(now_ns).unwrap(),
        };
        while worker.line == LineState::Whole
            && let Some((_, message)) = worker.to_worker.pop_front_if(|(due, _)| *due <= now_ns)
        {
            worker.state.received(message, clocks);
        }
        let mut connects = worker.act(now_ns);
        worker.carry(now_ns, lasting);
        worker.state.tick(clock_ns);
        connects |= worker.act(now_ns);
        while worker.connection.is_some()
            && let Some(message) = worker.state.next_outgoing()
        {
            worker.to_coordinator.push_back((now_ns + BACK_NS, message));
        }
        if connects {
            self.connect(at);
        }
    }

    /// The thread of a worker's connection, in the coordinator.
    fn step_connection(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        let Some(id) = worker.connection.filter(|_| !self.is_coordinator_dead) else {
            return;
        };
        while worker.line == LineState::Whole
            && let Some((_, message)) = worker
                .to_coordinator
                .pop_front_if(|(due, _)| *due <= self.now_ns)
        {
            self.coordinator.received(id, message, self.now_ns);
        }
        let outgoing = self.coordinator.take_outgoing(id, self.now_ns);
        let due = self.now_ns + OUT_NS;
        let messages = outgoing.messages.into_iter();
        worker
            .to_worker
            .extend(messages.map(|message| (due, message)));
        if outgoing.is_last {
            self.coordinator.disconnected(id);
            worker.connection = None;
        }
    }
}

/// Who joins as this instance.
pub(super) fn join(instance: u32, name: &str) -> Join {
    Join {
        name: name.to_owned(),
        region: None,
        instance: u64::from(instance),
        resumes: false,
    }
}

pub(super) fn settings(workers: u32, if_lost: IfLost) -> Settings {
    Settings {
        workers,
        loops: 1,
        pieces: Arc::from(["the ".to_owned(), "task".to_owned()]),
        if_lost,
        wall_at_zero_ns: WALL_NS,
    }
}

/// A load whose first second is a warm-up.
pub(super) fn order(is_trial: bool) -> LoadOrder {
    LoadOrder {
        judged: (1, u32::MAX),
        is_trial,
        ..LoadOrder::of_plan(&get_root(([127, 0, 0, 1], 80).into()))
    }
}
