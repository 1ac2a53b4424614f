//! Counters of the disk tier.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use plimsoll_net::clock::Nanoseconds;

/// Writing pauses this long after a failure.
const PAUSE_NS: Nanoseconds = 10_000_000_000;

/// Totals since startup.
#[derive(Debug, Default)]
pub(super) struct DiskCounters {
    hits: AtomicU64,
    written: AtomicU64,
    skipped: AtomicU64,
    dropped: AtomicU64,
    errors: AtomicU64,
    /// End of the pause; 0 when the last write succeeded.
    paused_until: AtomicU64,
}

/// Contents and counters of the disk tier.
#[derive(Clone, Copy, Debug)]
pub struct DiskView {
    /// Capacity and use, bytes.
    pub size: u64,
    /// Length of all files.
    pub bytes: u64,
    /// Stored responses.
    pub objects: u64,
    /// Evicted responses.
    pub evicted: u64,
    /// Reads that found a response.
    pub hits: u64,
    /// Responses written.
    pub written: u64,
    /// Responses not written: the disk was too slow or failed, or they are too large.
    pub skipped: u64,
    /// Files dropped as damaged.
    pub dropped: u64,
    /// I/O errors.
    pub errors: u64,
}

impl DiskView {
    /// As reported at the admin address.
    pub fn json(&self) -> serde_json::Value {
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

    /// Records a write.
    pub(super) fn write(&self) {
        self.written.fetch_add(1, Relaxed);
        self.paused_until.store(0, Relaxed);
    }

    /// Records an I/O error; whether the previous operation succeeded.
    pub(super) fn fail(&self, now: Nanoseconds) -> bool {
        self.errors.fetch_add(1, Relaxed);
        self.paused_until.swap(now + PAUSE_NS, Relaxed) == 0
    }

    /// Whether the pause after a failure still lasts.
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
