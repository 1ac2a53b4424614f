//! Job queues of the disk threads. They are bounded: a job that finds its queue full is dropped.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use plimsoll_cache::store::{self, Leader, Object};
use plimsoll_net::lock::lock;

use super::body::ReadPiece;
use super::index::FileId;
use crate::lookup::{CachedResponse, ResponseMetadata};

/// Most bytes queued for writing.
const WRITE_BYTES_MAX: usize = 32 << 20;
/// Most jobs queued for writing.
const WRITES_MAX: usize = 65_536;
/// Most keys queued for reading.
const RECALLS_MAX: usize = 1024;

/// A stored response without its body, on its way to disk.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) metadata: Arc<ResponseMetadata>,
    pub(super) key: Box<[u8]>,
    pub(super) tags: Box<[u64]>,
    /// Number of the last purge when its request was sent.
    pub(super) purges: u64,
}

/// A write job.
#[derive(Debug)]
pub(super) enum Write {
    /// A response in memory, and the last purge when its request was sent.
    Whole(Arc<Object<CachedResponse>>, u64),
    /// A new head for a response whose body is on disk, and the last purge when its request was sent.
    Head(Arc<Object<CachedResponse>>, u64),
    /// Begins a response that arrives in blocks, with its own number.
    Begin(u64, Box<Described>),
    Block(u64, Vec<u8>),
    /// Ends a response that arrived in blocks; if an epoch is given, its head goes into memory.
    End(u64, Option<store::PurgeEpoch>),
    Drop(u64),
    /// A file whose response is not the newest any more.
    Forget(FileId),
}

impl Write {
    fn weight(&self) -> usize {
        match self {
            Self::Whole(object, _) | Self::Head(object, _) => object.weight(),
            Self::Block(_, block) => block.len(),
            Self::Begin(..) | Self::End(..) | Self::Drop(_) | Self::Forget(_) => 0,
        }
    }
}

/// A disk lookup: the responses of a key are read into memory.
#[derive(Debug)]
pub(super) struct Recall {
    pub(super) hash: u64,
    /// The fill that waiting clients follow.
    pub(super) leader: Leader<CachedResponse, ResponseMetadata>,
}

/// The next work of the writer.
#[derive(Debug, Default)]
pub(super) struct ToWrite {
    /// Purge records.
    pub(super) records: Vec<u8>,
    /// Callers that wait until the records are on disk.
    pub(super) waiting: Vec<SyncSender<bool>>,
    pub(super) job: Option<Write>,
}

/// The next work of a reader.
#[derive(Debug)]
pub(super) enum ToRead {
    Recall(Recall),
    Piece(ReadPiece),
}

#[derive(Debug, Default)]
struct JobQueues {
    writes: VecDeque<Write>,
    write_bytes: usize,
    records: Vec<u8>,
    waiting: Vec<SyncSender<bool>>,
    /// Wakes the writer even without a write job.
    is_nudged: bool,
    /// The writer is working on a job.
    is_busy: bool,
    recalls: VecDeque<Recall>,
    pieces: VecDeque<ReadPiece>,
    is_closing: bool,
}

/// All queues.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    lines: Mutex<JobQueues>,
    written: Condvar,
    read: Condvar,
}

impl Jobs {
    /// Enqueues a write; whether there was room.
    pub(super) fn push(&self, write: Write) -> bool {
        let mut lines = lock(&self.lines);
        let bytes = lines.write_bytes + write.weight();
        if lines.is_closing || bytes > WRITE_BYTES_MAX || lines.writes.len() >= WRITES_MAX {
            return false;
        }
        lines.write_bytes = bytes;
        lines.writes.push_back(write);
        drop(lines);
        self.written.notify_one();
        true
    }

    /// Enqueues a small job that must not be lost; false when even its larger limit is exceeded.
    pub(super) fn must_push(&self, write: Write) -> bool {
        let mut lines = lock(&self.lines);
        let is_bounded = lines.writes.len() < 2 * WRITES_MAX;
        if is_bounded {
            lines.writes.push_back(write);
        }
        drop(lines);
        self.written.notify_one();
        is_bounded
    }

    /// Enqueues purge records, which are written first; `waiting` receives whether they are on disk.
    pub(super) fn record(&self, records: &[u8], waiting: Option<SyncSender<bool>>) {
        let mut lines = lock(&self.lines);
        lines.records.extend_from_slice(records);
        if !lines.is_closing {
            lines.waiting.extend(waiting);
        }
        drop(lines);
        self.written.notify_one();
    }

    pub(super) fn nudge(&self) {
        lock(&self.lines).is_nudged = true;
        self.written.notify_one();
    }

    /// Whether nothing is being written or queued.
    pub(super) fn is_idle(&self) -> bool {
        let lines = lock(&self.lines);
        lines.writes.is_empty() && !lines.is_busy
    }

    pub(super) fn recall(&self, recall: Recall) -> bool {
        let mut lines = lock(&self.lines);
        if lines.is_closing || lines.recalls.len() >= RECALLS_MAX {
            return false;
        }
        lines.recalls.push_back(recall);
        drop(lines);
        self.read.notify_one();
        true
    }

    /// Enqueues a read; at most one per connection, which bounds the queue.
    pub(super) fn read(&self, piece: ReadPiece) {
        let mut lines = lock(&self.lines);
        if !lines.is_closing {
            lines.pieces.push_back(piece);
        }
        drop(lines);
        self.read.notify_one();
    }

    /// Waits for the next work of the writer; `None` is the end.
    pub(super) fn next_write(&self) -> Option<ToWrite> {
        let mut lines = lock(&self.lines);
        lines.is_busy = false;
        loop {
            let has_some = !lines.writes.is_empty() || !lines.records.is_empty();
            if has_some || !lines.waiting.is_empty() || std::mem::take(&mut lines.is_nudged) {
                let job = lines.writes.pop_front();
                lines.is_busy = job.is_some();
                lines.write_bytes -= job.as_ref().map_or(0, Write::weight);
                return Some(ToWrite {
                    records: std::mem::take(&mut lines.records),
                    waiting: std::mem::take(&mut lines.waiting),
                    job,
                });
            }
            if lines.is_closing {
                return None;
            }
            let woken = self.written.wait(lines);
            lines = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the next work of a reader; `None` is the end.
    pub(super) fn next_read(&self) -> Option<ToRead> {
        let mut lines = lock(&self.lines);
        loop {
            if lines.is_closing {
                return None;
            }
            // Clients in the middle of a body go before those that wait for the first byte.
            if let Some(piece) = lines.pieces.pop_front() {
                return Some(ToRead::Piece(piece));
            }
            if let Some(recall) = lines.recalls.pop_front() {
                return Some(ToRead::Recall(recall));
            }
            let woken = self.read.wait(lines);
            lines = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Accepts no more jobs; queued writes are completed.
    pub(super) fn close(&self) {
        let mut lines = lock(&self.lines);
        lines.is_closing = true;
        let (recalls, pieces) = (
            std::mem::take(&mut lines.recalls),
            std::mem::take(&mut lines.pieces),
        );
        drop(lines);
        // Dropping wakes the waiting tasks, outside the lock.
        drop((recalls, pieces));
        self.written.notify_all();
        self.read.notify_all();
    }

    /// Whether it is closing.
    pub(super) fn is_closing(&self) -> bool {
        lock(&self.lines).is_closing
    }
}
