//! The edge: a reverse proxy that keeps a service responsive beyond its load line, and a hub for its clients.
//!
//! This crate wires `plimsoll_proxy` and `plimsoll_hub_io`: [`start`] makes their parts from the configuration and runs
//! one event loop per core; `control` applies reloads and commands of the `admin` address; `background_tasks` run on a
//! thread of their own (health checks, DNS, ACME, learned fallbacks, rate alerts, export of spans).

mod acme;
mod admin;
mod background_tasks;
mod control;
mod dns;
mod health_check;
mod metrics;
mod overview;
mod rate_alert;
mod running;
mod status;
mod upstream_registry;

pub use control::{EdgeError, EdgePhase, Handed, Hooks, IdleHook};
pub use dns::resolve_server;
pub use plimsoll_net::clock::{AgeAhead, HandedClock};
pub use plimsoll_net::tls_error::TlsError;
pub use plimsoll_proxy::tls::{Examined, examine};
pub use running::{EdgeHandle, start, start_with};
pub use status::schema as status_schema;
