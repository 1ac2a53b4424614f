//! Reads logs together, in the order of time.
//!
//! Each log is in order by itself, so they are merged: whichever is furthest behind is read until it passes another. Logs that
//! follow each other, as rotated ones do, are open one after the other.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead};

use plimsoll_lab::progress::StopFlag;
use plimsoll_logs::{LineError, LogEntry, LogReader, Unwrapper};

use super::formatted::FormattedLog;
use super::lines::Lines;
use crate::explain::CliError;

/// Lines between looks at the flag of Ctrl-C.
const STOP_LINES: u64 = 1 << 12;
/// Logs that are open at the same time; each may need the window of a decompressor.
const OPEN_MAX: usize = 16;

/// A line of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePlace<'a> {
    pub(crate) file: &'a str,
    /// From 1.
    pub(crate) number: u64,
}

impl fmt::Display for LinePlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.number)
    }
}

/// What merged logs are handed to.
pub(crate) trait LogSink {
    /// A line of so many bytes was read, whatever it holds.
    fn line(&mut self, _len: usize) {}

    /// A request, in the order of their ends.
    fn request(&mut self, entry: &LogEntry<'_>, place: LinePlace<'_>);

    /// A line that cannot be read.
    fn unreadable(&mut self, error: LineError, place: LinePlace<'_>);

    /// A file that cannot be read further than this line.
    fn damaged(&mut self, error: &io::Error, place: LinePlace<'_>);

    /// What a user has to know about the order.
    fn note(&mut self, text: &str);
}

/// A log that is being read.
struct OpenLog {
    name: String,
    reader: LogReader,
    unwrapper: Unwrapper,
    input: Box<dyn BufRead>,
    lines: Lines,
    /// Number of the last line.
    number: u64,
    /// A request behind the others, which is handed on when they have come as far.
    held: Option<Vec<u8>>,
    /// End of the latest request so far, ms since 1970: lines are written in that order.
    reached_ms: i64,
}

/// Hands the requests of logs, sorted by their first moments, to a sink, to their ends or until `stop` is raised. What was
/// read before an error of a file stays.
pub(crate) fn read(
    logs: Vec<FormattedLog>,
    stop: &StopFlag,
    sink: &mut impl LogSink,
) -> Result<(), CliError> {
    let mut waiting = VecDeque::from(logs);
    let mut open: Vec<OpenLog> = Vec::new();
    let mut has_noted = false;
    while !stop.is_raised() {
        let reached_ms = open.iter().map(|log| log.reached_ms).min();
        // A log waits until the open ones have come to its beginning.
        let is_due = waiting
            .front()
            .is_some_and(|log| reached_ms.is_none_or(|reached_ms| log.first_ms <= reached_ms));
        if is_due
            && open.len() < OPEN_MAX
            && let Some(log) = waiting.pop_front()
        {
            open.push(OpenLog::open(log)?);
            continue;
        }
        if is_due && !has_noted {
            has_noted = true;
            sink.note(&format!(
                "more than {OPEN_MAX} files overlap in time: each further one is read when one of them has ended"
            ));
        }
        let Some(at) = (0..open.len()).min_by_key(|at| open[*at].reached_ms) else {
            return Ok(());
        };
        // What happened at the same moment comes in the order of the logs: those in front go first.
        let others_ms = open.iter().enumerate().filter_map(|(other, log)| {
            let passed_ms = log.reached_ms.saturating_sub((other < at).into());
            (other != at).then_some(passed_ms)
        });
        // A log that cannot be opened yet does not hold up the open ones.
        let begins_ms = waiting
            .front()
            .map(|log| log.first_ms)
            .filter(|_| open.len() < OPEN_MAX);
        let limit_ms = others_ms.chain(begins_ms).min().unwrap_or(i64::MAX);
        if open[at].read_until(limit_ms, stop, sink) {
            open.remove(at);
        }
    }
    Ok(())
}

impl OpenLog {
    fn open(log: FormattedLog) -> Result<Self, CliError> {
        let name = log.name();
        let format = log.detected.format;
        Ok(Self {
            name,
            unwrapper: format.unwrapper(),
            reader: LogReader::new(format),
            input: log.source.into_reader()?,
            lines: Lines::default(),
            number: 0,
            held: None,
            reached_ms: log.first_ms,
        })
    }

    /// Reads the log until it is past a moment, or `stop` is raised. Returns whether it has ended.
    fn read_until(&mut self, limit_ms: i64, stop: &StopFlag, sink: &mut impl LogSink) -> bool {
        let Self {
            name,
            reader,
            unwrapper,
            input,
            lines,
            number,
            held,
            reached_ms,
        } = self;
        let place = |number: u64| LinePlace { file: name, number };
        if let Some(line) = held.take()
            && let Ok(Some(entry)) = reader.read(&line)
        {
            sink.request(&entry, place(*number));
        }
        let read = lines.each(&mut **input, |line| {
            *number += 1;
            sink.line(line.len());
            if let Some(line) = unwrapper.line(line) {
                match reader.read(line) {
                    Ok(Some(entry)) => {
                        *reached_ms = entry.ended_ms().max(*reached_ms);
                        if *reached_ms > limit_ms {
                            *held = Some(line.to_vec());
                            return false;
                        }
                        sink.request(&entry, place(*number));
                    }
                    Ok(None) => {}
                    Err(error) => sink.unreadable(error, place(*number)),
                }
            }
            !(number.is_multiple_of(STOP_LINES) && stop.is_raised())
        });
        match read {
            // The last line of a file may be the one that is held.
            Ok(has_ended) => has_ended && held.is_none(),
            Err(error) => {
                sink.damaged(&error, place(*number));
                true
            }
        }
    }
}
