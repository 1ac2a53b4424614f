//! The journal of what is applied, on disk before it is applied.
//!
//! One file in the folder of an experiment, held by a lock as long as its program lives. It is trusted only if it is
//! ours, and what it names is put back only where the experiment names the same: no command and no other file comes from
//! it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::applied::Applied;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::processes;
use crate::clock::TimeLimit;
use crate::intervention::journal::{LockedFile, closed, ours_within};

/// Its name in the folder of the experiment.
pub(super) const FILE_NAME: &str = "applied.journal";
/// Version of its form.
const FORMAT: u32 = 1;
/// Longest file that is read, bytes.
const LEN_MAX: u64 = 16 << 20;
/// How long a lock may outlive its program: a process that it was just starting has the same file until it becomes its
/// own program.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How long a program may put back what another has left.
const PUT_BACK_PATIENCE: Duration = Duration::from_mins(2);
/// A file that is there as long as a program puts back what another has left.
const PUTTING_BACK: &str = "putting-back";
/// Time between two attempts to lock.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalLine {
    Format(u32),
    Applied { number: u64, applied: Applied },
    Reverted(u64),
}

/// The open journal.
#[derive(Debug)]
pub(super) struct AppliedJournal {
    path: PathBuf,
    locked: LockedFile,
    next: u64,
    /// What is applied, in the order in which it was.
    outstanding: Vec<(u64, Applied)>,
}

impl AppliedJournal {
    /// Opens the journal of a folder, which is made if it is not there.
    ///
    /// # Errors
    /// When another process has it, it cannot be trusted, or it cannot be read or written.
    pub(super) fn open(folder: &Path) -> Result<Self, ApplyFault> {
        let path = folder.join(FILE_NAME);
        let failed = |error: io::Error| failure(&path, &error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        closed(folder).map_err(failed)?;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(&path)
            .map_err(failed)?;
        ours_within(&file, LEN_MAX).map_err(failed)?;
        let locked = lock(&file, folder, failed)?;
        let mut journal = Self {
            path: path.clone(),
            locked,
            next: 0,
            outstanding: Vec::new(),
        };
        journal.read().map_err(failed)?;
        Ok(journal)
    }

    /// Reads what an earlier process left.
    fn read(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.locked.file().take(LEN_MAX).read_to_string(&mut text)?;
        // A line without an end was being written when its process was killed: what it names was not applied.
        let complete = text.rfind('\n').map_or(0, |end| end + 1);
        for (index, line) in text[..complete].lines().enumerate() {
            let line: JournalLine = serde_json::from_str(line).map_err(|error| {
                io::Error::other(format!("line {} is invalid: {error}", index + 1))
            })?;
            match line {
                JournalLine::Format(format) if format > FORMAT => {
                    return Err(io::Error::other(
                        "it was written by a newer version of this program",
                    ));
                }
                JournalLine::Format(_) => {}
                JournalLine::Applied { number, applied } => {
                    self.next = self.next.max(number + 1);
                    self.outstanding.push((number, applied));
                }
                JournalLine::Reverted(number) => {
                    self.outstanding.retain(|(known, _)| *known != number);
                }
            }
        }
        if self.outstanding.is_empty() {
            return self.clear();
        }
        self.locked.file().set_len(complete as u64)
    }

    /// Writes down what is about to be applied; returns its number. `outlives_boot` says whether it outlives a crash of
    /// the machine, and must be on disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(&mut self, applied: Applied, outlives_boot: bool) -> Result<u64, ApplyFault> {
        let number = self.next;
        self.next += 1;
        let line = JournalLine::Applied {
            number,
            applied: applied.clone(),
        };
        let written = self.write(&line).and_then(|()| {
            if !outlives_boot {
                return Ok(());
            }
            self.locked.file().sync_all()?;
            // Its name, too.
            let folder = self.path.parent().unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        });
        written.map_err(|error| failure(&self.path, &error))?;
        self.outstanding.push((number, applied));
        Ok(number)
    }

    /// Writes down that something is put back.
    pub(super) fn reverted(&mut self, number: u64) {
        self.outstanding.retain(|(known, _)| *known != number);
        // What is not written down is put back once more by the next start, which changes nothing.
        let _ = if self.outstanding.is_empty() {
            self.clear()
        } else {
            self.write(&JournalLine::Reverted(number))
        };
    }

    /// Forgets all that is applied, at once: it stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep_applied(&mut self) -> Result<(), ApplyFault> {
        self.clear()
            .and_then(|()| self.locked.file().sync_all())
            .map_err(|error| failure(&self.path, &error))?;
        self.outstanding.clear();
        Ok(())
    }

    /// What is applied, in the order in which it was.
    pub(super) fn outstanding(&self) -> &[(u64, Applied)] {
        &self.outstanding
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn clear(&self) -> io::Result<()> {
        self.locked.file().set_len(0)?;
        self.write(&JournalLine::Format(FORMAT))
    }

    fn write(&self, line: &JournalLine) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.locked.file().write_all(text.as_bytes())
    }
}

