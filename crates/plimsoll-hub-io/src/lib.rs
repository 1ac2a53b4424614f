//! The hub's I/O: sockets of subscribers, hooks and tokens, message sources, and streams shared with other edges.
//!
//! `plimsoll_hub` holds the pure logic; this crate connects it to sockets, time and other programs. It knows no HTTP
//! request: the proxy decides who may enter, and hands the socket over.

pub mod access;
pub mod browser_client;
pub mod hub;
pub mod subscribers;
