//! The live page by its public interface: requests on sockets, and events of a run.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod client;
mod guard;
mod viewers;
