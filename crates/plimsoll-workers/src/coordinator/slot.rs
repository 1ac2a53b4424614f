//! A part of the load, and the worker that carries it.

use plimsoll_load::Used;
use plimsoll_model::worker::WorkerRecord;

use super::ConnectionId;
use crate::clock_sync::ClockSync;
use crate::message::{Join, Start, StayedUsers, ToWorker};

/// Pieces of the task that may be under way to a worker.
const PIECES_AHEAD: u32 = 16;

/// How far a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It takes the task.
    Taking,
    /// It can begin.
    Ready,
    /// It was given the moment of the start.
    Running,
    /// All of its results have arrived, and another load may begin.
    Ended,
    /// It carries its part no longer, and nobody else does.
    Lost,
}

/// What all workers are to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Command {
    #[default]
    Run,
    /// No further arrivals.
    Stop,
    /// No further arrivals, and no drain.
    Abort,
}

/// What was sent on one connection. Another connection begins with nothing sent.
#[derive(Debug, Default)]
pub(super) struct SentState {
    has_assigned: bool,
    pieces: u32,
    /// Number of the load whose start was sent.
    started: Option<u32>,
    received: Option<u64>,
    command: Command,
}

/// What the slots of a load share.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotContext<'a> {
    pub(super) workers: u32,
    pub(super) pieces: &'a [String],
    /// Number of the load that was started last.
    pub(super) round: Option<u32>,
    pub(super) command: Command,
    /// All results of all workers have arrived, and no other load follows.
    pub(super) is_done: bool,
}

/// Messages for one connection.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outgoing {
    pub(crate) messages: Vec<ToWorker>,
    /// The connection ends after them.
    pub(crate) is_last: bool,
}

/// The worker of a part.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) instance: u64,
    pub(super) connection: Option<ConnectionId>,
    pub(super) last_received_ns: u64,
    pub(super) stage: Stage,
    /// Pieces of the task that have arrived there.
    pub(super) taken: u32,
    pub(super) clock: ClockSync,
    /// The start of the load that it was given last, by its clock.
    pub(super) start: Option<Start>,
    /// Whether the load that was started last has a record of it: those who were lost earlier have none.
    pub(super) is_listed: bool,
    /// Number of the next message that must not be lost.
    pub(super) next: u64,
    /// The second after the last one that has arrived.
    pub(super) next_second: u32,
    /// What it did in the load that was started last.
    pub(super) record: WorkerRecord,
    /// Resources that it used there.
    pub(super) used: Used,
    /// The same in all loads so far.
    used_so_far: Used,
    /// Users who stay for the next load.
    pub(super) stayed: StayedUsers,
}

impl Slot {
    /// A worker that has just joined, under a name that no other has.
    pub(super) fn new(join: Join, name: String, loops: u32, now_ns: u64) -> Self {
        Self {
            instance: join.instance,
            connection: None,
            last_received_ns: now_ns,
            stage: Stage::Taking,
            taken: 0,
            clock: ClockSync::new(),
            start: None,
            is_listed: true,
            next: 0,
            next_second: 0,
            record: WorkerRecord {
                name,
                region: join.region,
                loops,
                ..WorkerRecord::default()
            },
            used: Used::default(),
            used_so_far: Used::default(),
            stayed: StayedUsers::default(),
        }
    }

    /// A load begins at this second, in which it takes part unless it was lost before: that is in the record of the first load
    /// without it, where no earlier one has it.
    pub(super) fn list(&mut self, second: u32) {
        let is_lost = self.stage == Stage::Lost;
        self.is_listed = !is_lost || self.record.lost_at.is_none();
        self.record = WorkerRecord {
            name: std::mem::take(&mut self.record.name),
            region: self.record.region.take(),
            loops: self.record.loops,
            lost_at: is_lost.then_some(second),
            ..WorkerRecord::default()
        };
        self.used = Used::default();
    }

    /// It takes part in a load, whose start is by the coordinator's clock.
    pub(super) fn begin(&mut self, start: Start) {
        let ahead_ns = self
            .clock
            .start()
            .map_or(0, plimsoll_peer::ClockOffset::ahead_ns);
        self.next_second = start.second;
        self.stage = Stage::Running;
        if let Some(span) = start.loops {
            self.record.loops = span.count;
        }
        self.start = Some(Start {
            epoch_ns: start.epoch_ns.saturating_add(ahead_ns),
            ..start
        });
    }

