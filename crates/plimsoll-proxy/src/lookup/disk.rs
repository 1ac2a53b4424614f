//! The disk tier: stored responses survive a restart, and those too large for memory are served from disk.
//!
//! A response is written when it is stored, by a writer thread: an eviction from memory writes nothing, and a killed
//! process loses nothing already written. A miss in memory reads the disk before the origin is contacted; its clients
//! follow a fill, as for a fetch. Event loops only enqueue jobs, in bounded queues. What does not fit, cannot be
//! written or is damaged is counted and reported, and the edge continues as if it were absent. Decision 0160 gives the
//! reasons; the file format is in [`plimsoll_cache::disk`].

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
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;

use self::counts::DiskCounters;
use self::folder::Folder;
use self::index::{ENTRY_BYTES, FileId, Index};
use self::jobs::{Jobs, Recall, Write};
use super::{CachedResponse, ResponseMetadata, wall_moment};
use crate::hash::mix;

pub(crate) use body::{BodyRef, CopyBody, DiskBodyReader, NextPiece, OnDisk, within};
pub use counts::DiskView;
pub(crate) use folder::random_seed;
pub use folder::{is_in_use, prepare};
pub(crate) use spool::Spool;

/// Responses that become stale sooner are not worth a file.
const LIFETIME_MIN_MS: u64 = 10_000;
/// A response takes at most this fraction of the disk.
const BODY_DIVISOR: u64 = 8;
/// The index takes at most this fraction of the cache memory, in addition to it.
const INDEX_DIVISOR: u64 = 8;
/// Reader threads.
const READERS: usize = 2;

/// State shared by the threads.
#[derive(Debug)]
pub(super) struct DiskShared {
    folder: Folder,
    seed: Seed,
    size: AtomicU64,
    index: Mutex<Index>,
    /// Whether the scan at startup is complete.
    is_scanned: AtomicBool,
    journal: Mutex<Journal>,
    jobs: Jobs,
    /// The memory tier.
    store: Mutex<Weak<Store<CachedResponse, ResponseMetadata>>>,
    /// Large responses with open files.
    open: Mutex<Vec<Weak<OnDisk>>>,
    counts: DiskCounters,
    numbers: AtomicU64,
    salt_seed: u64,
    clock: EdgeClock,
    report: NoticeReporter,
}

/// Reports to the user.
pub(super) struct NoticeReporter(NoticeSink);

impl std::fmt::Debug for NoticeReporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Teller")
    }
}

/// The disk tier. Dropping it ends its threads, after queued writes.
#[derive(Debug)]
pub struct DiskCache {
    inner: Arc<DiskShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Status of the configured disk tier.
#[derive(Debug)]
pub(crate) enum DiskStatus {
    Disk(Arc<DiskCache>),
    /// Another edge uses its directory, and may end.
    InUse,
    /// Not configured, or not usable.
    None,
}

/// Opens the configured disk tier, or keeps the current one. A failure is reported; if another edge uses the directory,
/// [`crate::background_tasks`] waits for it and reports that.
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

/// The notice that the disk tier is off.
pub fn disk_unavailable(path: &Path, why: &impl std::fmt::Display) -> String {
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
        // If one thread is missing, dropping the tier ends the others.
        spawned?;
        Ok(disk)
    }

    /// Seed of the hashes.
    pub fn seed(&self) -> Seed {
        self.inner.seed
    }

    /// Time of the last soft purge.
    pub(crate) fn purged_at(&self) -> Moment {
        lock(&self.inner.journal).softly_at()
    }

    /// Attaches the memory tier, with this capacity of the disk tier.
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

    /// The longest body that is stored.
    pub(crate) fn body_len_max(&self) -> u64 {
        self.inner.body_len_max()
    }

    /// The number of the last purge, to be recorded when a request is sent.
    pub fn purges(&self) -> u64 {
        lock(&self.inner.journal).last()
    }

    /// Whether the disk has more responses for a key than memory.
    pub(crate) fn has_more(&self, hash: u64, in_memory: usize) -> bool {
        lock(&self.inner.index).count(hash) > in_memory
    }

    /// Reads all responses of a key into memory; then the leader ends. Whether the queue had room.
    pub(crate) fn recall(
        &self,
        hash: u64,
        leader: Leader<CachedResponse, ResponseMetadata>,
    ) -> bool {
        self.inner.jobs.recall(Recall { hash, leader })
    }

