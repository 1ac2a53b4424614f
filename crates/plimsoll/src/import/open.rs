//! Opens what is imported.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_lab::input;
use zstd::stream::read::Decoder;

use crate::explain::CliError;

/// Longest data file of a script, bytes.
const FILE_LEN_MAX: u64 = 256 << 20;

/// Time-out for a silent pipe: a program that decompresses or filters a log may need a while.
const PATIENCE: Duration = Duration::from_mins(1);

/// Whether a path means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// First bytes of compressed files: RFC 1952, 2.3.1, and RFC 8878, 3.1.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Opens a file or standard input, decompressed if it is gzip or zstd.
pub(super) fn file(path: &Path) -> Result<Box<dyn BufRead>, CliError> {
    let read_error =
        |error: io::Error| CliError::usage(format!("cannot read {}: {error}", path.display()));
    let mut reader: Box<dyn BufRead> = if is_stdin(path) {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = input::open(path, PATIENCE).map_err(read_error)?;
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    let start = reader.fill_buf().map_err(read_error)?;
    if start.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader))));
    }
    if start.starts_with(&ZSTD) {
        let decoder = Decoder::with_buffer(reader).map_err(read_error)?;
        return Ok(Box::new(BufReader::new(decoder)));
    }
    Ok(reader)
}

/// The bytes of a file as they are: data that is sent, so that compressed data stays compressed.
pub(super) fn raw(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    if is_stdin(path) || path.is_dir() {
        return Err(format!("{} is not a file", path.display()));
    }
    let mut bytes = Vec::new();
    input::open(path, PATIENCE)
        .map_err(failed)?
        .take(FILE_LEN_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_LEN_MAX {
        return Err(format!(
            "{} is longer than {} MiB",
            path.display(),
            FILE_LEN_MAX >> 20
        ));
    }
    Ok(bytes)
}
