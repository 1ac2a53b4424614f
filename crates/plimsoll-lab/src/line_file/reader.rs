//! Reads such a file whole; lines that are none are named, not skipped in silence.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{FILE_LEN_MAX, LINE_LEN_MAX, LineFileError};
use crate::input;

/// How long a pipe may be silent.
const PATIENCE: Duration = Duration::from_secs(5);

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// What a line holds, with its moment.
pub trait DatedLine: DeserializeOwned {
    /// Version of its form.
    const FORMAT: u32;

    /// When it was made, RFC 3339.
    fn at(&self) -> &str;

    /// Checks what the form alone does not.
    ///
    /// # Errors
    /// When a value is out of range, which is named.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedLines<T> {
    /// Its lines in the order of their moments.
    pub entries: Vec<T>,
    /// Lines that could not be read.
    pub damaged: Vec<DamagedLine>,
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read, is too long, or has a line of another version.
pub(crate) fn read<T: DatedLine>(path: &Path) -> Result<LoadedLines<T>, LineFileError> {
    let file = input::open(path, PATIENCE).map_err(|source| LineFileError::Open {
        path: path.to_owned(),
        source,
    })?;
    let mut bytes = Vec::new();
    let read = file.take(FILE_LEN_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|source| LineFileError::Read {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > FILE_LEN_MAX {
        return Err(LineFileError::FileTooLong {
            path: path.to_owned(),
        });
    }
    parse(&bytes, path)
}

/// Parses the lines of `path`.
fn parse<T: DatedLine>(bytes: &[u8], path: &Path) -> Result<LoadedLines<T>, LineFileError> {
    let mut dated = Vec::new();
    let mut damaged = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match parse_line::<T>(line) {
            Ok(entry) => dated.push(entry),
            Err(LineProblem::Damaged(what)) => damaged.push(DamagedLine {
                line: index + 1,
                what,
            }),
            Err(LineProblem::Version(found)) => {
                return Err(LineFileError::Version {
                    path: path.to_owned(),
                    line: index + 1,
                    found,
                    valid: T::FORMAT,
                });
            }
        }
    }
    // A merge of branches puts lines beside each other that are months apart.
    dated.sort_by_key(|(at, _)| *at);
    Ok(LoadedLines {
        entries: dated.into_iter().map(|(_, entry)| entry).collect(),
        damaged,
    })
}

/// Why a line is no run.
enum LineProblem {
    Damaged(String),
    Version(String),
}

fn parse_line<T: DatedLine>(line: &[u8]) -> Result<(Timestamp, T), LineProblem> {
    let damaged = LineProblem::Damaged;
    if line.len() > LINE_LEN_MAX {
        let text = format!("{} bytes, of at most {LINE_LEN_MAX}", line.len());
        return Err(damaged(text));
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        damaged(if error.is_eof() {
            "the line is torn".to_owned()
        } else {
            format!("not JSON: {error}")
        })
    })?;
    match value.get("format") {
        None => {
            return Err(damaged(
                "`format` is missing: not a line that plimsoll wrote".to_owned(),
            ));
        }
        Some(format) if format.as_u64() == Some(u64::from(T::FORMAT)) => {}
        Some(format) => return Err(LineProblem::Version(format.to_string())),
    }
    let entry: T = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    let at = entry.at().parse().map_err(|_| {
        let text = format!("`at` is `{}`; valid: a moment in RFC 3339", entry.at());
        damaged(text)
    })?;
    entry.check().map_err(damaged)?;
    Ok((at, entry))
}
