//! Reads the small text files of `/proc` and `/sys`, below a root, and remembers what could not be read and why.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Longest text read of one file, bytes. `/proc/net/tcp` of 30,000 sockets is 4.5 MB.
const TEXT_LEN_MAX: u64 = 8 << 20;
/// Most notes kept.
const NOTES_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    buffer: Vec<u8>,
    noted: BTreeSet<String>,
    notes: Vec<String>,
    told: Vec<String>,
}

impl Files {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            buffer: Vec::with_capacity(16 << 10),
            noted: BTreeSet::new(),
            notes: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Whether the files are those of the running kernel, not of a fixture.
    pub(crate) fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where a path below the root really lies.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file.
    pub(crate) fn read(&mut self, path: &str) -> io::Result<&str> {
        self.buffer.clear();
        File::open(self.path(path))?
            .take(TEXT_LEN_MAX)
            .read_to_end(&mut self.buffer)?;
        if std::str::from_utf8(&self.buffer).is_err() {
            // A process may give itself any bytes as its name.
            self.buffer = String::from_utf8_lossy(&self.buffer)
                .into_owned()
                .into_bytes();
        }
        Ok(std::str::from_utf8(&self.buffer).expect("bytes were made valid above"))
    }

    /// The text of a file, or a note on what is missing without it.
    pub(crate) fn read_or_note(&mut self, path: &str, missing: &str) -> Option<&str> {
        if let Err(error) = self.read(path) {
            self.note(missing, &format!("{missing}: /{path}: {error}"));
            return None;
        }
        Some(std::str::from_utf8(&self.buffer).expect("`read` leaves valid text"))
    }

    /// Names in a directory that are numbers, such as the processes in `/proc`; empty when it cannot be read.
    pub(crate) fn numbers_in(&self, path: &str) -> io::Result<Vec<u32>> {
        let entries = std::fs::read_dir(self.path(path))?;
        Ok(entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect())
    }

    /// Remembers `text`, once for each `key`, for whoever watches the run to know now.
    pub(crate) fn tell(&mut self, key: &str, text: &str) {
        let known = self.notes.len();
        self.note(key, text);
        self.told.extend(self.notes.get(known).cloned());
    }

    /// What was to be told since this was asked last.
    pub(crate) fn take_told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// Remembers `text`, once for each `key`.
    pub(crate) fn note(&mut self, key: &str, text: &str) {
        if self.notes.len() < NOTES_MAX && self.noted.insert(key.to_owned()) {
            self.notes.push(text.to_owned());
        }
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }
}