    /// It has delivered a load as a whole.
    pub(super) fn end(&mut self, used_so_far: Used, stayed: StayedUsers) {
        self.stage = Stage::Ended;
        let before = std::mem::replace(&mut self.used_so_far, used_so_far);
        self.used = Used {
            cpu_us: used_so_far.cpu_us.saturating_sub(before.cpu_us),
            ..used_so_far
        };
        self.stayed = stayed;
    }

    /// It speaks over this connection from now on.
    pub(super) fn attach(&mut self, connection: ConnectionId, now_ns: u64) {
        self.connection = Some(connection);
        self.last_received_ns = now_ns;
        self.clock.lost_connection();
        if self.stage == Stage::Taking {
            self.taken = 0;
        }
    }

    /// What its connection lacks.
    pub(super) fn outgoing(
        &mut self,
        part: u32,
        sent: &mut SentState,
        context: SlotContext<'_>,
        now_ns: u64,
    ) -> Outgoing {
        let mut outgoing = Outgoing::default();
        if self.stage == Stage::Taking {
            self.send_task(part, sent, context, &mut outgoing.messages);
            // Until the worker has all of it, pieces are the signs of life.
            if self.taken as usize == context.pieces.len()
                && let Some(id) = self.clock.probe(now_ns)
            {
                outgoing.messages.push(ToWorker::ClockProbe { id });
            }
            return outgoing;
        }
        let messages = &mut outgoing.messages;
        if self.start.is_some() && sent.received != Some(self.next) {
            sent.received = Some(self.next);
            messages.push(ToWorker::Received { next: self.next });
        }
        self.send_load(sent, context, messages);
        if context.is_done {
            messages.push(ToWorker::Done);
            outgoing.is_last = true;
            return outgoing;
        }
        // Behind all others: its moment is taken now.
        if let Some(id) = self.clock.probe(now_ns) {
            messages.push(ToWorker::ClockProbe { id });
        }
        outgoing
    }

    /// The start of the load that goes on, and what has become of it since.
    fn send_load(
        &self,
        sent: &mut SentState,
        context: SlotContext<'_>,
        messages: &mut Vec<ToWorker>,
    ) {
        let current = self
            .start
            .as_ref()
            .filter(|start| Some(start.round) == context.round);
        let Some(start) = current else { return };
        let round = start.round;
        if sent.started != Some(round) {
            sent.started = Some(round);
            sent.command = Command::Run;
            messages.push(ToWorker::Start(Box::new(start.clone())));
        }
        if context.command > sent.command {
            sent.command = context.command;
            messages.push(match context.command {
                Command::Abort => ToWorker::Abort { round },
                Command::Run | Command::Stop => ToWorker::Stop { round },
            });
        }
    }

    /// The task, not much faster than it is taken. What has been taken is a sign of life.
    fn send_task(
        &self,
        part: u32,
        sent: &mut SentState,
        context: SlotContext<'_>,
        messages: &mut Vec<ToWorker>,
    ) {
        if !sent.has_assigned {
            sent.has_assigned = true;
            messages.push(ToWorker::Assigned {
                index: part,
                workers: context.workers,
                pieces: u32::try_from(context.pieces.len()).unwrap_or(u32::MAX),
            });
        }
        let until = self.taken.saturating_add(PIECES_AHEAD);
        while sent.pieces < until
            && let Some(piece) = context.pieces.get(sent.pieces as usize)
        {
            sent.pieces += 1;
            messages.push(ToWorker::Piece {
                text: piece.clone(),
            });
        }
    }

    /// What it did, with what is known about its clocks.
    pub(super) fn record(&self) -> WorkerRecord {
        let mut record = self.record.clone();
        let us = |ns: i64| ns / 1000;
        if let Some(wall) = self.clock.wall() {
            record.clock_offset_us = us(wall.ahead_ns());
        }
        if let Some(start) = self.clock.at_start() {
            record.clock_error_us = start.error_ns().div_ceil(1000);
        }
        record.clock_drift_us = us(self.clock.drift_ns());
        record
    }
}
