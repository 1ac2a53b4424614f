//! What is told of copies on disk.

use super::Exposition;
use crate::cache::disk::DiskView;

/// What is held of copies on disk.
pub(super) fn page(page: &mut Exposition, disk: &DiskView) {
    let gauges = [
        (
            "cache_disk_size_bytes",
            "Disk that copies may take",
            disk.size,
        ),
        ("cache_disk_bytes", "Disk that copies take", disk.bytes),
        ("cache_disk_objects", "Copies on disk", disk.objects),
    ];
    for (name, help, count) in gauges {
        page.family(name, "gauge", help);
        page.line(name, &[], count);
    }
    let counters = [
        (
            "cache_disk_hits",
            "Copies that were read from the disk",
            disk.hits,
        ),
        (
            "cache_disk_written",
            "Copies that were written to the disk",
            disk.written,
        ),
        (
            "cache_disk_skipped",
            "Copies that were not written: the disk did not keep up or failed, or they are too large",
            disk.skipped,
        ),
        (
            "cache_disk_evictions",
            "Copies that left the disk for want of room",
            disk.evicted,
        ),
        (
            "cache_disk_dropped",
            "Files of copies that were damaged",
            disk.dropped,
        ),
        ("cache_disk_errors", "Failures of the disk", disk.errors),
    ];
    for (name, help, count) in counters {
        page.family(name, "counter", help);
        page.line(&format!("{name}_total"), &[], count);
    }
}
