//! Properties that hold for any messages: tested with ones that resemble those of a run, fuzzed with any. Each function panics
//! where its property is violated.

use std::sync::Arc;

use plimsoll_load::Used;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Load;
use plimsoll_model::schedule::Spacing;
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use plimsoll_model::worker::{HostUse, WorkerRecord};
use plimsoll_peer::ROUND_TRIPS;

use crate::clock::SECOND_NS;
use crate::coordinator::{ConnectionId, CoordinatorState, IfLost, Settings};
use crate::load_order::{LoadDestination, LoadOrder};
use crate::message::{Join, Numbered, StayedUsers, ToCoordinator, ToWorker};
use crate::task::Task;
use crate::worker::{ArrivalClocks, WorkerAction, WorkerState};

/// Most messages that are tried.
const MESSAGES_MAX: usize = 40;
/// Time between two messages, ns.
const STEP_NS: u64 = SECOND_NS / 100;
/// Second of run time in which the load begins.
const START: u32 = 3;

/// Two workers whose load has begun: one that delivers what it should, and one that sends anything.
struct MixedLoad {
    state: CoordinatorState,
    now_ns: u64,
    honest: ConnectionId,
    other: ConnectionId,
    /// Number of the next message of the honest one.
    next: u64,
    windows: Vec<Window>,
}

impl MixedLoad {
    fn begin() -> Self {
        let mut state = CoordinatorState::new(Settings {
            workers: 2,
            loops: 1,
            pieces: Arc::from(["task".to_owned()]),
            if_lost: IfLost::Continue,
            wall_at_zero_ns: 0,
        });
        let [honest, other] = [1, 2].map(|instance| {
            let id = state.connected(0);
            state.received(id, ToCoordinator::Join(join(instance)), 0);
            state.received(id, ToCoordinator::Taken { pieces: 1 }, 0);
            state.received(id, ToCoordinator::Ready, 0);
            id
        });
        let mut load = Self {
            state,
            now_ns: 0,
            honest,
            other,
            next: 0,
            windows: Vec::new(),
        };
        for _ in 0..=ROUND_TRIPS {
            load.answer(honest);
            load.answer(other);
        }
        load.state
            .start((0, START), &order(false))
            .expect("both are ready, and their clocks are known");
        load
    }

    /// Takes what is sent on a connection, and answers probes of the clock.
    fn answer(&mut self, id: ConnectionId) {
        self.now_ns += STEP_NS;
        let messages = self.state.take_outgoing(id, self.now_ns).messages;
        for message in messages {
            if let ToWorker::ClockProbe { id: probe } = message {
                let clock_ns = i64::try_from(self.now_ns).unwrap_or(i64::MAX);
                let answer = ToCoordinator::ClockAnswer {
                    id: probe,
                    monotonic_ns: clock_ns,
                    wall_ns: clock_ns,
                };
                self.state.received(id, answer, self.now_ns);
            }
        }
    }

    /// The honest worker delivers its next second, and the other one sends this.
    fn go_on(&mut self, second: u32, message: ToCoordinator) {
        let mut window = Window::new(second);
        window.offered = 7;
        window.outcomes.add_many(Outcome::Ok, 7);
        window.response.record(1_000, 7);
        let own = ToCoordinator::Numbered {
            round: 0,
            number: self.next,
            content: Numbered::Second {
                window: Box::new(window),
                host: HostUse::default(),
            },
        };
        self.next += 1;
        self.state.received(self.honest, own, self.now_ns);
        self.state.received(self.other, message, self.now_ns);
        self.answer(self.honest);
        self.answer(self.other);
        self.state.tick(self.now_ns);
        self.take_windows();
    }

    fn take_windows(&mut self) {
        self.windows
            .extend(std::iter::from_fn(|| self.state.next_window()));
    }

    /// Both fall silent.
    fn end(mut self) -> (Vec<Window>, Vec<WorkerRecord>) {
        self.state.tick(self.now_ns + 6 * SECOND_NS);
        self.take_windows();
        assert!(self.state.is_over(), "the load does not end");
        (self.windows, self.state.records())
    }
}

/// A load without arrivals: the seconds of workers are made up.
fn order(is_trial: bool) -> LoadOrder {
    LoadOrder {
        load: Load::Open {
            phases: Vec::new(),
            spacing: Spacing::Even,
        },
        seed: Seed(0),
        destination: LoadDestination::Target,
        users_return: None,
        judged: (1, u32::MAX),
        is_trial,
    }
}

