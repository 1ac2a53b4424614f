//! Turns recordings into plan files: the traffic of a browser, and the logs of servers.
//!
//! Text in, text out: nothing here reads a file, a clock or a socket. An invalid entry or line never affects the
//! others; unusable input is counted and reported. The plans are YAML with comments about what was guessed.

pub mod har;
pub mod journey;
pub mod log;
pub mod recording;

mod heuristics;
mod yaml;

/// A number with its noun, which gets an s unless it is one.
fn counted(count: impl std::fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A plan file made from a recording, and notes for its author.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The plan file: YAML with comments, its `target:` in column 1.
    pub plan: String,
    /// What was left out or guessed, one sentence each, for the terminal; also in the plan's comments.
    pub notes: Vec<String>,
}
