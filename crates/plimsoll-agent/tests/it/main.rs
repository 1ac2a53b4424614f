//! Agents by their public interface: real TLS over loopback, and real probes.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod reading;
mod refusals;
mod support;
