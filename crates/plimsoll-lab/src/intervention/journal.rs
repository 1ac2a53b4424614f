//! The journal of a change, on disk before the change is applied.
//!
//! One file for one change, held by a lock for as long as its program lives. A file without a lock is left over. It
//! is trusted only if it is ours, and no program named in it is started.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{Change, ComponentAccess};

/// How its name ends.
pub const ENDING: &str = "undo";
/// Version of its form.
const FORMAT: u32 = 1;
/// Longest file that is read, bytes.
const LEN_MAX: u64 = 64 << 10;
/// Most left-over files examined.
const LEFT_MAX: usize = 64;

#[derive(Serialize, Deserialize)]
struct JournalContent {
    format: u32,
    change: Change,
}

/// A file with the revert of a change, while the change is in effect.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    _held: LockedFile,
}

/// A file whose lock is held.
#[derive(Debug)]
pub(crate) struct LockedFile(File);

impl LockedFile {
    pub(crate) fn new(file: File) -> Result<Self, TryLockError> {
        file.try_lock().map(|()| Self(file))
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Said, because a process that is just being started may hold the same file for a moment.
        let _ = self.0.unlock();
    }
}

impl Journal {
    /// Writes it; it is on disk when this returns.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn write(path: &Path, change: &Change) -> io::Result<Self> {
        // The next start would not trust a file in a folder writable by others.
        closed(folder_of(path))?;
        let mut open = OpenOptions::new();
        let held = LockedFile::new(open.write(true).create_new(true).mode(0o600).open(path)?)?;
        let content = JournalContent {
            format: FORMAT,
            change: change.clone(),
        };
        let mut file = &held.0;
        file.write_all(serde_json::to_string_pretty(&content)?.as_bytes())?;
        file.sync_all()?;
        // Its name, too.
        File::open(folder_of(path))?.sync_all()?;
        Ok(Self {
            path: path.to_owned(),
            _held: held,
        })
    }

    /// It is reverted.
    pub fn remove(self) {
        // One that stays is undone once more by the next start, which changes nothing.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What became of a change that an earlier run left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// It was reverted now.
    PutBack(String),
    /// It was never made: the run ended while it wrote it down.
    NeverMade(PathBuf),
    /// It is still made.
    Stays {
        /// Its journal file.
        path: PathBuf,
        /// What was changed.
        what: String,
        /// Why it was not reverted.
        why: String,
        /// What a person does to put it back.
        manual_undo: String,
    },
    /// Unknown: the file cannot be read.
    Unknown {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// Reverts changes of earlier runs with files in `folder`. A command runs only if it is `undo`, which the user has
/// just given.
pub fn put_back_leftovers(
    folder: &Path,
    access: &ComponentAccess,
    undo: Option<&[String]>,
) -> Vec<Leftover> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .take(LEFT_MAX)
        .collect();
    paths.sort();
    let left = paths.into_iter();
    left.filter_map(|path| leftover(&path, access, undo))
        .collect()
}

/// What becomes of one file; `None` where its program lives.
fn leftover(path: &Path, access: &ComponentAccess, undo: Option<&[String]>) -> Option<Leftover> {
    let unknown = |why: String| {
        Some(Leftover::Unknown {
            path: path.to_owned(),
            why,
        })
    };
    let file = match open_left(path) {
        Ok(file) => file,
        Err(error) => return unknown(error.to_string()),
    };
    let held = match LockedFile::new(file) {
        Ok(held) => held,
        Err(TryLockError::WouldBlock) => return None,
        Err(TryLockError::Error(error)) => return unknown(error.to_string()),
    };
    let text = match io::read_to_string((&held.0).take(LEN_MAX)) {
        Ok(text) => text,
        Err(error) => return unknown(error.to_string()),
    };
    let content: JournalContent = match serde_json::from_str(&text) {
        Ok(content) => content,
        Err(error) if error.is_eof() => {
            let _ = std::fs::remove_file(path);
            return Some(Leftover::NeverMade(path.to_owned()));
        }
        Err(error) => return unknown(error.to_string()),
    };
    if content.format > FORMAT {
        return unknown("it was written by a newer version of this program".to_owned());
    }
    let change = content.change;
    let stays = |why: String| {
        Some(Leftover::Stays {
            path: path.to_owned(),
            what: change.to_string(),
            why,
            manual_undo: change.manual_undo(),
        })
    };
    if let Change::Commands { undo: written, .. } = &change
        && undo != Some(written.as_slice())
    {
        return stays("commands are not run from a journal file".to_owned());
    }
    match change.undo(access) {
        Ok(()) => {
            let _ = std::fs::remove_file(path);
            Some(Leftover::PutBack(change.to_string()))
        }
        Err(error) => stays(error.to_string()),
    }
}

/// Opens a file that was left over: no link is followed, and no pipe waited for.
fn open_left(path: &Path) -> io::Result<File> {
    closed(folder_of(path))?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            refusal("it is a symbolic link")
        }
        _ => error,
    })?;
    // Before its lock is requested: another user's file is not touched.
    ours(&file)?;
    Ok(file)
}

