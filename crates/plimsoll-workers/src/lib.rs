//! Loads that several hosts carry: a coordinator, which plans and merges, and a worker on each host.
//!
//! The walk of a run, whose last two steps a search repeats for each of its trials:
//!
//! 1. The coordinator listens ([`Coordinator::listen`]) and makes a token, with which workers dial in ([`work`]): mutual TLS
//!    of `plimsoll-peer`. Each of them gets its part, the plan and all files that the plan needs (`task`).
//! 2. A part is the share of the event loops of all workers that run on its host ([`plimsoll_load::LoopShare`]): arrivals,
//!    users, rows of data and seeds follow from the number of a loop, wherever it runs.
//! 3. Clocks are compared by round trips, of which the shortest counts; the load begins at one moment on all of them.
//! 4. A worker sends each second of its results, and keeps it until the coordinator has it (`spool`). The coordinator adds
//!    up the same second of all workers (`merge`), so that the rest of the program cannot distinguish it from a load of this
//!    machine.
//!
//! Workers are started by hand, or over the user's own `ssh` by a file of hosts (`hosts`).
//!
//! What both sides do is decided by `coordinator` and `worker`, state machines without I/O whose callers hand them messages
//! and the time. `listen` and `join` are the sockets and threads around them.
//!
//! What never fails to hold: a part of a load is never begun twice; a second counts once or, with its worker, is missing by
//! name; what was received is not lost; a worker whose coordinator is silent stops within five seconds; every buffer has a
//! limit.

mod clock;
mod clock_sync;
mod coordinator;
mod error;
mod hosts;
mod join;
mod label;
mod linger;
mod listen;
mod load_order;
mod merge;
mod message;
mod network;
#[cfg(any(test, feature = "fuzz"))]
pub mod properties;
mod spool;
mod task;
mod window_range;
mod worker;

pub use coordinator::{IfLost, WorkersLost};
pub use error::WorkersError;
pub use hosts::{DialAddress, HostWorkers, HostsOptions, WorkerOrders};
pub use join::{WorkerHooks, WorkerOptions, work};
pub use listen::{
    Coordinator, CoordinatorOptions, RemoteLoad, WaitControl, WaitHooks, WaitLimits, WaitOutcome,
};
pub use load_order::{LoadDestination, LoadOrder, UsersReturn};
