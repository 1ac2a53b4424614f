//! How much of this machine's CPU the hypervisor took, and how often a cgroup stopped this process, second by second.

mod throttling;

use plimsoll_model::worker::HostUse;
use throttling::ThrottleSampler;

const STAT: &str = "/proc/stat";
/// Times of all cores in a line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. Those of guests,
/// behind them, are in the first two.
const TIMES: usize = 8;

/// Clock ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    total: u64,
    steal: u64,
}

/// Reads the use since its last reading.
#[derive(Debug)]
pub(crate) struct HostSampler {
    last: Option<CpuTimes>,
    throttling: ThrottleSampler,
}

impl HostSampler {
    pub(crate) fn new() -> Self {
        Self {
            last: read(),
            throttling: ThrottleSampler::of_this_process(),
        }
    }

    /// The use since the last call.
    pub(crate) fn sample(&mut self) -> HostUse {
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
    parse(&std::fs::read_to_string(STAT).ok()?)
}

fn parse(text: &str) -> Option<CpuTimes> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times = line.split_ascii_whitespace().take(TIMES);
    let times: Vec<u64> = times.map(|time| time.parse().ok()).collect::<Option<_>>()?;
    Some(CpuTimes {
        total: times.iter().sum(),
        steal: *times.get(TIMES - 1)?,
    })
}

fn share(last: CpuTimes, now: CpuTimes) -> Option<f64> {
    let total = now
        .total
        .checked_sub(last.total)
        .filter(|total| *total > 0)?;
    Some(now.steal.saturating_sub(last.steal) as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_cores() {
        let before = parse("cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1 1 1 1 1 1 1 1\n").unwrap();
        let after = parse("cpu  150 0 100 1000 0 0 0 150 60 0\n").unwrap();
        assert_eq!((before.total, before.steal), (1000, 100));
        assert_eq!(share(before, after), Some(0.125));
        assert_eq!(share(after, after), None);
        // An old kernel.
        assert_eq!(parse("cpu  1 2 3 4\n"), None);
        assert_eq!(parse("intr 1\n"), None);
    }
}
