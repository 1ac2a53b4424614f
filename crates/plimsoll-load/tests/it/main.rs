//! The load engine against origins on real sockets.
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, and the lint sees only functions marked so"
)]

mod closed;
mod connections;
mod http2;
mod journeys;
mod outcomes;
mod phases;
mod redirects;
mod secure;
mod timing;
mod trial;
mod websockets;
