//! The machine under measurement: its hardware, whether it is idle, and the cores to use.

use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::clock::pause;

/// Share of busy CPU above which the machine is not idle.
pub const BUSY_MAX: f64 = 0.1;

/// CPU time of all cores since boot, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticks {
    /// Ticks of all work.
    pub busy: f64,
    /// Ticks of work and idleness.
    pub all: f64,
}

impl Ticks {
    /// Reads the counters of the kernel.
    ///
    /// # Errors
    ///
    /// If `/proc/stat` cannot be read.
    pub fn now() -> Result<Self> {
        Self::of(&std::fs::read_to_string("/proc/stat")?)
    }

    /// The first line of /proc/stat (proc(5)). Steal time counts as busy.
    fn of(stat: &str) -> Result<Self> {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .filter_map(|tick| tick.parse().ok())
            .collect();
        let idle = ticks
            .get(3)
            .context("/proc/stat does not begin with the ticks of all cores")?;
        // Guests are counted in user time already.
        let all: f64 = ticks.iter().take(8).sum();
        let waiting = ticks.get(4).copied().unwrap_or(0.0);
        Ok(Self {
            busy: all - idle - waiting,
            all,
        })
    }

    /// The difference since an earlier sample.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy - earlier.busy,
            all: self.all - earlier.all,
        }
    }

    /// The share of all cores that was busy.
    pub fn busy_share(self) -> f64 {
        self.busy / self.all.max(1.0)
    }
}

/// The busy share of all cores before the measurement, over two seconds.
///
/// # Errors
///
/// If `/proc/stat` cannot be read.
pub fn busy_share() -> Result<f64> {
    let before = Ticks::now()?;
    pause(Duration::from_secs(2));
    Ok(Ticks::now()?.since(before).busy_share())
}

/// Cores, processor, memory, kernel; no host name.
///
/// # Errors
///
/// If the kernel does not describe the machine in `/proc`.
pub fn facts() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches([' ', '\t', ':'])
        });
    let meminfo = std::fs::read_to_string("/proc/meminfo")?;
    let kib: u64 = meminfo
        .split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "Machine: {cores} cores ({model}), {} GiB, Linux {}",
        kib >> 20,
        kernel.trim()
    ))
}

/// The first two cores of the affinity mask: one for the client, one for the server.
///
/// # Errors
///
/// If this process may use a single core only.
pub fn two_cores() -> Result<(usize, usize)> {
    let mask = sched_getaffinity(None).context("cannot read the affinity mask")?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| mask.is_set(*core));
    let pair = cores.next().zip(cores.next());
    pair.context("a side-by-side run needs two cores: one for the client, one for the server")
}

/// Ten thousand connections do not fit into the usual soft limit.
///
/// # Errors
///
/// If the kernel refuses to raise the limit.
pub fn raise_descriptor_limit() -> Result<()> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)
        .context("cannot raise the descriptor limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_idle_and_a_guest_is_counted_once() {
        let before = Ticks::of("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 1 1 1").unwrap();
        let after = Ticks::of("cpu  30 0 10 130 30 0 0 20 20 0\n").unwrap();
        let passed = after.since(before);
        assert!((passed.all - 120.0).abs() < 1e-9, "{passed:?}");
        assert!((passed.busy - 40.0).abs() < 1e-9, "{passed:?}");
        assert!((passed.busy_share() - 1.0 / 3.0).abs() < 1e-9);
        assert!(Ticks::of("").is_err());
    }
}
