//! Carries out a schedule against a target and closes windows.
//!
//! One event loop per core, nothing shared between them while they run. A loop takes up arrivals when they are
//! due, sends each on a kept connection or a new one, and counts how it ended; once a second it hands over what
//! it counted, and [`Running::next_window`] merges the loops' seconds.
//!
//! What it never fails to hold: every arrival ends in exactly one outcome; time counts from the moment a request
//! was due; memory does not grow with time or with the number of requests; nothing is sent to an address the plan
//! does not name.
//!
//! Journeys may be said by programs of the user's: each loop starts its own, and asks them over pipes (`process`).

mod addresses;
mod affinity;
mod agenda;
mod call;
mod channels;
mod clock;
mod connection;
mod crowd;
pub mod descriptors;
mod due;
mod engine;
mod error;
mod finder;
mod further;
mod handshake;
mod jar;
mod job;
mod json;
mod kept;
mod list;
mod multiplex;
mod null_server;
mod order;
mod part;
mod process;
mod recorder;
mod running;
mod scenario;
mod second;
mod source;
mod spread;
mod stamp;
mod talk;
mod tls;
mod transport;
mod urgency;
mod user;
mod worker;

pub use addresses::sources_toward;
pub use error::LoadError;
pub use further::{Further, Used};
pub use job::Job;
pub use kept::{Kept, Stay};
pub use null_server::{NullServer, fixed_server, null_server};
pub use running::{Running, seconds_to_start, start, start_over, start_with};
pub use worker::carry_out_part;
