//! Access logs become a plan: what visitors ask for and how often, how many come when, how long they stay and think.
//!
//! A log is gone through line by line; what is kept has a size that does not depend on its length: tables of paths and
//! of open sessions have a limit, values of paths are sampled, gaps are counted in classes.

mod fit;
mod format;
mod line;
mod paths;
mod rates;
mod replay;
mod sessions;
mod tally;
mod write;

pub use format::LogFileFormat;
pub use line::{LineError, LogEntry};
pub use replay::{Replay, ReplayRows};
pub use tally::{LogTally, Options, Unreadable};

use crate::Imported;

/// Why a log gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// No line could be read.
    #[error(
        "none of the {lines} lines can be parsed as {format}; {first}; set the format with --format: nginx, apache, haproxy, cloudfront or json"
    )]
    NothingReadable {
        /// Lines that are not empty.
        lines: u64,
        /// The format that was tried.
        format: &'static str,
        /// The first line that could not be read, with its number and fault.
        first: String,
    },
    /// The log is empty.
    #[error("the log is empty: it has no requests")]
    Empty,
    /// Lines were read, and none of them is of use.
    #[error("none of the {lines} requests can be replayed: {reason}")]
    NothingUsable {
        /// Lines that were read.
        lines: u64,
        /// Why.
        reason: String,
    },
}

impl LogTally {
    /// Makes the plan of all lines taken so far.
    ///
    /// # Errors
    /// When no line could be read or repeated.
    pub fn finish(self) -> Result<Imported, LogError> {
        write::write(self)
    }
}

#[cfg(test)]
mod tests;
