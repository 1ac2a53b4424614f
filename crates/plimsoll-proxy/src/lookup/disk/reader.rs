//! The reader threads: disk lookups, pieces of large bodies, and the scan at startup.

use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use plimsoll_cache::disk::{CacheFileHeader, Copy, START_LEN};
use plimsoll_cache::store::{How, RawKey, Store};

use super::body::{CopyBody, OnDisk, ReadPiece, Unread};
use super::index::FileId;
use super::jobs::{Recall, ToRead};
use super::{DiskShared, lock};
use crate::lookup::{CachedResponse, ResponseMetadata, wall_moment};

/// A large response up to this length is verified completely before its first byte is served.
const CHECKED_MAX: u64 = 32 << 20;
/// Most open files of large responses.
const OPEN_MAX: usize = 512;
/// A response received more than this in the future cannot be judged: the clock was set back.
const AHEAD_MS: u64 = 60_000;
/// Memory of a response in addition to its body, at most, bytes.
const BESIDE: u64 = 2048;
/// Entries added under one lock.
const STEP: usize = 64;

pub(super) fn run(inner: &Arc<DiskShared>) {
    while let Some(job) = inner.jobs.next_read() {
        match job {
            ToRead::Piece(piece) => {
                if let Err(why) = piece.carry_out() {
                    inner.unread(piece.file.name, why);
                    inner.release(piece.file.name);
                }
            }
            ToRead::Recall(recall) => {
                inner.recall(recall.hash);
                let Recall { leader, .. } = recall;
                leader.end();
            }
        }
    }
}

/// Scans the files that exist at startup, while reading and writing already go on.
pub(super) fn scan(inner: &Arc<DiskShared>) {
    let began = inner.clock.now();
    let mut step = Vec::with_capacity(STEP);
    let scanned = inner.folder.scan(|name, bytes| {
        step.push((name, bytes));
        if step.len() == STEP {
            inner.add(&mut step);
        }
        !inner.jobs.is_closing()
    });
    inner.add(&mut step);
    if let Err(error) = scanned {
        inner.failed("scan the directory", &error);
    }
    inner.is_scanned.store(true, Ordering::Release);
    let index = lock(&inner.index);
    let (live, bytes) = (index.live(), index.bytes());
    drop(index);
    let seconds = (inner.clock.now() - began) as f64 / 1e9;
    (inner.report.0)(&format!(
        "disk cache in {}: {live} stored responses, {bytes} bytes, found in {seconds:.1} s",
        inner.folder.path().display()
    ));
}

/// Removes the files that exist at startup: without a journal they cannot be used.
pub(super) fn clear(inner: &Arc<DiskShared>) {
    let cleared = inner.folder.scan(|name, _| {
        let is_new = lock(&inner.index).has(name);
        if !is_new && let Err(error) = inner.folder.remove(name) {
            inner.failed("remove a file", &error);
        }
        !inner.jobs.is_closing()
    });
    if let Err(error) = cleared {
        inner.failed("scan the directory", &error);
    }
    inner.is_scanned.store(true, Ordering::Release);
}

/// A response read from disk.
struct ReadCopy {
    copy: Copy,
    body: CopyBody,
    purged: bool,
}

impl DiskShared {
    fn add(&self, step: &mut Vec<(FileId, u64)>) {
        let mut index = lock(&self.index);
        for (name, bytes) in step.drain(..) {
            index.found(name, bytes);
        }
        drop(index);
        self.jobs.nudge();
    }

    pub(super) fn read(&self, piece: ReadPiece) {
        self.jobs.read(piece);
    }

    /// Reads all responses of a key into memory.
    fn recall(self: &Arc<Self>, hash: u64) {
        let Some(store) = lock(&self.store).upgrade() else {
            return;
        };
        // Before the purge journal is consulted: the store itself handles later purges.
        let watermark = store.purge_epoch();
        let names = lock(&self.index).read(hash);
        for name in names {
            match self.read_copy(name, &store) {
                Ok(Some(found)) => {
                    self.counts.hit();
                    self.bring_back(&store, watermark, name, found);
                }
                Ok(None) => self.doom(name),
                Err(why) => self.unread(name, why),
            }
        }
    }

    fn bring_back(
        &self,
        store: &Store<CachedResponse, ResponseMetadata>,
        watermark: plimsoll_cache::store::PurgeEpoch,
        name: FileId,
        found: ReadCopy,
    ) {
        let ReadCopy { copy, body, purged } = found;
        if let CopyBody::Disk(file) = &body {
            self.note_open(file);
        }
        let len = body.len();
        let (key, tags) = (copy.key.clone(), copy.tags.clone());
        let metadata = ResponseMetadata::of_copy(copy, len);
        let named = RawKey {
            hash: name.hash,
            key: &key,
        };
        let page = CachedResponse::new(&metadata, body);
        let supersedes = |other: &CachedResponse| metadata.supersedes(&other.metadata);
        store.recall(&named, watermark, &tags, purged, supersedes, page);
    }

