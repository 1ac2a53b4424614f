//! `plimsoll import log`.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use plimsoll_import::Imported;
use plimsoll_import::log::{LogError, LogTally, Options, Replay, ReplayRows};
use plimsoll_lab::output;
use plimsoll_lab::progress::StopFlag;
use plimsoll_logs::{LineError, LogEntry};

use super::site;
use crate::arguments::{LogArguments, LogWindow, ReplayArgument};
use crate::explain::{CliError, chain};
use crate::log::formatted::{self, FormattedLog};
use crate::log::merge::{self, LinePlace, LogSink};
use crate::screen::eprint;

/// Unreadable lines that are shown.
const SHOWN_MAX: usize = 3;

/// The plan of logs.
pub(super) fn plan(arguments: &LogArguments) -> Result<Imported, CliError> {
    let of_hour = arguments.window == LogWindow::BusiestHour
        || arguments.replay == Some(ReplayArgument::BusiestHour);
    let target = arguments.target.as_deref().map(site).transpose()?;
    let logs = formatted::in_order(&arguments.files, arguments.format.as_ref())?;
    report_formats(&logs);
    let (files, formats) = (formatted::names(&logs), formatted::formats(&logs));
    let log_error =
        |error: LogError| CliError::usage(format!("{}: {}", files.join(", "), chain(&error)));
    let replay = match arguments.replay {
        Some(replay) => Some((replay, again(&logs)?)),
        None => None,
    };
    let mut tally = LogTally::new(Options {
        formats: formats.clone(),
        target: target.map(|url| url.as_str().trim_end_matches('/').to_owned()),
        with_unsafe: arguments.with_unsafe,
        busiest_hour: of_hour,
    });
    let mut unreadable = UnreadableLines::default();
    let requests = each_request(logs, &mut unreadable, |entry, place| {
        tally.take(entry, place);
        Ok(())
    })?;
    unreadable.report();
    if requests == 0 {
        return Err(formatted::nothing_readable(
            &files,
            unreadable.count,
            &formats,
        ));
    }
    let Some((replay, logs)) = replay else {
        return tally.finish().map_err(log_error);
    };
    let replay = Replay {
        speed: match replay {
            ReplayArgument::Speed(speed) => speed,
            ReplayArgument::BusiestHour => 1.0,
        },
        rows: arguments
            .rows
            .as_ref()
            .map(|path| path.display().to_string()),
    };
    let mut rows = ReplayRows::new(&tally, replay).map_err(log_error)?;
    let mut out = arguments.rows.as_deref().map(create).transpose()?;
    let mut ready = String::new();
    each_request(logs, &mut UnreadableLines::default(), |entry, _| {
        rows.take(entry, &mut ready);
        write_rows(&mut out, &mut ready)
    })?;
    let imported = rows.finish(&mut ready).map_err(log_error)?;
    write_rows(&mut out, &mut ready)?;
    if let Some(mut out) = out {
        out.flush()?;
    }
    Ok(imported)
}

/// The same logs, for a second pass.
fn again(logs: &[FormattedLog]) -> Result<Vec<FormattedLog>, CliError> {
    let again = logs.iter().map(|log| {
        log.again().ok_or_else(|| {
            CliError::usage(format!(
                "--replay reads the log twice, and {} can be read only once",
                log.name()
            ))
            .remedy("give the log as a file")
        })
    });
    again.collect()
}

/// Writes complete rows to their file.
fn write_rows(out: &mut Option<BufWriter<File>>, ready: &mut String) -> Result<(), CliError> {
    if let Some(out) = out {
        out.write_all(ready.as_bytes())?;
    }
    ready.clear();
    Ok(())
}

/// Names the formats with what speaks for them, so that a wrong guess is noticed.
fn report_formats(logs: &[FormattedLog]) {
    for log in logs {
        let detected = log.detected();
        // With one file it is clear which.
        let file = if logs.len() > 1 {
            format!("{}: ", log.name())
        } else {
            String::new()
        };
        eprint(&format!(
            "{file}format: {} ({})",
            detected.format.name(),
            detected.evidence
        ));
        for warning in &detected.warnings {
            eprint(&format!("note: {file}{warning}"));
        }
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, CliError> {
    let write_error =
        |error: io::Error| CliError::usage(format!("cannot write {}: {error}", path.display()));
    let mut out = BufWriter::new(output::create(path).map_err(write_error)?);
    out.write_all(ReplayRows::head().as_bytes())
        .map_err(write_error)?;
    Ok(out)
}

/// Lines that cannot be read.
#[derive(Default)]
struct UnreadableLines {
    count: u64,
    /// Place and error of the first ones.
    first: Vec<String>,
}

impl UnreadableLines {
    fn report(&self) {
        let lines = if self.count == 1 { "line" } else { "lines" };
        eprint(&format!("{} unreadable {lines}", self.count));
        for line in &self.first {
            eprint(&format!("  {line}"));
        }
    }
}

/// Hands on requests until one is refused or a file is damaged.
struct RequestSink<'a, F> {
    take: F,
    stop: StopFlag,
    requests: u64,
    unreadable: &'a mut UnreadableLines,
    error: Option<CliError>,
}

impl<F> LogSink for RequestSink<'_, F>
where
    F: FnMut(&LogEntry<'_>, LinePlace<'_>) -> Result<(), CliError>,
{
    fn request(&mut self, entry: &LogEntry<'_>, place: LinePlace<'_>) {
        self.requests += 1;
        if self.error.is_none()
            && let Err(error) = (self.take)(entry, place)
        {
            self.fail(error);
        }
    }

    fn unreadable(&mut self, error: LineError, place: LinePlace<'_>) {
        self.unreadable.count += 1;
        if self.unreadable.first.len() < SHOWN_MAX {
            self.unreadable.first.push(format!("{place}: {error}"));
        }
    }

    fn damaged(&mut self, error: &io::Error, place: LinePlace<'_>) {
        let text = format!(
            "cannot read {} behind line {}: {error}",
            place.file, place.number
        );
        self.fail(
            CliError::usage(text)
                .remedy("give the whole file, or import what can be unpacked: gzip -dc FILE | plimsoll import log -"),
        );
    }

    fn note(&mut self, text: &str) {
        eprint(&format!("note: {text}"));
    }
}

impl<F> RequestSink<'_, F> {
    fn fail(&mut self, error: CliError) {
        if self.error.is_none() {
            self.error = Some(error);
        }
        self.stop.raise();
    }
}

/// Calls `take` for each request of all logs, merged by time; returns how many there are.
fn each_request(
    logs: Vec<FormattedLog>,
    unreadable: &mut UnreadableLines,
    take: impl FnMut(&LogEntry<'_>, LinePlace<'_>) -> Result<(), CliError>,
) -> Result<u64, CliError> {
    let stop = StopFlag::default();
    let mut sink = RequestSink {
        take,
        stop: stop.clone(),
        requests: 0,
        unreadable,
        error: None,
    };
    merge::read(logs, &stop, &mut sink)?;
    match sink.error {
        Some(error) => Err(error),
        None => Ok(sink.requests),
    }
}
