//! Runs a schedule against a target and closes windows.
//!
//! One event loop per core, with no shared state while they run. A loop takes arrivals when they are due, sends each on
//! a kept connection or a new one, and counts its outcome; once a second it hands over its counts, and
//! [`RunningLoad::next_window`] merges the loops' seconds.
//!
//! Invariants: every arrival ends in exactly one outcome; time counts from the moment a request was due; memory does
//! not grow with time or with the number of requests; nothing is sent to an address that the plan does not name.
//!
//! Journeys may be driven by external scripts: each loop starts its own processes and uses pipes (`process`).

mod addresses;
mod affinity;
mod agenda;
mod answer_error;
mod channels;
mod clock;
mod connections;
pub mod descriptors;
mod due;
mod engine;
mod error;
mod finder;
mod good_statuses;
mod handshake;
mod http2;
mod jar;
mod job;
mod json;
mod list;
mod load_changes;
mod loop_share;
mod null_server;
mod poller;
mod polls;
mod prepared_load;
mod process;
mod realtime_priority;
mod receive_buffer;
mod recorder;
mod requests;
mod running;
mod rx_timestamp;
mod scenario;
mod scheduler;
mod session_carry_over;
mod spread;
mod stop_signal;
mod tls;
mod transport;
mod virtual_users;
mod websocket_session;
mod worker;
mod worker_processes;

pub use addresses::sources_toward;
pub use error::LoadError;
pub use job::Job;
pub use loop_share::LoopShare;
pub use null_server::{NullServer, fixed_server, null_server};
pub use running::{
    LoadChanger, RunningLoad, Stopper, check_share, seconds_to_start, start, start_over,
    start_share, start_with,
};
pub use session_carry_over::{SessionCarryOver, Stay};
pub use tls::client_config;
pub use worker::{own_use, run_worker};
pub use worker_processes::{Used, WorkerProcesses};
