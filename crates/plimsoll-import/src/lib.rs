//! Turns what people already have into plan files: recordings of browsers, logs of servers, scripts of other tools.
//!
//! Text in, text out: nothing here reads a file, a clock or a socket. An invalid entry or line never affects the
//! others; unusable input is counted and reported. The plans are YAML with comments about what was guessed.

pub mod curl;
pub mod har;
pub mod jmeter;
pub mod journey;
pub mod k6;
pub mod log;
pub mod openapi;
pub mod postman;
pub mod recording;

mod heuristics;
mod located;
mod path_ending;
mod script;
mod yaml;

pub use script::{Loss, SCRIPT_LEN_MAX, Script, ScriptError, ScriptFiles, ScriptOptions};

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
    /// What the script asked for and the plan lacks, in the order of the script.
    pub losses: Vec<Loss>,
    /// Files that the plan names, each to lie beside it.
    pub files: Vec<DataFile>,
}

/// A file that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its path as the plan has it: relative to the plan, without `..`.
    pub name: String,
    /// Where its content comes from.
    pub content: FileContent,
}

/// Where the content of a plan's file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// A file that the script names, by its path as written there: relative to the script, or absolute.
    Copy(String),
    /// Made by the import.
    Bytes(Vec<u8>),
}
