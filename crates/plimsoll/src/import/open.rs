//! Opens what is imported.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_lab::input;

use crate::explain::CliError;

/// Time-out for a silent pipe: a program that decompresses or filters a log may need a while.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Whether a path means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file or standard input, decompressed if it is gzip.
pub(super) fn file(path: &Path) -> Result<Box<dyn BufRead>, CliError> {
    let read_error =
        |error: io::Error| CliError::usage(format!("cannot read {}: {error}", path.display()));
    let mut reader: Box<dyn BufRead> = if is_stdin(path) {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = input::open(path, PATIENCE).map_err(read_error)?;
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    let is_packed = reader
        .fill_buf()
        .map_err(read_error)?
        .starts_with(&[0x1f, 0x8b]);
    if is_packed {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader))));
    }
    Ok(reader)
}
