//! Logs with their formats, in the order of their first requests.

use std::hash::{DefaultHasher, Hasher as _};
use std::path::PathBuf;

use plimsoll_logs::LogReader;
use plimsoll_logs::{DetectError, Detected, Format, SAMPLE_LINES_MAX, detect};

use super::source::{self, Source};
use crate::explain::{CliError, chain};
use crate::screen::eprint;

/// A log with its format.
pub(crate) struct FormattedLog {
    pub(super) source: Source,
    pub(super) detected: Detected,
    /// Beginning of the first request that can be read, ms since 1970.
    pub(super) first_ms: i64,
    /// Hash of its first bytes, by which a copy is known.
    head_hash: u64,
}

impl FormattedLog {
    pub(crate) fn name(&self) -> String {
        self.source.path.display().to_string()
    }

    /// Its format, and what speaks for it.
    pub(crate) fn detected(&self) -> &Detected {
        &self.detected
    }

    /// The same log, to be read another time; `None` if it can be read only once.
    pub(crate) fn again(&self) -> Option<Self> {
        Some(Self {
            source: self.source.again()?,
            detected: self.detected.clone(),
            first_ms: self.first_ms,
            head_hash: self.head_hash,
        })
    }
}

/// Opens logs and sorts them by the first moment that can be read.
pub(crate) fn in_order(
    paths: &[PathBuf],
    wanted: Option<&Format>,
) -> Result<Vec<FormattedLog>, CliError> {
    source::check_once(paths)?;
    let mut logs = Vec::new();
    for path in paths {
        let source = Source::open(path)?;
        if let Some(log) = formatted(source, wanted)? {
            logs.push(log);
        }
    }
    if logs.is_empty() {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let text = format!("{}: the log is empty", names.join(", "));
        return Err(CliError::usage(text).remedy("give an access log that has requests"));
    }
    // Stable: files that begin alike stay in the order of the command line.
    logs.sort_by_key(|log| log.first_ms);
    if logs.len() > 1 {
        eprint(&format!("order of the files: {}", names(&logs).join(", ")));
    }
    warn_of_copies(&logs);
    Ok(logs)
}

/// Warns of a log that was packed while its copy stayed: `access.log.1` beside `access.log.1.gz`.
fn warn_of_copies(logs: &[FormattedLog]) {
    for pair in logs.windows(2) {
        if let [first, second] = pair
            && first.head_hash == second.head_hash
        {
            eprint(&format!(
                "warning: {} and {} begin with the same lines: if both hold the same requests, they count twice",
                first.name(),
                second.name()
            ));
        }
    }
}

/// Names of logs, in their order.
pub(crate) fn names(logs: &[FormattedLog]) -> Vec<String> {
    logs.iter().map(FormattedLog::name).collect()
}

/// Names of the formats of logs, each once.
pub(crate) fn formats(logs: &[FormattedLog]) -> String {
    let mut formats: Vec<&str> = Vec::new();
    for log in logs {
        let name = log.detected.format.name();
        if !formats.contains(&name) {
            formats.push(name);
        }
    }
    formats.join(", ")
}

/// The error of logs of which no line could be read as a request.
pub(crate) fn nothing_readable(files: &[String], lines: u64, formats: &str) -> CliError {
    let files = files.join(", ");
    if lines == 0 {
        return CliError::usage(format!("{files}: there is no line of a log"))
            .remedy("give an access log that has requests");
    }
    CliError::usage(format!(
        "{files}: none of {lines} lines could be read as {formats}"
    ))
    .remedy(valid_formats())
}

fn valid_formats() -> String {
    format!(
        "give the format with --format; valid: {}, or the line of the server's configuration that defines it",
        Format::names().join(", ")
    )
}

/// The format of a log by its first lines; `None` if it is empty.
fn formatted(
    mut source: Source,
    wanted: Option<&Format>,
) -> Result<Option<FormattedLog>, CliError> {
    let name = source.path.display().to_string();
    let sample = first_lines(&source);
    let detected = match detect(&sample, wanted) {
        Ok(detected) => detected,
        Err(error @ DetectError::Unusable { .. }) => {
            let text = format!("{name}, {}", chain(&error));
            return Err(CliError::usage(text).remedy("give an access log with one request a line"));
        }
        Err(DetectError::Empty) => {
            eprint(&format!("note: {name}: the log is empty"));
            return Ok(None);
        }
        Err(error) => {
            let text = format!("{name}: {}", chain(&error));
            return Err(CliError::usage(text).remedy(valid_formats()));
        }
    };
    let format = &detected.format;
    let (mut reader, mut unwrapper) = (LogReader::new(format.clone()), format.unwrapper());
    let first_ms = sample.iter().find_map(|line| {
        let entry = reader.read(unwrapper.line(line)?).ok().flatten()?;
        Some(entry.began_ms())
    });
    let head_hash = hash(&source.head);
    source.forget_head();
    Ok(Some(FormattedLog {
        source,
        detected,
        first_ms: first_ms.unwrap_or(i64::MAX),
        head_hash,
    }))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The first lines of a log.
fn first_lines(source: &Source) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = Vec::new();
    let mut rest = &source.head[..];
    while !rest.is_empty() && lines.len() < SAMPLE_LINES_MAX {
        let end = memchr::memchr(b'\n', rest);
        // The last line of the head may be cut off.
        if end.is_none() && source.is_longer_than_head() && !lines.is_empty() {
            break;
        }
        let (line, behind) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &[][..]),
        };
        lines.push(line);
        rest = behind;
    }
    lines
}
