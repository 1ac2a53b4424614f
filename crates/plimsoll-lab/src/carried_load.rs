//! A load that goes on, wherever it is carried: on this machine, or on those of workers.

use plimsoll_load::{LoadChanger, RunningLoad, SessionCarryOver, Used};
use plimsoll_model::window::Window;
use plimsoll_model::worker::WorkerRecord;
use plimsoll_workers::RemoteLoad;

/// A load that goes on.
#[derive(Debug)]
pub(crate) enum CarriedLoad {
    /// On this machine.
    Local(RunningLoad),
    /// On the machines of workers.
    Remote(RemoteLoad),
}

impl CarriedLoad {
    /// The next second of all of the load. Blocks until it is over; `None` when the load has ended.
    pub(crate) fn next_window(&mut self) -> Option<Window> {
        match self {
            Self::Local(load) => load.next_window(),
            Self::Remote(load) => load.next_window(),
        }
    }

    /// Stops arrivals. Requests in flight drain.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Local(load) => load.stop(),
            Self::Remote(load) => load.stop(),
        }
    }

    /// Stops arrivals without a drain.
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Local(load) => load.abort(),
            Self::Remote(load) => load.abort(),
        }
    }

    /// What the user must know before it begins.
    pub(crate) fn notice(&self) -> Option<&str> {
        match self {
            Self::Local(load) => load.notice(),
            Self::Remote(_) => None,
        }
    }

    /// What changes it while it goes on; `None` where several processes carry it.
    pub(crate) fn changer(&self) -> Option<LoadChanger> {
        match self {
            Self::Local(load) => load.changer(),
            Self::Remote(_) => None,
        }
    }

    /// What has happened to its workers since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Remote(load) => load.take_notes(),
        }
    }

    /// What each of its workers did; empty without any.
    pub(crate) fn records(&self) -> Vec<WorkerRecord> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Remote(load) => load.records(),
        }
    }

    /// Resources of further processes, once it has ended.
    pub(crate) fn used(&self) -> Used {
        match self {
            Self::Local(load) => load.used(),
            Self::Remote(load) => load.used(),
        }
    }

    /// Its users, for another load; those of workers stay there.
    pub(crate) fn take_carry_over(&mut self) -> SessionCarryOver {
        match self {
            Self::Local(load) => load.take_carry_over(),
            Self::Remote(_) => SessionCarryOver::default(),
        }
    }
}
