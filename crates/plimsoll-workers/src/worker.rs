//! A worker, without sockets, threads and clocks: what it does about the messages of its coordinator, and about silence.
//!
//! It begins each load once, at the moment that it was given, and one after the other. A lost connection is made again; a
//! coordinator that stays silent ends the load. Results wait in the spool until they were received.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use plimsoll_load::Used;
use plimsoll_model::window::Window;
use plimsoll_model::worker::HostUse;

use crate::clock::SECOND_NS;
use crate::message::{Join, Numbered, Start, StayedUsers, ToCoordinator, ToWorker};
use crate::spool::Spool;
use crate::task::{PIECES_MAX, TASK_LEN_MAX};

/// Silence of the coordinator after which the load is stopped, ns: within the five seconds after which the coordinator
/// counts the worker as lost.
pub(crate) const SILENCE_MAX_NS: u64 = 4_500_000_000;
/// Silence after which another connection is tried, ns: TCP would wait for twice as long as a line was cut.
const RECONNECT_AFTER_NS: u64 = 3 * SECOND_NS / 2;
/// Time between attempts to connect, ns.
const RETRY_NS: u64 = SECOND_NS / 4;

/// Readings of both clocks at the arrival of a message, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalClocks {
    /// Of one that is never set.
    pub(crate) now_ns: u64,
    /// Of the time of day, since 1970.
    pub(crate) wall_ns: i64,
}

/// How far a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has joined, and waits for its part.
    Joining,
    /// It takes the task.
    Taking,
    /// The task is checked.
    Preparing,
    /// It waits for the start of the first load, or of the next.
    Ready,
    /// Its load goes on.
    Running,
    /// Its last load is over.
    Ended,
    /// It is about to exit.
    Over,
}

/// What a worker is to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkerAction {
    /// Check part `index` of `workers` of the task, and report the result.
    Prepare {
        index: u32,
        workers: u32,
        text: String,
    },
    /// Begin this load.
    Begin(Box<Start>),
    /// No further arrivals.
    StopLoad,
    /// No further arrivals, and no drain.
    AbortLoad,
    /// Connect again, within so many ns.
    Connect { within_ns: u64 },
    /// End, after everything that is pending was sent.
    Exit(WorkerEnd),
}

/// How a worker ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkerEnd {
    /// The coordinator has all of its results.
    Done,
    /// The coordinator has no part for it.
    Refused(String),
    /// It cannot carry its part.
    Failed(String),
    /// The coordinator was silent for so long, ns.
    Silent(u64),
    /// The coordinator closed the connection before it gave a part.
    Closed,
}

/// The state of a worker. Times are ns of its own clock.
#[derive(Debug)]
pub(crate) struct WorkerState {
    join: Join,
    stage: Stage,
    /// Part, number of parts, and pieces of the task.
    assigned: (u32, u32, u32),
    taken: u32,
    text: String,
    /// Number of the load that it began last.
    round: Option<u32>,
    /// Whether another load may follow that one.
    is_trial: bool,
    spool: Spool,
    is_connected: bool,
    last_received_ns: u64,
    retry_ns: u64,
    outgoing: VecDeque<ToCoordinator>,
    actions: VecDeque<WorkerAction>,
}

impl WorkerState {
    pub(crate) fn new(join: Join) -> Self {
        Self {
            join,
            stage: Stage::Joining,
            assigned: (0, 0, 0),
            taken: 0,
            text: String::new(),
            round: None,
            is_trial: false,
            spool: Spool::default(),
            is_connected: false,
            last_received_ns: 0,
            retry_ns: 0,
            outgoing: VecDeque::new(),
            actions: VecDeque::new(),
        }
    }

    /// A connection was made, and the coordinator has greeted.
    pub(crate) fn connected(&mut self, now_ns: u64) {
        self.is_connected = true;
        self.last_received_ns = now_ns;
        self.outgoing.clear();
        self.spool.rewind();
        self.outgoing.push_back(ToCoordinator::Join(Join {
            resumes: self.stage != Stage::Joining,
            ..self.join.clone()
        }));
    }

    /// The connection has failed.
    pub(crate) fn disconnected(&mut self, now_ns: u64) {
        self.is_connected = false;
        self.retry_ns = now_ns;
        match self.stage {
            Stage::Joining => self.exit(WorkerEnd::Closed),
            _ if self.has_delivered() => self.exit(WorkerEnd::Done),
            _ => {}
        }
    }

    /// Whether its last load is over, and the coordinator has all of its results.
    fn has_delivered(&self) -> bool {
        self.stage == Stage::Ended && self.spool.is_empty()
    }

    /// A message has arrived.
    pub(crate) fn received(&mut self, message: ToWorker, clocks: ArrivalClocks) {
        self.last_received_ns = clocks.now_ns;
        match message {
            ToWorker::Assigned {
                index,
                workers,
                pieces,
            } => self.assigned((index, workers, pieces)),
            ToWorker::Piece { text } => self.take_piece(&text),
            ToWorker::ClockProbe { id } => self.outgoing.push_back(ToCoordinator::ClockAnswer {
                id,
                monotonic_ns: i64::try_from(clocks.now_ns).unwrap_or(i64::MAX),
                wall_ns: clocks.wall_ns,
            }),
            ToWorker::Start(start) => self.start(start),
            ToWorker::Received { next } => self.spool.received(next),
            // Of a load that is over, nothing is left to end.
            ToWorker::Stop { round } | ToWorker::Abort { round } if self.round != Some(round) => {}
            ToWorker::Stop { .. } => self.act_on_load(WorkerAction::StopLoad),
            ToWorker::Abort { .. } => self.act_on_load(WorkerAction::AbortLoad),
            ToWorker::Refused { .. } if self.has_delivered() => self.exit(WorkerEnd::Done),
            ToWorker::Refused { reason } => self.exit(WorkerEnd::Refused(reason)),
            ToWorker::Done => self.exit(WorkerEnd::Done),
        }
    }

