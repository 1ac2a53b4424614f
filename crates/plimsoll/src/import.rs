//! `plimsoll import`: makes plans from recordings and logs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write as _};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_import::log::{LogError, LogTally, Options, Replay, ReplayRows};
use plimsoll_import::{Imported, har, journey};
use plimsoll_lab::{input, output};
use url::Url;

use crate::arguments::{
    HarArguments, ImportArguments, ImportCommand, LogArguments, LogWindow, ReplayArgument,
};
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::{eprint, print};
use crate::target;

/// Longest recording that is read, bytes.
const HAR_LEN_MAX: u64 = 512 << 20;
/// Time-out for a silent pipe: a program that decompresses or filters a log may need a while.
const PATIENCE: Duration = Duration::from_mins(1);
/// Longest line that is kept of a log, bytes; a longer one is counted as unreadable.
const LINE_LEN_MAX: u64 = 128 << 10;

/// Prints the imported plan.
pub(crate) fn import(arguments: &ImportArguments) -> Result<Exit, CliError> {
    let imported = match &arguments.what {
        ImportCommand::Har(arguments) => of_har(arguments)?,
        ImportCommand::Log(arguments) => of_log(arguments)?,
    };
    show(&imported);
    print(&imported.plan);
    Ok(Exit::Met)
}

/// Prints the notes, which the plan also has as comments.
pub(crate) fn show(imported: &Imported) {
    for note in &imported.notes {
        eprint(&format!("note: {note}"));
    }
}

fn of_har(arguments: &HarArguments) -> Result<Imported, CliError> {
    let name = arguments.file.display();
    let mut bytes = Vec::new();
    let read = open(&arguments.file)?
        .take(HAR_LEN_MAX + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| CliError::usage(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > HAR_LEN_MAX {
        let message = format!("{name} is longer than {} MiB", HAR_LEN_MAX >> 20);
        return Err(CliError::usage(message)
            .remedy("save the recording without content, or record a shorter one"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| CliError::usage(format!("{name}: not UTF-8 ({error})")))?;
    let har_error =
        |error: &dyn std::error::Error| CliError::usage(format!("{name}: {}", chain(error)));
    let recording = har::read(&text).map_err(|error| har_error(&error))?;
    let options = journey::Options {
        target: arguments.target.as_deref().map(site).transpose()?,
        hosts: arguments.host.clone(),
    };
    journey::plan(&recording, &options).map_err(|error| har_error(&error))
}

fn of_log(arguments: &LogArguments) -> Result<Imported, CliError> {
    let of_hour = arguments.window == LogWindow::BusiestHour
        || arguments.replay == Some(ReplayArgument::BusiestHour);
    let target = arguments.target.as_deref().map(site).transpose()?;
    let mut tally = LogTally::new(Options {
        format: arguments.format.map(Into::into),
        target: target.map(|url| url.as_str().trim_end_matches('/').to_owned()),
        with_unsafe: arguments.with_unsafe,
        busiest_hour: of_hour,
    });
    each_line(arguments, |line| {
        tally.take(line);
        Ok(())
    })?;
    report_unreadable(&tally);
    let log_error =
        |error: LogError| CliError::usage(format!("{}: {}", names(arguments), chain(&error)));
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
    if arguments.files.iter().any(|file| is_stdin(file)) {
        return Err(CliError::usage(
            "--replay reads the log twice, and standard input can be read only once",
        )
        .remedy("give the log as a file"));
    }
    let mut rows = ReplayRows::new(&tally, replay).map_err(log_error)?;
    let mut out = arguments.rows.as_deref().map(create).transpose()?;
    each_line(arguments, |line| match (rows.take(line), &mut out) {
        (Some(row), Some(out)) => out.write_all(row.as_bytes()),
        _ => Ok(()),
    })?;
    if let Some(mut out) = out {
        out.flush()?;
    }
    rows.finish().map_err(log_error)
}

fn create(path: &Path) -> Result<BufWriter<File>, CliError> {
    let write_error =
        |error: io::Error| CliError::usage(format!("cannot write {}: {error}", path.display()));
    let mut out = BufWriter::new(output::create(path).map_err(write_error)?);
    out.write_all(ReplayRows::head().as_bytes())
        .map_err(write_error)?;
    Ok(out)
}

/// URL of a site for a plan, without credentials, which a plan must not contain.
pub(crate) fn site(text: &str) -> Result<Url, CliError> {
    let mut url = target::parse(text)?;
    if !url.username().is_empty() || url.password().is_some() {
        eprint(
            "note: the credentials in the URL are not written into the plan; add them as a header with `{{ env('NAME') }}`",
        );
        // Both fail only for URLs without a host, which were refused.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    Ok(url)
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
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), CliError> {
    let mut line = Vec::new();
    for file in &arguments.files {
        let read_error = |error: io::Error| CliError::usage(format!("{}: {error}", file.display()));
        let mut reader = open(file)?;
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
            take(&line).map_err(read_error)?;
        }
    }
    Ok(())
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file or standard input, decompressed if it is gzip.
fn open(path: &Path) -> Result<Box<dyn BufRead>, CliError> {
    let read_error =
        |error: io::Error| CliError::usage(format!("cannot read {}: {error}", path.display()));
    let mut reader: Box<dyn BufRead> = if is_stdin(path) {
        Box::new(BufReader::new(io::stdin()))
    } else {
        let file = input::open(path, PATIENCE).map_err(read_error)?;
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    let is_packed = reader
        .fill_buf()
        .map_err(read_error)?
        .starts_with(&[0x1f, 0x8b]);
    if is_packed {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader))));
    }
    Ok(reader)
}
