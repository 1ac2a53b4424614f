//! Turns access logs into a plan: requested pages and their frequency, arrivals, visit lengths and think times.
//!
//! A log is processed line by line in bounded memory: tables of paths and
//! of open sessions are limited, values of paths are sampled, gaps are counted in classes.

mod clients;
mod fit;
mod order;
mod paths;
mod rates;
mod replay;
mod rows;
mod sessions;
mod tally;
mod write;

pub use plimsoll_logs::{Detected, Format, FormatError};
pub use replay::{Replay, ReplayRows};
pub use tally::{LogTally, Options, Unreadable};

use plimsoll_logs::DetectError;

use crate::Imported;

/// Why a log gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// No line could be parsed.
    #[error(
        "none of the {lines} lines can be parsed as {format}; {first}; set the format with --format: a name ({}) or the line of the server's configuration",
        Format::names().join(", ")
    )]
    NothingReadable {
        /// Lines that are not empty.
        lines: u64,
        /// The format that was tried.
        format: &'static str,
        /// The first unreadable line, with its number and error.
        first: String,
    },
    /// The format cannot be decided.
    #[error(transparent)]
    Format(DetectError),
    /// The log is empty.
    #[error("the log is empty: it has no requests")]
    Empty,
    /// Lines were parsed, and none of them is usable.
    #[error("none of the {lines} requests can be replayed: {reason}")]
    NothingUsable {
        /// Parsed lines.
        lines: u64,
        /// Why.
        reason: String,
    },
}

impl LogTally {
    /// Makes the plan of all lines taken so far.
    ///
    /// # Errors
    /// When no line could be parsed or replayed.
    pub fn finish(self) -> Result<Imported, LogError> {
        write::write(self)
    }
}

#[cfg(test)]
mod tests;
