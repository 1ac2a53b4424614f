//! The directory of the disk cache: ownership, layout, and the scan at startup.

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use plimsoll_cache::Seed;
use plimsoll_cache::disk::{BODY_LEN_MAX, JOURNAL_LEN_MAX, Journal, META_LEN_MAX, START_LEN};

use super::directory::{Directory, Rights, linked_by};
use super::index::{FileId, taken};

const LOCK: &str = "lock";
const JOURNAL: &str = "purges";
const NEW: &str = "new";
/// Suffix of the file with a newer head.
const HEAD: &str = "head";
/// Longest newer head that is read.
const HEAD_LEN_MAX: u64 = (START_LEN + META_LEN_MAX) as u64;

/// Longest file of a stored response, bytes: twice its body leaves room for checksums and head.
const FILE_LEN_MAX: u64 = 2 * BODY_LEN_MAX;

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error(
        "the directory belongs to user {owner}, but the edge runs as user {own}; change its owner with chown, or \
         choose a directory that does not exist yet",
        own = rustix::process::geteuid().as_raw()
    )]
    OfAnother { owner: u32 },
    #[error(
        "other users may write to the directory (mode {mode:03o}), and it contains files; empty it, or run chmod 700 \
         if you trust the files"
    )]
    Writable { mode: u32 },
    #[error(
        "the path is a symbolic link made by user {owner}; name the directory itself, or one that does not exist yet"
    )]
    Linked { owner: u32 },
    #[error("`{0}` in the directory was not created by an edge; remove it")]
    Replaced(&'static str),
    #[error("another edge uses the directory")]
    InUse,
    #[error("the directory contains other files; choose one that is empty or does not exist yet")]
    Foreign,
    #[error("{0}; {help}", help = remedy(.0))]
    System(#[from] io::Error),
    #[error("the system provides no random bytes")]
    NoRandom,
}

/// The remedy for an I/O error.
pub(super) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space there, or reduce the size of the disk tier"
        }
        io::ErrorKind::ReadOnlyFilesystem => "mount it for writing, or choose another directory",
        io::ErrorKind::PermissionDenied => {
            "give the edge's user write permission there, or choose another directory"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "choose a directory, not a file"
        }
        _ => "check the disk, or choose another directory",
    }
}

/// A directory that only this edge uses.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    root: Directory,
    /// Temporary files, which readers never open.
    new: Directory,
    lock: File,
}

/// A temporary name under which a file is written.
#[derive(Debug)]
pub(super) struct TempName(String);

/// Whether another edge uses a directory.
pub fn is_in_use(path: &Path) -> bool {
    let lock = Directory::open(path).and_then(|root| root.read(LOCK));
    let held = lock.and_then(|lock| match lock.try_lock() {
        Ok(()) => lock.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    });
    // Errors are reported when it is opened.
    held.unwrap_or(false)
}

/// Creates the directory, readable only by its owner; `owner` is the user that the process will switch to.
///
/// # Errors
/// When the directory cannot be created or given away.
pub fn prepare(path: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    match owner {
        Some((user, group)) => Directory::open_made(path)?.give(user, group),
        None => Ok(()),
    }
}

/// Opens a directory that this user owns, and into which nobody else can have put anything.
fn open_own(path: &Path) -> Result<Directory, FolderError> {
    if let Some(owner) = linked_by(path) {
        return Err(FolderError::Linked { owner });
    }
    let root = Directory::open(path)?;
    let rights @ Rights { owner, mode } = root.rights()?;
    if !rights.is_own() {
        return Err(FolderError::OfAnother { owner });
    }
    let is_empty = root.is_empty()?;
    let is_ours = root.entry(JOURNAL)?.is_some() || root.entry(LOCK)?.is_some();
    if !is_ours && !is_empty {
        return Err(FolderError::Foreign);
    }
    if rights.lets_others_write() && !is_empty {
        return Err(FolderError::Writable { mode });
    }
    root.close_to_others()?;
    Ok(root)
}

