//! A record of cycles: one line a measurement, in a file that the user names.

use std::path::Path;

use plimsoll_model::cycle::{CYCLE_FORMAT, CycleEntry};

use crate::line_file::{self, DatedLine, LineFileError, LoadedLines};

impl DatedLine for CycleEntry {
    const FORMAT: u32 = CYCLE_FORMAT;

    fn at(&self) -> &str {
        &self.at
    }
}

/// Appends a measurement to the record.
///
/// # Errors
/// When the file cannot be opened, locked or written, or becomes too long; it is unchanged then.
pub fn append(path: &Path, entry: &CycleEntry) -> Result<(), LineFileError> {
    line_file::append(path, entry)
}

/// Reads a record.
///
/// # Errors
/// When it cannot be read, is too long, or has a line of another version.
pub fn read(path: &Path) -> Result<LoadedLines<CycleEntry>, LineFileError> {
    line_file::read(path)
}
