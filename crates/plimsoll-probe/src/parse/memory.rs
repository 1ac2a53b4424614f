//! `/proc/meminfo` and `/proc/vmstat`.

use super::value_of;

/// Values of `/proc/meminfo`, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Memory of the machine.
    pub(crate) total: u64,
    /// Not used for anything.
    pub(crate) free: u64,
    /// Programs can still have this much without swapping.
    pub(crate) available: u64,
    /// Block device buffers.
    pub(crate) buffers: u64,
    /// Page cache and reclaimable slab.
    pub(crate) cached: u64,
    /// Swap of the machine.
    pub(crate) swap_total: u64,
    /// Swap not used.
    pub(crate) swap_free: u64,
}

/// Parses `/proc/meminfo`.
pub(crate) fn meminfo(text: &str) -> Memory {
    let mut memory = Memory::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let kib: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let bytes = kib.saturating_mul(1024);
        match name {
            "MemTotal:" => memory.total = bytes,
            "MemFree:" => memory.free = bytes,
            "MemAvailable:" => memory.available = bytes,
            "Buffers:" => memory.buffers = bytes,
            "Cached:" | "SReclaimable:" => memory.cached = memory.cached.saturating_add(bytes),
            "SwapTotal:" => memory.swap_total = bytes,
            "SwapFree:" => memory.swap_free = bytes,
            _ => {}
        }
    }
    memory
}

impl Memory {
    /// Memory that is neither free nor cache.
    pub(crate) fn used(self) -> u64 {
        self.total
            .saturating_sub(self.free)
            .saturating_sub(self.buffers)
            .saturating_sub(self.cached)
    }
}

/// Values of `/proc/vmstat`, counted since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Pages swapped in.
    pub(crate) swapped_in: u64,
    /// Pages swapped out.
    pub(crate) swapped_out: u64,
    /// Major faults.
    pub(crate) major_faults: u64,
    /// Processes killed by the OOM killer; `None` before Linux 4.13.
    pub(crate) oom_kills: Option<u64>,
}

/// Parses `/proc/vmstat`.
pub(crate) fn vmstat(text: &str) -> Paging {
    Paging {
        swapped_in: value_of(text, "pswpin").unwrap_or(0),
        swapped_out: value_of(text, "pswpout").unwrap_or(0),
        major_faults: value_of(text, "pgmajfault").unwrap_or(0),
        oom_kills: value_of(text, "oom_kill"),
    }
}
