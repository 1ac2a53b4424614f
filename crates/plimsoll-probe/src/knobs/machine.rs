//! What the sensible range of a knob depends on.

use crate::files::Files;
use crate::parse::{memory, process};

/// The machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    /// CPUs that this process may use.
    pub(super) cpus: u64,
    /// Memory, bytes.
    pub(super) memory: u64,
    /// Cap of the kernel for backlogs.
    pub(super) somaxconn: u64,
    /// Open files that a process may have.
    pub(super) open_files: u64,
}

impl Machine {
    pub(super) fn read(files: &mut Files) -> Self {
        let listed = files.read("proc/cpuinfo").map_or(0, |text| {
            let lines = text.lines();
            lines.filter(|line| line.starts_with("processor")).count()
        });
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        let cpus = if files.is_live() || listed == 0 {
            allowed
        } else {
            listed
        };
        let number = |files: &mut Files, path: &str| {
            let text = files.read(path).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let limits = files.read("proc/self/limits").ok();
        Self {
            cpus: cpus as u64,
            open_files: limits
                .and_then(process::files_limit)
                .map_or(1024, |(_, hard)| hard),
            memory: files
                .read("proc/meminfo")
                .map_or(1 << 30, |text| memory::meminfo(text).total),
            somaxconn: number(files, "proc/sys/net/core/somaxconn").unwrap_or(4096),
        }
    }
}
