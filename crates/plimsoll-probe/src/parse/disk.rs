//! `/proc/diskstats`.

use super::number_at;

/// Bytes of a sector in `/proc/diskstats`, whatever the device's own.
pub(crate) const SECTOR_LEN: u64 = 512;

/// One device, counted since boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskStats {
    /// Name, such as `nvme0n1`.
    pub(crate) name: String,
    /// Reads completed.
    pub(crate) reads: u64,
    /// Sectors of 512 bytes read.
    pub(crate) sectors_read: u64,
    /// Time of all reads, ms.
    pub(crate) read_ms: u64,
    /// Writes completed.
    pub(crate) writes: u64,
    /// Sectors of 512 bytes written.
    pub(crate) sectors_written: u64,
    /// Time of all writes, ms.
    pub(crate) write_ms: u64,
    /// Time with work, ms.
    pub(crate) busy_ms: u64,
    /// Flushes completed; 0 before Linux 5.5.
    pub(crate) flushes: u64,
    /// Time of all flushes, ms.
    pub(crate) flush_ms: u64,
}

/// Parses `/proc/diskstats`. Devices that never did anything, loop and RAM devices are left out.
pub(crate) fn diskstats(text: &str) -> Vec<DiskStats> {
    text.lines().filter_map(disk).collect()
}

/// Whether a device of this name is a file or memory, not a disk.
pub(crate) fn is_in_memory(name: &str) -> bool {
    let mut kinds = ["loop", "ram", "zram"].iter();
    kinds.any(|kind| name.starts_with(kind))
}

fn disk(line: &str) -> Option<DiskStats> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = *words.get(2)?;
    if is_in_memory(name) {
        return None;
    }
    let disk = DiskStats {
        name: name.to_owned(),
        reads: number_at(&words, 3),
        sectors_read: number_at(&words, 5),
        read_ms: number_at(&words, 6),
        writes: number_at(&words, 7),
        sectors_written: number_at(&words, 9),
        write_ms: number_at(&words, 10),
        busy_ms: number_at(&words, 12),
        flushes: number_at(&words, 18),
        flush_ms: number_at(&words, 19),
    };
    (disk.reads > 0 || disk.writes > 0).then_some(disk)
}
