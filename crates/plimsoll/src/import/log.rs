//! `plimsoll import log`.

use std::fs::File;
use std::io::{self, BufRead as _, BufWriter, Read as _, Write as _};
use std::path::Path;

use plimsoll_import::Imported;
use plimsoll_import::log::{LogError, LogTally, Options, Replay, ReplayRows};
use plimsoll_lab::output;

use super::{open, site};
use crate::arguments::{LogArguments, LogWindow, ReplayArgument};
use crate::explain::{CliError, chain};
use crate::screen::eprint;

/// Longest line that is kept of a log, bytes; a longer one is counted as unreadable.
const LINE_LEN_MAX: u64 = 128 << 10;

/// The plan of logs.
pub(super) fn plan(arguments: &LogArguments) -> Result<Imported, CliError> {
    let of_hour = arguments.window == LogWindow::BusiestHour
        || arguments.replay == Some(ReplayArgument::BusiestHour);
    let target = arguments.target.as_deref().map(site).transpose()?;
    let mut tally = LogTally::new(Options {
        format: arguments.format.clone(),
        target: target.map(|url| url.as_str().trim_end_matches('/').to_owned()),
        with_unsafe: arguments.with_unsafe,
        busiest_hour: of_hour,
    });
    let log_error =
        |error: LogError| CliError::usage(format!("{}: {}", names(arguments), chain(&error)));
    each_line(arguments, |line| tally.take(line).map_err(log_error))?;
    tally.end().map_err(log_error)?;
    report_format(&tally);
    report_unreadable(&tally);
    let Some(replay) = arguments.replay else {
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
    if arguments.files.iter().any(|file| open::is_stdin(file)) {
        return Err(CliError::usage(
            "--replay reads the log twice, and standard input can be read only once",
        )
        .remedy("give the log as a file"));
    }
    let mut rows = ReplayRows::new(&tally, replay).map_err(log_error)?;
    let mut out = arguments.rows.as_deref().map(create).transpose()?;
    let mut ready = String::new();
    each_line(arguments, |line| {
        rows.take(line, &mut ready);
        write_rows(&mut out, &mut ready)
    })?;
    let imported = rows.finish(&mut ready).map_err(log_error)?;
    write_rows(&mut out, &mut ready)?;
    if let Some(mut out) = out {
        out.flush()?;
    }
    Ok(imported)
}

/// Writes complete rows to their file.
fn write_rows(out: &mut Option<BufWriter<File>>, ready: &mut String) -> Result<(), CliError> {
    if let Some(out) = out {
        out.write_all(ready.as_bytes())?;
    }
    ready.clear();
    Ok(())
}

/// Names the format with what speaks for it, so that a wrong guess is noticed.
fn report_format(tally: &LogTally) {
    let Some(detected) = tally.detected() else {
        return;
    };
    eprint(&format!(
        "format: {} ({})",
        detected.format.name(),
        detected.evidence
    ));
    for warning in &detected.warnings {
        eprint(&format!("note: {warning}"));
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

fn report_unreadable(tally: &LogTally) {
    let unreadable = tally.unreadable();
    let lines = if unreadable.count == 1 {
        "line"
    } else {
        "lines"
    };
    eprint(&format!("{} unreadable {lines}", unreadable.count));
    for (number, error) in &unreadable.first {
        eprint(&format!("  line {number}: {error}"));
    }
}

fn names(arguments: &LogArguments) -> String {
    let names: Vec<String> = arguments
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    names.join(", ")
}

/// Calls `take` for each line of all files; a long line is truncated.
fn each_line(
    arguments: &LogArguments,
    mut take: impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut line = Vec::new();
    for file in &arguments.files {
        let read_error = |error: io::Error| CliError::usage(format!("{}: {error}", file.display()));
        let mut reader = open::file(file)?;
        loop {
            line.clear();
            let length = reader
                .by_ref()
                .take(LINE_LEN_MAX)
                .read_until(b'\n', &mut line)
                .map_err(read_error)?;
            if length == 0 {
                break;
            }
            if !line.ends_with(b"\n") && length as u64 == LINE_LEN_MAX {
                reader.skip_until(b'\n').map_err(read_error)?;
            }
            take(&line)?;
        }
    }
    Ok(())
}
