//! What the sensible range of a knob depends on.

use crate::files::Files;
use crate::host::cgroups::memory_limit_of;
use crate::parse::memory::{self, Memory};
use crate::parse::process;

/// The machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    /// CPUs that this process may use.
    pub(super) cpus: u64,
    /// Memory, bytes.
    pub(super) memory: u64,
    /// Memory that programs can still have without swapping, bytes.
    pub(super) available: u64,
    /// Cap of the kernel for backlogs.
    pub(super) somaxconn: u64,
    /// Open files that a process may have.
    pub(super) open_files: u64,
}

impl Machine {
    /// The machine as a process has it: a cgroup may leave it less memory.
    pub(super) fn of_process(self, files: &mut Files, pid: u32) -> Self {
        let limit = memory_limit_of(files, pid).unwrap_or(u64::MAX);
        Self {
            memory: self.memory.min(limit),
            ..self
        }
    }

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
        let memory = files.read("proc/meminfo").map(memory::meminfo);
        let memory = memory.unwrap_or(Memory {
            total: 1 << 30,
            available: 1 << 29,
            ..Memory::default()
        });
        let limits = files.read("proc/self/limits").ok();
        Self {
            cpus: cpus as u64,
            open_files: limits
                .and_then(process::files_limit)
                .map_or(1024, |(_, hard)| hard),
            memory: memory.total,
            available: memory.available,
            somaxconn: number(files, "proc/sys/net/core/somaxconn").unwrap_or(4096),
        }
    }
}
