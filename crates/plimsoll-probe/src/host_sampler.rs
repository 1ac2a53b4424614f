//! How much of this machine's CPU the hypervisor took, and how often a cgroup stopped this process, second by second.

mod throttling;

use plimsoll_model::worker::HostUse;
use throttling::ThrottleSampler;

use crate::kernel_files;
use crate::parse::cpu::{self, CpuTimes, MODES};

const STAT: &str = "/proc/stat";

/// Reads the use since its last reading.
#[derive(Debug)]
pub struct HostSampler {
    last: Option<CpuTimes>,
    throttling: ThrottleSampler,
}

impl Default for HostSampler {
    fn default() -> Self {
        Self::new()
    }
}

impl HostSampler {
    /// Begins now.
    pub fn new() -> Self {
        Self {
            last: read(),
            throttling: ThrottleSampler::of_this_process(),
        }
    }

    /// The use since the last call.
    pub fn sample(&mut self) -> HostUse {
        let now = read();
        let steal = self.last.zip(now).and_then(|(last, now)| share(last, now));
        self.last = now;
        HostUse {
            steal,
            throttled: self.throttling.sample(),
        }
    }
}

fn read() -> Option<CpuTimes> {
    parse(&kernel_files::text(STAT).ok()?)
}

fn parse(text: &str) -> Option<CpuTimes> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // An old kernel does not show all modes.
    let is_whole = line.split_ascii_whitespace().count() >= MODES.len();
    is_whole.then(|| cpu::stat(text).all)
}

fn share(last: CpuTimes, now: CpuTimes) -> Option<f64> {
    let total = now
        .total()
        .checked_sub(last.total())
        .filter(|total| *total > 0)?;
    Some(now.steal().saturating_sub(last.steal()) as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_cores() {
        let before = parse("cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1 1 1 1 1 1 1 1\n").unwrap();
        let after = parse("cpu  150 0 100 1000 0 0 0 150 60 0\n").unwrap();
        assert_eq!((before.total(), before.steal()), (1000, 100));
        assert_eq!(share(before, after), Some(0.125));
        assert_eq!(share(after, after), None);
        // An old kernel.
        assert_eq!(parse("cpu  1 2 3 4\n"), None);
        assert_eq!(parse("intr 1\n"), None);
    }
}
