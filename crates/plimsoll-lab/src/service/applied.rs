//! What is applied, with everything that is needed to put it back, also by a later program.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::workers::SignalledWorkers;
use crate::intervention::Change;

/// What is applied, with everything that is needed to put it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(super) enum Applied {
    /// A process, with its descendants.
    Process(ProcessMark),
    /// A control group, as one folder in each hierarchy.
    ControlGroup {
        /// The boot in which it was created.
        boot: String,
        /// Its folders.
        folders: Vec<PathBuf>,
    },
    /// Controllers that groups below a control group of version 2 may have now.
    Controllers {
        /// The file that lists them.
        control: PathBuf,
        /// Those that were not there before.
        names: Vec<String>,
    },
    /// A file that was written from a template.
    File(WrittenFile),
    /// A setting of a component.
    Setting {
        /// The change.
        change: Change,
    },
    /// Workers of a server that were added or ended by signals.
    Workers(SignalledWorkers),
}

/// By what the processes of a command are found, also by a later program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessMark {
    /// The boot in which it was started.
    pub(super) boot: String,
    /// The process that was started; it leads a process group.
    pub(super) leader: u32,
    /// Its start, clock ticks since boot.
    pub(super) started: u64,
    /// Its session.
    pub(super) session: u32,
    /// Value of `PLIMSOLL_TRIAL` in its environment; `None` where processes that it leaves behind are not ours to end.
    pub(super) token: Option<String>,
}

/// A file that was written from a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WrittenFile {
    pub(super) path: PathBuf,
    pub(super) cell: usize,
    pub(super) setup: usize,
    pub(super) index: usize,
    pub(super) written: ContentMark,
    /// `None` when there was no such file.
    pub(super) before: Option<FileBefore>,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FileBefore {
    /// Name of the copy in the folder of the experiment.
    pub(super) copy: String,
    /// Its content; a journal of an earlier version lacks it.
    #[serde(default)]
    pub(super) mark: Option<ContentMark>,
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) modified: SystemTime,
}

/// By what a content is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContentMark {
    pub(super) len: u64,
    pub(super) crc: u32,
}

impl ContentMark {
    pub(super) fn of(content: &[u8]) -> Self {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        Self {
            len: content.len() as u64,
            crc: crc.sum(),
        }
    }
}
