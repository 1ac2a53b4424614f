//! Messages about histories and records of cycles, which are files of one JSON object a line.

use std::path::Path;

use plimsoll_lab::line_file::{DamagedLine, LineFileError};

use crate::explain::{CliError, chain};
use crate::screen::eprint;

/// Damaged lines that are shown.
const SHOWN_MAX: usize = 10;

/// The error of a file that cannot be read.
pub(crate) fn read_error(error: &LineFileError, missing_remedy: &str) -> CliError {
    let remedy = match error {
        LineFileError::Open { .. } => missing_remedy,
        LineFileError::Version { .. } => {
            "read it with the version of plimsoll that wrote it, or begin another one in another folder"
        }
        LineFileError::FileTooLong { .. } => "delete old lines from it",
        _ => "check the file and its permissions",
    };
    CliError::usage(chain(error)).remedy(remedy)
}

/// The error of a result that could not be appended; it was shown before.
pub(crate) fn append_error(error: &LineFileError, what: &str, flag: &str) -> CliError {
    let remedy = match error {
        LineFileError::FileTooLong { .. } => {
            format!("give another file with {flag}, or delete old lines")
        }
        LineFileError::LineTooLong { .. } => "measure fewer steps in one plan".to_owned(),
        _ => format!("give a path that can be written with {flag}"),
    };
    let text = chain(error);
    CliError::usage(format!("{what}: {text}; the results are shown above")).remedy(remedy)
}

/// Names the lines that could not be read.
pub(crate) fn warn(damaged: &[DamagedLine], path: &Path) {
    for line in damaged.iter().take(SHOWN_MAX) {
        let path = path.display();
        eprint(&format!(
            "warning: {path}, line {}: {}",
            line.line, line.what
        ));
    }
    let more = damaged.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        eprint(&format!("warning: … and {more} more lines"));
    }
    if !damaged.is_empty() {
        eprint("  help: delete these lines; all others are shown");
    }
}
