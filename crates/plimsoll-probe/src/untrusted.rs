//! The only way in which files, folders and sockets that other processes name are opened.
//!
//! A command line or a configuration file is untrusted text. A name in it is resolved inside the root of the
//! process that names it, never along a link that leaves that root, and with the rights of that process. Only
//! regular files of real file systems are read, and only sockets are connected to: a FIFO or a device is not even
//! opened. Size, number and time are bounded ([`budget`], [`deadline`]).

pub(crate) mod budget;
pub(crate) mod credentials;
pub(crate) mod deadline;
mod error;
mod resolve;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat};

pub(crate) use credentials::Credentials;
pub(crate) use error::OpenError;
use resolve::PathBounds;

/// Directory entries that are examined at most.
const ENTRIES_MAX: usize = 20_000;

/// Where a name is resolved, and with whose rights.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    folder: PathBuf,
    bounds: PathBounds,
    credentials: Option<Credentials>,
}

/// A file as it was opened.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    /// The file, to be read from its beginning.
    pub(crate) file: File,
    /// Its length, bytes.
    pub(crate) len: u64,
    /// Its number in its file system.
    pub(crate) inode: u64,
    /// Its user.
    pub(crate) owner: u32,
}

impl Root {
    /// A folder that is trusted as a root, with the rights of this process: `/`, or a fixture.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            bounds: PathBounds::InRoot,
            credentials: None,
        }
    }

    /// The root of a process of this machine.
    pub(crate) fn of(pid: u32) -> Self {
        let credentials = Credentials::of(pid);
        Self {
            credentials,
            ..Self::at(Path::new(&format!("/proc/{pid}/root")))
        }
    }

    /// The same rights in another folder.
    pub(crate) fn with_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// Names are relative to the folder, and lead nowhere outside it, by `..` or an absolute link.
    pub(crate) fn beneath(self) -> Self {
        Self {
            bounds: PathBounds::Beneath,
            ..self
        }
    }

    /// The process whose rights are used, if not those of this process.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The file or folder as a handle that neither reads nor writes. Only the root itself is opened before the
    /// rights are changed: another process's own user may have no access to its root link.
    fn handle(&self, path: &str) -> Result<OwnedFd, OpenError> {
        let root = rustix::fs::open(
            &self.folder,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(OpenError::root)?;
        let found = credentials::acting_as(self.credentials.as_ref(), || {
            resolve::handle(&root, path, self.bounds)
        })?;
        found.map_err(OpenError::from)
    }

    /// Opens a regular file.
    pub(crate) fn open(&self, path: &str) -> Result<OpenedFile, OpenError> {
        let handle = self.handle(path)?;
        let stat = fstat(&handle)?;
        expect_kind(stat.st_mode, FileType::RegularFile)?;
        if resolve::is_of_the_kernel(&handle)? {
            return Err(OpenError::Kernel);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = credentials::acting_as(self.credentials.as_ref(), || {
            rustix::fs::open(path_of(&handle), flags, Mode::empty())
        })??;
        Ok(OpenedFile {
            file: File::from(file),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
            owner: stat.st_uid,
        })
    }

    /// The bytes of a regular file that is no longer than `len_max`.
    pub(crate) fn read(&self, path: &str, len_max: u64) -> Result<Vec<u8>, OpenError> {
        let opened = self.open(path)?;
        if opened.len > len_max {
            return Err(OpenError::TooLong(len_max));
        }
        let mut bytes = Vec::new();
        opened
            .file
            .take(len_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        // It was written on meanwhile.
        if bytes.len() as u64 > len_max {
            return Err(OpenError::TooLong(len_max));
        }
        Ok(bytes)
    }

    /// Fails unless there is a regular file, whether it may be read or not.
    pub(crate) fn expect_file(&self, path: &str) -> Result<(), OpenError> {
        let stat = fstat(self.handle(path)?)?;
        expect_kind(stat.st_mode, FileType::RegularFile)
    }

    /// Names in a folder; of very many, the first.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, OpenError> {
        let handle = self.handle(folder)?;
        expect_kind(fstat(&handle)?.st_mode, FileType::Directory)?;
        if resolve::is_of_the_kernel(&handle)? {
            return Err(OpenError::Kernel);
        }
        let entries = credentials::acting_as(self.credentials.as_ref(), || {
            std::fs::read_dir(path_of(&handle))
        })??;
        let names = entries
            .take(ENTRIES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.collect())
    }

    /// A unix socket, to be connected to by [`path_of`].
    pub(crate) fn socket(&self, path: &str) -> Result<OwnedFd, OpenError> {
        let handle = self.handle(path)?;
        expect_kind(fstat(&handle)?.st_mode, FileType::Socket)?;
        Ok(handle)
    }

    /// Whether a directory differs from that of the same name in another root.
    pub(crate) fn differs(&self, other: &Self, folder: &str) -> Result<bool, OpenError> {
        let number = |root: &Self| -> Result<(u64, u64), OpenError> {
            let stat = fstat(root.handle(folder)?)?;
            Ok((stat.st_dev, stat.st_ino))
        };
        let own = number(self)?;
        Ok(number(other).ok() != Some(own))
    }
}

/// A path at which the file behind a handle is opened, whatever has its name by now.
pub(crate) fn path_of(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn expect_kind(mode: u32, wanted: FileType) -> Result<(), OpenError> {
    let kind = FileType::from_raw_mode(mode);
    if kind == wanted {
        return Ok(());
    }
    let name = |kind| match kind {
        FileType::RegularFile => error::FILE,
        FileType::Directory => "a folder",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link",
        FileType::Unknown => "of an unknown kind",
    };
    Err(OpenError::Kind(name(kind), name(wanted)))
}

/// A file by its name, and the process that named it.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    pid: Option<u32>,
    path: String,
}

impl NamedFile {
    /// `named_by` is the process that names it; without one it is configured by the user, who may also name it in
    /// the root of a process (`/proc/PID/root/…`).
    pub(crate) fn new(path: &Path, named_by: Option<u32>) -> Self {
        Self {
            pid: named_by,
            path: path.to_string_lossy().into_owned(),
        }
    }

    /// Opens it: with the rights of the process that names it.
    pub(crate) fn open(&self) -> Result<OpenedFile, OpenError> {
        let (root, path) = self.resolve();
        match root.open(path) {
            // Where only root has access, the file is searched in the own root, with the own rights.
            Err(OpenError::RootDenied) => Root::at(Path::new("/")).open(&self.path),
            opened => opened,
        }
    }

    /// The same of a socket: its handle, and the root with whose rights it may be connected to.
    pub(crate) fn socket(&self) -> Result<(OwnedFd, Root), OpenError> {
        let (root, path) = self.resolve();
        match root.socket(path) {
            Err(OpenError::RootDenied) => {
                let own = Root::at(Path::new("/"));
                Ok((own.socket(&self.path)?, own))
            }
            found => Ok((found?, root)),
        }
    }

    fn resolve(&self) -> (Root, &str) {
        let in_root = self.path.strip_prefix("/proc/").and_then(|rest| {
            let (pid, rest) = rest.split_once('/')?;
            let pid: u32 = pid.parse().ok()?;
            let inner = rest
                .strip_prefix("root")
                .filter(|path| path.starts_with('/'))?;
            Some((pid, inner))
        });
        match (self.pid, in_root) {
            (Some(pid), Some((named, inner))) if named == pid => (Root::of(pid), inner),
            (Some(pid), _) => (Root::of(pid), &self.path),
            (None, Some((pid, inner))) => {
                let folder = format!("/proc/{pid}/root");
                (Root::at(Path::new(&folder)), inner)
            }
            (None, None) => (Root::at(Path::new("/")), &self.path),
        }
    }
}
