//! The data path of the reverse proxy: accept → admission → lookup → balance → exchange → respond.
//!
//! [`accept`] takes a connection; `connection` drives each of its requests through the phases, which have a folder
//! each: [`admission`] routes and limits, [`lookup`] reads the cache, [`balance`] picks a server or queues, `exchange`
//! moves bytes, [`respond`] answers when no server does. Everything that decides is pure and receives the time as a
//! value; the I/O around it is thin. One event loop per core, each with its own connections on both sides; loops share
//! only what a pool must know as a whole.

pub mod accept;
pub mod admission;
pub mod balance;
mod client;
mod connection;
mod decimal;
pub mod error;
pub mod event_loop;
mod exchange;
mod fragments;
pub mod hash;
mod http2;
pub mod lookup;
mod message;
mod peer;
#[cfg(any(test, feature = "fuzz"))]
pub mod properties;
pub mod respond;
pub mod secret;
pub mod settings;
pub mod telemetry;
pub mod tls;
pub mod worker;
