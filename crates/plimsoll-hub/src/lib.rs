//! Fan-out without I/O: what is published to a channel reaches everybody who subscribed to it.
//!
//! Nothing here reads a clock or a socket, rolls dice or starts a thread: moments, seeds and a place to write to are
//! handed in, and what happened comes back as data. Everything has a limit.
//!
//! # The road of a message
//!
//! ```text
//!  publisher ─► Channels::publish ─► Arc<Message> ─► inbox of each loop ─► Audience::deliver ─► sockets
//!                 │  (a shard of the names)                                  │  (a loop's clients)
//!                 ├ rules of the channel: rate, length                       ├ skips what a client already has
//!                 ├ conflation: held until its interval is over              ├ writes the same bytes to everybody
//!                 └ history: epoch, offset                                   └ a bounded slot for who reads slowly
//! ```
//!
//! - [`channels::Channels`] holds a part of all channels. It numbers messages, remembers them for a while, and knows
//!   which loops have subscribers. A channel is an *epoch*: a number never used twice. Within an epoch messages are
//!   numbered from 1 without gaps, so who knows an epoch and an offset knows what it missed.
//! - [`audience::Audience`] holds the clients of one loop and what they subscribed to. Between the two stands only a
//!   queue; a message that a client was already given when it subscribed is recognized by its offset.
//! - [`message::Message`] is encoded once, for every way of reading it.
//! - [`protocol`] is what clients say and are told, [`sse`] how it looks as Server-Sent Events, [`topics`] what Mercure
//!   calls channels; [`desk::Desk`] does what they
//!   say.

pub mod audience;
pub mod channels;
pub mod command_handler;
pub mod conflation;
mod history;
mod json;
pub mod message;
mod patch;
pub mod pattern;
pub mod position;
pub mod protocol;
pub mod rate;
pub mod rules;
pub mod sse;
pub mod topics;

pub use audience::{Audience, ClientId, Outlet};
pub use channels::{ChannelRef, Channels, HubRefusal, Position, Published};
pub use message::{ClientFormat, HubMessage};
pub use rules::{ChannelRule, Rules};

#[cfg(test)]
mod hub;