    /// A load is to begin. One that was sent again over another connection has begun, and is not begun twice.
    fn start(&mut self, start: Box<Start>) {
        let is_new = self.round.is_none_or(|round| start.round > round);
        if self.stage != Stage::Ready || !is_new {
            return;
        }
        self.round = Some(start.round);
        self.is_trial = start.order.is_trial;
        self.stage = Stage::Running;
        self.actions.push_back(WorkerAction::Begin(start));
    }

    fn assigned(&mut self, assigned: (u32, u32, u32)) {
        let (_, _, pieces) = assigned;
        match self.stage {
            Stage::Joining | Stage::Taking if (1..=PIECES_MAX).contains(&pieces) => {
                self.stage = Stage::Taking;
                self.assigned = assigned;
                self.taken = 0;
                self.text.clear();
            }
            // The coordinator does not know yet that all was taken.
            Stage::Preparing | Stage::Ready if assigned == self.assigned => {
                self.outgoing.push_back(ToCoordinator::Taken { pieces });
                if self.stage == Stage::Ready {
                    self.outgoing.push_back(ToCoordinator::Ready);
                }
            }
            _ => self.fail("the coordinator sent a task that does not fit".to_owned()),
        }
    }

    fn take_piece(&mut self, text: &str) {
        if self.stage != Stage::Taking {
            return;
        }
        if self.text.len() + text.len() > TASK_LEN_MAX {
            self.fail("the coordinator sent a task that is too long".to_owned());
            return;
        }
        self.text.push_str(text);
        self.taken += 1;
        self.outgoing
            .push_back(ToCoordinator::Taken { pieces: self.taken });
        let (index, workers, pieces) = self.assigned;
        if self.taken == pieces {
            self.stage = Stage::Preparing;
            self.actions.push_back(WorkerAction::Prepare {
                index,
                workers,
                text: std::mem::take(&mut self.text),
            });
        }
    }

    /// The task was checked.
    pub(crate) fn prepared(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) if self.stage == Stage::Preparing => {
                self.stage = Stage::Ready;
                self.outgoing.push_back(ToCoordinator::Ready);
            }
            Ok(()) => {}
            Err(error) => self.fail(error),
        }
    }

    /// A second of the load was over.
    pub(crate) fn second(&mut self, window: Box<Window>, host: HostUse) {
        self.keep(Numbered::Second { window, host });
    }

    /// The load is over, with the drain.
    pub(crate) fn load_ended(
        &mut self,
        used: Used,
        plan_error: Option<String>,
        stayed: StayedUsers,
    ) {
        self.keep(Numbered::Ended {
            used,
            plan_error,
            stayed,
        });
        if self.stage == Stage::Running {
            self.stage = if self.is_trial {
                Stage::Ready
            } else {
                Stage::Ended
            };
        }
    }

    fn keep(&mut self, content: Numbered) {
        if self.stage == Stage::Running && !self.spool.push(content) {
            self.fail("the coordinator takes no results".to_owned());
        }
    }

    /// The part cannot be carried, or not on: the coordinator is to know why.
    pub(crate) fn fail(&mut self, error: String) {
        self.outgoing.push_back(ToCoordinator::Failed {
            error: error.clone(),
        });
        self.exit(WorkerEnd::Failed(error));
    }

    fn act_on_load(&mut self, action: WorkerAction) {
        if self.stage == Stage::Running {
            self.actions.push_back(action);
        }
    }

    fn exit(&mut self, end: WorkerEnd) {
        if self.stage == Stage::Over {
            return;
        }
        self.act_on_load(WorkerAction::AbortLoad);
        self.stage = Stage::Over;
        self.actions.push_back(WorkerAction::Exit(end));
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        let silent_ns = now_ns.saturating_sub(self.last_received_ns);
        if silent_ns > SILENCE_MAX_NS {
            self.exit(if self.has_delivered() {
                WorkerEnd::Done
            } else {
                WorkerEnd::Silent(silent_ns)
            });
            return;
        }
        let is_expecting = matches!(self.stage, Stage::Ready | Stage::Running | Stage::Ended);
        if self.is_connected && is_expecting && silent_ns > RECONNECT_AFTER_NS {
            self.is_connected = false;
            self.retry_ns = now_ns;
        }
        if !self.is_connected && self.stage != Stage::Over && now_ns >= self.retry_ns {
            self.retry_ns = now_ns + RETRY_NS;
            let within_ns = SILENCE_MAX_NS - silent_ns;
            self.actions.push_back(WorkerAction::Connect { within_ns });
        }
    }

    /// The next message for the coordinator.
    pub(crate) fn next_outgoing(&mut self) -> Option<ToCoordinator> {
        if !self.is_connected {
            return None;
        }
        if let Some(message) = self.outgoing.pop_front() {
            return Some(message);
        }
        let (number, content) = self.spool.next()?;
        Some(ToCoordinator::Numbered {
            // Before another load begins, the coordinator has everything of the last one.
            round: self.round.unwrap_or(0),
            number,
            content,
        })
    }

    /// The next thing to do.
    pub(crate) fn next_action(&mut self) -> Option<WorkerAction> {
        self.actions.pop_front()
    }
}
