//! The edge against real sockets: scripted servers, servers with a known law, and real programs.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "these are tests: they measure, and the lint sees only functions marked so"
)]

mod abuse;
mod access;
mod acme;
mod admin;
mod cache;
mod certificates;
mod compress;
mod concurrent_clients;
mod conformance;
mod confusion;
mod dns;
mod ending;
mod fallback;
mod frames;
mod heads;
mod hub;
mod hub_attacks;
mod origins;
mod overload;
mod page;
mod pass;
mod programs;
mod reload;
mod retry;
mod servers;
mod sick;
mod spellings;
mod support;
mod telemetry;
mod tls;
mod upgrade;
mod waiting;