/// Says to other programs that what is left in a folder is being put back, until it is dropped.
#[derive(Debug)]
pub(super) struct PuttingBack(Option<PathBuf>);

impl PuttingBack {
    /// Nothing where nothing is left.
    pub(super) fn begin(journal: &AppliedJournal) -> Self {
        if journal.outstanding().is_empty() {
            return Self(None);
        }
        let path = journal.path().with_file_name(PUTTING_BACK);
        // Without the file, another program is refused instead of waiting.
        Self(File::create(&path).is_ok().then_some(path))
    }
}

impl Drop for PuttingBack {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether the journal of a folder is more than its beginning. What it names is read by [`AppliedJournal::open`].
pub(super) fn has_outstanding(folder: &Path) -> bool {
    let beginning =
        serde_json::to_string(&JournalLine::Format(FORMAT)).map_or(0, |it| it.len() + 1);
    std::fs::metadata(folder.join(FILE_NAME)).is_ok_and(|it| it.len() > beginning as u64)
}

/// Locks the journal.
fn lock(
    file: &File,
    folder: &Path,
    failed: impl Fn(io::Error) -> ApplyFault,
) -> Result<LockedFile, ApplyFault> {
    let limit = TimeLimit::start(LOCK_PATIENCE);
    let put_back_limit = TimeLimit::start(PUT_BACK_PATIENCE);
    // The end of a killed program is near.
    let may_wait =
        || !limit.is_over() || (!put_back_limit.is_over() && folder.join(PUTTING_BACK).exists());
    loop {
        match LockedFile::new(file.try_clone().map_err(&failed)?) {
            Ok(locked) => return Ok(locked),
            Err(TryLockError::WouldBlock) if may_wait() => {
                processes::wait_for_any(&[], LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(ApplyFault::new(
                    ApplyFaultKind::Journal,
                    folder.display().to_string(),
                    "another experiment runs in this folder",
                    "wait for its end, or use another folder with --out",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

fn failure(path: &Path, error: &io::Error) -> ApplyFault {
    ApplyFault::new(
        ApplyFaultKind::Journal,
        path.display().to_string(),
        format!("the journal of what is applied cannot be used: {error}"),
        "use a folder of your own with --out",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str) -> Applied {
        Applied::ControlGroup {
            boot: "b".to_owned(),
            folders: vec![name.into()],
        }
    }

    #[test]
    fn what_is_not_put_back_is_found_by_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = AppliedJournal::open(folder.path()).unwrap();
        let first = journal.add(group("/a"), true).unwrap();
        let second = journal.add(group("/b"), false).unwrap();
        let refused = AppliedJournal::open(folder.path()).unwrap_err();
        assert_eq!(refused.kind(), ApplyFaultKind::Journal);
        assert!(
            refused.to_string().contains("another experiment"),
            "{refused}"
        );
        journal.reverted(first);
        drop(journal);
        let mut journal = AppliedJournal::open(folder.path()).unwrap();
        assert_eq!(journal.outstanding(), [(second, group("/b"))]);
        let third = journal.add(group("/c"), false).unwrap();
        assert!(third > second);
        journal.reverted(second);
        journal.reverted(third);
        drop(journal);
        let text = std::fs::read_to_string(folder.path().join(FILE_NAME)).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn a_line_cut_by_a_kill_was_not_applied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let mut journal = AppliedJournal::open(folder.path()).unwrap();
        let first = journal.add(group("/a"), false).unwrap();
        drop(journal);
        let whole = std::fs::read_to_string(&path).unwrap();
        let cut = format!("{whole}{{\"applied\":{{\"num");
        std::fs::write(&path, cut).unwrap();
        let mut journal = AppliedJournal::open(folder.path()).unwrap();
        assert_eq!(journal.outstanding(), [(first, group("/a"))]);
        journal.add(group("/b"), false).unwrap();
        drop(journal);
        let journal = AppliedJournal::open(folder.path()).unwrap();
        assert_eq!(journal.outstanding().len(), 2);
        drop(journal);
        std::fs::write(&path, "{\"format\":99}\n").unwrap();
        let newer = AppliedJournal::open(folder.path()).unwrap_err().to_string();
        assert!(newer.contains("newer version"), "{newer}");
        std::fs::write(&path, "strange\n").unwrap();
        let strange = AppliedJournal::open(folder.path()).unwrap_err().to_string();
        assert!(strange.contains("line 1"), "{strange}");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let refused = AppliedJournal::open(folder.path()).unwrap_err();
        assert!(
            refused.to_string().contains("writable by others"),
            "{refused}"
        );
    }
}
