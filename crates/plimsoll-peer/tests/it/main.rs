//! Invitations, TLS and messages over real sockets, between two threads.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod handshake;
