//! Turns access logs into a plan: requested pages and their frequency, arrivals, visit lengths and think times.
//!
//! Requests are taken one by one in bounded memory: tables of paths and
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

pub use plimsoll_logs::{Format, FormatError};
pub use replay::{Replay, ReplayRows};
pub use tally::{LogTally, Options};

use crate::Imported;

/// Why a log gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The log is empty.
    #[error("the log is empty: it has no requests")]
    Empty,
    /// There are requests, and none of them is usable.
    #[error("none of the {lines} requests can be replayed: {reason}")]
    NothingUsable {
        /// Requests.
        lines: u64,
        /// Why.
        reason: String,
    },
}

impl LogTally {
    /// Makes the plan of all requests taken so far.
    ///
    /// # Errors
    /// When there was no request, or none that can be replayed.
    pub fn finish(self) -> Result<Imported, LogError> {
        write::write(self)
    }
}

#[cfg(test)]
mod tests;
