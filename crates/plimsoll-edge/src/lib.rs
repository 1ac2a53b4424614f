//! The edge: it stands in front of a service and keeps it afloat beyond its load line.
//!
//! A request's way is listen → admit → look up → pick → exchange. `connection` takes it along; `route` and
//! `bucket` admit, `pool` picks and lets wait, `exchange` moves bytes, `own` answers when no server does.
//! Everything that decides is pure and told the time; what does I/O is thin around it. One loop per core, each with
//! its own connections on both sides; loops share only what a pool must know as a whole.

mod access;
mod acme;
mod admin;
mod alarm;
mod bucket;
mod cache;
mod check;
mod client;
mod clock;
mod compress;
mod connection;
mod control;
mod deadline;
mod errands;
mod event_loop;
mod exchange;
mod fault;
mod figures;
mod forward;
mod fragments;
mod hash;
mod http2;
mod hub;
mod listen;
mod lock;
mod log;
mod loop_state;
mod memory;
mod metrics;
mod moments;
mod names;
mod notice;
mod outbound;
mod outgoing;
mod overview;
mod own;
mod peer;
mod pool;
#[cfg(any(test, feature = "fuzz"))]
pub mod properties;
mod proxy_header;
mod reason;
mod record;
mod roster;
mod route;
mod running;
mod secret;
mod settings;
mod shell;
mod stream;
mod tls;
mod trace;
mod tunnel;
mod upstream;
mod waiting;

pub use control::{Fault, Handed, Hooks, Phase};
pub use fault::TlsFault;
pub use names::look_up;
pub use running::{Running, start, start_with};
pub use tls::{Examined, examine};
