//! Pure: a run goes in; summary, findings and verdict come out.
//!
//! Nothing here does I/O or reads a clock, so the search that drives real trials can be driven just as well by a
//! simulated queue, and is.

pub mod aborts;
pub mod availability;
pub mod content;
mod diagnosis;
pub mod experiment;
pub mod failures;
pub mod findings;
pub mod intervention;
pub mod machines;
pub mod payload;
pub mod regions;
mod rules;
pub mod search;
pub mod statements;
pub mod stats;
pub mod summary;
pub mod traces;
pub mod tuning;
pub mod verdict;
pub mod whole_run;
pub mod whole_search;
