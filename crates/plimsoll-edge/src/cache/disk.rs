//! Copies on disk: they outlive the process, and those too large for memory are served from there.
//!
//! A copy is written when it is stored, by a thread of its own: what leaves memory later is there already, and a process
//! that is killed loses nothing that was. What memory does not have is read back before a server is asked; whoever waits
//! for it follows a fill, as for a server. Loops only leave orders, in lines that have an end. What does not fit, cannot
//! be written or is damaged is told and counted, and the edge goes on as if it had not been there. Decision 0160 says
//! why it is so; the files are read and written by [`plimsoll_cache::disk`].

mod body;
mod counts;
mod directory;
mod folder;
mod index;
mod jobs;
mod reader;
mod spool;
mod writer;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use plimsoll_cache::disk::{About, Journal};
use plimsoll_cache::store::{How, Leader, Object, Store};
use plimsoll_cache::{Moment, Seed, Terms};
use plimsoll_config::edge::CacheDisk;

use self::counts::DiskCounters;
use self::folder::Folder;
use self::index::{ENTRY_BYTES, FileId, Index};
use self::jobs::{Jobs, Recall, Write};
use super::{CachedResponse, ResponseMetadata};
use crate::clock::{self, EdgeClock};
use crate::hash::mix;
use crate::lock::lock;
use crate::notice::NoticeSink;

pub(crate) use body::{BodyRef, CopyBody, DiskBodyReader, NextPiece, OnDisk, within};
pub(crate) use counts::DiskView;
pub(crate) use folder::{is_in_use, prepare, random_seed};
pub(crate) use spool::Spool;

/// Copies that are stale sooner are not worth a file.
const LIFETIME_MIN_MS: u64 = 10_000;
/// A copy takes at most this part of the disk.
const BODY_DIVISOR: u64 = 8;
/// The index takes at most this part of the memory for copies, beside it.
const INDEX_DIVISOR: u64 = 8;
/// Threads that read.
const READERS: usize = 2;

/// What the threads share.
#[derive(Debug)]
pub(super) struct DiskShared {
    folder: Folder,
    seed: Seed,
    size: AtomicU64,
    index: Mutex<Index>,
    /// Whether all that was there at the start is known.
    is_scanned: AtomicBool,
    journal: Mutex<Journal>,
    jobs: Jobs,
    /// Where copies in memory are.
    store: Mutex<Weak<Store<CachedResponse, ResponseMetadata>>>,
    /// Large copies whose files are open.
    open: Mutex<Vec<Weak<OnDisk>>>,
    counts: DiskCounters,
    numbers: AtomicU64,
    salt_seed: u64,
    clock: EdgeClock,
    report: NoticeReporter,
}

/// Tells the user.
pub(super) struct NoticeReporter(NoticeSink);

impl std::fmt::Debug for NoticeReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Teller")
    }
}

/// Copies on disk. Its threads end with it; what waits to be written is written still.
#[derive(Debug)]
pub(crate) struct DiskCache {
    inner: Arc<DiskShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What became of the disk that a configuration names.
#[derive(Debug)]
pub(crate) enum DiskStatus {
    Disk(Arc<DiskCache>),
    /// Another edge uses its folder, and may end.
    InUse,
    /// There is none, or none that can be used.
    None,
}

/// Takes the disk into use that a configuration names, or goes on with the one before. One that cannot be used is told
/// of; one that another edge uses is awaited by [`crate::errands`], which tells of it.
pub(crate) fn follow(
    config: Option<&CacheDisk>,
    before: Option<&Arc<DiskCache>>,
    report: &NoticeSink,
) -> DiskStatus {
    let Some(config) = config else {
        return DiskStatus::None;
    };
    if let Some(disk) = before.filter(|disk| disk.inner.folder.path() == config.path) {
        return DiskStatus::Disk(Arc::clone(disk));
    }
    match DiskCache::open(&config.path, report) {
        Ok(disk) => DiskStatus::Disk(Arc::new(disk)),
        Err(folder::FolderError::InUse) => DiskStatus::InUse,
        Err(why) => {
            report(&disk_unavailable(&config.path, &why));
            DiskStatus::None
        }
    }
}

/// How it is told that copies are not kept on disk.
pub(crate) fn disk_unavailable(path: &Path, why: &impl std::fmt::Display) -> String {
    format!("disk cache off in {}: {why}", path.display())
}

impl DiskCache {
    fn open(path: &Path, report: &NoticeSink) -> Result<Self, folder::FolderError> {
        let (folder, journal, is_known) = Folder::open(path)?;
        let random = random_seed().ok_or(folder::FolderError::NoRandom)?;
        let inner = Arc::new(DiskShared {
            folder,
            seed: journal.seed(),
            size: AtomicU64::new(0),
            index: Mutex::new(Index::new()),
            is_scanned: AtomicBool::new(false),
            journal: Mutex::new(journal),
            jobs: Jobs::default(),
            store: Mutex::default(),
            open: Mutex::default(),
            counts: DiskCounters::default(),
            numbers: AtomicU64::new(0),
            salt_seed: random.0,
            clock: EdgeClock::start(),
            report: NoticeReporter(Arc::clone(report)),
        });
        let mut threads = Vec::new();
        let mut spawn = |name: &str, run: fn(&Arc<DiskShared>)| -> io::Result<()> {
            let inner = Arc::clone(&inner);
            let thread = std::thread::Builder::new().name(name.to_owned());
            threads.push(thread.spawn(move || run(&inner))?);
            Ok(())
        };
        let spawned = spawn("edge-disk-write", writer::run).and_then(|()| {
            (0..READERS).try_for_each(|_| spawn("edge-disk-read", reader::run))?;
            let scan: fn(&Arc<DiskShared>) = if is_known {
                reader::scan
            } else {
                reader::clear
            };
            spawn("edge-disk-look", scan)
        });
        let disk = Self {
            inner,
            threads: Mutex::new(threads),
        };
        // Those that run end with it when one is missing.
        spawned?;
        Ok(disk)
    }

