//! A history of runs: one line a run in `history.jsonl` of a folder.

mod commit;

use std::path::Path;

use plimsoll_model::history::{HISTORY_FORMAT, HistoryEntry};

use crate::line_file::{self, DatedLine, LineFileError, LoadedLines};

pub use commit::head_commit;

/// Name of the file in the folder of a history.
pub const FILE_NAME: &str = "history.jsonl";

/// Largest value of a metric that is read: an exabyte, or a rate of 10^18, is beyond any service.
const METRIC_MAX: f64 = 1e18;

impl DatedLine for HistoryEntry {
    const FORMAT: u32 = HISTORY_FORMAT;

    fn at(&self) -> &str {
        &self.at
    }

    fn check(&self) -> Result<(), String> {
        let strange = self
            .metrics
            .iter()
            .find(|(_, value)| value.abs() > METRIC_MAX);
        strange.map_or(Ok(()), |(name, value)| {
            Err(format!(
                "`{name}` is {value:e}; valid: numbers up to {METRIC_MAX:e}"
            ))
        })
    }
}

/// Appends a run to the history in `folder`, which is made if need be.
///
/// # Errors
/// When the file cannot be opened, locked or written, or becomes too long; it is unchanged then.
pub fn append(folder: &Path, entry: &HistoryEntry) -> Result<(), LineFileError> {
    line_file::append(&folder.join(FILE_NAME), entry)
}

/// Reads the history in `folder`.
///
/// # Errors
/// When its file cannot be read, is too long, or has a line of another version.
pub fn read(folder: &Path) -> Result<LoadedLines<HistoryEntry>, LineFileError> {
    line_file::read(&folder.join(FILE_NAME))
}

#[cfg(test)]
mod tests;
