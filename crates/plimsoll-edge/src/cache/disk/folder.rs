//! The folder of the copies: whose it is, what stands where, and what is found there at a start.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use plimsoll_cache::Seed;
use plimsoll_cache::disk::{JOURNAL_LEN_MAX, Journal, META_LEN_MAX, START_LEN};

use super::index::{Name, taken};

const LOCK: &str = "lock";
const JOURNAL: &str = "purges";
const NEW: &str = "new";
/// What the name of a newer head ends with.
const HEAD: &str = "head";
/// Longest newer head that is read.
const HEAD_LEN_MAX: u64 = (START_LEN + META_LEN_MAX) as u64;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("another edge uses it")]
    InUse,
    #[error("there are other files in it; choose a folder that is empty or not there yet")]
    Foreign,
    #[error("{0}; {help}", help = remedy(.0))]
    System(#[from] io::Error),
    #[error("the system gives no random bytes")]
    NoRandom,
}

/// What helps against a fault of the system.
pub(super) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, or give the disk tier a smaller size"
        }
        io::ErrorKind::ReadOnlyFilesystem => "mount it for writing, or choose another folder",
        io::ErrorKind::PermissionDenied => {
            "let the user that the edge runs as write there, or choose another folder"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "choose a folder, not a file"
        }
        _ => "see to the disk, or choose another folder",
    }
}

/// A folder that is this edge's alone.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
}

/// Whether another edge uses a folder.
pub(crate) fn is_in_use(path: &Path) -> bool {
    let held = File::open(path.join(LOCK)).and_then(|lock| match lock.try_lock() {
        Ok(()) => lock.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    });
    // What is wrong with it is told by whoever opens it.
    held.unwrap_or(false)
}

/// Makes the folder, which only its owner may read; `owner` is who the process becomes.
pub(crate) fn prepare(path: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    match owner {
        Some((user, group)) => std::os::unix::fs::chown(path, Some(user), Some(group)),
        None => Ok(()),
    }
}

impl Folder {
    /// Takes a folder into use; also says whether what is in it can still be read.
    pub(super) fn open(path: &Path) -> Result<(Self, Journal, bool), Fault> {
        prepare(path, None)?;
        let is_ours = path.join(JOURNAL).exists() || path.join(LOCK).exists();
        if !is_ours && !is_empty(path)? {
            return Err(Fault::Foreign);
        }
        // Open for reading alone: a file system can be made read-only under it.
        options().truncate(false).open(path.join(LOCK))?;
        let lock = File::open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Fault::InUse),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        let folder = Self {
            path: path.to_owned(),
            lock,
        };
        let known = folder.read_journal()?;
        let is_known = known.is_some();
        let journal = match known {
            Some(journal) => journal,
            None => Journal::new(random_seed().ok_or(Fault::NoRandom)?),
        };
        make_folder(&folder.path.join(NEW))?;
        folder.clear_new()?;
        folder.write_journal(&journal)?;
        Ok((folder, journal, is_known))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Others may use it.
    pub(super) fn unlock(&self) {
        // The system does the same when the process ends.
        let _ = self.lock.unlock();
    }

    fn read_journal(&self) -> Result<Option<Journal>, Fault> {
        let file = match File::open(self.path.join(JOURNAL)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = Vec::new();
        file.take(JOURNAL_LEN_MAX).read_to_end(&mut bytes)?;
        Ok(Journal::read(&bytes).ok())
    }

    /// Writes the whole journal anew; it is there, or the one before is.
    pub(super) fn write_journal(&self, journal: &Journal) -> io::Result<()> {
        let beside = self.path.join(NEW).join(JOURNAL);
        let mut file = options().truncate(true).open(&beside)?;
        file.write_all(&journal.write())?;
        file.sync_all()?;
        fs::rename(&beside, self.path.join(JOURNAL))?;
        File::open(&self.path)?.sync_all()
    }

    /// Adds records to the journal; they are on the disk when this returns.
    pub(super) fn append_journal(&self, records: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .append(true)
            .open(self.path.join(JOURNAL))?;
        file.write_all(records)?;
        file.sync_data()
    }

    /// Without it nothing of what is there is used at the next start.
    pub(super) fn remove_journal(&self) -> io::Result<()> {
        remove_file(&self.path.join(JOURNAL))
    }

    /// A file that is written, under a name that nobody looks at.
    pub(super) fn create(&self, number: u64) -> io::Result<(File, PathBuf)> {
        let path = self.path.join(NEW).join(number.to_string());
        let file = options().read(true).create_new(true).open(&path)?;
        Ok((file, path))
    }

    /// A file that was written takes its name. It is not forced to the disk: after a loss of power its sums tell.
    pub(super) fn settle(&self, written: &Path, name: Name) -> io::Result<()> {
        let place = self.place(name);
        match fs::rename(written, &place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folder(place.parent().unwrap_or(&self.path))?;
                fs::rename(written, &place)?;
            }
            done => done?,
        }
        // It was of the copy before, and says so: whoever finds it all the same does not use it.
        remove_file(&head_of(&place))
    }

