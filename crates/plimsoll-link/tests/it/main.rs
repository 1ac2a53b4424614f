//! Links by their public interface, with sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod carrying;
mod ends;
mod limits;
mod support;
