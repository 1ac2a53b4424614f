//! The run log: one file per run, append-only.
//!
//! Each event is one JSON line, packed by gzip to a whole byte, so `zcat FILE` shows all of them, and a file cut off
//! anywhere is readable up to the last complete event. Histograms are in the HdrHistogram V2 encoding.
//!
//! The readings of `watch` are in the same format, with another first event: [`read`] refuses them, since there is no
//! load to judge, and [`read_readings`] reads both.

mod event_file;
mod followers;
mod reader;
mod shared;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;

pub use followers::{EventFollower, Followers};
pub use reader::{LoadedReadings, LoadedRunLog, each_event, read, read_readings};
pub use shared::SharedLog;
pub use writer::RunLog;

/// What went wrong with a run log.
#[derive(Debug, thiserror::Error)]
pub enum RunLogError {
    /// The file or its folder cannot be made or opened.
    #[error("cannot open {}: {source}; {}", path.display(), remedy(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// There is a file of this name.
    #[error("{} exists, and files are never overwritten; choose another name, or move it away", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The header could not be written; nothing was sent yet.
    #[error("cannot write {}: {source}; {}", path.display(), remedy(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file does not begin as a run log.
    #[error("{} is not a run log: {detail}; give the .run file of a plimsoll run", path.display())]
    NotARunLog {
        /// The file.
        path: PathBuf,
        /// What it begins with instead.
        detail: String,
    },
    /// The file holds readings without load.
    #[error(
        "{} was written by `plimsoll watch` and has no load; `plimsoll report {}` shows the availability of the service, `plimsoll log ACCESS.LOG --cpu {}` its CPU beside requests, and `zcat` prints its readings",
        path.display(), path.display(), path.display()
    )]
    WithoutLoad {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "{} has format {major}, this version reads up to {}; use a newer plimsoll (the file was written by {written_by})",
        path.display(), plimsoll_model::event::FORMAT_MAJOR
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its major version.
        major: u64,
        /// The version of plimsoll that wrote it.
        written_by: String,
    },
}

/// What to do about a fault of the file system.
fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            "choose a writable folder with --out"
        }
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "free some space or choose another disk with --out"
        }
        std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
            "the path is a file, not a folder; choose another folder with --out"
        }
        _ => "choose another folder with --out",
    }
}