fn join(instance: u64) -> Join {
    Join {
        name: "host".to_owned(),
        region: None,
        instance,
        resumes: false,
    }
}

/// Whatever a worker sends, a message in each line: every second counts once and in order, and the sum over all seconds is that
/// over all workers. What is no message ends its connection, as in a run.
///
/// # Panics
/// When it does not hold.
pub fn sums_hold_whatever_a_worker_sends(text: &str) {
    let mut load = MixedLoad::begin();
    for (second, line) in (START..).zip(text.lines().take(MESSAGES_MAX)) {
        let Ok(message) = serde_json::from_str::<ToCoordinator>(line) else {
            load.state.disconnected(load.other);
            break;
        };
        load.go_on(second, message);
    }
    let (windows, records) = load.end();
    assert!(
        windows.is_sorted_by(|a, b| a.second < b.second),
        "a second came twice, or late"
    );
    let merged = |count: fn(&Window) -> u64| windows.iter().map(count).sum::<u64>();
    let delivered = |count: fn(&WorkerRecord) -> u64| records.iter().map(count).sum::<u64>();
    assert_eq!(
        merged(|window| window.offered),
        delivered(|record| record.offered)
    );
    assert_eq!(merged(Window::completed), delivered(WorkerRecord::requests));
    assert_eq!(
        merged(|window| window.response.count()),
        delivered(|record| record.response.count())
    );
}