    /// Whether a response on these terms is worth a file.
    pub(crate) fn is_worth(terms: &Terms, now: Moment) -> bool {
        let until = terms.fresh_until.max(terms.plain_until);
        !terms.no_cache && until.since(now) >= LIFETIME_MIN_MS
    }

    /// A response was stored in memory: writes it to disk too, or removes its predecessor there.
    pub(crate) fn keep(&self, object: &Arc<Object<CachedResponse>>, purges: u64, now: Moment) {
        let metadata = &object.value().metadata;
        let inner = &self.inner;
        // Its body is on disk already. If the queue has no room for the new head, it is revalidated once more after a
        // restart.
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

    /// Hard-purges all responses of a key. For event loops: does not wait for the disk.
    pub(crate) fn drop_key(&self, hash: u64, now: Moment) {
        let inner = &self.inner;
        let is_here = lock(&inner.index).count(hash) > 0;
        let is_known = inner.is_scanned.load(Ordering::Acquire);
        if is_here || !is_known || !inner.jobs.is_idle() {
            inner.purge(About::Key(hash), How::Hard, now);
            inner.doom_key(hash);
        }
    }

    /// Hard-purges all responses with a tag. For event loops: does not wait for the disk.
    pub(crate) fn drop_tag(&self, tag: u64, now: Moment) {
        self.inner.purge(About::Tag(tag), How::Hard, now);
    }

    /// Purges. For event loops: does not wait for the disk.
    pub(crate) fn purge_at_once(&self, what: &[About<'_>], how: How, now: Moment) {
        let inner = &self.inner;
        for about in what {
            inner.purge(*about, how, now);
            if let (About::Key(hash), How::Hard) = (about, how) {
                inner.doom_key(*hash);
            }
        }
    }

    /// Purges, and waits until the record is on disk. Whether it is: if not, the purge is lost at a restart.
    pub fn purge(&self, what: &[About<'_>], how: How, now: Moment) -> bool {
        self.purge_at_once(what, how, now);
        let inner = &self.inner;
        let (sender, written) = sync_channel(1);
        inner.jobs.record(&[], Some(sender));
        written.recv() == Ok(true)
    }

    /// Contents and counters.
    pub fn view(&self) -> DiskView {
        let inner = &self.inner;
        let index = lock(&inner.index);
        let (bytes, objects, evicted) = (index.bytes(), index.live() as u64, index.evicted());
        drop(index);
        let size = inner.size.load(Ordering::Relaxed);
        inner.counts.view(size, bytes, objects, evicted)
    }

    /// Completes queued writes and unlocks the directory.
    pub fn close(&self) {
        self.inner.jobs.close();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // A panicked thread has reported on stderr.
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

    /// Salt of a file's checksums.
    fn next_salt(&self) -> u64 {
        mix(self.salt_seed.wrapping_add(self.number()))
    }

    fn body_len_max(&self) -> u64 {
        self.size.load(Ordering::Relaxed) / BODY_DIVISOR
    }

    fn push(&self, write: Write) -> bool {
        self.jobs.push(write)
    }

    /// For jobs that must not be lost. If even these find no room, the disk tier is stuck and no longer trusted.
    fn must_push(&self, write: Write) {
        if !self.jobs.must_push(write) {
            self.purge(About::Everything, How::Hard, wall_moment());
        }
    }

    /// A file does not hold the newest response any more.
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

    /// Removes an unusable file from the index, and deletes it.
    fn doom(&self, name: FileId) {
        lock(&self.index).doom(name);
        self.jobs.nudge();
    }

    fn purge(&self, about: About<'_>, how: How, now: Moment) {
        // In the order of the purge numbers, which is that of the lock.
        let mut journal = lock(&self.journal);
        let records = journal.record(about, how, now);
        self.jobs.record(&records, None);
    }

    /// Records an I/O error; reports it if the last operation succeeded.
    fn failed(&self, what: &str, error: &io::Error) {
        if self.counts.fail(self.clock.now()) {
            let remedy = folder::remedy(error);
            let path = self.folder.path().display();
            (self.report.0)(&format!(
                "disk cache in {path}: cannot {what}: {error}; the edge continues without it; {remedy}"
            ));
        }
    }

    /// Tells the memory tier that the file of a response is gone.
    fn release(&self, name: FileId) {
        let store = lock(&self.store).upgrade();
        if let Some(store) = store {
            store.purge(&OfHash(name.hash), How::Hard);
        }
    }
}

/// Selects all responses of a hash.
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
