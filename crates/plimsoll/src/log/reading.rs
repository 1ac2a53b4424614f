//! Hands on the requests of logs, and keeps what could not be read.

use std::io;
use std::path::Path;

use plimsoll_logs::{LineError, LogEntry};

use super::merge::{LinePlace, LogSink};
use super::progress::ReadProgress;
use super::source::read_error;
use crate::screen::eprint;

/// Unreadable lines that are shown.
const SHOWN_MAX: usize = 5;

/// Hands each request of logs on.
pub(crate) struct LogReading<F> {
    take_entry: F,
    progress: ReadProgress,
    lines: u64,
    unreadable: u64,
    /// Place and error of the first unreadable lines.
    shown: Vec<String>,
    is_damaged: bool,
}

impl<F: FnMut(&LogEntry<'_>)> LogSink for LogReading<F> {
    fn line(&mut self, len: usize) {
        self.progress.line(len);
    }

    fn request(&mut self, entry: &LogEntry<'_>, _place: LinePlace<'_>) {
        self.lines += 1;
        (self.take_entry)(entry);
    }

    fn unreadable(&mut self, error: LineError, place: LinePlace<'_>) {
        self.lines += 1;
        self.unreadable += 1;
        if self.shown.len() < SHOWN_MAX {
            self.shown.push(format!("{place}: {error}"));
        }
    }

    fn damaged(&mut self, error: &io::Error, place: LinePlace<'_>) {
        self.progress.clear();
        self.is_damaged = true;
        eprint(&format!(
            "{}; the {} lines before it are counted",
            read_error(Path::new(place.file), error),
            place.number
        ));
    }

    fn note(&mut self, text: &str) {
        self.progress.clear();
        eprint(&format!("note: {text}"));
    }
}

impl<F: FnMut(&LogEntry<'_>)> LogReading<F> {
    pub(crate) fn new(take_entry: F, progress: ReadProgress) -> Self {
        Self {
            take_entry,
            progress,
            lines: 0,
            unreadable: 0,
            shown: Vec::new(),
            is_damaged: false,
        }
    }

    /// Prints which lines could not be read.
    pub(crate) fn report(&mut self) {
        self.progress.clear();
        if self.unreadable == 0 {
            return;
        }
        eprint(&format!(
            "{} of {} lines could not be read:",
            self.unreadable, self.lines
        ));
        for line in &self.shown {
            eprint(&format!("  {line}"));
        }
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Whether a file could not be read to its end.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }
}