    /// A newer head that was written takes its name, beside the file of its copy.
    pub(super) fn settle_head(&self, written: &Path, name: Name) -> io::Result<()> {
        fs::rename(written, head_of(&self.place(name)))
    }

    pub(super) fn open_file(&self, name: Name) -> io::Result<File> {
        File::open(self.place(name))
    }

    /// The newer head of a copy, as bytes; `None` when it has none.
    pub(super) fn read_head(&self, name: Name) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(head_of(&self.place(name))) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(HEAD_LEN_MAX + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    pub(super) fn remove(&self, name: Name) -> io::Result<()> {
        let place = self.place(name);
        // First, so that none is left alone when the edge is killed in between.
        remove_file(&head_of(&place))?;
        remove_file(&place)
    }

    fn place(&self, name: Name) -> PathBuf {
        let Name { hash, identity } = name;
        let folder = format!("{:02x}", hash >> 56);
        self.path
            .join(folder)
            .join(format!("{hash:016x}{identity:016x}"))
    }

    /// Hands out what is there, with the bytes that each copy takes, until `take` wants no more. Files of other names
    /// are left alone.
    pub(super) fn look(&self, mut take: impl FnMut(Name, u64) -> bool) -> io::Result<()> {
        for number in 0..=u8::MAX {
            let Some(Part { files, heads }) = self.look_into(number)? else {
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

    /// What is in one of the folders; `None` when there is no such folder. Heads that were left alone are removed.
    fn look_into(&self, number: u8) -> io::Result<Option<Part>> {
        let path = self.path.join(format!("{number:02x}"));
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut part = Part::default();
        for entry in entries {
            let entry = entry?;
            let file_name = entry.file_name();
            let text = file_name.to_str().unwrap_or_default();
            let (text, is_head) = match text.split_once('.') {
                Some((text, HEAD)) => (text, true),
                _ => (text, false),
            };
            let name = named(text).filter(|name| name.hash >> 56 == u64::from(number));
            // One that has gone meanwhile is nobody's loss.
            let (Some(name), Ok(about)) = (name, entry.metadata()) else {
                continue;
            };
            if !about.is_file() {
                continue;
            }
            if is_head {
                part.heads.insert(name, about.len());
            } else {
                part.files.push((name, about.len()));
            }
        }
        let known: HashSet<Name> = part.files.iter().map(|(name, _)| *name).collect();
        for name in part.heads.keys().filter(|name| !known.contains(name)) {
            remove_file(&head_of(&self.place(*name)))?;
        }
        Ok(Some(part))
    }

    fn clear_new(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.path.join(NEW))? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }
}

/// What one of the folders holds.
#[derive(Default)]
struct Part {
    /// Copies, and how long their files are.
    files: Vec<(Name, u64)>,
    /// How long their newer heads are.
    heads: HashMap<Name, u64>,
}

/// Where the newer head of a copy is.
fn head_of(place: &Path) -> PathBuf {
    place.with_extension(HEAD)
}

/// Removes a file that may be gone already.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// A file that only its owner may read.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true).mode(0o600);
    options
}

fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn is_empty(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        // File systems of their own have one.
        if entry?.file_name() != "lost+found" {
            return Ok(false);
        }
    }
    Ok(true)
}

fn named(text: &str) -> Option<Name> {
    let is_name = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name {
        return None;
    }
    let (hash, identity) = text.split_at(16);
    Some(Name {
        hash: u64::from_str_radix(hash, 16).ok()?,
        identity: u64::from_str_radix(identity, 16).ok()?,
    })
}

/// Where hashes start; `None` when the system gives no random numbers.
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
