//! The log of an experiment: one JSON line an event, append-only, on disk before the next trial.
//!
//! The file is locked as long as its experiment runs. A last line without its end was torn by a kill and is cut when the
//! log is opened again; a whole line that cannot be read is an error, for nothing writes such a line. Records are those
//! that the lines hold, also in the run that writes them: an experiment gives the same results whether it was resumed or
//! not, to the last bit.

mod definition;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::trial::{PlannedTrial, TrialRecord};
use crate::output;
use crate::run_log::Followers;
use definition::first_difference;

/// Version of the format; a reader refuses a higher one.
pub const FORMAT: u32 = 1;
/// Name of the file in the folder of an experiment.
pub const FILE_NAME: &str = "experiment.log";
/// Largest log that is read, bytes.
const LEN_MAX: u64 = 2 << 30;

/// What an experiment is; a log is resumed only by the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentHeader {
    /// Version of the format.
    pub format: u32,
    /// `matrix` or `compare`.
    pub command: String,
    /// The experiment file, or what is compared, for messages.
    pub source: String,
    /// Wall-clock begin, RFC 3339.
    pub started_at: String,
    /// The same in milliseconds since 1970: records count from here.
    pub started_unix_ms: u64,
    /// Seed of orders and loads.
    pub seed: u64,
    /// The resolved experiment, without secrets: what a resumed experiment must agree with.
    pub definition: serde_json::Value,
}

/// An event of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExperimentEvent {
    /// The first line.
    ExperimentStarted(Box<ExperimentHeader>),
    /// A trial begins.
    TrialStarted(PlannedTrial),
    /// A trial has its record.
    TrialEnded(Box<TrialRecord>),
}

/// The open log of an experiment. Its lock is held as long as it lives.
#[derive(Debug)]
pub struct ExperimentLog {
    path: PathBuf,
    file: File,
    header: ExperimentHeader,
    records: Vec<TrialRecord>,
    followers: Followers,
}

impl Drop for ExperimentLog {
    fn drop(&mut self) {
        // A process that is just being started may hold the same file for a moment.
        let _ = self.file.unlock();
    }
}

impl ExperimentLog {
    /// Makes the log of a new experiment in `folder`, or opens the one that is there, whose definition must be that of
    /// `header`.
    ///
    /// # Errors
    /// When another process has it, it is of another experiment, or it cannot be read or written.
    pub fn open(folder: &Path, header: ExperimentHeader) -> Result<Self, ExperimentLogError> {
        let path = folder.join(FILE_NAME);
        let failed = |source| ExperimentLogError::Open {
            path: path.clone(),
            source,
        };
        let file = locked_file(folder, &path)?;
        let content = read_whole(&file).map_err(failed)?;
        let (stored, records, len) = parse(&path, &content)?;
        if len < content.len() {
            file.set_len(len as u64)
                .and_then(|()| file.sync_all())
                .map_err(failed)?;
        }
        let Some(stored) = stored else {
            let mut log = Self {
                path: path.clone(),
                file,
                header,
                records,
                followers: Followers::default(),
            };
            log.write(&ExperimentEvent::ExperimentStarted(Box::new(
                log.header.clone(),
            )))?;
            // Its name must be on disk, too.
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(failed)?;
            return Ok(log);
        };
        if let Some(difference) = difference(&stored, &header) {
            return Err(ExperimentLogError::OtherExperiment {
                folder: folder.to_owned(),
                source_file: stored.source,
                difference,
            });
        }
        Ok(Self {
            path,
            file,
            header: stored,
            records,
            followers: Followers::default(),
        })
    }

    /// Lets `followers` see the header and the records so far, and each line that is written from now on.
    pub fn follow(&mut self, followers: Followers) {
        let header = ExperimentEvent::ExperimentStarted(Box::new(self.header.clone()));
        let records = self.records.iter().cloned().map(Box::new);
        let events = std::iter::once(header).chain(records.map(ExperimentEvent::TrialEnded));
        if !followers.is_empty() {
            for line in events.filter_map(|event| serde_json::to_string(&event).ok()) {
                followers.experiment_logged(&line);
            }
        }
        self.followers = followers;
    }

    /// The header: of the log that was there, or the new one.
    pub fn header(&self) -> &ExperimentHeader {
        &self.header
    }

