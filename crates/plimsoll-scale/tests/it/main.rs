//! Policies over traces, by the public interface.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod decisions;
mod newspaper;
mod noise;
mod six_traces;
