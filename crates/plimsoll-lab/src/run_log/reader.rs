//! Reads a run log as far as it goes.

use std::io::{self, BufRead as _, BufReader, Read as _, Take};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, Header, WatchHeader};
use plimsoll_model::reading::SeriesTable;
use plimsoll_model::run::Run;
use serde::Deserialize;

use super::RunLogError;
use crate::input::{self, InputFile};

/// Longest line accepted, bytes; a plan with ten thousand long URLs stays well below.
const LINE_LEN_MAX: u64 = 64 << 20;
/// How much longer events are than the file that holds them, at most. They are five to fifty times as long, the more the more each
/// second repeats; a file that was made to grow is up to a thousand times.
const GROWTH_MAX: u64 = 250;
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

/// Readings of the probes, of a run or of `watch`.
#[derive(Debug)]
pub struct LoadedReadings {
    /// Wall-clock start as RFC 3339 text, UTC.
    pub started_at: String,
    /// Values of the probes.
    pub readings: SeriesTable,
    /// Why reading ended before the end of the file, when it did.
    pub cut: Option<String>,
}

/// Reads the run log at `path` up to its end or to where it was cut off.
///
/// # Errors
/// When the file cannot be opened, does not begin with the header of a run, or was written by a newer version.
pub fn read(path: &Path) -> Result<LoadedRunLog, RunLogError> {
    let (mut lines, first) = open(path)?;
    let FirstEvent::Run(header) = first else {
        return Err(RunLogError::WithoutLoad {
            path: path.to_owned(),
        });
    };
    let mut run = Run::new(*header);
    let minor = run.header.format_minor;
    let cut = lines.each_event(minor, |event| run.apply(event));
    Ok(LoadedRunLog { run, cut })
}

/// Hands on all events of a run, or of `watch`, the first one included. Returns why reading ended before the end of the
/// file, when it did.
///
/// # Errors
/// When the file cannot be opened, does not begin with a header, or was written by a newer version.
pub fn each_event(
    path: &Path,
    mut take: impl FnMut(&Event),
) -> Result<Option<String>, RunLogError> {
    let (mut lines, first) = open(path)?;
    let (first, minor) = match first {
        FirstEvent::Run(header) => {
            let minor = header.format_minor;
            (Event::RunStarted(header), minor)
        }
        FirstEvent::Watch(header) => {
            let minor = header.format_minor;
            (Event::WatchStarted(header), minor)
        }
    };
    take(&first);
    Ok(lines.each_event(minor, |event| take(&event)))
}

/// Reads the readings of a run, or those that `watch` wrote, up to the end of the file or to where it was cut off.
///
/// # Errors
/// When the file cannot be opened, does not begin with a header, or was written by a newer version.
pub fn read_readings(path: &Path) -> Result<LoadedReadings, RunLogError> {
    let (mut lines, first) = open(path)?;
    let (started_at, minor) = match first {
        FirstEvent::Run(header) => (header.started_at, header.format_minor),
        FirstEvent::Watch(header) => (header.started_at, header.format_minor),
    };
    let mut readings = SeriesTable::default();
    let cut = lines.each_event(minor, |event| {
        if let Event::ReadingsTaken(second) = event {
            readings.push(&second);
        }
    });
    Ok(LoadedReadings {
        started_at,
        readings,
        cut,
    })
}

/// What a log begins with.
enum FirstEvent {
    Run(Box<Header>),
    Watch(Box<WatchHeader>),
}

/// Opens a log and reads its first event.
fn open(path: &Path) -> Result<(RunLogLines, FirstEvent), RunLogError> {
    let file = input::open(path, PATIENCE).map_err(|source| RunLogError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut lines = RunLogLines::new(file);
    let first = match lines.next_line() {
        Ok(Some(line)) => first_event(path, line)?,
        Ok(None) => return Err(not_a_log(path, "it is empty")),
        Err(error) => return Err(not_a_log(path, &error.to_string())),
    };
    Ok((lines, first))
}

fn not_a_log(path: &Path, detail: &str) -> RunLogError {
    RunLogError::NotARunLog {
        path: path.to_owned(),
        detail: detail.to_owned(),
    }
}

/// The header, read in two steps: a newer major version may have a shape of its own.
fn first_event(path: &Path, line: &[u8]) -> Result<FirstEvent, RunLogError> {
    const OTHER: &str = "its first event is neither run_started nor watch_started";
    let to_error = |error: serde_json::Error| not_a_log(path, &error.to_string());
    let start: RunLogStart = serde_json::from_slice(line).map_err(to_error)?;
    if !matches!(start.event.as_str(), "run_started" | "watch_started") {
        return Err(not_a_log(path, OTHER));
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
        Event::RunStarted(header) => Ok(FirstEvent::Run(header)),
        Event::WatchStarted(header) => Ok(FirstEvent::Watch(header)),
        _ => Err(not_a_log(path, OTHER)),
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

    /// Hands on all events; why reading ended before the end of the file, when it did. `minor` is that of the header.
    fn each_event(&mut self, minor: u32, mut take: impl FnMut(Event)) -> Option<String> {
        loop {
            match self.next_line() {
                Ok(None) => return None,
                Ok(Some(line)) => match serde_json::from_slice::<Event>(line) {
                    Ok(event) => take(event),
                    // A minor version may add events that this reader does not know.
                    Err(error) if error.is_data() && minor > FORMAT_MINOR => {}
                    Err(error) => return Some(format!("an event cannot be read: {error}")),
                },
                Err(error) => return Some(format!("the file ends inside an event ({error})")),
            }
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
