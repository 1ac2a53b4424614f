//! Attacks on the running edge over real sockets, each with the bound that held: memory, connections, requests that
//! reach the server, and time. Honest clients are served meanwhile.
//!
//! The edge is a process of its own, so that its memory and descriptors are nobody else's.

mod bombs;
mod encryption;
mod floods;
mod links;
mod process;
mod reloads;
mod slow;
