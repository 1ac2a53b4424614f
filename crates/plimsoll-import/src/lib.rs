//! Turns what was recorded into plan files: the traffic of a browser, and the logs of servers.
//!
//! Text in, text out: nothing here reads a file, a clock or a socket. A fault in one entry or line never loses the
//! others; what could not be used is counted and said. The plans are YAML with comments that say what was guessed.

pub mod har;
pub mod journey;
pub mod log;
pub mod recording;

mod heuristics;
mod yaml;

/// A plan file made of a recording, and what its maker must be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The plan file: YAML with comments, its `target:` in column 1.
    pub plan: String,
    /// What was left out or guessed, one sentence each, for the terminal; the plan's comments say it too.
    pub notes: Vec<String>,
}