/// Whatever a coordinator sends, a message in each line: a worker begins each load once at most, one at a time, and nothing
/// after its end. A text that is a task is read.
///
/// # Panics
/// When it does not hold.
pub fn a_worker_begins_once_whatever_its_coordinator_sends(text: &str) {
    let mut state = WorkerState::new(join(1));
    let (mut is_running, mut is_over) = (false, false);
    let mut begun: Option<u32> = None;
    let mut now_ns = STEP_NS;
    state.connected(now_ns);
    for line in text.lines().take(MESSAGES_MAX) {
        let Ok(message) = serde_json::from_str::<ToWorker>(line) else {
            state.disconnected(now_ns);
            break;
        };
        now_ns += STEP_NS;
        let clocks = ArrivalClocks { now_ns, wall_ns: 0 };
        state.received(message, clocks);
        while state.next_outgoing().is_some() {}
        while let Some(action) = state.next_action() {
            assert!(!is_over, "{action:?} after its end");
            match action {
                WorkerAction::Prepare { text: task, .. } => {
                    // Whatever it is: the state does not depend on it.
                    let _ = Task::parse(&task);
                    state.prepared(Ok(()));
                }
                WorkerAction::Begin(start) => {
                    assert!(!is_running, "it began two loads at a time");
                    assert!(
                        begun.is_none_or(|round| round < start.round),
                        "it began load {} after {begun:?}",
                        start.round
                    );
                    (begun, is_running) = (Some(start.round), true);
                }
                WorkerAction::Exit(_) => is_over = true,
                WorkerAction::StopLoad | WorkerAction::AbortLoad => {
                    is_running = false;
                    state.load_ended(Used::default(), None, StayedUsers::default());
                }
                WorkerAction::Connect { .. } => {}
            }
        }
        state.tick(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Start;

    /// A second of results with numbers of any size.
    fn second() -> impl Strategy<Value = Numbered> {
        // A histogram with more cannot be written.
        let number = prop_oneof![0_u64..100, Just(1_u64 << 41), Just(1_u64 << 62)];
        let at = prop_oneof![4 => START..START + 50, 1 => Just(u32::MAX), 1 => 0..START];
        (at, number.clone(), number).prop_map(|(second, offered, ended)| {
            let mut window = Window::new(second);
            window.offered = offered;
            window.outcomes.add_many(Outcome::Ok, ended);
            window.response.record(offered.clamp(1, 1 << 40), ended);
            Numbered::Second {
                window: Box::new(window),
                host: HostUse::default(),
            }
        })
    }

    fn to_coordinator() -> impl Strategy<Value = ToCoordinator> {
        let ended = Numbered::Ended {
            used: Used::default(),
            plan_error: Some("no row is left".to_owned()),
            stayed: StayedUsers::of(&[(1, true)]),
        };
        let content = prop_oneof![8 => second(), 1 => Just(ended)];
        let number = prop_oneof![8 => 0_u64..8, 1 => any::<u64>()];
        let round = prop_oneof![8 => Just(0_u32), 1 => any::<u32>()];
        let numbered =
            (round, number, content).prop_map(|(round, number, content)| ToCoordinator::Numbered {
                round,
                number,
                content,
            });
        let clocks = (any::<u64>(), any::<i64>(), any::<i64>());
        let answer = clocks.prop_map(|(id, monotonic_ns, wall_ns)| ToCoordinator::ClockAnswer {
            id,
            monotonic_ns,
            wall_ns,
        });
        prop_oneof![
            12 => numbered,
            2 => answer,
            1 => Just(ToCoordinator::Join(join(2))),
            1 => any::<u32>().prop_map(|pieces| ToCoordinator::Taken { pieces }),
            1 => Just(ToCoordinator::Ready),
            1 => "\\PC{0,20}".prop_map(|error| ToCoordinator::Failed { error }),
        ]
    }

    fn begin(round: u32, (epoch_ns, second): (i64, u32), is_trial: bool) -> ToWorker {
        ToWorker::Start(Box::new(Start {
            round,
            epoch_ns,
            second,
            index: 0,
            workers: 2,
            loops: None,
            order: order(is_trial),
        }))
    }

    fn to_worker() -> impl Strategy<Value = ToWorker> {
        let assigned = (any::<u32>(), any::<u32>(), 0_u32..4);
        let start = (0_u32..4, any::<i64>(), any::<u32>(), any::<bool>());
        prop_oneof![
            4 => assigned.prop_map(|(index, workers, pieces)| ToWorker::Assigned { index, workers, pieces }),
            4 => "\\PC{0,20}".prop_map(|text| ToWorker::Piece { text }),
            2 => any::<u64>().prop_map(|id| ToWorker::ClockProbe { id }),
            4 => start.prop_map(|(round, epoch_ns, second, is_trial)| begin(round, (epoch_ns, second), is_trial)),
            2 => any::<u64>().prop_map(|next| ToWorker::Received { next }),
            2 => (0_u32..4).prop_map(|round| ToWorker::Stop { round }),
            1 => (0_u32..4).prop_map(|round| ToWorker::Abort { round }),
            1 => Just(ToWorker::Refused { reason: "no".to_owned() }),
            1 => Just(ToWorker::Done),
        ]
    }

    fn lines<T: serde::Serialize>(messages: &[T]) -> String {
        let lines = messages.iter().map(|it| serde_json::to_string(it).unwrap());
        lines.collect::<Vec<_>>().join("\n")
    }

    proptest! {
        #[test]
        fn sums_hold(messages in prop::collection::vec(to_coordinator(), 0..20)) {
            sums_hold_whatever_a_worker_sends(&lines(&messages));
        }

        #[test]
        fn a_load_begins_once(messages in prop::collection::vec(to_worker(), 0..30)) {
            a_worker_begins_once_whatever_its_coordinator_sends(&lines(&messages));
        }

        #[test]
        fn any_text_is_taken(text in "\\PC{0,200}") {
            sums_hold_whatever_a_worker_sends(&text);
            a_worker_begins_once_whatever_its_coordinator_sends(&text);
        }
    }

    #[test]
    fn the_walk_of_a_run_reaches_its_end() {
        let second = |number: u64| ToCoordinator::Numbered {
            round: 0,
            number,
            content: Numbered::Second {
                window: Box::new(Window::new(START + u32::try_from(number).unwrap())),
                host: HostUse::default(),
            },
        };
        let mut load = MixedLoad::begin();
        for number in 0..3 {
            load.go_on(START + u32::try_from(number).unwrap(), second(number));
        }
        let (windows, records) = load.end();
        assert_eq!(windows.iter().map(|window| window.offered).sum::<u64>(), 21);
        assert_eq!(records.len(), 2);
        let begin = [
            ToWorker::Assigned {
                index: 0,
                workers: 2,
                pieces: 1,
            },
            ToWorker::Piece {
                text: "{}".to_owned(),
            },
            begin(0, (0, 3), true),
            ToWorker::Stop { round: 0 },
            begin(1, (0, 9), false),
        ];
        a_worker_begins_once_whatever_its_coordinator_sends(&lines(&begin));
    }
}
