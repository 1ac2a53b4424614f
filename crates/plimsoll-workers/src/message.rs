//! The messages between a coordinator and its workers, as JSON in the frames of `plimsoll-peer`.

use plimsoll_load::Used;
use plimsoll_model::window::Window;
use plimsoll_model::worker::HostUse;
use serde::{Deserialize, Serialize};

use crate::load_order::LoadOrder;

/// Longest message, bytes: a second with results of a thousand steps has some millions.
pub(crate) const MESSAGE_LEN_MAX: usize = 16 << 20;

/// What a coordinator sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// The worker carries part `index` of `workers`; the task follows in so many pieces. Sent again where the connection
    /// was lost before the worker had all of them: it begins anew.
    Assigned {
        index: u32,
        workers: u32,
        pieces: u32,
    },
    /// The next piece of the task's text.
    Piece { text: String },
    /// The worker returns its clocks with this id, at once. Also a sign of life.
    ClockProbe { id: u64 },
    /// A load begins.
    Start(Box<Start>),
    /// All numbered messages below `next` have arrived.
    Received { next: u64 },
    /// No further arrivals in the load of this number; requests in flight drain.
    Stop { round: u32 },
    /// No further arrivals in the load of this number, and no drain.
    Abort { round: u32 },
    /// The worker has no part in this run, and ends.
    Refused { reason: String },
    /// Everything has arrived, and the worker ends.
    Done,
}

/// A load that begins at one moment on all workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Number of the load: a higher one than those before.
    pub(crate) round: u32,
    /// Second 0 of run time on the worker's monotonic clock, ns.
    pub(crate) epoch_ns: i64,
    /// The second in which it begins.
    pub(crate) second: u32,
    /// The worker carries part `index` of `workers`: of fewer than at first where some were lost.
    pub(crate) index: u32,
    pub(crate) workers: u32,
    /// Its event loops, where workers have different numbers of them; else each has as many as the plan for all of them says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) loops: Option<LoopSpan>,
    pub(crate) order: LoadOrder,
}

/// `count` of all event loops, behind `first` others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoopSpan {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) all: u32,
}

/// What a worker sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToCoordinator {
    /// The first message of a connection.
    Join(Join),
    /// So many pieces of the task have arrived.
    Taken { pieces: u32 },
    /// The task is complete and valid, and the target was reached.
    Ready,
    /// The part cannot be carried, or not on.
    Failed { error: String },
    /// The worker's clocks when the probe arrived, ns: one that is never set, and the time of day since 1970.
    ClockAnswer {
        id: u64,
        monotonic_ns: i64,
        wall_ns: i64,
    },
    /// A numbered message of a load: it is kept until it was received. Numbers go on from load to load.
    Numbered {
        round: u32,
        number: u64,
        content: Numbered,
    },
}

/// The messages that must not be lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Numbered {
    /// A second of all loops of the worker.
    Second { window: Box<Window>, host: HostUse },
    /// The last second was sent.
    Ended {
        /// Resources that the process has used so far, in all loads.
        used: Used,
        plan_error: Option<String>,
        #[serde(default)]
        stayed: StayedUsers,
    },
}

/// Users who stay with a worker for the next load, by their places, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StayedUsers {
    /// Those who were waiting for an answer when the load ended.
    pub(crate) waiting: Vec<u64>,
    pub(crate) others: Vec<u64>,
}

impl StayedUsers {
    /// Places, each with whether its user was waiting.
    pub(crate) fn of(places: &[(u64, bool)]) -> Self {
        let those = |is_waiting: bool| {
            let places = places.iter().filter(|(_, waits)| *waits == is_waiting);
            places.map(|(place, _)| *place).collect()
        };
        Self {
            waiting: those(true),
            others: those(false),
        }
    }

    /// The same places, in no order.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u64, bool)> {
        let waiting = self.waiting.iter().map(|place| (*place, true));
        waiting.chain(self.others.iter().map(|place| (*place, false)))
    }

    pub(crate) fn count(&self) -> usize {
        self.waiting.len() + self.others.len()
    }
}

/// Who joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Join {
    /// Name of the host, unless the user gave another.
    pub(crate) name: String,
    pub(crate) region: Option<String>,
    /// Drawn by the process: the same over all of its connections, and no other has it.
    pub(crate) instance: u64,
    /// Whether it had joined before, and lost its connection.
    pub(crate) resumes: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::seed::Seed;
    use plimsoll_testkit::plan::get_root;
    use proptest::prelude::*;

    use super::*;
    use crate::load_order::{LoadDestination, UsersReturn};

    proptest! {
        #[test]
        fn any_text_is_a_message_or_refused(text in "\\PC{0,200}") {
            let _ = serde_json::from_str::<ToWorker>(&text);
            let _ = serde_json::from_str::<ToCoordinator>(&text);
        }
    }

    #[test]
    fn messages_survive_json() {
        let mut window = Window::new(3);
        window.response.record(1234, 5);
        window.lag.record(7, 5);
        window.in_flight_mean = 0.375;
        for content in [
            Numbered::Second {
                window: Box::new(window),
                host: HostUse {
                    steal: Some(0.25),
                    throttled: Some(0.5),
                },
            },
            Numbered::Ended {
                used: Used {
                    cpu_us: 1,
                    rss_bytes_max: 2,
                },
                plan_error: None,
                stayed: StayedUsers::of(&[(1, false), (4, true), (7, false)]),
            },
        ] {
            let message = ToCoordinator::Numbered {
                round: 3,
                number: u64::MAX,
                content,
            };
            let text = serde_json::to_string(&message).unwrap();
            assert_eq!(
                serde_json::from_str::<ToCoordinator>(&text).unwrap(),
                message
            );
        }
        let order = LoadOrder {
            users_return: Some(UsersReturn {
                within: Duration::from_millis(1500),
                seed: Seed(u64::MAX),
            }),
            destination: LoadDestination::NullServer,
            is_trial: true,
            ..LoadOrder::of_plan(&get_root(([127, 0, 0, 1], 80).into()))
        };
        let start = ToWorker::Start(Box::new(Start {
            round: 7,
            epoch_ns: i64::MIN,
            second: 3,
            index: 1,
            workers: 2,
            loops: Some(LoopSpan {
                first: 2,
                count: 3,
                all: 5,
            }),
            order,
        }));
        let text = serde_json::to_string(&start).unwrap();
        assert_eq!(serde_json::from_str::<ToWorker>(&text).unwrap(), start);
    }
}
