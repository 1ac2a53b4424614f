//! Fan-out without I/O: delivers what is published to a channel to all its subscribers.
//!
//! Nothing here reads a clock or a socket, draws random numbers or starts a thread: timestamps, seeds and outputs are
//! passed in, and results are returned as data. Everything has a limit.
//!
//! # The path of a message
//!
//! ```text
//!  publisher ─► Channels::publish ─► Arc<HubMessage> ─► inbox of each loop ─► Audience::deliver ─► sockets
//!                 │  (a shard of the names)                                     │  (a loop's clients)
//!                 ├ rules of the channel: rate, length                          ├ skips what a client already has
//!                 ├ conflation: held until its interval is over                 ├ writes the same bytes to all
//!                 └ history: epoch, offset                                      └ a bounded queue for slow readers
//! ```
//!
//! - [`channels::Channels`] is a shard of the channels. It assigns offsets to messages, keeps a history, and knows
//!   which loops have subscribers. A channel is an *epoch*: a number that is never reused. Within an epoch messages are
//!   numbered from 1 without gaps, so a client that knows an epoch and an offset knows what it missed.
//! - [`audience::Audience`] holds the clients of one loop and their subscriptions. Between the two is only a queue; a
//!   message that a client already received in its replay is recognized by its offset.
//! - [`message::HubMessage`] is encoded once per format.
//! - [`protocol`] defines the commands and replies, [`sse`] their form as Server-Sent Events, [`topics`] the topic
//!   selectors of Mercure, [`subscriptions`] the documents about its readers; [`command_handler::CommandHandler`]
//!   executes the commands.

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
pub mod subscriptions;
pub mod topics;

pub use audience::{Audience, ClientId, Outlet};
pub use channels::{ChannelRef, Channels, HubRefusal, Position, Published};
pub use message::{ClientFormat, HubMessage};
pub use rules::{ChannelRule, Rules};

#[cfg(test)]
mod hub;
