//! A growing log file: the bytes since the last read, across rotations and truncations.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use plimsoll_model::component::ComponentAddress;

use super::link::ScrapeError;
use super::metrics::MetricsRecorder;
use crate::untrusted::NamedFile;

/// Bytes read in a second at most; the rest is left out.
const SECOND_LEN_MAX: u64 = 1 << 20;

/// The file at an address; none where it is no file.
pub(super) fn file_of(place: &ComponentAddress) -> PathBuf {
    match place {
        ComponentAddress::File(path) | ComponentAddress::Socket(path) => path.clone(),
        _ => PathBuf::new(),
    }
}

/// A file that is followed.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    name: NamedFile,
    /// The file, its number, and how far it was read.
    open: Option<(File, u64, u64)>,
    was_rotated: bool,
    left_out: bool,
    /// The rest of an incomplete line. A line without an end is not kept beyond a second's bytes.
    rest: String,
}

impl Tail {
    /// `named_by` is the process that names the file, unless whoever runs this did.
    pub(super) fn new(path: &Path, named_by: Option<u32>) -> Self {
        Self {
            name: NamedFile::new(path, named_by),
            path: path.to_owned(),
            open: None,
            was_rotated: false,
            left_out: false,
            rest: String::new(),
        }
    }

    /// The bytes since the last read; nothing on the first open.
    pub(super) fn news(&mut self) -> Result<String, ScrapeError> {
        let now = self.name.open()?;
        let is_same = self
            .open
            .as_ref()
            .is_some_and(|(_, number, at)| *number == now.inode && *at <= now.len);
        let len = now.len;
        if !is_same {
            // Another file has its name, or it was truncated: it is read from its beginning.
            let is_first = self.open.is_none();
            self.was_rotated |= !is_first;
            let begin = if is_first { len } else { 0 };
            self.open = Some((now.file, now.inode, begin));
            self.rest.clear();
        }
        let Some((file, _, at)) = &mut self.open else {
            return Ok(String::new());
        };
        if len.saturating_sub(*at) > SECOND_LEN_MAX {
            *at = len - SECOND_LEN_MAX;
            self.left_out = true;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(*at))?;
        let mut bytes = Vec::new();
        *at += u64::try_from(file.take(SECOND_LEN_MAX).read_to_end(&mut bytes)?).unwrap_or(0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The lines that are complete with the new bytes; the rest stays for the next call.
    pub(super) fn whole_lines(&mut self, news: &str) -> String {
        let mut whole = std::mem::take(&mut self.rest);
        whole.push_str(news);
        let end = whole.rfind('\n').map_or(0, |at| at + 1);
        self.rest = whole.split_off(end);
        if self.rest.len() as u64 > SECOND_LEN_MAX {
            self.rest.clear();
            self.left_out = true;
        }
        whole
    }

    /// Notes what happened to the file.
    pub(super) fn note_gaps(&mut self, metrics: &mut MetricsRecorder<'_>) {
        if std::mem::take(&mut self.was_rotated) {
            metrics.note(
                "rotated",
                "a log was rotated or truncated during the run; reading continues",
            );
        }
        if std::mem::take(&mut self.left_out) {
            metrics.note(
                "left out",
                "more than 1 MiB a second was written to a log: the rest is left out",
            );
        }
    }

    /// The remedy for an unreadable file.
    pub(super) fn remedy(&self) -> String {
        format!(
            "run as a user who may read {}, such as root or one of the group `adm`",
            self.path.display()
        )
    }
}
