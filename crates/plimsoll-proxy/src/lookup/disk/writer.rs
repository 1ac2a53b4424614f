//! The writer thread: responses, purge records, and removal of files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use plimsoll_cache::disk::{BLOCK_LEN, CacheFileHeader, START_LEN, block_sum, meta_sum};
use plimsoll_cache::store::{self, Object, Put, RawKey};

use super::DiskShared;
use super::body::{BodyRef, CopyBody, OnDisk};
use super::folder::TempName;
use super::index::{FileId, taken};
use super::jobs::{Described, ToWrite, Write};
use crate::lookup::{CachedResponse, ResponseMetadata};

/// The journal is rewritten after this many appended bytes.
const RECORDS_MAX: usize = 8 << 20;

/// State of the writer.
#[derive(Debug, Default)]
struct DiskWriter {
    /// Responses that arrive in blocks.
    open: HashMap<u64, OpenCopy>,
    /// Bytes appended to the journal.
    records: usize,
    /// The journal on disk is incomplete.
    is_broken: bool,
}

/// A response that arrives in blocks.
#[derive(Debug)]
struct OpenCopy {
    file: File,
    written: TempName,
    described: Box<Described>,
    name: FileId,
    start: CacheFileHeader,
    /// Disk space taken so far.
    taken: u64,
}

pub(super) fn run(inner: &Arc<DiskShared>) {
    let mut writer = DiskWriter::default();
    while let Some(to_write) = inner.jobs.next_write() {
        let ToWrite {
            records,
            waiting,
            job,
        } = to_write;
        if !(records.is_empty() && waiting.is_empty()) {
            let is_written = writer.write_records(inner, &records);
            for waits in waiting {
                // A caller that stopped waiting needs no answer.
                let _ = waits.try_send(is_written);
            }
        }
        if let Some(job) = job {
            writer.carry_out(inner, job);
        }
        sweep(inner);
    }
    for (_, opened) in writer.open {
        inner.folder.discard(&opened.written);
    }
}

/// Removes files that are not in the index any more.
fn sweep(inner: &DiskShared) {
    let doomed = super::lock(&inner.index).take_doomed();
    for name in doomed {
        // Only this thread renames files: a file that is in the index now stays.
        if super::lock(&inner.index).has(name) {
            continue;
        }
        remove(inner, name);
    }
}

fn remove(inner: &DiskShared, name: FileId) {
    if let Err(error) = inner.folder.remove(name) {
        inner.failed("remove a file", &error);
    }
    inner.close_file(name);
}

impl DiskWriter {
    fn carry_out(&mut self, inner: &Arc<DiskShared>, job: Write) {
        match job {
            Write::Whole(object, purges) => {
                let name = inner.name(object.key(), &object.value().metadata);
                if is_written(inner, name, write_whole(inner, &object, purges, name)) {
                    inner.counts.write();
                }
            }
            Write::Head(object, purges) => match write_head(inner, &object, purges) {
                Ok(true) => inner.counts.write(),
                Ok(false) => inner.counts.skip(),
                Err(error) => {
                    inner.counts.skip();
                    inner.failed("update the headers of a stored response", &error);
                }
            },
            Write::Begin(number, described) => {
                let name = inner.name(&described.key, &described.metadata);
                match begin(inner, described, name) {
                    Ok(Some(opened)) => {
                        self.open.insert(number, opened);
                    }
                    Ok(None) => {
                        is_written(inner, name, Ok(false));
                    }
                    Err(error) => {
                        is_written(inner, name, Err(error));
                    }
                }
            }
            Write::Block(number, block) => {
                if let Some(opened) = self.open.get_mut(&number)
                    && let Err(error) = opened.add(inner, &block)
                    && let Some(opened) = self.open.remove(&number)
                {
                    is_written(inner, opened.name, Err(error));
                    opened.discard(inner);
                }
            }
            Write::End(number, begun) => {
                if let Some(opened) = self.open.remove(&number) {
                    opened.end(inner, begun);
                }
            }
            Write::Drop(number) => {
                if let Some(opened) = self.open.remove(&number) {
                    opened.discard(inner);
                }
            }
            Write::Forget(name) => {
                super::lock(&inner.index).remove(name);
                remove(inner, name);
            }
        }
    }

