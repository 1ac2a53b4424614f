//! The edge: a reverse proxy that keeps a service responsive beyond its load line.
//!
//! The path of a request is listen → admit → look up → pick → exchange. `connection` drives it; `route` and
//! `rate_limit` admit, `pool` picks a server or queues, `exchange` moves bytes, `synthetic_response` answers when no
//! server does. Everything that decides is pure and receives the time as a value; the I/O around it is thin. One event
//! loop per core, each with its own connections on both sides; loops share only what a pool must know as a whole.

mod access_log_entry;
mod acme;
mod admin;
mod background_tasks;
mod cache;
mod client;
mod compress;
mod connection;
mod control;
mod dns;
mod error;
mod event_loop;
mod exchange;
mod forward;
mod fragments;
mod hash;
mod health_check;
mod http2;
mod ip_filter;
mod learned_fallback;
mod listen;
mod log;
mod metrics;
mod moments;
mod outgoing;
mod overview;
mod peer;
mod pool;
#[cfg(any(test, feature = "fuzz"))]
pub mod properties;
mod proxy_header;
mod rate_alert;
mod rate_limit;
mod route;
mod running;
mod secret;
mod settings;
mod synthetic_response;
mod tls;
mod trace;
mod tunnel;
mod upstream_registry;
mod waiting;

pub use control::{EdgeError, EdgePhase, Handed, Hooks};
pub use dns::resolve_server;
pub use plimsoll_net::clock::AgeAhead;
pub use plimsoll_net::tls_error::TlsError;
pub use running::{EdgeHandle, start, start_with};
pub use tls::{Examined, examine};
