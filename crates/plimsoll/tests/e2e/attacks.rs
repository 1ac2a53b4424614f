//! Attacks on the running edge over real sockets, each with an asserted limit: memory, connections, requests that reach the
//! server, and time. Honest clients are served during each attack.
//!
//! The edge is a separate process, so that its memory and descriptors can be measured.

mod bombs;
mod encryption;
mod floods;
mod links;
mod process;
mod reloads;
mod slow;