    /// Writes purge records; whether all purges so far are on disk.
    fn write_records(&mut self, inner: &DiskShared, records: &[u8]) -> bool {
        self.records += records.len();
        let whole = self.is_broken || self.records > RECORDS_MAX;
        let done = if whole {
            let journal = super::lock(&inner.journal).clone();
            inner.folder.write_journal(&journal)
        } else if records.is_empty() {
            Ok(())
        } else {
            inner.folder.append_journal(records)
        };
        match done {
            Ok(()) => {
                if whole {
                    (self.records, self.is_broken) = (0, false);
                }
                true
            }
            Err(error) => {
                inner.failed("record a purge", &error);
                self.is_broken = true;
                // Better an empty cache at the next start than purged responses.
                if let Err(error) = inner.folder.remove_journal() {
                    inner.failed("clear the purge journal", &error);
                }
                false
            }
        }
    }
}

/// Handles the result of a write. If it failed, its predecessor must not be found any more.
fn is_written(inner: &DiskShared, name: FileId, done: io::Result<bool>) -> bool {
    match done {
        Ok(true) => return true,
        Ok(false) => {}
        Err(error) => inner.failed("write a stored response", &error),
    }
    inner.counts.skip();
    inner.doom(name);
    false
}

/// The header of a file, and the metadata that follows.
fn describe(
    inner: &DiskShared,
    metadata: &ResponseMetadata,
    key: &[u8],
    tags: &[u64],
    purges: u64,
) -> (CacheFileHeader, Vec<u8>) {
    let meta = metadata.copy_ref(key, tags).write();
    let salt = inner.next_salt();
    let start = CacheFileHeader {
        file_id: salt,
        purges,
        hash: inner.seed.hash(key),
        // The length limit of a head is far below this.
        meta_len: u32::try_from(meta.len()).unwrap_or(u32::MAX),
        body_len: 0,
        meta_sum: meta_sum(salt, &meta),
    };
    (start, meta)
}

/// Writes a response that is in memory; whether it may be written.
fn write_whole(
    inner: &Arc<DiskShared>,
    object: &Object<CachedResponse>,
    purges: u64,
    name: FileId,
) -> io::Result<bool> {
    let page = object.value();
    let Some(body) = page.body().in_memory() else {
        return Ok(false);
    };
    if body.len() as u64 > inner.body_len_max() || inner.counts.is_paused(inner.clock.now()) {
        return Ok(false);
    }
    let (mut start, meta) = describe(inner, &page.metadata, object.key(), object.tags(), purges);
    start.body_len = body.len() as u64;
    let file_len = start.file_len();
    let mut bytes = Vec::with_capacity(usize::try_from(file_len).unwrap_or_default());
    bytes.extend_from_slice(&start.write());
    bytes.extend_from_slice(&meta);
    for (index, block) in (0_u64..).zip(body.chunks(BLOCK_LEN)) {
        bytes.extend_from_slice(block);
        bytes.extend_from_slice(&block_sum(start.file_id, index, block));
    }
    let room = taken(file_len);
    reserve(inner, room);
    let mut written = write_file(inner, &bytes, name);
    if written.as_ref().is_err_and(is_full) {
        shrink(inner, room);
        written = write_file(inner, &bytes, name);
    }
    let mut index = super::lock(&inner.index);
    index.give_back(room);
    written?;
    index.put(name, room);
    Ok(true)
}

/// Writes the new head of a response whose body is on disk; whether it may be written. If that fails, the previous head
/// stays: it is valid, and becomes stale sooner.
fn write_head(
    inner: &DiskShared,
    object: &Object<CachedResponse>,
    purges: u64,
) -> io::Result<bool> {
    let metadata = &object.value().metadata;
    let BodyRef::Disk(file) = object.value().body() else {
        return Ok(false);
    };
    let name = file.name;
    // A response with another `Vary` now has another name than its body.
    let is_of_it = inner.name(object.key(), metadata) == name && inner.is_newest(file);
    if !is_of_it || inner.counts.is_paused(inner.clock.now()) {
        return Ok(false);
    }
    let meta = metadata.copy_ref(object.key(), object.tags()).write();
    let start = CacheFileHeader {
        purges,
        // The length limit of a head is far below this.
        meta_len: u32::try_from(meta.len()).unwrap_or(u32::MAX),
        meta_sum: meta_sum(file.start.file_id, &meta),
        ..file.start
    };
    let bytes = [&start.write()[..], &meta].concat();
    let (mut new, written) = inner.folder.create(inner.number())?;
    let done = new.write_all(&bytes);
    let settled = done.and_then(|()| inner.folder.settle_head(&written, name));
    if settled.is_err() {
        inner.folder.discard(&written);
    }
    settled?;
    let taken = taken(file.start.file_len()) + taken(bytes.len() as u64);
    super::lock(&inner.index).put(name, taken);
    Ok(true)
}