    /// Where hashes start.
    pub(crate) fn seed(&self) -> Seed {
        self.inner.seed
    }

    /// When copies were last purged softly.
    pub(crate) fn purged_at(&self) -> Moment {
        lock(&self.inner.journal).softly_at()
    }

    /// Copies in memory stand here from now on, beside this much of the disk.
    pub(crate) fn attach(
        &self,
        store: &Arc<Store<CachedResponse, ResponseMetadata>>,
        memory: u64,
        size: u64,
    ) {
        let inner = &self.inner;
        *lock(&inner.store) = Arc::downgrade(store);
        inner.size.store(size, Ordering::Relaxed);
        let entries = memory / INDEX_DIVISOR / ENTRY_BYTES;
        let entries = usize::try_from(entries).unwrap_or(usize::MAX);
        lock(&inner.index).limit(size, entries);
        inner.jobs.nudge();
    }

    /// The longest body that is kept.
    pub(crate) fn body_len_max(&self) -> u64 {
        self.inner.body_len_max()
    }

    /// The number of the last purge: what a copy must know of it when it is asked for.
    pub(crate) fn purges(&self) -> u64 {
        lock(&self.inner.journal).last()
    }

    /// Whether more copies of a key are here than there are in memory.
    pub(crate) fn has_more(&self, hash: u64, in_memory: usize) -> bool {
        lock(&self.inner.index).count(hash) > in_memory
    }

    /// Reads all copies of a key into memory; then the leader ends. Whether there was room for the order.
    pub(crate) fn recall(
        &self,
        hash: u64,
        leader: Leader<CachedResponse, ResponseMetadata>,
    ) -> bool {
        self.inner.jobs.recall(Recall { hash, leader })
    }

    /// Whether a copy on these terms is worth a file.
    pub(crate) fn is_worth(terms: &Terms, now: Moment) -> bool {
        let until = terms.fresh_until.max(terms.plain_until);
        !terms.no_cache && until.since(now) >= LIFETIME_MIN_MS
    }

    /// A copy was stored in memory: it goes to the disk too, or what the disk has in its place goes.
    pub(crate) fn keep(&self, object: &Arc<Object<CachedResponse>>, purges: u64, now: Moment) {
        let metadata = &object.value().metadata;
        let inner = &self.inner;
        // Its body is there already. When there is no room for its head, it asks the server once more after a restart.
        if matches!(object.value().body(), BodyRef::Disk(_)) {
            if !inner.push(Write::Head(Arc::clone(object), purges)) {
                inner.counts.skip();
            }
            return;
        }
        if metadata.may_go_to_disk() && Self::is_worth(metadata.stored.terms(), now) {
            if inner.push(Write::Whole(Arc::clone(object), purges)) {
                return;
            }
            inner.counts.skip();
        }
        inner.forget(inner.name(object.key(), metadata));
    }

    /// All copies of a key are wrong from now on. For loops: it does not wait for the disk.
    pub(crate) fn drop_key(&self, hash: u64, now: Moment) {
        let inner = &self.inner;
        let is_here = lock(&inner.index).count(hash) > 0;
        let is_known = inner.is_scanned.load(Ordering::Acquire);
        if is_here || !is_known || !inner.jobs.is_idle() {
            inner.purge(About::Key(hash), How::Hard, now);
            inner.doom_key(hash);
        }
    }

