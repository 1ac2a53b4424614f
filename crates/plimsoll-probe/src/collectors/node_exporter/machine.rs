//! The pages of one machine, second by second.
//!
//! `node_exporter` reads the kernel when its page is requested, and puts the time of its own clock on it. So increases are
//! divided by the machine's own time: a machine at its limit responds late, and irregularly. A page that has the time of
//! the one before it is a copy, of which a cache gives several: it shows no increase, and is left out.

use std::collections::BTreeMap;

use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use super::page::{BOOT_TIME, CPU_TIME, MetricsPage, TIME, is_known, label_of};
use super::record;
use crate::collectors::link::ScrapeError;
use crate::collectors::prometheus::parse;
use crate::host::report_cpu;
use crate::meter::Meter;
use crate::parse::cpu::{CpuCounters, CpuTimes};
use crate::parse::whole;

/// CPU time is counted in these parts of a second: the kernel's own are ten times as long.
const TICKS_PER_S: f64 = 1000.0;
/// Modes as `node_exporter` calls them, in the order of [`crate::parse::cpu::MODES`].
const MODES: [&str; 8] = [
    "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal",
];
/// The time of a start is derived from a clock that may be corrected by less than this, s.
const CORRECTION_MAX_S: f64 = 60.0;
/// Metrics that are on each page by default, and the collectors they are of.
const USUAL: [(&str, &str); 6] = [
    (CPU_TIME, "cpu"),
    ("node_load1", "loadavg"),
    ("node_memory_MemTotal_bytes", "meminfo"),
    ("node_network_receive_bytes_total", "netdev"),
    ("node_netstat_Tcp_OutSegs", "netstat"),
    ("node_procs_running", "stat"),
];

/// When a page was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageTime {
    /// ns since 1970, by the machine's clock.
    Theirs(u64),
    /// ns of the monotonic clock at which it arrived: it has no time.
    Arrival(u64),
}

impl PageTime {
    fn ns(self) -> u64 {
        match self {
            Self::Theirs(ns) | Self::Arrival(ns) => ns,
        }
    }

    /// Whether both are of one clock, and this is the later one.
    fn follows(self, before: Self) -> bool {
        let is_same_clock = matches!(
            (self, before),
            (Self::Theirs(_), Self::Theirs(_)) | (Self::Arrival(_), Self::Arrival(_))
        );
        is_same_clock && self.ns() > before.ns()
    }
}

/// What a page shows.
#[derive(Debug)]
pub(super) struct MachinePage {
    /// The readings, with ordinary names.
    pub(super) readings: Readings,
    /// What stays the same until the machine is started anew; `None` where the page does not have it.
    pub(super) started: Option<String>,
    /// Seconds since the page before it; `None` of the first one.
    pub(super) after_s: Option<f64>,
    /// Collectors that are on by default and have nothing on the page, separated by commas; empty for none.
    pub(super) missing: String,
}

/// The pages of one machine.
#[derive(Debug, Default)]
pub(super) struct MachinePages {
    meter: Meter,
    times: Option<CpuCounters>,
    latest: Option<PageTime>,
    /// When the machine was started, s since 1970, as the first page since then has it.
    started: Option<f64>,
}

impl MachinePages {
    /// Reads a page that arrived at `now_ns`; `None` for a copy of the one before it.
    pub(super) fn read(
        &mut self,
        text: &str,
        now_ns: u64,
        runs_target: Option<bool>,
    ) -> Result<Option<MachinePage>, ScrapeError> {
        let parsed = parse::page(text, is_known);
        let page = MetricsPage::of(&parsed);
        if page.is_empty() {
            let why = "a page without metrics of node_exporter".to_owned();
            return Err(ScrapeError::Strange(why));
        }
        let time = match page.value(TIME).filter(|&seconds| seconds > 0.0) {
            Some(seconds) => PageTime::Theirs(whole(seconds * 1e9)),
            None => PageTime::Arrival(now_ns),
        };
        if self.latest == Some(time) {
            return Ok(None);
        }
        if self.latest.is_some_and(|before| !time.follows(before)) {
            self.forget();
        }
        let before = self.latest.filter(|before| time.follows(*before));
        let after_s = before.map(|before| (time.ns() - before.ns()) as f64 / 1e9);
        self.latest = Some(time);
        let started = page.value(BOOT_TIME);
        self.start(started);
        self.meter.begin(time.ns());
        if let Some(is_local) = runs_target {
            let is_local = f64::from(u8::from(is_local));
            self.meter.gauge(metric::TARGET_IS_LOCAL, &[], is_local);
        }
        self.read_cpu(&page);
        record::all(&page, &mut self.meter);
        Ok(Some(MachinePage {
            readings: self.meter.finish(0),
            started: started.and(self.started).map(|first| first.to_string()),
            after_s,
            missing: missing(&page),
        }))
    }

    /// What was counted before is not comparable.
    fn forget(&mut self) {
        self.meter.forget_totals();
        self.times = None;
    }

    /// Takes note of when the machine was started.
    fn start(&mut self, started: Option<f64>) {
        let Some(started) = started else { return };
        match self.started {
            Some(before) if (started - before).abs() <= CORRECTION_MAX_S => {}
            Some(_) => {
                self.forget();
                self.started = Some(started);
            }
            None => self.started = Some(started),
        }
    }

    fn read_cpu(&mut self, page: &MetricsPage<'_>) {
        let now = cpu_counters(page);
        if now.each.is_empty() {
            return;
        }
        let cpus = now.each.len() as f64;
        self.meter.gauge(metric::CPU_COUNT, &[], cpus);
        if let Some(before) = &self.times {
            report_cpu(&mut self.meter, &now, before);
        }
        self.times = Some(now);
    }
}

fn missing(page: &MetricsPage<'_>) -> String {
    let missing = USUAL
        .iter()
        .filter(|(name, _)| page.samples(name).is_empty());
    let names: Vec<&str> = missing.map(|&(_, collector)| collector).collect();
    names.join(", ")
}

/// CPU times; none where the page has none.
fn cpu_counters(page: &MetricsPage<'_>) -> CpuCounters {
    let mut each: BTreeMap<u32, CpuTimes> = BTreeMap::new();
    let mut all = CpuTimes::default();
    for sample in page.samples(CPU_TIME) {
        let number = label_of(sample, "cpu").and_then(|number| number.parse().ok());
        let mode = label_of(sample, "mode");
        let mode = mode.and_then(|mode| MODES.iter().position(|known| *known == mode));
        if let (Some(number), Some(mode)) = (number, mode) {
            let ticks = whole((sample.value * TICKS_PER_S).round());
            each.entry(number).or_default().by_mode[mode] = ticks;
            all.by_mode[mode] = all.by_mode[mode].saturating_add(ticks);
        }
    }
    CpuCounters {
        all,
        each: each.into_iter().collect(),
        processes_created: 0,
    }
}
