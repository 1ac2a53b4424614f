//! Further components at their limits, beyond those that every test run covers: `cargo xtask bottlenecks` runs these.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod pools;
mod servers;

#[path = "../e2e/found.rs"]
mod found;
#[path = "../e2e/support.rs"]
#[expect(dead_code, reason = "the other tests need the rest")]
mod support;
