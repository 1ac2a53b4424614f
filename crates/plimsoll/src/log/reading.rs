//! Reads logs into a day: in the order of their first requests, each in its format.

use std::path::PathBuf;

use plimsoll_lab::progress::StopFlag;
use plimsoll_logs::day::Day;
use plimsoll_logs::day::summary::DaySummary;
use plimsoll_logs::{
    DetectError, Format, LINE_LEN_MAX, LineError, LogReader, SAMPLE_LINES_MAX, detect,
};

use super::lines;
use super::progress::ReadProgress;
use super::source::{Source, read_error};
use crate::explain::{CliError, chain};
use crate::screen::eprint;

/// Unreadable lines that are shown.
const SHOWN_MAX: usize = 5;
/// Lines between looks at the flag of Ctrl-C.
const STOP_LINES: u64 = 1 << 12;

/// A log with its format.
pub(super) struct FormattedLog {
    source: Source,
    format: Format,
    /// Beginning of the first request that can be read, ms since 1970.
    first_ms: i64,
}

impl FormattedLog {
    pub(super) fn name(&self) -> String {
        self.source.path.display().to_string()
    }
}

/// Opens logs and sorts them by the first moment that can be read.
pub(super) fn in_order(
    paths: &[PathBuf],
    wanted: Option<&Format>,
) -> Result<Vec<FormattedLog>, CliError> {
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
        let names: Vec<String> = logs.iter().map(FormattedLog::name).collect();
        eprint(&format!("order of the files: {}", names.join(", ")));
    }
    Ok(logs)
}

/// The format of a log by its first lines; `None` if it is empty.
fn formatted(source: Source, wanted: Option<&Format>) -> Result<Option<FormattedLog>, CliError> {
    let name = source.path.display().to_string();
    let mut sample: Vec<&[u8]> = Vec::new();
    let mut rest = &source.head[..];
    while !rest.is_empty() && sample.len() < SAMPLE_LINES_MAX {
        let end = memchr::memchr(b'\n', rest);
        // The last line of the head may be cut off.
        if end.is_none() && source.is_longer_than_head() && !sample.is_empty() {
            break;
        }
        let (line, behind) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &[][..]),
        };
        sample.push(line);
        rest = behind;
    }
    let detected = match detect(&sample, wanted) {
        Ok(detected) => detected,
        Err(DetectError::Empty) if sample.iter().any(|line| line.len() > LINE_LEN_MAX) => {
            let text = format!("{name}, line 1: the line is longer than 64 KiB");
            return Err(CliError::usage(text).remedy("give an access log with one request a line"));
        }
        Err(DetectError::Empty) => {
            eprint(&format!("note: {name}: the log is empty"));
            return Ok(None);
        }
        Err(error) => {
            let valid = format!(
                "give the format with --format; valid: {}, or the line of the server's configuration that defines it",
                Format::names().join(", ")
            );
            return Err(CliError::usage(format!("{name}: {}", chain(&error))).remedy(valid));
        }
    };
    let format = detected.format;
    eprint(&format!(
        "{name}: format {}: {}",
        format.name(),
        detected.evidence
    ));
    for warning in &detected.warnings {
        eprint(&format!("warning: {name}: {warning}"));
    }
    let mut reader = LogReader::new(format.clone());
    let first_ms = sample.iter().find_map(|line| {
        let entry = reader.read(line).ok().flatten()?;
        Some(entry.began_ms())
    });
    Ok(Some(FormattedLog {
        source,
        format,
        first_ms: first_ms.unwrap_or(i64::MAX),
    }))
}

/// A line that could not be read.
struct UnreadableLine {
    file: String,
    number: u64,
    error: LineError,
}

/// Reads logs into a day.
pub(super) struct LogReading {
    day: Day,
    progress: ReadProgress,
    formats: Vec<&'static str>,
    lines: u64,
    unreadable: u64,
    shown: Vec<UnreadableLine>,
    is_damaged: bool,
}

impl LogReading {
    pub(super) fn new(day: Day, progress: ReadProgress) -> Self {
        Self {
            day,
            progress,
            formats: Vec::new(),
            lines: 0,
            unreadable: 0,
            shown: Vec::new(),
            is_damaged: false,
        }
    }

    /// Reads a log to its end, or until `stop` is raised. What was read before an error of the file stays.
    pub(super) fn read(&mut self, log: FormattedLog, stop: &StopFlag) -> Result<(), CliError> {
        let name = log.name();
        let path = log.source.path.clone();
        if !self.formats.contains(&log.format.name()) {
            self.formats.push(log.format.name());
        }
        let mut reader = LogReader::new(log.format);
        let mut input = log.source.into_reader()?;
        let mut number = 0_u64;
        let read = lines::each(&mut *input, |line| {
            number += 1;
            self.take(&mut reader, line, &name, number);
            !(number.is_multiple_of(STOP_LINES) && stop.is_raised())
        });
        if let Err(error) = read {
            self.progress.clear();
            self.is_damaged = true;
            eprint(&format!(
                "{}; the {number} lines before it are counted",
                read_error(&path, &error)
            ));
        }
        Ok(())
    }

    fn take(&mut self, reader: &mut LogReader, line: &[u8], file: &str, number: u64) {
        self.progress.line(line.len());
        match reader.read(line) {
            Ok(Some(entry)) => {
                self.lines += 1;
                self.day.take(&entry);
            }
            Ok(None) => {}
            Err(error) => {
                self.lines += 1;
                self.unreadable += 1;
                if self.shown.len() < SHOWN_MAX {
                    self.shown.push(UnreadableLine {
                        file: file.to_owned(),
                        number,
                        error,
                    });
                }
            }
        }
    }

    /// Prints which lines could not be read.
    pub(super) fn report(&mut self) {
        self.progress.clear();
        if self.unreadable == 0 {
            return;
        }
        eprint(&format!(
            "{} of {} lines could not be read:",
            self.unreadable, self.lines
        ));
        for line in &self.shown {
            eprint(&format!(
                "  {}, line {}: {}",
                line.file, line.number, line.error
            ));
        }
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Whether a file could not be read to its end.
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    pub(super) fn formats(&self) -> String {
        self.formats.join(", ")
    }

    /// The day; `None` if no line could be read.
    pub(super) fn finish(self) -> Option<DaySummary> {
        self.day.finish()
    }
}
