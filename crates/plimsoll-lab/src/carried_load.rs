//! A load that goes on, wherever it is carried: on this machine, or on those of workers.

use plimsoll_load::{LoadChanger, NullServer, RunningLoad, SessionCarryOver, Used};
use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;
use plimsoll_workers::{RemoteLoad, WorkersLost};

/// A load that goes on.
#[derive(Debug)]
pub(crate) enum CarriedLoad {
    /// On this machine; in a self-test with the server that it goes to, which ends with it.
    Local(
        RunningLoad,
        #[expect(dead_code, reason = "only its drop is wanted")] Option<NullServer>,
    ),
    /// On the machines of workers.
    Remote(RemoteLoad),
}

impl CarriedLoad {
    /// The next second of all of the load. Blocks until it is over; `None` when the load has ended.
    pub(crate) fn next_window(&mut self) -> Option<Window> {
        match self {
            Self::Local(load, _) => load.next_window(),
            Self::Remote(load) => load.next_window(),
        }
    }

    /// Stops arrivals. Requests in flight drain.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Local(load, _) => load.stop(),
            Self::Remote(load) => load.stop(),
        }
    }

    /// Stops arrivals without a drain.
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Local(load, _) => load.abort(),
            Self::Remote(load) => load.abort(),
        }
    }

    /// What the user must know before it begins.
    pub(crate) fn notice(&self) -> Option<&str> {
        match self {
            Self::Local(load, _) => load.notice(),
            Self::Remote(_) => None,
        }
    }

    /// What changes it while it goes on; `None` where several processes carry it.
    pub(crate) fn changer(&self) -> Option<LoadChanger> {
        match self {
            Self::Local(load, _) => load.changer(),
            Self::Remote(_) => None,
        }
    }

    /// What has happened to its workers since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        match self {
            Self::Local(..) => Vec::new(),
            Self::Remote(load) => load.take_notes(),
        }
    }

    /// What each of its workers did; empty without any.
    pub(crate) fn records(&self) -> Vec<WorkerRecord> {
        match self {
            Self::Local(..) => Vec::new(),
            Self::Remote(load) => load.records(),
        }
    }

    /// Resources of further processes, once it has ended.
    pub(crate) fn used(&self) -> Used {
        match self {
            Self::Local(load, _) => load.used(),
            Self::Remote(load) => load.used(),
        }
    }

    /// Its users, for another load.
    pub(crate) fn take_stayed(&mut self) -> StayedUsers {
        match self {
            Self::Local(load, _) => {
                let carry_over = load.take_carry_over();
                StayedUsers {
                    places: carry_over.places(),
                    carry_over,
                }
            }
            Self::Remote(load) => StayedUsers {
                places: load.places(),
                carry_over: SessionCarryOver::default(),
            },
        }
    }

    /// What the loss of workers means for further loads; `None` where none was lost.
    pub(crate) fn take_loss(&mut self) -> Option<WorkersLost> {
        match self {
            Self::Local(..) => None,
            Self::Remote(load) => load.take_loss(),
        }
    }
}

/// Users between two loads.
#[derive(Debug, Default)]
pub(crate) struct StayedUsers {
    /// Their places, ascending, each with whether its user was waiting for an answer.
    pub(crate) places: Vec<(u64, bool)>,
    /// The users themselves; those of workers stay there.
    pub(crate) carry_over: SessionCarryOver,
}
