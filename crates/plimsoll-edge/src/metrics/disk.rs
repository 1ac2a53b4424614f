//! Metrics of the cache on disk.

use plimsoll_proxy::lookup::disk::DiskView;

use super::Exposition;

/// Contents of the cache on disk.
pub(super) fn page(page: &mut Exposition, disk: &DiskView) {
    let gauges = [
        (
            "cache_disk_size_bytes",
            "Disk limit of the cache",
            disk.size,
        ),
        ("cache_disk_bytes", "Disk used by the cache", disk.bytes),
        (
            "cache_disk_objects",
            "Cached responses on disk",
            disk.objects,
        ),
    ];
    page.gauges(&gauges);
    let counters = [
        (
            "cache_disk_hits",
            "Cached responses read from disk",
            disk.hits,
        ),
        (
            "cache_disk_written",
            "Cached responses written to disk",
            disk.written,
        ),
        (
            "cache_disk_skipped",
            "Cached responses not written: the disk was too slow or failed, or they are too large",
            disk.skipped,
        ),
        (
            "cache_disk_evictions",
            "Cached responses evicted from disk for lack of room",
            disk.evicted,
        ),
        ("cache_disk_dropped", "Corrupt cache files", disk.dropped),
        ("cache_disk_errors", "Disk errors", disk.errors),
    ];
    page.counters(&counters);
}