    /// Reads a response; `None` when it must not be used any more.
    fn read_copy(
        self: &Arc<Self>,
        name: FileId,
        store: &Store<CachedResponse, ResponseMetadata>,
    ) -> Result<Option<ReadCopy>, Unread> {
        let mut file = self.folder.open_file(name)?;
        let mut first = [0; START_LEN];
        file.read_exact(&mut first)?;
        let start = CacheFileHeader::read(&first).map_err(|_| Unread::Damaged)?;
        if start.hash != name.hash || file.metadata()?.len() != start.file_len() {
            return Err(Unread::Damaged);
        }
        let mut meta = vec![0; start.meta_len as usize];
        file.read_exact_at(&mut meta, START_LEN as u64)?;
        let known = start.read_meta(&meta).map_err(|_| Unread::Damaged)?;
        let (copy, purges) = match self.newer_head(name, &start)? {
            Some(newer) => newer,
            None => (known, start.purges),
        };
        let metadata = ResponseMetadata::of_copy(copy.clone(), start.body_len);
        if self.name(&copy.key, &metadata) != name {
            return Err(Unread::Damaged);
        }
        let journal = lock(&self.journal);
        let met = |since| journal.met(since, name.hash, &copy.key, &copy.tags);
        // A new head makes a softly purged response fresh again. Its body is as old as before.
        let (met, body_met) = (met(purges), met(start.purges));
        drop(journal);
        let received_at = copy.stored.terms().received_at;
        let is_ahead = received_at.since(wall_moment()) > AHEAD_MS;
        if body_met == Some(How::Hard) || is_ahead {
            return Ok(None);
        }
        let file = OnDisk {
            file,
            start,
            name,
            disk: Arc::downgrade(self),
        };
        let in_memory = store.limits().object_bytes as u64;
        Ok(Some(ReadCopy {
            body: body(file, in_memory.saturating_sub(BESIDE + meta.len() as u64))?,
            copy,
            purged: met == Some(How::Soft),
        }))
    }

    /// The head received after the body, and the last purge when it was requested.
    fn newer_head(
        &self,
        name: FileId,
        body: &CacheFileHeader,
    ) -> Result<Option<(Copy, u64)>, Unread> {
        let Some(bytes) = self.folder.read_head(name)? else {
            return Ok(None);
        };
        let start = CacheFileHeader::read(&bytes).map_err(|_| Unread::Damaged)?;
        if start.file_id != body.file_id {
            // It belongs to an earlier body.
            return Ok(None);
        }
        let copy = start.read_meta(&bytes[START_LEN..]);
        Ok(Some((copy.map_err(|_| Unread::Damaged)?, start.purges)))
    }

    /// Whether a file is still the one that its name resolves to.
    pub(super) fn is_newest(&self, file: &OnDisk) -> bool {
        if !lock(&self.index).has(file.name) {
            return false;
        }
        let Ok(mut found) = self.folder.open_file(file.name) else {
            return false;
        };
        let mut first = [0; START_LEN];
        let read = found.read_exact(&mut first);
        read.is_ok() && CacheFileHeader::read(&first).is_ok_and(|start| start == file.start)
    }

    /// Handles an unreadable file: removes it from the index, unless it was an I/O error.
    fn unread(&self, name: FileId, why: Unread) {
        match why {
            Unread::Damaged => {
                self.counts.drop_damaged();
                self.doom(name);
            }
            Unread::Gone => {
                lock(&self.index).remove(name);
            }
            Unread::System(error) => self.failed("read a stored response", &error),
        }
    }

    /// Registers the open file of a response in memory. Above the limit, the oldest is released.
    pub(super) fn note_open(&self, file: &Arc<OnDisk>) {
        let mut open = lock(&self.open);
        open.retain(|file_ref| file_ref.strong_count() > 0);
        open.push(Arc::downgrade(file));
        let excess = (open.len() > OPEN_MAX).then(|| open.remove(0));
        drop(open);
        if let Some(first) = excess.and_then(|first| first.upgrade()) {
            self.release(first.name);
        }
    }

    /// A file was removed: current readers continue, new ones do not find it.
    pub(super) fn close_file(&self, name: FileId) {
        let open = lock(&self.open);
        let mut others = open.iter().filter_map(std::sync::Weak::upgrade);
        let is_open = others.any(|file| file.name == name);
        drop(open);
        if is_open {
            self.release(name);
        }
    }
}

/// The body of a file: read into memory if it fits into `in_memory`.
fn body(file: OnDisk, in_memory: u64) -> Result<CopyBody, Unread> {
    let start = file.start;
    if start.body_len > in_memory {
        let mut room = Vec::new();
        for index in 0..start.blocks() {
            if start.body_len > CHECKED_MAX {
                break;
            }
            room.clear();
            file.block(index, &mut room)?;
        }
        return Ok(CopyBody::Disk(Arc::new(file)));
    }
    let len = usize::try_from(start.body_len).map_err(|_| io::Error::other("too long"))?;
    let mut bytes = Vec::with_capacity(len);
    for index in 0..start.blocks() {
        file.block(index, &mut bytes)?;
    }
    Ok(CopyBody::Memory(Bytes::from(bytes.into_boxed_slice())))
}
