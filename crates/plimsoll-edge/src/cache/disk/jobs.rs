//! What the threads of the disk are to do, in lines that have an end: who finds one full goes without.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use plimsoll_cache::store::{self, Leader, Object};

use super::body::ReadPiece;
use super::index::FileId;
use crate::cache::{CachedResponse, ResponseMetadata};
use crate::lock::lock;

/// Most bytes that wait to be written.
const WRITE_BYTES_MAX: usize = 32 << 20;
/// Most things that wait to be written.
const WRITES_MAX: usize = 65_536;
/// Most keys that wait to be read.
const RECALLS_MAX: usize = 1024;

/// A copy but for its body, on its way to the disk.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) metadata: Arc<ResponseMetadata>,
    pub(super) key: Box<[u8]>,
    pub(super) tags: Box<[u64]>,
    /// The last purge when it was asked for.
    pub(super) purges: u64,
}

/// Something to be written.
#[derive(Debug)]
pub(super) enum Write {
    /// A copy in memory, asked for after this purge.
    Whole(Arc<Object<CachedResponse>>, u64),
    /// A new head of a copy whose body is on disk already, asked for after this purge.
    Head(Arc<Object<CachedResponse>>, u64),
    /// A copy that comes in blocks, under a number of its own.
    Begin(u64, Box<Described>),
    Block(u64, Vec<u8>),
    /// It is whole; its head goes into memory if it was asked for at this moment.
    End(u64, Option<store::PurgeEpoch>),
    Drop(u64),
    /// A file whose copy is not the newest any more.
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

/// A key whose copies are read into memory.
#[derive(Debug)]
pub(super) struct Recall {
    pub(super) hash: u64,
    /// Whoever waits for it.
    pub(super) leader: Leader<CachedResponse, ResponseMetadata>,
}

/// What the writer does next.
#[derive(Debug, Default)]
pub(super) struct ToWrite {
    /// Records of purges.
    pub(super) records: Vec<u8>,
    /// Who waits until they are on the disk.
    pub(super) waiting: Vec<SyncSender<bool>>,
    pub(super) job: Option<Write>,
}

/// What a reader does next.
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
    /// The writer shall look, even when nothing is written.
    is_nudged: bool,
    /// The writer has something in hand.
    is_busy: bool,
    recalls: VecDeque<Recall>,
    pieces: VecDeque<ReadPiece>,
    is_closing: bool,
}

/// All that is to be done.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    lines: Mutex<JobQueues>,
    written: Condvar,
    read: Condvar,
}

impl Jobs {
    /// Whether there was room for it.
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

    /// For what must not be lost and weighs nothing; whether its line is bounded still.
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

    /// Records of purges are written before all else; `waiting` is told whether they are on the disk.
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

    /// Whether nothing is written, or waits to be.
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

    /// One for each connection at most, so that their line has an end.
    pub(super) fn read(&self, piece: ReadPiece) {
        let mut lines = lock(&self.lines);
        if !lines.is_closing {
            lines.pieces.push_back(piece);
        }
        drop(lines);
        self.read.notify_one();
    }

    /// What the writer does next; waits for it. `None` is the end.
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

    /// What a reader does next; waits for it. `None` is the end.
    pub(super) fn next_read(&self) -> Option<ToRead> {
        let mut lines = lock(&self.lines);
        loop {
            if lines.is_closing {
                return None;
            }
            // Who gets bytes already goes before who waits for the first.
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

    /// What waits to be written is written still; nothing more is taken.
    pub(super) fn close(&self) {
        let mut lines = lock(&self.lines);
        lines.is_closing = true;
        let (recalls, pieces) = (
            std::mem::take(&mut lines.recalls),
            std::mem::take(&mut lines.pieces),
        );
        drop(lines);
        // Who waits is told, outside the lock.
        drop((recalls, pieces));
        self.written.notify_all();
        self.read.notify_all();
    }

    /// Whether it is ending.
    pub(super) fn is_closing(&self) -> bool {
        lock(&self.lines).is_closing
    }
}
