//! Open directories, and safe access to the files in them.
//!
//! Every name is resolved in an open directory, and no symbolic link is followed: a link, pipe or device in place of a
//! file cannot make the edge read, write, truncate or remove anything elsewhere, nor block.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Mode bits that let users other than the owner change a directory.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

/// Metadata of a directory entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileStat {
    pub(super) is_file: bool,
    /// Bytes.
    pub(super) len: u64,
}

/// Mode and owner of a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rights {
    /// User id.
    pub(super) owner: u32,
    /// The lowest nine bits of the mode.
    pub(super) mode: u32,
}

impl Rights {
    pub(super) fn is_own(self) -> bool {
        self.owner == geteuid().as_raw()
    }

    pub(super) fn lets_others_write(self) -> bool {
        self.mode & WRITABLE_BY_OTHERS != 0
    }
}

/// The owner of a symbolic link at a path, if neither this user nor root.
pub(super) fn linked_by(path: &Path) -> Option<u32> {
    let about = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_link = FileType::from_raw_mode(about.st_mode) == FileType::Symlink;
    let is_trusted = about.st_uid == 0 || about.st_uid == geteuid().as_raw();
    (is_link && !is_trusted).then_some(about.st_uid)
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Flags for opening files: a symbolic link fails, and a pipe does not block.
const FILE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Directory {
    /// Opens the directory at a path. Symbolic links on the way are the administrator's; see [`linked_by`].
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(
            CWD,
            path,
            DIRECTORY,
            Mode::empty(),
        )?))
    }

    /// Opens a directory that was just created: nothing else may have replaced it.
    pub(super) fn open_made(path: &Path) -> io::Result<Self> {
        let flags = DIRECTORY.union(OFlags::NOFOLLOW);
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a subdirectory owned by this user; anything else in its place is an error.
    pub(super) fn child(&self, name: &str) -> io::Result<Self> {
        let flags = DIRECTORY.union(OFlags::NOFOLLOW);
        let opened = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(opened) => Self(opened),
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(not_a_directory(name)),
            Err(error) => return Err(error.into()),
        };
        if opened.rights()?.is_own() {
            Ok(opened)
        } else {
            Err(not_a_directory(name))
        }
    }

    /// Opens a subdirectory, which is created if it is missing.
    pub(super) fn make_child(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn rights(&self) -> io::Result<Rights> {
        let about = rustix::fs::fstat(&self.0)?;
        Ok(Rights {
            owner: about.st_uid,
            mode: about.st_mode & 0o777,
        })
    }

    /// Restricts access to its owner.
    pub(super) fn close_to_others(&self) -> io::Result<()> {
        Ok(rustix::fs::fchmod(&self.0, Mode::RWXU)?)
    }

    /// Changes owner and group.
    pub(super) fn give(&self, user: u32, group: u32) -> io::Result<()> {
        std::os::unix::fs::fchown(&self.0, Some(user), Some(group))
    }

    /// Opens a file for reading.
    pub(super) fn read(&self, name: &str) -> io::Result<File> {
        self.regular(name, OFlags::RDONLY)
    }

    /// Opens a file for appending.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        self.regular(name, OFlags::WRONLY.union(OFlags::APPEND))
    }

    fn regular(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let opened = rustix::fs::openat(&self.0, name, FILE.union(flags), Mode::empty());
        let opened = opened.map_err(|error| match error {
            // A symbolic link; a socket, or a pipe without a reader.
            Errno::LOOP | Errno::NXIO => not_a_file(name),
            other => other.into(),
        })?;
        let about = rustix::fs::fstat(&opened)?;
        let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
        if is_file && about.st_uid == geteuid().as_raw() {
            Ok(opened.into())
        } else {
            Err(not_a_file(name))
        }
    }

    /// Creates a new file, accessible to its owner only.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let flags = FILE.union(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL);
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.0, name, flags, mode)?.into())
    }

    /// Renames a file of this directory, within it or into another.
    pub(super) fn rename(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, name, &to.0, new_name)?)
    }

    /// Removes a file, or a symbolic link itself; it may be gone already.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Metadata of an entry; `None` when it does not exist.
    pub(super) fn entry(&self, name: &str) -> io::Result<Option<FileStat>> {
        let about: Stat = match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(FileStat {
            is_file: FileType::from_raw_mode(about.st_mode) == FileType::RegularFile,
            len: u64::try_from(about.st_size).unwrap_or(0),
        }))
    }

    /// All names in it. Names that are not UTF-8 are not ours, and are skipped.
    pub(super) fn names(&self) -> io::Result<impl Iterator<Item = io::Result<String>>> {
        let entries = Dir::read_from(self.0.as_fd())?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_str().ok()?;
                let is_real = !matches!(name, "." | "..");
                is_real.then(|| Ok(name.to_owned()))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// Whether it is empty but for entries that file systems create.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        for entry in Dir::read_from(self.0.as_fd())? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b".." | b"lost+found") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Syncs renames to disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }
}

fn not_a_directory(name: &str) -> io::Error {
    let why = format!("`{name}` is not a directory of this user");
    io::Error::new(io::ErrorKind::NotADirectory, why)
}

fn not_a_file(name: &str) -> io::Error {
    let why = format!("`{name}` is not a regular file of this user");
    io::Error::new(io::ErrorKind::InvalidData, why)
}