    /// The records so far.
    pub fn records(&self) -> &[TrialRecord] {
        &self.records
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the begin of a trial on disk.
    pub(super) fn start(&mut self, trial: PlannedTrial) -> Result<(), ExperimentLogError> {
        self.write(&ExperimentEvent::TrialStarted(trial)).map(drop)
    }

    /// Puts a record on disk; numbers that are not finite are left out.
    pub(super) fn append(&mut self, mut record: TrialRecord) -> Result<(), ExperimentLogError> {
        record.outcome.keep_finite();
        let line = self.write(&ExperimentEvent::TrialEnded(Box::new(record)))?;
        match serde_json::from_str(&line) {
            Ok(ExperimentEvent::TrialEnded(record)) => self.records.push(*record),
            _ => unreachable!("a record is read as it was written"),
        }
        Ok(())
    }

    fn write(&mut self, event: &ExperimentEvent) -> Result<String, ExperimentLogError> {
        let written = serde_json::to_string(event)
            .map_err(io::Error::from)
            .and_then(|line| {
                let len = self.file.metadata()?.len();
                let whole = line.clone() + "\n";
                // In a single write, so that a kill tears at most this line.
                let result = self
                    .file
                    .write_all(whole.as_bytes())
                    .and_then(|()| self.file.sync_data());
                if result.is_err() {
                    // Half a line would hide those that follow it.
                    let _ = self.file.set_len(len);
                }
                self.followers.experiment_logged(&line);
                result.map(|()| line)
            });
        written.map_err(|source| ExperimentLogError::Write {
            path: self.path.clone(),
            source,
        })
    }
}

/// The file, which no other process has.
fn locked_file(folder: &Path, path: &Path) -> Result<File, ExperimentLogError> {
    let failed = |source| ExperimentLogError::Open {
        path: path.to_owned(),
        source,
    };
    output::create_folder(folder).map_err(failed)?;
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o640)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ExperimentLogError::InUse {
            folder: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn read_whole(file: &File) -> io::Result<Vec<u8>> {
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if about.len() > LEN_MAX {
        return Err(io::Error::other(format!(
            "it has {} bytes, at most {LEN_MAX} are read",
            about.len()
        )));
    }
    let mut content = Vec::new();
    let mut reader = file;
    reader.read_to_end(&mut content)?;
    Ok(content)
}

/// The header, the records, and the length of all whole lines.
fn parse(
    path: &Path,
    content: &[u8],
) -> Result<(Option<ExperimentHeader>, Vec<TrialRecord>, usize), ExperimentLogError> {
    let (mut header, mut records, mut len) = (None, Vec::new(), 0);
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    for (number, line) in (1..).zip(lines) {
        if line.last() != Some(&b'\n') {
            break;
        }
        let damaged = |detail: String| ExperimentLogError::Damaged {
            path: path.to_owned(),
            line: number,
            detail,
        };
        if header.is_none() {
            check_format(path, line)?;
        }
        let event = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        match (event, &header) {
            (ExperimentEvent::ExperimentStarted(first), None) => header = Some(*first),
            (ExperimentEvent::TrialStarted(_), Some(_)) => {}
            (ExperimentEvent::TrialEnded(record), Some(_)) => records.push(*record),
            (_, None) => return Err(damaged("the first line is not a header".to_owned())),
            (ExperimentEvent::ExperimentStarted(_), Some(_)) => {
                return Err(damaged("a second header".to_owned()));
            }
        }
        len += line.len();
    }
    Ok((header, records, len))
}

/// Refuses a newer format before its fields are read.
fn check_format(path: &Path, line: &[u8]) -> Result<(), ExperimentLogError> {
    let value: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let format = value["experiment_started"]["format"].as_u64().unwrap_or(0);
    if format > u64::from(FORMAT) {
        return Err(ExperimentLogError::Newer {
            path: path.to_owned(),
            format,
        });
    }
    Ok(())
}

/// The first difference of an experiment from that of the log.
fn difference(stored: &ExperimentHeader, wanted: &ExperimentHeader) -> Option<String> {
    if stored.command != wanted.command {
        return Some(format!("it is of `plimsoll {}`", stored.command));
    }
    first_difference(&stored.definition, &wanted.definition)
}

/// What went wrong with the log of an experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentLogError {
    /// The file or its folder cannot be made, opened or read.
    #[error("cannot open {}: {source}; choose another folder with --out DIR", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line could not be written; the line is not in the file.
    #[error("cannot write {}: {source}; free some space, and repeat the command to resume", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process runs this experiment.
    #[error(
        "another plimsoll runs an experiment in {}; wait for its end, or choose another folder with --out DIR",
        folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The log is of another experiment.
    #[error(
        "{} has the log of another experiment ({source_file}): {difference}; choose another folder with --out DIR",
        folder.display()
    )]
    OtherExperiment {
        /// The folder.
        folder: PathBuf,
        /// The experiment file of the log.
        source_file: String,
        /// What differs.
        difference: String,
    },
    /// The trials of the log are not those of the experiment.
    #[error(
        "{}: trial {index} of the log is not that of the experiment; choose another folder with --out DIR",
        path.display()
    )]
    OtherTrials {
        /// The file.
        path: PathBuf,
        /// The trial, from 0.
        index: u32,
    },
    /// A whole line cannot be read.
    #[error(
        "{}:{line}: damaged: {detail}; delete the lines from there on to resume, or choose another folder with --out DIR",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        detail: String,
    },
    /// The file was written by a newer version.
    #[error("{} has format {format}, this version reads up to {FORMAT}; use a newer plimsoll", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
}
