//! The messages between a coordinator and its workers, as JSON in the frames of `plimsoll-peer`.

use plimsoll_load::Used;
use plimsoll_model::window::Window;
use plimsoll_model::worker::HostUse;
use serde::{Deserialize, Serialize};

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
    /// Second 0 of run time is at `epoch_ns` of the worker's monotonic clock, and the load begins at `second`.
    Start { epoch_ns: i64, second: u32 },
    /// All numbered messages below `next` have arrived.
    Received { next: u64 },
    /// No further arrivals; requests in flight drain.
    Stop,
    /// No further arrivals, and no drain.
    Abort,
    /// The worker has no part in this run, and ends.
    Refused { reason: String },
    /// Everything has arrived, and the worker ends.
    Done,
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
    /// A numbered message: it is kept until it was received.
    Numbered { number: u64, content: Numbered },
}

/// The messages that must not be lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Numbered {
    /// A second of all loops of the worker.
    Second { window: Box<Window>, host: HostUse },
    /// The last second was sent.
    Ended {
        used: Used,
        plan_error: Option<String>,
    },
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
    use proptest::prelude::*;

    use super::*;

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
            },
        ] {
            let message = ToCoordinator::Numbered {
                number: u64::MAX,
                content,
            };
            let text = serde_json::to_string(&message).unwrap();
            assert_eq!(
                serde_json::from_str::<ToCoordinator>(&text).unwrap(),
                message
            );
        }
        let start = ToWorker::Start {
            epoch_ns: i64::MIN,
            second: 3,
        };
        let text = serde_json::to_string(&start).unwrap();
        assert_eq!(serde_json::from_str::<ToWorker>(&text).unwrap(), start);
    }
}
