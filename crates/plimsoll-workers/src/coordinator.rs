//! The coordinator of loads, without sockets and clocks: who carries which part, and what each of them is to be sent.
//!
//! Parts are slots. A worker that joins takes a free one until the first load begins; from then on a part has the worker it
//! has, or none. What a connection is sent is the difference between the state and what was sent on it, so that a worker
//! whose connection was cut goes on over another one.

mod admission;
mod fewer;
mod regions;
mod results;
mod round;
mod slot;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use plimsoll_load::Used;
use plimsoll_model::load_hosts::RegionShare;
use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;

use crate::clock::SECOND_NS;
use crate::error::WorkersError;
use crate::label::shown;
use crate::merge::WindowMerge;
use crate::message::{ToCoordinator, ToWorker};
use round::Round;
use slot::{Command, SentState, Slot, SlotContext, Stage};

pub use round::WorkersLost;
pub(crate) use slot::Outgoing;

/// Silence after which a worker is lost, ns.
pub(crate) const SILENCE_MAX_NS: u64 = 5 * SECOND_NS;
/// Time in which a connection must be that of a worker, ns.
const JOIN_WITHIN_NS: u64 = 5 * SECOND_NS;
/// News that may wait to be taken.
const NEWS_MAX: usize = 256;

/// What becomes of a run or a search whose worker is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfLost {
    /// It ends, and is void: the load was not the one that was asked for.
    #[default]
    Void,
    /// A run goes on at the rate that is left. A trial is void in any case; the workers that are left carry the next ones as a
    /// whole.
    Continue,
}

/// A connection, by the order in which they came.
pub(crate) type ConnectionId = u64;

/// What a coordinator is made for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Parts, at least one.
    pub(crate) workers: u32,
    /// Event loops of each.
    pub(crate) loops: u32,
    /// The task.
    pub(crate) pieces: Arc<[String]>,
    pub(crate) if_lost: IfLost,
    /// Time of day at the coordinator's nanosecond 0, ns since 1970.
    pub(crate) wall_at_zero_ns: i64,
}

#[derive(Debug)]
struct Connection {
    since_ns: u64,
    /// The part of its worker, once it has joined.
    part: Option<u32>,
    sent: SentState,
    /// Why it is to end.
    refusal: Option<String>,
    /// Its worker has another connection.
    is_replaced: bool,
}

/// The state of the loads that several workers carry. Times are ns of the coordinator's clock.
#[derive(Debug)]
pub(crate) struct CoordinatorState {
    settings: Settings,
    connections: BTreeMap<ConnectionId, Connection>,
    next_connection: ConnectionId,
    slots: Vec<Option<Slot>>,
    /// The load that was started last.
    round: Option<Round>,
    /// No other load follows.
    is_finished: bool,
    command: Command,
    merge: WindowMerge,
    complete: VecDeque<Window>,
    /// The second after the last complete one.
    next_second: u32,
    /// What makes the load incomplete, for the next window.
    load_errors: Vec<String>,
    /// Parts of the load by region; empty where all workers carry equal parts.
    shares: Vec<RegionShare>,
    /// Workers that were lost when they had delivered all of a load, as errors of the next one.
    lost_between: Vec<String>,
    /// The latest loss that nobody was informed of.
    latest_loss: Option<String>,
    /// Workers that were left when somebody was informed last.
    known_left: u32,
    /// Why the load cannot begin: a worker and its reason.
    problem: Option<(String, String)>,
    /// What the user must know of now.
    news: Vec<String>,
    /// What readers of the run must know.
    notes: Vec<String>,
}

