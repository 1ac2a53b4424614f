//! Watching another machine. An agent runs there, reads it once a second with the probes of [`plimsoll_probe`], and sends the
//! readings to readers who hold its token. It is told an address and names of processes, and nothing else: it runs nothing
//! that it is sent, and changes nothing.
//!
//! - [`AgentServer`] is the agent that listens, [`serve_stdio`] the one that was started over `ssh`. [`IdentityStore`] keeps
//!   its key, and whom it invited.
//! - [`Agents`] are the readers' side: connections to agents, which deliver the readings of a second when that second of the
//!   run has ended here. An agent that is silent, or gone, leaves a gap and a note.
//!
//! Time: the readings of a second are read when that second ends by the *reader's* clock. The agent measures how far that
//! clock is ahead of its own, by round trips, and so takes the offset out before it reads.

mod clock;
mod error;
mod message;
mod name;
mod reader;
mod server;
mod store;

pub use error::{AgentError, StoreError};
pub use name::of_this_machine;
pub use reader::{AGENTS_MAX, AgentSpec, Agents};
pub use server::{AgentServer, Report, serve_stdio};
pub use store::{IdentityStore, invitation_ends, write_secret};
