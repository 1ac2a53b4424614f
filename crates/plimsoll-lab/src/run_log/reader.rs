//! Reads a run log as far as it goes.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use plimsoll_model::event::{Event, FORMAT_MAJOR, Header};
use plimsoll_model::run::Run;

use super::RunLogError;

/// Longest line accepted, bytes; a plan with ten thousand long URLs stays well below.
const LINE_LEN_MAX: u64 = 64 << 20;

/// A run log that was read.
#[derive(Debug)]
pub struct Reading {
    /// What it holds.
    pub run: Run,
    /// Why reading ended before the end of the file, when it did.
    pub cut: Option<String>,
}

/// Reads the run log at `path` up to its end or to where it was cut off.
///
/// # Errors
/// When the file cannot be opened, does not begin with a header, or was written by a newer version.
pub fn read(path: &Path) -> Result<Reading, RunLogError> {
    let open = |source| RunLogError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(open)?;
    if file.metadata().map_err(open)?.is_dir() {
        return Err(open(std::io::ErrorKind::IsADirectory.into()));
    }
    let mut lines = Lines::new(file);
    let first = match lines.next_line() {
        Ok(Some(line)) => line,
        Ok(None) => return Err(not_a_log(path, "it is empty")),
        Err(error) => return Err(not_a_log(path, &error.to_string())),
    };
    let mut run = Run::new(header(path, first)?);
    let cut = loop {
        match lines.next_line() {
            Ok(None) => break None,
            Ok(Some(line)) => match serde_json::from_slice::<Event>(line) {
                Ok(event) => run.apply(event),
                // A minor version may bring events that this reader does not know.
                Err(error)
                    if error.is_data()
                        && run.header.format_minor > plimsoll_model::event::FORMAT_MINOR => {}
                Err(error) => break Some(format!("an event cannot be read: {error}")),
            },
            Err(error) => break Some(format!("the file ends inside an event ({error})")),
        }
    };
    Ok(Reading { run, cut })
}

fn not_a_log(path: &Path, fault: &str) -> RunLogError {
    RunLogError::NotARunLog {
        path: path.to_owned(),
        fault: fault.to_owned(),
    }
}

/// The header, read in two steps: a newer major version may have a shape of its own.
fn header(path: &Path, line: &[u8]) -> Result<Header, RunLogError> {
    let value: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| not_a_log(path, &error.to_string()))?;
    let data = &value["data"];
    let Some(major) = data["format_major"]
        .as_u64()
        .filter(|_| value["event"] == "run_started")
    else {
        return Err(not_a_log(path, "its first event is not run_started"));
    };
    if major > u64::from(FORMAT_MAJOR) {
        let written_by = data["versions"]["plimsoll"]
            .as_str()
            .unwrap_or("an unknown version");
        return Err(RunLogError::Newer {
            path: path.to_owned(),
            major,
            written_by: written_by.to_owned(),
        });
    }
    serde_json::from_value(value["data"].clone())
        .map_err(|error| not_a_log(path, &error.to_string()))
}

/// Complete lines of all gzip members of a file.
struct Lines {
    text: BufReader<MultiGzDecoder<BufReader<File>>>,
    line: Vec<u8>,
}

impl Lines {
    fn new(file: File) -> Self {
        Self {
            text: BufReader::with_capacity(1 << 16, MultiGzDecoder::new(BufReader::new(file))),
            line: Vec::new(),
        }
    }

    fn next_line(&mut self) -> std::io::Result<Option<&[u8]>> {
        use std::io::Read as _;
        self.line.clear();
        let len = self
            .text
            .by_ref()
            .take(LINE_LEN_MAX)
            .read_until(b'\n', &mut self.line)?;
        match self.line.pop() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(&self.line)),
            Some(_) if len as u64 == LINE_LEN_MAX => {
                Err(std::io::Error::other("an event is longer than 64 MiB"))
            }
            Some(_) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
