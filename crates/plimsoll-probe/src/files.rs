//! Reads the small text files of `/proc` and `/sys`, below a root, and notes what could not be read and why.
//!
//! The names of these files are built here, from pids. Files named by other processes are opened only by
//! [`crate::untrusted`], to which this module delegates with a deadline.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::kernel_files::TEXT_LEN_MAX;
use crate::parse::process;
use crate::untrusted::budget::{FILE_LEN_MAX, FILE_PATIENCE, ReadBudget};
use crate::untrusted::deadline::Worker;
use crate::untrusted::{OpenError, Root};

/// Longest command line that is read, bytes.
const COMMAND_LEN_MAX: u64 = 128 << 10;
/// How often the command line of a process is read again that starts a program: for that moment, a fraction of a
/// millisecond of a processor, it has none, and the kernel has no event for its end.
const STARTS_MAX: u32 = 1000;
/// Limit of notes, and of those reported immediately: other users' processes can cause these.
const NOTES_MAX: usize = 256;
const ANNOUNCED_MAX: usize = 192;
/// Longest note, characters.
const NOTE_LEN_MAX: usize = 2000;

#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    buffer: Vec<u8>,
    noted: BTreeSet<String>,
    notes: Vec<String>,
    announced: Vec<String>,
    announced_count: usize,
    /// Runs operations that may hang.
    worker: Worker,
    budget: ReadBudget,
}

/// Untrusted text without control characters: it ends up in notes and in names of series.
fn printable(text: &str) -> String {
    let is_obeyed = |character: char| character.is_control() && !"\n\r\t".contains(character);
    text.replace(is_obeyed, "\u{fffd}")
}

/// A path that whoever runs this has given, without links.
pub(crate) fn whole_path(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// At most this many bytes of a kernel file whose content is in the memory of a process, or in its executable.
fn bytes_at(path: &Path, from: u64, len: u64) -> io::Result<Vec<u8>> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    let mut bytes = Vec::new();
    if from == 0 {
        file.take(len).read_to_end(&mut bytes)?;
    } else {
        bytes.resize(usize::try_from(len).unwrap_or(0), 0);
        file.read_exact_at(&mut bytes, from)?;
    }
    Ok(bytes)
}

impl Files {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            buffer: Vec::with_capacity(16 << 10),
            noted: BTreeSet::new(),
            notes: Vec::new(),
            announced: Vec::new(),
            announced_count: 0,
            worker: Worker::default(),
            budget: ReadBudget::default(),
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

