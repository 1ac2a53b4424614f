//! Reads lines of one format.

use std::borrow::Cow;

use crate::entry::{LINE_LEN_MAX, LineError, LogEntry};
use crate::format::{Format, Layout, haproxy, json};
use crate::moment::MomentReader;

const UTF_16: &str = "the file is in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE";

/// Reads lines of one format, without the wrapper that the log may have around each
/// ([`Format::unwrapper`]). A line cannot affect the reading of others, except that `#Fields` lines name columns.
#[derive(Debug)]
pub struct LogReader {
    format: Format,
    moments: MomentReader,
}

impl LogReader {
    /// A reader of a format.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            moments: MomentReader::default(),
        }
    }

    /// The format that it reads.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Reads a line, with its end or without. Returns `None` for one that has no request: empty, or a comment.
    ///
    /// # Errors
    /// When the line has another form, is too long, or its fields are invalid.
    pub fn read<'a>(&mut self, line: &'a [u8]) -> Result<Option<LogEntry<'a>>, LineError> {
        let Some(line) = content(line)? else {
            return Ok(None);
        };
        let moments = &mut self.moments;
        let object = json::object_of(line);
        let is_object = object.is_some();
        let entry = match &mut self.format.layout {
            Layout::Combined(combined) => combined.read(moments, line),
            Layout::CombinedOrJson(combined, _) if !is_object => combined.read(moments, line),
            Layout::Haproxy => haproxy::read(moments, line),
            Layout::W3c(columns) => return columns.read(moments, line),
            Layout::Json(dialect) | Layout::CombinedOrJson(_, dialect) => {
                json::read(moments, *dialect, object.unwrap_or(line))
            }
            Layout::Patterns(_, Some(dialect)) if is_object => {
                json::read(moments, *dialect, object.unwrap_or(line))
            }
            Layout::Logfmt => json::read_logfmt(moments, line),
            Layout::Patterns(patterns, _) => {
                let mut error = LineError::Missing("a known form");
                for (index, pattern) in patterns.iter().enumerate() {
                    match pattern.read(moments, line) {
                        Ok(entry) => return Ok(Some(entry)),
                        // The first form is the usual one: its error is reported.
                        Err(other) if index == 0 => error = other,
                        Err(_) => {}
                    }
                }
                Err(error)
            }
        };
        entry.map(Some)
    }
}

/// A line without its end, a mark of byte order, and the NUL bytes that a file has where it was truncated while open.
///
/// # Errors
/// When it is too long.
pub(crate) fn content(line: &[u8]) -> Result<Option<&[u8]>, LineError> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Err(LineError::NotHttp(UTF_16));
    }
    let start = line.iter().position(|byte| *byte != 0);
    let line = &line[start.unwrap_or(line.len())..];
    if let [_, 0, _, 0, ..] = line {
        return Err(LineError::NotHttp(UTF_16));
    }
    if begins_array(line) {
        return Err(LineError::NotHttp(
            "a JSON array; write one object a line: jq -c '.[]' FILE",
        ));
    }
    if line.len() > LINE_LEN_MAX {
        return Err(LineError::TooLong);
    }
    Ok((!line.trim_ascii().is_empty()).then_some(line))
}

/// Whether a line is the beginning of a JSON array of objects.
fn begins_array(line: &[u8]) -> bool {
    let inner = line.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(b"{"))
}

/// An entry that no longer borrows from its line.
pub(crate) fn owned_key(entry: &LogEntry<'_>) -> EntryKey {
    EntryKey {
        began_ms: entry.began_ms(),
        lasted_ms: entry.lasted_ms,
        address: entry.address.clone().map(Cow::into_owned),
        path: entry.path.clone().into_owned(),
        status: entry.status,
    }
}

/// What of an entry decides whether two formats read a line alike.
#[derive(Debug, PartialEq)]
pub(crate) struct EntryKey {
    began_ms: i64,
    lasted_ms: Option<f64>,
    address: Option<String>,
    path: String,
    status: u16,
}
