//! What happened on the disk, in numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::Nanoseconds;

/// After a failure nothing is written for so long.
const PAUSE_NS: Nanoseconds = 10_000_000_000;

/// Sums since the start.
#[derive(Debug, Default)]
pub(super) struct DiskCounters {
    hits: AtomicU64,
    written: AtomicU64,
    skipped: AtomicU64,
    dropped: AtomicU64,
    errors: AtomicU64,
    /// Until when nothing is written; 0 when the last time went well.
    paused_until: AtomicU64,
}

/// What the disk holds and did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskView {
    /// Bytes that it may take, and takes.
    pub(crate) size: u64,
    pub(crate) bytes: u64,
    pub(crate) objects: u64,
    /// Copies that left for want of room.
    pub(crate) evicted: u64,
    /// Reads that found a copy.
    pub(crate) hits: u64,
    /// Copies written.
    pub(crate) written: u64,
    /// Copies not written: the disk did not keep up or failed, or they are too large.
    pub(crate) skipped: u64,
    /// Files dropped as damaged.
    pub(crate) dropped: u64,
    /// Failures of the system.
    pub(crate) errors: u64,
}

impl DiskView {
    /// As the admin address tells it.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "size": self.size,
            "bytes": self.bytes,
            "objects": self.objects,
            "evicted": self.evicted,
            "hits": self.hits,
            "written": self.written,
            "skipped": self.skipped,
            "dropped": self.dropped,
            "errors": self.errors,
        })
    }
}

impl DiskCounters {
    pub(super) fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }

    pub(super) fn skip(&self) {
        self.skipped.fetch_add(1, Relaxed);
    }

    pub(super) fn drop_damaged(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Something was written.
    pub(super) fn write(&self) {
        self.written.fetch_add(1, Relaxed);
        self.paused_until.store(0, Relaxed);
    }

    /// The system failed; whether the last time went well.
    pub(super) fn fail(&self, now: Nanoseconds) -> bool {
        self.errors.fetch_add(1, Relaxed);
        self.paused_until.swap(now + PAUSE_NS, Relaxed) == 0
    }

    /// Whether it is too early to try again.
    pub(super) fn is_paused(&self, now: Nanoseconds) -> bool {
        now < self.paused_until.load(Relaxed)
    }

    pub(super) fn view(&self, size: u64, bytes: u64, objects: u64, evicted: u64) -> DiskView {
        DiskView {
            size,
            bytes,
            objects,
            evicted,
            hits: self.hits.load(Relaxed),
            written: self.written.load(Relaxed),
            skipped: self.skipped.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            errors: self.errors.load(Relaxed),
        }
    }
}
