//! Files of one JSON object a line, appended by any number of writers: histories, and records of cycles.
//!
//! A writer holds the lock of the file for as long as it appends one whole line. A line that an earlier writer left torn
//! stays as it is, and the next line begins on a line of its own. Every line has the version of its form in `format`.

mod reader;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::output;

pub(crate) use reader::read;
pub use reader::{DamagedLine, DatedLine, LoadedLines};

/// Longest file, bytes.
pub const FILE_LEN_MAX: u64 = 64 << 20;
/// Longest line, bytes.
pub const LINE_LEN_MAX: usize = 1 << 20;

/// Why such a file cannot be read or appended to.
#[derive(Debug, thiserror::Error)]
pub enum LineFileError {
    /// The file or its folder cannot be opened, locked or made.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot append to {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no regular file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// It is, or would be, too long.
    #[error("{} is longer than {} MiB", path.display(), FILE_LEN_MAX >> 20)]
    FileTooLong {
        /// The file.
        path: PathBuf,
    },
    /// The line is too long.
    #[error("its line has {len} bytes, and a line may have {}", LINE_LEN_MAX)]
    LineTooLong {
        /// Its bytes.
        len: usize,
    },
    /// A line is of another version.
    #[error("{}, line {line}: version {found}; this program reads version {valid}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Its version.
        found: String,
        /// The version that can be read.
        valid: u32,
    },
}

/// Appends a line to `path`, which is made if need be, and its folder.
///
/// # Errors
/// When the file cannot be opened, locked or written, or becomes too long; it is unchanged then.
pub(crate) fn append(path: &Path, entry: &impl Serialize) -> Result<(), LineFileError> {
    let open = |source| LineFileError::Open {
        path: path.to_owned(),
        source,
    };
    let write = |source| LineFileError::Write {
        path: path.to_owned(),
        source,
    };
    let line = serde_json::to_vec(entry).map_err(|error| write(error.into()))?;
    if line.len() >= LINE_LEN_MAX {
        return Err(LineFileError::LineTooLong { len: line.len() });
    }
    if let Some(folder) = path.parent() {
        output::create_folder(folder).map_err(open)?;
    }
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o640)
        .open(path)
        .map_err(open)?;
    if !file.metadata().map_err(open)?.is_file() {
        return Err(LineFileError::NotAFile {
            path: path.to_owned(),
        });
    }
    // Held for one line only, so that waiting for it is short.
    file.lock().map_err(open)?;
    let appended = append_line(&file, line);
    let unlocked = file.unlock();
    match appended {
        Ok(true) => unlocked.map_err(open),
        Ok(false) => Err(LineFileError::FileTooLong {
            path: path.to_owned(),
        }),
        Err(error) => Err(write(error)),
    }
}

/// Appends to a locked file; `false` when it would become too long.
fn append_line(mut file: &File, mut line: Vec<u8>) -> io::Result<bool> {
    let len = file.metadata()?.len();
    line.push(b'\n');
    if !ends_with_newline(file, len)? {
        line.insert(0, b'\n');
    }
    if len + line.len() as u64 > FILE_LEN_MAX {
        return Ok(false);
    }
    let written = file.write_all(&line).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line is worth nothing.
        let _ = file.set_len(len);
    }
    written.map(|()| true)
}

fn ends_with_newline(file: &File, len: u64) -> io::Result<bool> {
    let Some(last) = len.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}
