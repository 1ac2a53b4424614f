//! Appends events to a run log; keeps them in memory when the disk refuses.

use std::path::{Path, PathBuf};

use plimsoll_model::event::{Event, Header, WatchHeader};

use super::event_file::EventFile;
use super::{Followers, RunLogError};
use crate::output;

/// Events kept in memory after the disk refused; about two hours of a run.
const RETAINED_MAX: usize = 20_000;

/// The open log of the run that is going on.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: EventFile,
    retained: Vec<Event>,
    write_error: Option<std::io::Error>,
    followers: Followers,
}

impl RunLog {
    /// Makes the file, its folder if need be, and writes the header. Never overwrites a file.
    ///
    /// # Errors
    /// When the folder or file cannot be made, or the header cannot be written: nothing was measured yet.
    pub fn create(path: &Path, header: Header, followers: Followers) -> Result<Self, RunLogError> {
        Self::begin(path, &Event::RunStarted(Box::new(header)), followers)
    }

    /// The same for readings without load.
    ///
    /// # Errors
    /// As [`RunLog::create`].
    pub fn create_watch(
        path: &Path,
        header: WatchHeader,
        followers: Followers,
    ) -> Result<Self, RunLogError> {
        Self::begin(path, &Event::WatchStarted(Box::new(header)), followers)
    }

    fn begin(path: &Path, first: &Event, followers: Followers) -> Result<Self, RunLogError> {
        let open = |source| RunLogError::Open {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            output::create_folder(folder).map_err(open)?;
        }
        let file = output::create_new(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => RunLogError::Exists {
                path: path.to_owned(),
            },
            _ => open(source),
        })?;
        let mut log = Self {
            path: path.to_owned(),
            file: EventFile::new(file),
            retained: Vec::new(),
            write_error: None,
            followers,
        };
        let line = line(first);
        log.file
            .append(&line)
            .and_then(|()| log.file.sync())
            .map_err(|source| RunLogError::Write {
                path: path.to_owned(),
                source,
            })?;
        log.followers.event_logged(first, &line);
        Ok(log)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event. A failed write is not an error here: the event is kept in memory, and
    /// [`RunLog::write_error`] reports it. Followers see it either way.
    pub fn append(&mut self, event: Event) {
        let line = line(&event);
        if self.write_error.is_none() {
            self.write_error = self.file.append(&line).err();
        }
        self.followers.event_logged(&event, &line);
        if self.write_error.is_some() && self.retained.len() < RETAINED_MAX {
            self.retained.push(event);
        }
    }

    /// Events that the disk refused, in order.
    pub fn retained(&self) -> &[Event] {
        &self.retained
    }

    /// Why events are kept in memory instead of on disk.
    pub fn write_error(&self) -> Option<&std::io::Error> {
        self.write_error.as_ref()
    }

    /// Retries the write of buffered events, and returns the error if the disk still refuses.
    pub fn close(mut self) -> (PathBuf, Vec<Event>) {
        let mut refused = Vec::new();
        for event in std::mem::take(&mut self.retained) {
            if !refused.is_empty() || self.file.append(&line(&event)).is_err() {
                refused.push(event);
            }
        }
        let _ = self.file.sync();
        (self.path, refused)
    }
}

/// An event as one line of JSON, without its end.
fn line(event: &Event) -> String {
    match serde_json::to_string(event) {
        Ok(line) => line,
        Err(error) => unreachable!("an event has text keys and is written to memory: {error}"),
    }
}