    /// Whether a path below the root is a regular file: a link to one is none.
    pub(crate) fn is_plain_file(&self, path: &str) -> bool {
        let about = std::fs::symlink_metadata(self.path(path));
        about.is_ok_and(|about| about.is_file())
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

    /// Content of a process's memory or executable, such as its command line: reading it may block on the file
    /// system that backs the pages, which is under the control of the process's creator.
    pub(crate) fn memory_of(&mut self, path: &str, from: u64, len: u64) -> io::Result<Vec<u8>> {
        let path = self.path(path);
        let read = move || bytes_at(&path, from, len);
        self.worker.run(FILE_PATIENCE, read)?
    }

    /// The text of a file of that kind.
    pub(crate) fn memory_text_of(&mut self, path: &str) -> io::Result<String> {
        let bytes = self.memory_of(path, 0, TEXT_LEN_MAX)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The command line of a process, its words apart by a zero; empty where it cannot be read.
    pub(crate) fn command_line(&mut self, pid: u32) -> String {
        let path = format!("proc/{pid}/cmdline");
        let mut bytes = self.memory_of(&path, 0, COMMAND_LEN_MAX);
        for _ in 0..STARTS_MAX {
            let is_empty = bytes.as_ref().is_ok_and(Vec::is_empty);
            if !is_empty || !self.is_starting(pid) {
                break;
            }
            bytes = self.memory_of(&path, 0, COMMAND_LEN_MAX);
        }
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        // Its words are separated by NUL.
        let words: Vec<String> = text.split('\0').map(printable).collect();
        words.join("\0")
    }

    /// Whether a process starts a program at this moment, as some do that are told to read their configuration again.
    fn is_starting(&mut self, pid: u32) -> bool {
        let stat = self.read(&format!("proc/{pid}/stat"));
        stat.is_ok_and(process::is_starting)
    }

    /// The text of a file that a process names, in that process's root.
    pub(crate) fn text_of(&mut self, pid: u32, path: &str) -> Result<String, OpenError> {
        let name = path.to_owned();
        let read = self.named_by(pid, move |root| root.read(&name, FILE_LEN_MAX), Vec::len)?;
        Ok(printable(&String::from_utf8_lossy(&read)))
    }

    /// The text of a file that a process names relative to the folder in which it runs.
    pub(crate) fn text_beside(&mut self, pid: u32, path: &str) -> Result<String, OpenError> {
        let folder = self.path(&format!("proc/{pid}/cwd"));
        let root = self.root_of(pid).with_folder(folder).beneath();
        let name = path.to_owned();
        let read = move || root.read(&name, FILE_LEN_MAX);
        let bytes = self.budget.spend(pid, &mut self.worker, read, Vec::len)?;
        Ok(printable(&String::from_utf8_lossy(&bytes)))
    }

    /// Whether what a process names is a regular file.
    pub(crate) fn is_file_of(&mut self, pid: u32, path: &str) -> bool {
        let name = path.to_owned();
        let found = move |root: &Root| root.expect_file(&name);
        self.named_by(pid, found, |()| 0).is_ok()
    }

    /// Whether what a process names is a socket.
    pub(crate) fn is_socket_of(&mut self, pid: u32, path: &str) -> bool {
        let name = path.to_owned();
        let found = move |root: &Root| root.socket(&name).map(|_| ());
        self.named_by(pid, found, |()| 0).is_ok()
    }

    /// Names in a folder that a process names.
    pub(crate) fn names_of(&mut self, pid: u32, folder: &str) -> Result<Vec<String>, OpenError> {
        let name = folder.to_owned();
        let found = move |root: &Root| root.names(&name);
        self.named_by(pid, found, |names| names.iter().map(String::len).sum())
    }

    /// Whether a directory of a process differs from that of this process.
    pub(crate) fn is_elsewhere(&mut self, pid: u32, folder: &str) -> bool {
        let (own, name) = (Root::at(&self.root), folder.to_owned());
        let differs = move |root: &Root| root.differs(&own, &name);
        self.named_by(pid, differs, |_| 0).unwrap_or(false)
    }

    /// Runs an operation in the root of a process, within its deadline and budget. If that root is not accessible,
    /// it runs in the own root with the own rights, which are then unprivileged.
    fn named_by<T: Send + 'static>(
        &mut self,
        pid: u32,
        job: impl Fn(&Root) -> Result<T, OpenError> + Send + 'static,
        len: impl FnOnce(&T) -> usize,
    ) -> Result<T, OpenError> {
        let (theirs, own, live) = (self.root_of(pid), Root::at(&self.root), self.is_live());
        let read = move || match job(&theirs) {
            Err(OpenError::RootDenied) if live => job(&own),
            // A fixture may lack roots of processes.
            Err(OpenError::NotFound) if !live => job(&own),
            done => done,
        };
        self.budget.spend(pid, &mut self.worker, read, len)
    }

    fn root_of(&self, pid: u32) -> Root {
        if self.is_live() {
            Root::of(pid)
        } else {
            Root::at(&self.path(&format!("proc/{pid}/root")))
        }
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

    /// Notes `text`, once for each `key`, for immediate report to the user.
    pub(crate) fn announce(&mut self, key: &str, text: &str) {
        let known = self.notes.len();
        self.announced_count += usize::from(!self.noted.contains(key));
        if self.announced_count > ANNOUNCED_MAX {
            let rest = "too many notes, the rest are left out: there are very many components or processes, or \
                something creates them on purpose";
            self.note("too many notes", rest);
            self.announced.extend(self.notes.get(known).cloned());
            return;
        }
        self.note(key, text);
        self.announced.extend(self.notes.get(known).cloned());
    }

    /// Notes to report since the last call.
    pub(crate) fn take_announced(&mut self) -> Vec<String> {
        std::mem::take(&mut self.announced)
    }

    /// Remembers `text`, once for each `key`.
    pub(crate) fn note(&mut self, key: &str, text: &str) {
        if self.notes.len() < NOTES_MAX && self.noted.insert(key.to_owned()) {
            self.notes
                .push(printable(text).chars().take(NOTE_LEN_MAX).collect());
        }
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }
}
