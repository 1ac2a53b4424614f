//! Which of our series each metric of a container is: those of its cgroup, as the probe reads them from the kernel.

use std::collections::BTreeMap;

use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use super::containers::{Container, is_known, of_page};
use crate::collectors::link::ScrapeError;
use crate::collectors::prometheus::parse;
use crate::meter::Meter;
use crate::parse::whole;

/// Microseconds of a second.
const MICROS: f64 = 1e6;
const NANOS_PER_MS: u64 = 1_000_000;

/// Counters, and ours.
const COUNTERS: [(&str, &str); 4] = [
    (
        "container_cpu_cfs_periods_total",
        metric::CGROUP_CPU_PERIODS,
    ),
    (
        "container_cpu_cfs_throttled_periods_total",
        metric::CGROUP_CPU_THROTTLED,
    ),
    ("container_memory_failcnt", metric::CGROUP_MEMORY_AT_LIMIT),
    ("container_oom_events_total", metric::CGROUP_OOM_KILLS),
];

/// What a page shows.
#[derive(Debug)]
pub(super) struct ContainersPage {
    /// The readings, with ordinary names.
    pub(super) readings: Readings,
    /// The longest time since a container was read before, s; `None` where none was.
    pub(super) after_s: Option<f64>,
}

/// The pages of one machine.
#[derive(Debug, Default)]
pub(super) struct ContainerPages {
    meter: Meter,
    /// When each container was read last, ns.
    times: BTreeMap<String, u64>,
}

impl ContainerPages {
    /// Reads a page that arrived at `now_ns`. A container that was not read anew since the page before has no readings: it would
    /// show a second without work.
    pub(super) fn read(&mut self, text: &str, now_ns: u64) -> Result<ContainersPage, ScrapeError> {
        let parsed = parse::page(text, is_known);
        if parsed.samples.is_empty() {
            let why = "a page without metrics of cAdvisor".to_owned();
            return Err(ScrapeError::Strange(why));
        }
        let containers = of_page(&parsed);
        let (mut after_s, mut latest) = (None, 0);
        for (name, container) in &containers {
            let at_ns = time_of(container).unwrap_or(now_ns);
            latest = latest.max(at_ns);
            let before = self.times.insert(name.clone(), at_ns);
            if before == Some(at_ns) {
                continue;
            }
            let since = before.map(|before| at_ns.saturating_sub(before) as f64 / 1e9);
            after_s = max(after_s, since);
            // Each was read at a time of its own, by which its increases are divided.
            self.meter.begin(at_ns);
            record(name, container, &mut self.meter);
        }
        self.times.retain(|name, _| containers.contains_key(name));
        self.meter.begin(latest);
        Ok(ContainersPage {
            readings: self.meter.finish(0),
            after_s,
        })
    }
}

/// When cAdvisor read a container, ns since 1970.
fn time_of(container: &Container<'_>) -> Option<u64> {
    let time_ms = u64::try_from(container.time_ms?).ok()?;
    time_ms.checked_mul(NANOS_PER_MS)
}

fn max(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn record(name: &str, container: &Container<'_>, meter: &mut Meter) {
    let labels = [("cgroup", name), ("process", metric::CONTAINER)];
    for (theirs, ours) in COUNTERS {
        if let Some(total) = container.value(theirs) {
            meter.counter(ours, &labels, whole(total), 1.0);
        }
    }
    if let Some(seconds) = container.value("container_cpu_cfs_throttled_seconds_total") {
        let micros = whole((seconds * MICROS).round());
        let time = metric::CGROUP_CPU_THROTTLED_TIME;
        meter.counter(time, &labels, micros, 1.0 / MICROS);
    }
    let memory = container.value("container_memory_usage_bytes");
    let working_set = container.value("container_memory_working_set_bytes");
    // The working set is what cannot be reclaimed at once.
    let inactive = memory.zip(working_set);
    let inactive = inactive.map(|(memory, working_set)| (memory - working_set).max(0.0));
    let most_threads = container.value("container_threads_max");
    for (metric, level) in [
        (metric::CGROUP_CPU_QUOTA, container.quota()),
        (metric::CGROUP_MEMORY, memory),
        (metric::CGROUP_MEMORY_INACTIVE, inactive),
        (metric::CGROUP_MEMORY_LIMIT, container.memory_limit()),
        (metric::CGROUP_PIDS, container.value("container_threads")),
        // 0 is no limit.
        (
            metric::CGROUP_PIDS_LIMIT,
            most_threads.filter(|&most| most > 0.0),
        ),
    ] {
        if let Some(level) = level {
            meter.gauge(metric, &labels, level);
        }
    }
}