impl CoordinatorState {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            connections: BTreeMap::new(),
            next_connection: 0,
            slots: (0..settings.workers).map(|_| None).collect(),
            round: None,
            is_finished: false,
            command: Command::Run,
            merge: WindowMerge::new(settings.workers),
            complete: VecDeque::new(),
            next_second: 0,
            load_errors: Vec::new(),
            shares: Vec::new(),
            lost_between: Vec::new(),
            latest_loss: None,
            known_left: settings.workers,
            problem: None,
            news: Vec::new(),
            notes: Vec::new(),
            settings,
        }
    }

    /// Somebody with the token has connected.
    pub(crate) fn connected(&mut self, now_ns: u64) -> ConnectionId {
        let id = self.next_connection;
        self.next_connection += 1;
        self.connections.insert(
            id,
            Connection {
                since_ns: now_ns,
                part: None,
                sent: SentState::default(),
                refusal: None,
                is_replaced: false,
            },
        );
        id
    }

    /// A connection has ended. Its worker may come back over another one.
    pub(crate) fn disconnected(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        let part = connection.part.filter(|_| !connection.is_replaced);
        if let Some(slot) = part.and_then(|part| self.slots[part as usize].as_mut()) {
            slot.connection = None;
            slot.clock.lost_connection();
        }
    }

    /// A message has arrived.
    pub(crate) fn received(&mut self, id: ConnectionId, message: ToCoordinator, now_ns: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if connection.is_replaced || connection.refusal.is_some() {
            return;
        }
        match (connection.part, message) {
            (None, ToCoordinator::Join(join)) => self.join(id, join, now_ns),
            (None, _) | (Some(_), ToCoordinator::Join(_)) => {
                connection.refusal = Some("a worker joins first, and once".to_owned());
            }
            (Some(part), message) => self.received_of(part, message, now_ns),
        }
    }

    fn live_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    fn received_of(&mut self, part: u32, message: ToCoordinator, now_ns: u64) {
        let pieces = u32::try_from(self.settings.pieces.len()).unwrap_or(u32::MAX);
        let Some(slot) = self.slots[part as usize].as_mut() else {
            return;
        };
        slot.last_received_ns = slot.last_received_ns.max(now_ns);
        match message {
            ToCoordinator::Taken { pieces: taken } => slot.taken = taken.min(pieces),
            ToCoordinator::Ready if slot.stage == Stage::Taking && slot.taken == pieces => {
                slot.stage = Stage::Ready;
                self.announce_ready(part);
            }
            // Sent again over another connection.
            ToCoordinator::Ready | ToCoordinator::Join(_) => {}
            ToCoordinator::Failed { error } => self.fail(part, &shown(&error)),
            ToCoordinator::ClockAnswer {
                id,
                monotonic_ns,
                wall_ns,
            } => {
                let clocks = (monotonic_ns, wall_ns);
                let wall_at_zero_ns = self.settings.wall_at_zero_ns;
                slot.clock.answered(id, clocks, now_ns, wall_at_zero_ns);
            }
            ToCoordinator::Numbered {
                round,
                number,
                content,
            } => self.numbered(part, (round, number), content),
        }
    }

    fn announce_ready(&mut self, part: u32) {
        let ready = self.live_slots().filter(|slot| slot.stage == Stage::Ready);
        let ready = ready.count();
        if let Some(slot) = &self.slots[part as usize] {
            let region = slot.record.region.as_ref();
            let region = region.map_or_else(String::new, |region| format!(" in {region}"));
            let text = format!(
                "worker {}{region} is ready ({ready} of {})",
                slot.record.name, self.settings.workers
            );
            self.add_news(text);
        }
    }

    fn add_news(&mut self, text: String) {
        if self.news.len() < NEWS_MAX {
            self.news.push(text);
        }
    }

    /// A worker reports that it cannot go on, or cannot begin.
    fn fail(&mut self, part: u32, reason: &str) {
        if self.round.is_some() {
            self.lose(part, reason);
        } else if let Some(slot) = &self.slots[part as usize] {
            self.problem = Some((slot.record.name.clone(), reason.to_owned()));
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        for part in 0..self.settings.workers {
            let Some(slot) = &self.slots[part as usize] else {
                continue;
            };
            let silent_ns = now_ns.saturating_sub(slot.last_received_ns);
            if !self.is_expected(slot) || silent_ns <= SILENCE_MAX_NS {
                continue;
            }
            if self.round.is_some() {
                self.lose(part, "silent for 5 s");
            } else if let Some(slot) = self.slots[part as usize].take() {
                let id = slot.connection;
                if let Some(connection) = id.and_then(|id| self.connections.get_mut(&id)) {
                    connection.is_replaced = true;
                }
                self.add_news(format!(
                    "worker {} left before the load began; another one can join",
                    slot.record.name
                ));
            }
        }
    }

    /// What a connection is to be sent now.
    pub(crate) fn take_outgoing(&mut self, id: ConnectionId, now_ns: u64) -> Outgoing {
        let is_last = self.round.is_some_and(|round| !round.is_trial);
        let is_done = self.is_finished || (is_last && self.merge.is_over());
        let last = |messages| Outgoing {
            messages,
            is_last: true,
        };
        let Some(connection) = self.connections.get_mut(&id) else {
            return last(Vec::new());
        };
        if let Some(reason) = connection.refusal.clone() {
            return last(vec![ToWorker::Refused { reason }]);
        }
        if connection.is_replaced {
            return last(Vec::new());
        }
        let Some(part) = connection.part else {
            return Outgoing {
                messages: Vec::new(),
                is_last: now_ns.saturating_sub(connection.since_ns) > JOIN_WITHIN_NS,
            };
        };
        let context = SlotContext {
            workers: self.settings.workers,
            pieces: &self.settings.pieces,
            round: self.round.map(|round| round.number),
            command: self.command,
            is_done,
        };
        match self.slots[part as usize].as_mut() {
            Some(slot) => slot.outgoing(part, &mut connection.sent, context, now_ns),
            None => last(Vec::new()),
        }
    }

    /// Workers that have joined.
    #[cfg(test)]
    pub(crate) fn joined(&self) -> u32 {
        u32::try_from(self.live_slots().count()).unwrap_or(u32::MAX)
    }

    /// Whether all parts have a worker that can begin, and whose clock is known.
    pub(crate) fn is_ready(&self) -> bool {
        let is_ready = |slot: &Option<Slot>| slot.as_ref().is_some_and(Slot::can_begin);
        self.round.is_none() && self.slots.iter().all(is_ready)
    }

    /// Why the load cannot begin.
    pub(crate) fn problem(&self) -> Option<WorkersError> {
        let (name, reason) = self.problem.clone()?;
        Some(WorkersError::Failed { name, reason })
    }

    /// No further arrivals. What comes after them is not judged: loops that wait for the last answers are never busy.
    pub(crate) fn stop(&mut self) {
        self.command = self.command.max(Command::Stop);
        if let Some(round) = &mut self.round {
            let delivered = self.next_second.saturating_sub(round.start_second);
            round.judged.1 = round.judged.1.min(delivered);
        }
    }

    /// No further arrivals, and no drain.
    pub(crate) fn abort(&mut self) {
        self.command = Command::Abort;
    }

    /// There is no more to do for the workers: they end. Those that have delivered everything are sent that as usual.
    pub(crate) fn dismiss(&mut self, reason: &str) {
        if self.round.is_some() && self.merge.is_over() {
            self.is_finished = true;
            return;
        }
        for connection in self.connections.values_mut() {
            connection.refusal.get_or_insert_with(|| reason.to_owned());
        }
    }

    /// The next second of all workers together.
    pub(crate) fn next_window(&mut self) -> Option<Window> {
        let mut window = match self.complete.pop_front() {
            Some(window) => window,
            // What is missing must not look complete.
            None if self.merge.is_over() && !self.load_errors.is_empty() => {
                Window::new(self.next_second)
            }
            None => return None,
        };
        window.load_errors.append(&mut self.load_errors);
        Some(window)
    }

    /// Whether the load that was started last is over, and everything was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.merge.is_over() && self.complete.is_empty() && self.load_errors.is_empty()
    }

    /// What the user must know of now.
    pub(crate) fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Somebody could not be let in.
    pub(crate) fn refused(&mut self, why: &str) {
        self.add_news(format!("a worker was refused: {}", shown(why)));
    }

    /// What readers of the run must know.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// What each worker did in the load that was started last, by part.
    pub(crate) fn records(&self) -> Vec<WorkerRecord> {
        let listed = self.live_slots().filter(|slot| slot.is_listed);
        listed.map(Slot::record).collect()
    }

    /// Resources that all workers used together in the load that was started last.
    pub(crate) fn used(&self) -> Used {
        self.live_slots().fold(Used::default(), |sum, slot| Used {
            cpu_us: sum.cpu_us.saturating_add(slot.used.cpu_us),
            rss_bytes_max: sum.rss_bytes_max.saturating_add(slot.used.rss_bytes_max),
        })
    }
}