    /// All copies with a tag are wrong from now on. For loops: it does not wait for the disk.
    pub(crate) fn drop_tag(&self, tag: u64, now: Moment) {
        self.inner.purge(About::Tag(tag), How::Hard, now);
    }

    /// Purges. For loops: it does not wait for the disk.
    pub(crate) fn purge_at_once(&self, what: &[About<'_>], how: How, now: Moment) {
        let inner = &self.inner;
        for about in what {
            inner.purge(*about, how, now);
            if let (About::Key(hash), How::Hard) = (about, how) {
                inner.doom_key(*hash);
            }
        }
    }

    /// Purges, and waits until that is on the disk. Whether it is: if not, it holds for this process alone.
    pub(crate) fn purge(&self, what: &[About<'_>], how: How, now: Moment) -> bool {
        self.purge_at_once(what, how, now);
        let inner = &self.inner;
        let (sender, written) = sync_channel(1);
        inner.jobs.record(&[], Some(sender));
        written.recv() == Ok(true)
    }

    /// What it holds and did.
    pub(crate) fn view(&self) -> DiskView {
        let inner = &self.inner;
        let index = lock(&inner.index);
        let (bytes, objects, evicted) = (index.bytes(), index.live() as u64, index.evicted());
        drop(index);
        let size = inner.size.load(Ordering::Relaxed);
        inner.counts.view(size, bytes, objects, evicted)
    }

    /// Writes what waits to be written, and lets others use the folder.
    pub(crate) fn close(&self) {
        self.inner.jobs.close();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // One that died has told so on stderr.
            let _ = thread.join();
        }
        self.inner.folder.unlock();
    }
}

impl Drop for DiskCache {
    fn drop(&mut self) {
        self.inner.jobs.close();
    }
}

impl DiskShared {
    fn name(&self, key: &[u8], metadata: &ResponseMetadata) -> FileId {
        FileId {
            hash: self.seed.hash(key),
            identity: metadata.identity(self.seed),
        }
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// What the sums of a file begin with.
    fn next_salt(&self) -> u64 {
        mix(self.salt_seed.wrapping_add(self.number()))
    }

    fn body_len_max(&self) -> u64 {
        self.size.load(Ordering::Relaxed) / BODY_DIVISOR
    }

    fn push(&self, write: Write) -> bool {
        self.jobs.push(write)
    }

    /// For what must not be lost. When even that finds no room, the disk stands still and will not be believed.
    fn must_push(&self, write: Write) {
        if !self.jobs.must_push(write) {
            self.purge(About::Everything, How::Hard, clock::moment());
        }
    }

    /// A file is not what is newest any more.
    fn forget(&self, name: FileId) {
        let is_here = lock(&self.index).remove(name);
        if is_here || !self.jobs.is_idle() || !self.is_scanned.load(Ordering::Acquire) {
            self.must_push(Write::Forget(name));
        }
    }

    fn doom_key(&self, hash: u64) {
        let mut index = lock(&self.index);
        for name in index.read(hash) {
            index.doom(name);
        }
        drop(index);
        self.jobs.nudge();
    }

    /// A file that is no use: nobody finds it, and it goes.
    fn doom(&self, name: FileId) {
        lock(&self.index).doom(name);
        self.jobs.nudge();
    }

    fn purge(&self, about: About<'_>, how: How, now: Moment) {
        // In the order of their numbers, which is that of the lock.
        let mut journal = lock(&self.journal);
        let records = journal.record(about, how, now);
        self.jobs.record(&records, None);
    }

    /// The system failed at something; it is told when it is new.
    fn failed(&self, what: &str, error: &io::Error) {
        if self.counts.fail(self.clock.now()) {
            let remedy = folder::remedy(error);
            let path = self.folder.path().display();
            (self.report.0)(&format!(
                "disk cache in {path}: cannot {what}: {error}; the edge continues without it; {remedy}"
            ));
        }
    }

    /// The copies in memory are told that this one's file is not there any more.
    fn release(&self, name: FileId) {
        let store = lock(&self.store).upgrade();
        if let Some(store) = store {
            store.purge(&OfHash(name.hash), How::Hard);
        }
    }
}

/// All copies of a hash.
struct OfHash(u64);

impl plimsoll_cache::store::Lookup for OfHash {
    fn hash(&self) -> u64 {
        self.0
    }

    fn is(&self, _: &[u8]) -> bool {
        true
    }

    fn to_key(&self) -> Box<[u8]> {
        Box::default()
    }
}
