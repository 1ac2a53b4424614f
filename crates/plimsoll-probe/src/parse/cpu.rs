//! `/proc/stat`, `/proc/loadavg`, `/proc/pressure/*`.

use super::number_at;

/// The names of [`Times::by_mode`], as OpenTelemetry's `cpu.mode` has them, where it has them.
pub(crate) const MODES: [&str; 8] = [
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "interrupt",
    "softirq",
    "steal",
];

const IDLE: usize = 3;
const IOWAIT: usize = 4;
const SOFTIRQ: usize = 6;
const STEAL: usize = 7;

/// CPU time since boot, in clock ticks. Guests' time is part of user time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    /// Ticks, in the order of [`MODES`].
    pub(crate) by_mode: [u64; 8],
}

impl CpuTimes {
    /// All ticks.
    pub(crate) fn total(self) -> u64 {
        self.by_mode
            .iter()
            .fold(0, |sum, &ticks| sum.saturating_add(ticks))
    }

    /// Ticks in which a task or an interrupt of this machine ran.
    pub(crate) fn busy(self) -> u64 {
        let idle = [IDLE, IOWAIT, STEAL]
            .iter()
            .fold(0_u64, |sum, &mode| sum.saturating_add(self.by_mode[mode]));
        self.total().saturating_sub(idle)
    }

    /// Ticks that the hypervisor took.
    pub(crate) fn steal(self) -> u64 {
        self.by_mode[STEAL]
    }

    /// Ticks in soft interrupts.
    pub(crate) fn softirq(self) -> u64 {
        self.by_mode[SOFTIRQ]
    }

    /// Increase since `before`; a mode that fell (the kernel corrects I/O wait) counts as unchanged.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        let mut by_mode = self.by_mode;
        for (now, before) in by_mode.iter_mut().zip(before.by_mode) {
            *now = now.saturating_sub(before);
        }
        Self { by_mode }
    }
}

/// Values of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuCounters {
    /// Of all CPUs together.
    pub(crate) all: CpuTimes,
    /// Number and times of each CPU.
    pub(crate) each: Vec<(u32, CpuTimes)>,
    /// Processes and threads created since boot.
    pub(crate) processes_created: u64,
}

/// Parses `/proc/stat`.
pub(crate) fn stat(text: &str) -> CpuCounters {
    let mut stat = CpuCounters::default();
    for line in text.lines() {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        if name == "processes" {
            stat.processes_created = rest.trim().parse().unwrap_or(0);
        } else if let Some(number) = name.strip_prefix("cpu") {
            let mut times = CpuTimes::default();
            for (ticks, word) in times.by_mode.iter_mut().zip(rest.split_whitespace()) {
                *ticks = word.parse().unwrap_or(0);
            }
            if number.is_empty() {
                stat.all = times;
            } else if let Ok(number) = number.parse() {
                stat.each.push((number, times));
            }
        }
    }
    stat
}

/// Values of `/proc/loadavg`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LoadAverage {
    /// Load average over one minute.
    pub(crate) one_minute: f64,
    /// Threads that are running or runnable.
    pub(crate) running: u64,
}

/// Parses `/proc/loadavg`.
pub(crate) fn loadavg(text: &str) -> LoadAverage {
    let words: Vec<&str> = text.split_whitespace().collect();
    let one_minute = words.first().and_then(|word| word.parse().ok());
    let running = words.get(3).and_then(|word| word.split('/').next());
    LoadAverage {
        one_minute: one_minute.unwrap_or(0.0),
        running: running.and_then(|word| word.parse().ok()).unwrap_or(0),
    }
}

/// Stalled time since boot, µs: `some` and `full` of a file in `/proc/pressure`; `None` where a line is missing.
pub(crate) fn pressure(text: &str) -> (Option<u64>, Option<u64>) {
    let total = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name))?;
        line.split_whitespace()
            .find_map(|word| word.strip_prefix("total="))?
            .parse()
            .ok()
    };
    (total("some"), total("full"))
}

/// Time on a CPU and time waiting for one, ns, of `/proc/PID/task/TID/schedstat`.
pub(crate) fn schedstat(text: &str) -> (u64, u64) {
    let words: Vec<&str> = text.split_whitespace().collect();
    (number_at(&words, 0), number_at(&words, 1))
}
