//! Reads a run log as far as it goes.

use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_model::event::{Event, FORMAT_MAJOR, Header};
use plimsoll_model::run::Run;
use serde::Deserialize;

use super::RunLogError;
use crate::input::{self, InputFile};

/// Longest line accepted, bytes; a plan with ten thousand long URLs stays well below.
const LINE_LEN_MAX: u64 = 64 << 20;
/// How much longer events are than the file that holds them, at most. Each is packed by itself, so that they are five to
/// twenty times as long; a file that was made to grow is up to a thousand times.
const GROWTH_MAX: u64 = 100;
/// Bytes of events that any file may hold, however short; more for a pipe, whose length is unknown.
const EVENTS_LEN_FREE: u64 = 64 << 20;
const EVENTS_LEN_OF_PIPE: u64 = 4 << 30;
/// How long a pipe may be silent.
const PATIENCE: Duration = Duration::from_secs(5);

/// A run log that was read.
#[derive(Debug)]
pub struct LoadedRunLog {
    /// What it holds.
    pub run: Run,
    /// Why reading ended before the end of the file, when it did.
    pub cut: Option<String>,
}

/// Reads the run log at `path` up to its end or to where it was cut off.
///
/// # Errors
/// When the file cannot be opened, does not begin with a header, or was written by a newer version.
pub fn read(path: &Path) -> Result<LoadedRunLog, RunLogError> {
    let open = |source| RunLogError::Read {
        path: path.to_owned(),
        source,
    };
    let file = input::open(path, PATIENCE).map_err(open)?;
    let mut lines = RunLogLines::new(file);
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
                // A minor version may add events that this reader does not know.
                Err(error)
                    if error.is_data()
                        && run.header.format_minor > plimsoll_model::event::FORMAT_MINOR => {}
                Err(error) => break Some(format!("an event cannot be read: {error}")),
            },
            Err(error) => break Some(format!("the file ends inside an event ({error})")),
        }
    };
    Ok(LoadedRunLog { run, cut })
}

fn not_a_log(path: &Path, detail: &str) -> RunLogError {
    RunLogError::NotARunLog {
        path: path.to_owned(),
        detail: detail.to_owned(),
    }
}

/// The header, read in two steps: a newer major version may have a shape of its own.
fn header(path: &Path, line: &[u8]) -> Result<Header, RunLogError> {
    let to_error = |error: serde_json::Error| not_a_log(path, &error.to_string());
    let start: RunLogStart = serde_json::from_slice(line).map_err(to_error)?;
    if start.event != "run_started" {
        return Err(not_a_log(path, "its first event is not run_started"));
    }
    let major = start.data.format_major;
    if major > u64::from(FORMAT_MAJOR) {
        let written_by = start.data.versions.plimsoll;
        return Err(RunLogError::Newer {
            path: path.to_owned(),
            major,
            written_by: written_by.unwrap_or_else(|| "an unknown version".to_owned()),
        });
    }
    match serde_json::from_slice(line).map_err(to_error)? {
        Event::RunStarted(header) => Ok(*header),
        _ => Err(not_a_log(path, "its first event is not run_started")),
    }
}

/// What any version begins with. The rest is skipped and takes no memory, whatever it is.
#[derive(Deserialize)]
struct RunLogStart {
    event: String,
    data: StartData,
}

#[derive(Deserialize)]
struct StartData {
    format_major: u64,
    #[serde(default)]
    versions: StartVersions,
}

#[derive(Default, Deserialize)]
struct StartVersions {
    plimsoll: Option<String>,
}

/// Complete lines of all gzip members of a file.
struct RunLogLines {
    text: BufReader<Take<MultiGzDecoder<BufReader<InputFile>>>>,
    line: Vec<u8>,
}

impl RunLogLines {
    fn new(file: InputFile) -> Self {
        let len_max = file.len().map_or(EVENTS_LEN_OF_PIPE, |len| {
            len.saturating_mul(GROWTH_MAX)
                .saturating_add(EVENTS_LEN_FREE)
        });
        let events = MultiGzDecoder::new(BufReader::new(file)).take(len_max);
        Self {
            text: BufReader::with_capacity(1 << 16, events),
            line: Vec::new(),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let len = self
            .text
            .by_ref()
            .take(LINE_LEN_MAX)
            .read_until(b'\n', &mut self.line)?;
        let is_at_limit = self.text.get_ref().limit() == 0;
        match self.line.pop() {
            Some(b'\n') => Ok(Some(&self.line)),
            _ if is_at_limit => Err(io::Error::other(format!(
                "its events unpack to more than {GROWTH_MAX} times the size of the file: it is damaged or malicious"
            ))),
            None => Ok(None),
            Some(_) if len as u64 == LINE_LEN_MAX => {
                Err(io::Error::other("an event is longer than 64 MiB"))
            }
            Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
