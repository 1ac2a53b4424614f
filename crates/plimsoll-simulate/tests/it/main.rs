//! Simulated worlds against queueing theory: formulas, not recorded results.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod coverage;
mod laws;
mod lines;
mod networks;
mod support;
mod users;
mod worlds;