fn refusal(text: &str) -> io::Error {
    io::Error::other(text.to_owned())
}

/// Whether not everybody may put files into a folder, or take some out.
pub(crate) fn closed(folder: &Path) -> io::Result<()> {
    let about = std::fs::metadata(folder)?;
    if about.mode() & 0o002 != 0 {
        return Err(refusal(&format!(
            "its folder {} is writable by others; valid: mode 0755 or stricter",
            folder.display()
        )));
    }
    Ok(())
}

/// Whether a file is ours alone.
fn ours(file: &File) -> io::Result<()> {
    ours_within(file, LEN_MAX)
}

/// Whether a file is ours alone, and at most so long.
pub(crate) fn ours_within(file: &File, len_max: u64) -> io::Result<()> {
    let about = file.metadata()?;
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(refusal("it belongs to another user"));
    }
    if about.mode() & 0o022 != 0 {
        return Err(refusal("it is writable by others"));
    }
    if !about.is_file() || about.len() > len_max {
        return Err(refusal("it is not a journal"));
    }
    if about.nlink() != 1 {
        return Err(refusal("it has more than one hard link"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|&word| word.to_owned()).collect()
    }

    fn touching(folder: &Path) -> (Change, PathBuf) {
        let undone = folder.join("undone");
        let change = Change::Commands {
            apply: words(&["true"]),
            undo: words(&["touch", &undone.display().to_string()]),
        };
        (change, undone)
    }

    fn access() -> ComponentAccess {
        ComponentAccess {
            components: Vec::new(),
            environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        }
    }

    /// Leaves a journal as a program does that was killed.
    fn leave(path: &Path, change: &Change) {
        let journal = Journal::write(path, change).unwrap();
        drop(journal);
        assert!(path.exists());
    }

    #[test]
    fn a_journal_of_the_living_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.undo");
        let (change, undone) = touching(folder.path());
        let journal = Journal::write(&path, &change).unwrap();
        assert!(Journal::write(&path, &change).is_err(), "one change a file");
        let Change::Commands { undo, .. } = &change else {
            unreachable!("it is made of commands");
        };
        let found = put_back_leftovers(folder.path(), &access(), Some(undo));
        assert_eq!((found.len(), undone.exists()), (0, false));
        journal.remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_command_is_started_only_when_it_is_named_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.undo");
        let (change, undone) = touching(folder.path());
        leave(&path, &change);
        let found = put_back_leftovers(folder.path(), &access(), None);
        let [Leftover::Stays { manual_undo, .. }] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(manual_undo.contains("`touch "), "{manual_undo}");
        assert!(path.exists() && !undone.exists());
        let Change::Commands { undo, .. } = &change else {
            unreachable!("it is made of commands");
        };
        let found = put_back_leftovers(folder.path(), &access(), Some(undo));
        assert_eq!(found, [Leftover::PutBack("`true` executed".to_owned())]);
        assert!(!path.exists() && undone.exists());
    }

    #[test]
    fn strange_files_are_told_and_never_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.undo");
        let (change, undone) = touching(folder.path());
        leave(&path, &change);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o622)).unwrap();
        let Change::Commands { undo, .. } = &change else {
            unreachable!("it is made of commands");
        };
        let leftovers = || put_back_leftovers(folder.path(), &access(), Some(undo));
        assert!(
            matches!(&leftovers()[..], [Leftover::Unknown { why, .. }] if why.contains("writable by others")),
            "{:?}",
            leftovers()
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "{\"format\": 1, \"change\": {\"kind\": \"other\"}}").unwrap();
        assert!(matches!(&leftovers()[..], [Leftover::Unknown { .. }]));
        std::fs::write(&path, "{\"format\": 1, \"cha").unwrap();
        assert_eq!(leftovers(), [Leftover::NeverMade(path.clone())]);
        assert!(!path.exists() && !undone.exists());
    }
}
