//! The live page: what a run does, in a browser, while it happens.
//!
//! A [`LiveFollower`] receives the events of the log and reduces each to a few numbers (`update`), which go over a bounded
//! channel to a thread of its own: a slow browser never holds up a measurement. There they become columns with a value a
//! second (`state`), bounded however long the run is. A browser receives all of them in one document, then what has changed
//! each second (`server`). The page draws a recorded run from the same document ([`recorded`]).

mod columns;
mod error;
mod follower;
mod forming;
mod guard;
mod number;
pub mod page;
mod readings;
pub mod recorded;
mod server;
mod session;
mod site;
mod state;
mod text;
mod update;
mod viewers;
mod workers;

pub use error::LiveError;
pub use follower::{LiveFollower, ProgressHandle, ProgressReport};
pub use guard::LiveAddress;
pub use server::{Server, ServerOptions};
pub use session::LivePage;
pub use site::{Site, SiteBody, SiteRequest, SiteResponse};