/// An entry of ours was replaced by something else.
fn replaced(name: &'static str) -> impl Fn(io::Error) -> FolderError {
    move |error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::NotADirectory => FolderError::Replaced(name),
        _ => error.into(),
    }
}

impl Folder {
    /// Opens and locks a directory; also returns whether its contents are still usable.
    pub(super) fn open(path: &Path) -> Result<(Self, Journal, bool), FolderError> {
        prepare(path, None)?;
        let root = open_own(path)?;
        if root.entry(LOCK)?.is_none() {
            root.create(LOCK)?;
        }
        // Read-only: the file system may be remounted read-only underneath.
        let lock = root.read(LOCK).map_err(replaced(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let new = root.make_child(NEW).map_err(replaced(NEW))?;
        let folder = Self {
            path: path.to_owned(),
            root,
            new,
            lock,
        };
        let known = folder.read_journal()?;
        let is_known = known.is_some();
        let journal = match known {
            Some(journal) => journal,
            None => Journal::new(random_seed().ok_or(FolderError::NoRandom)?),
        };
        folder.clear_new()?;
        folder.write_journal(&journal)?;
        Ok((folder, journal, is_known))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Unlocks the directory for others.
    pub(super) fn unlock(&self) {
        // The system does the same when the process ends.
        let _ = self.lock.unlock();
    }

    fn read_journal(&self) -> Result<Option<Journal>, FolderError> {
        let file = match self.root.read(JOURNAL) {
            Ok(file) => file,
            // Anything but a file is ignored, and replaced.
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::InvalidData => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut bytes = Vec::new();
        file.take(JOURNAL_LEN_MAX).read_to_end(&mut bytes)?;
        Ok(Journal::read(&bytes).ok())
    }

    /// Rewrites the whole journal atomically: either the new one or the previous one exists.
    pub(super) fn write_journal(&self, journal: &Journal) -> io::Result<()> {
        // An unfinished earlier one.
        self.new.remove(JOURNAL)?;
        let mut file = self.new.create(JOURNAL)?;
        file.write_all(&journal.write())?;
        file.sync_all()?;
        self.new.rename(JOURNAL, &self.root, JOURNAL)?;
        self.root.sync()
    }

    /// Appends records to the journal; they are on disk when this returns.
    pub(super) fn append_journal(&self, records: &[u8]) -> io::Result<()> {
        let mut file = self.root.append(JOURNAL)?;
        file.write_all(records)?;
        file.sync_data()
    }

    /// Removes the journal: without it the next start uses none of the existing files.
    pub(super) fn remove_journal(&self) -> io::Result<()> {
        self.root.remove(JOURNAL)
    }

    /// Creates a temporary file.
    pub(super) fn create(&self, number: u64) -> io::Result<(File, TempName)> {
        let name = number.to_string();
        let file = self.new.create(&name)?;
        Ok((file, TempName(name)))
    }

    /// Discards a temporary file. Leftovers are removed at the next start.
    pub(super) fn discard(&self, written: &TempName) {
        let _ = self.new.remove(&written.0);
    }

    /// Renames a written file to its final name. No sync: after a power failure its checksums decide.
    pub(super) fn settle(&self, written: &TempName, name: FileId) -> io::Result<()> {
        let shard = self.root.make_child(&shard_of(name))?;
        let place = file_of(name);
        self.new.rename(&written.0, &shard, &place)?;
        // The newer head belongs to the previous body, and its file id says so: a reader that finds it anyway ignores
        // it.
        shard.remove(&head_of(&place))
    }

    /// Renames a written newer head to its final name, next to the file of its response.
    pub(super) fn settle_head(&self, written: &TempName, name: FileId) -> io::Result<()> {
        let shard = self.root.child(&shard_of(name))?;
        self.new
            .rename(&written.0, &shard, &head_of(&file_of(name)))
    }

    pub(super) fn open_file(&self, name: FileId) -> io::Result<File> {
        self.root.child(&shard_of(name))?.read(&file_of(name))
    }

    /// The newer head of a response, as bytes, if any.
    pub(super) fn read_head(&self, name: FileId) -> io::Result<Option<Vec<u8>>> {
        let shard = self.root.child(&shard_of(name));
        let file = match shard.and_then(|shard| shard.read(&head_of(&file_of(name)))) {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(HEAD_LEN_MAX + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    pub(super) fn remove(&self, name: FileId) -> io::Result<()> {
        let shard = match self.root.child(&shard_of(name)) {
            Ok(shard) => shard,
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let place = file_of(name);
        // Head first, so that none is orphaned when the edge is killed in between.
        shard.remove(&head_of(&place))?;
        shard.remove(&place)
    }

    /// Calls `take` with every file and the bytes that it takes, until it returns false. Files with foreign names are
    /// left alone.
    pub(super) fn scan(&self, mut take: impl FnMut(FileId, u64) -> bool) -> io::Result<()> {
        for number in 0..=u8::MAX {
            let Some(ShardListing { files, heads }) = self.read_shard(number)? else {
                continue;
            };
            for (name, len) in files {
                let head = heads.get(&name).map_or(0, |len| taken(*len));
                if !take(name, taken(len) + head) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Lists one shard; `None` when it does not exist. Orphaned heads are removed.
    fn read_shard(&self, number: u8) -> io::Result<Option<ShardListing>> {
        let directory = match self.root.child(&format!("{number:02x}")) {
            Ok(directory) => directory,
            // Anything but a directory contains nothing of ours.
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut shard = ShardListing::default();
        for file_name in directory.names()? {
            let file_name = file_name?;
            let (text, is_head) = match file_name.split_once('.') {
                Some((text, HEAD)) => (text, true),
                _ => (file_name.as_str(), false),
            };
            let name = named(text).filter(|name| name.hash >> 56 == u64::from(number));
            // The file was removed meanwhile.
            let (Some(name), Some(entry)) = (name, directory.entry(&file_name)?) else {
                continue;
            };
            if !entry.is_file {
                continue;
            }
            if entry.len > FILE_LEN_MAX {
                // Not written by an edge; its length must not count.
                directory.remove(&file_name)?;
            } else if is_head {
                shard.heads.insert(name, entry.len);
            } else {
                shard.files.push((name, entry.len));
            }
        }
        let known: HashSet<FileId> = shard.files.iter().map(|(name, _)| *name).collect();
        for name in shard.heads.keys().filter(|name| !known.contains(name)) {
            directory.remove(&head_of(&file_of(*name)))?;
        }
        Ok(Some(shard))
    }

    fn clear_new(&self) -> io::Result<()> {
        for name in self.new.names()? {
            self.new.remove(&name?)?;
        }
        Ok(())
    }
}

/// Contents of a shard.
#[derive(Default)]
struct ShardListing {
    /// Files of responses, with their lengths.
    files: Vec<(FileId, u64)>,
    /// Lengths of newer heads.
    heads: HashMap<FileId, u64>,
}

/// The shard directory of a file.
fn shard_of(name: FileId) -> String {
    format!("{:02x}", name.hash >> 56)
}

/// The file name of a response.
fn file_of(FileId { hash, identity }: FileId) -> String {
    format!("{hash:016x}{identity:016x}")
}

/// The name of the newer head of a response, from that of its file.
fn head_of(place: &str) -> String {
    format!("{place}.{HEAD}")
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn named(text: &str) -> Option<FileId> {
    let is_name = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name {
        return None;
    }
    let (hash, identity) = text.split_at(16);
    Some(FileId {
        hash: u64::from_str_radix(hash, 16).ok()?,
        identity: u64::from_str_radix(identity, 16).ok()?,
    })
}

/// A random seed for hashes; `None` when the system provides no random numbers.
pub(crate) fn random_seed() -> Option<Seed> {
    let random = ring::rand::SystemRandom::new();
    let bytes = ring::rand::generate::<[u8; 16]>(&random).ok()?.expose();
    let (first, second) = bytes.split_at(8);
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    Some(Seed(number(first), number(second)))
}