fn write_file(inner: &DiskShared, bytes: &[u8], name: FileId) -> io::Result<()> {
    let (mut file, written) = inner.folder.create(inner.number())?;
    let done = file.write_all(bytes);
    let settled = done.and_then(|()| inner.folder.settle(&written, name));
    if settled.is_err() {
        inner.folder.discard(&written);
    }
    settled
}

/// Makes room for a write.
fn reserve(inner: &DiskShared, bytes: u64) {
    super::lock(&inner.index).reserve(bytes);
    sweep(inner);
}

/// The file system is full of other data: reduces the capacity.
fn shrink(inner: &DiskShared, bytes: u64) {
    super::lock(&inner.index).shrink(2 * bytes);
    sweep(inner);
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Begins a response that arrives in blocks; `None` during the pause after a failure.
fn begin(
    inner: &DiskShared,
    described: Box<Described>,
    name: FileId,
) -> io::Result<Option<OpenCopy>> {
    if inner.counts.is_paused(inner.clock.now()) {
        return Ok(None);
    }
    let Described {
        metadata,
        key,
        tags,
        purges,
    } = &*described;
    let (start, meta) = describe(inner, metadata, key, tags, *purges);
    let (file, written) = inner.folder.create(inner.number())?;
    let opened = OpenCopy {
        file,
        written,
        described,
        name,
        start,
        taken: 0,
    };
    match opened.file.write_all_at(&meta, START_LEN as u64) {
        Ok(()) => Ok(Some(opened)),
        Err(error) => {
            opened.discard(inner);
            Err(error)
        }
    }
}

impl OpenCopy {
    fn add(&mut self, inner: &DiskShared, block: &[u8]) -> io::Result<()> {
        let index = self.start.blocks();
        self.start.body_len += block.len() as u64;
        let more = taken(self.start.file_len()) - self.taken;
        reserve(inner, more);
        self.taken += more;
        let (at, _) = self.start.block(index);
        let sum = block_sum(self.start.file_id, index, block);
        let bytes = [block, &sum[..]].concat();
        match self.file.write_all_at(&bytes, at) {
            Err(error) if is_full(&error) => {
                shrink(inner, more);
                self.file.write_all_at(&bytes, at)
            }
            done => done,
        }
    }

    fn discard(self, inner: &DiskShared) {
        super::lock(&inner.index).give_back(self.taken);
        inner.folder.discard(&self.written);
    }

    /// Completes a response: renames its file, and stores its head in memory if it is not there.
    fn end(self, inner: &Arc<DiskShared>, begun: Option<store::PurgeEpoch>) {
        let name = self.name;
        let first = self.file.write_all_at(&self.start.write(), 0);
        let settled = first.and_then(|()| inner.folder.settle(&self.written, name));
        if let Err(error) = settled {
            is_written(inner, name, Err(error));
            return self.discard(inner);
        }
        let mut index = super::lock(&inner.index);
        index.give_back(self.taken);
        index.put(name, self.taken);
        drop(index);
        inner.counts.write();
        if let Some(begun) = begun {
            self.land(inner, begun);
        }
    }

    fn land(self, inner: &Arc<DiskShared>, begun: store::PurgeEpoch) {
        let Some(store) = super::lock(&inner.store).upgrade() else {
            return;
        };
        let Described {
            metadata,
            key,
            tags,
            ..
        } = *self.described;
        let file = Arc::new(OnDisk {
            file: self.file,
            start: self.start,
            name: self.name,
            disk: Arc::downgrade(inner),
        });
        let named = RawKey {
            hash: self.name.hash,
            key: &key,
        };
        let page = CachedResponse::new(&metadata, CopyBody::Disk(Arc::clone(&file)));
        let supersedes = |other: &CachedResponse| metadata.supersedes(&other.metadata);
        match store.put(&named, begun, &tags, supersedes, page) {
            Put::Stored(_) => inner.note_open(&file),
            Put::Purged => inner.doom(self.name),
            Put::TooLarge | Put::Full => {}
        }
    }
}
