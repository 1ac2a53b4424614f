//! Which of our series each metric of `node_exporter` is. What is not on a page is not recorded: a zero would be wrong.

use std::collections::BTreeMap;

use plimsoll_model::metric;

use super::page::{MetricsPage, label_of};
use crate::host::{DEVICES_MAX, TCP, TCP_EXT};
use crate::meter::Meter;
use crate::parse::disk::is_in_memory;
use crate::parse::mount::holds_data;
use crate::parse::whole;

/// File systems that are recorded at most.
const FILESYSTEMS_MAX: usize = 16;
/// Microseconds of a second.
const MICROS: f64 = 1e6;
/// What drops SYNs besides a full accept queue; `node_exporter` shows it on request only.
const SYN_QUEUE_DROPS: &str = "node_netstat_TcpExt_TCPReqQFullDrop";

/// Levels without labels.
const LEVELS: [(&str, &str); 11] = [
    ("node_filefd_allocated", metric::FILES_OPEN),
    ("node_filefd_maximum", metric::FILES_LIMIT),
    ("node_load1", metric::LOAD_1M),
    ("node_memory_MemAvailable_bytes", metric::MEMORY_AVAILABLE),
    ("node_memory_MemTotal_bytes", metric::MEMORY_LIMIT),
    ("node_nf_conntrack_entries", metric::CONNTRACK_USED),
    ("node_nf_conntrack_entries_limit", metric::CONNTRACK_LIMIT),
    ("node_procs_running", metric::RUN_QUEUE),
    ("node_sockstat_TCP_mem_bytes", metric::TCP_MEMORY),
    ("node_sockstat_TCP_tw", metric::TCP_TIME_WAIT),
    ("node_sockstat_sockets_used", metric::SOCKETS_IN_USE),
];

/// A metric of the exporter, ours, and the label of our series.
type Counter = (
    &'static str,
    &'static str,
    Option<(&'static str, &'static str)>,
);

/// Counters of events, summed over CPUs where there are several series.
const COUNTERS: [Counter; 8] = [
    ("node_cpu_core_throttles_total", metric::CPU_SLOWED, None),
    ("node_forks_total", metric::PROCESSES_CREATED, None),
    ("node_softnet_dropped_total", metric::SOFTNET_DROPPED, None),
    (
        "node_softnet_times_squeezed_total",
        metric::SOFTNET_SQUEEZED,
        None,
    ),
    ("node_vmstat_oom_kill", metric::OOM_KILLS, None),
    (
        "node_vmstat_pgmajfault",
        metric::PAGING_FAULTS,
        Some(("system.paging.fault.type", "major")),
    ),
    (
        "node_vmstat_pswpin",
        metric::PAGING_OPERATIONS,
        Some(("system.paging.direction", "in")),
    ),
    (
        "node_vmstat_pswpout",
        metric::PAGING_OPERATIONS,
        Some(("system.paging.direction", "out")),
    ),
];

/// Stalled time: resource, and how many tasks stalled.
const PRESSURE: [(&str, &str, &str); 5] = [
    ("node_pressure_cpu_waiting_seconds_total", "cpu", "some"),
    ("node_pressure_io_waiting_seconds_total", "io", "some"),
    ("node_pressure_io_stalled_seconds_total", "io", "full"),
    (
        "node_pressure_memory_waiting_seconds_total",
        "memory",
        "some",
    ),
    (
        "node_pressure_memory_stalled_seconds_total",
        "memory",
        "full",
    ),
];

/// Records everything but the CPU times.
pub(super) fn all(page: &MetricsPage<'_>, meter: &mut Meter) {
    for (name, metric) in LEVELS {
        level(meter, metric, &[], page.value(name));
    }
    for (name, metric, label) in COUNTERS {
        count(meter, metric, label.as_slice(), page.sum(name));
    }
    for (name, resource, stall) in PRESSURE {
        if let Some(seconds) = page.value(name) {
            let labels = [("resource", resource), ("stall", stall)];
            meter.counter(metric::PRESSURE, &labels, micros(seconds), 1.0 / MICROS);
        }
    }
    record_memory(page, meter);
    record_tcp(page, meter);
    let operations = [
        "node_disk_reads_completed_total",
        "node_disk_writes_completed_total",
    ];
    for device in busiest(page, operations, |name| !is_in_memory(name)) {
        record_disk(page, meter, device);
    }
    let packets = [
        "node_network_receive_packets_total",
        "node_network_transmit_packets_total",
    ];
    for device in busiest(page, packets, |_| true) {
        record_interface(page, meter, device);
    }
    record_filesystems(page, meter);
}

fn level(meter: &mut Meter, metric: &'static str, labels: &[(&str, &str)], value: Option<f64>) {
    if let Some(value) = value {
        meter.gauge(metric, labels, value);
    }
}

fn count(meter: &mut Meter, metric: &'static str, labels: &[(&str, &str)], total: Option<f64>) {
    if let Some(total) = total {
        meter.counter(metric, labels, whole(total), 1.0);
    }
}

fn micros(seconds: f64) -> u64 {
    whole((seconds * MICROS).round())
}

fn record_memory(page: &MetricsPage<'_>, meter: &mut Meter) {
    let bytes = |name: &str| page.value(&format!("node_memory_{name}_bytes"));
    let (free, buffers) = (bytes("MemFree"), bytes("Buffers"));
    let reclaimable = bytes("SReclaimable").unwrap_or(0.0);
    let cached = bytes("Cached").map(|cached| cached + reclaimable);
    let used = || Some((bytes("MemTotal")? - free? - buffers? - cached?).max(0.0));
    for (state, bytes) in [
        ("used", used()),
        ("free", free),
        ("buffers", buffers),
        ("cached", cached),
    ] {
        let labels = [("system.memory.state", state)];
        level(meter, metric::MEMORY_USAGE, &labels, bytes);
    }
    let swap_free = bytes("SwapFree");
    let swap_used = bytes("SwapTotal").zip(swap_free);
    let swap_used = swap_used.map(|(total, free)| (total - free).max(0.0));
    for (state, bytes) in [("used", swap_used), ("free", swap_free)] {
        let labels = [("system.paging.state", state)];
        level(meter, metric::PAGING_USAGE, &labels, bytes);
    }
}

fn record_tcp(page: &MetricsPage<'_>, meter: &mut Meter) {
    for (group, counters) in [("TcpExt", TCP_EXT.as_slice()), ("Tcp", TCP.as_slice())] {
        for &(name, metric) in counters {
            // Without those of a full SYN queue, all drops would count as some of another cause.
            let is_alone = metric == metric::LISTEN_DROPS && page.value(SYN_QUEUE_DROPS).is_none();
            let total = page.value(&format!("node_netstat_{group}_{name}"));
            count(meter, metric, &[], total.filter(|_| !is_alone));
        }
    }
    let six = page.value("node_sockstat_TCP6_inuse").unwrap_or(0.0);
    let in_use = page.value("node_sockstat_TCP_inuse");
    level(
        meter,
        metric::TCP_IN_USE,
        &[],
        in_use.map(|four| four + six),
    );
}

/// The devices that did most by these counters; those that did nothing, and those that do not count, are left out.
fn busiest<'p>(
    page: &'p MetricsPage<'_>,
    counters: [&str; 2],
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<&'p str> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for sample in counters.iter().flat_map(|name| page.samples(name)) {
        if let Some(device) = label_of(sample, "device").filter(|name| is_wanted(name)) {
            *totals.entry(device).or_default() += sample.value;
        }
    }
    let active = totals.into_iter().filter(|&(_, total)| total > 0.0);
    let mut active: Vec<(&str, f64)> = active.collect();
    active.sort_by(|a, b| b.1.total_cmp(&a.1));
    let devices = active.into_iter().map(|(device, _)| device);
    devices.take(DEVICES_MAX).collect()
}

fn record_disk(page: &MetricsPage<'_>, meter: &mut Meter, device: &str) {
    let of = |name: &str| page.at(&format!("node_disk_{name}"), ("device", device));
    let own = ("system.device", device);
    let (reads, writes) = (of("reads_completed_total"), of("writes_completed_total"));
    for (direction, operations, bytes) in [
        ("read", reads, of("read_bytes_total")),
        ("write", writes, of("written_bytes_total")),
    ] {
        let labels = [own, ("disk.io.direction", direction)];
        count(meter, metric::DISK_OPERATIONS, &labels, operations);
        count(meter, metric::DISK_IO, &labels, bytes);
    }
    if let Some(busy) = of("io_time_seconds_total") {
        let utilization = metric::DISK_UTILIZATION;
        meter.counter(utilization, &[own], micros(busy), 1.0 / MICROS);
    }
    let flushes = of("flush_requests_total");
    count(meter, metric::DISK_FLUSHES, &[own], flushes);
    let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    let time = sum(
        of("read_time_seconds_total"),
        of("write_time_seconds_total"),
    );
    mean_time(meter, metric::DISK_AWAIT, own, (sum(reads, writes), time));
    let time = of("flush_requests_time_seconds_total");
    mean_time(meter, metric::DISK_FLUSH_TIME, own, (flushes, time));
}

/// The mean time of what was completed since the page before, from its number and the time of all together, s.
fn mean_time(
    meter: &mut Meter,
    metric: &'static str,
    own: (&str, &str),
    totals: (Option<f64>, Option<f64>),
) {
    let (Some(completed), Some(seconds)) = totals else {
        return;
    };
    let device = own.1;
    let completed = meter.rise(&format!("{metric}/{device}/completed"), whole(completed));
    let time = meter.rise(&format!("{metric}/{device}/time"), micros(seconds));
    if let (Some(completed), Some(time)) = (completed, time)
        && completed.by > 0
    {
        let mean_s = time.by as f64 / completed.by as f64 / MICROS;
        meter.gauge(metric, &[own], mean_s);
    }
}

fn record_interface(page: &MetricsPage<'_>, meter: &mut Meter, device: &str) {
    let own = ("network.interface.name", device);
    let of = |name: &str| page.at(&format!("node_network_{name}"), ("device", device));
    for direction in ["receive", "transmit"] {
        let labels = [own, ("network.io.direction", direction)];
        // The second name is that of `--collector.netdev.enable-detailed-metrics`.
        for (metric, names) in [
            (metric::NETWORK_IO, ["bytes", "bytes"]),
            (metric::NETWORK_PACKETS, ["packets", "packets"]),
            (metric::NETWORK_DROPPED, ["drop", "dropped"]),
            (metric::NETWORK_ERRORS, ["errs", "errors"]),
        ] {
            let mut totals = names.iter();
            let total = totals.find_map(|name| of(&format!("{direction}_{name}_total")));
            count(meter, metric, &labels, total);
        }
    }
    // Below zero where it is not known.
    let speed = of("speed_bytes").filter(|&speed| speed > 0.0);
    level(meter, metric::NETWORK_SPEED, &[own], speed);
}

/// Local file systems that may be written to, each once: where it is mounted by the shortest path.
fn record_filesystems(page: &MetricsPage<'_>, meter: &mut Meter) {
    let samples = page.samples("node_filesystem_size_bytes").iter();
    let mounts = samples.filter_map(|sample| {
        let point = label_of(sample, "mountpoint")?;
        let is_local = holds_data(point, label_of(sample, "fstype")?);
        is_local.then_some((point, label_of(sample, "device")?, sample.value))
    });
    let mut mounts: Vec<(&str, &str, f64)> = mounts.collect();
    mounts.sort_by_key(|(point, ..)| point.len());
    let mut recorded: Vec<(&str, &str)> = Vec::new();
    for (point, device, size) in mounts {
        // Mounts without a device have arbitrary names: each one counts.
        let is_same = |(other, on): &(&str, &str)| {
            *other == point || (device.starts_with('/') && *on == device)
        };
        let of = |name: &str| page.at(&format!("node_filesystem_{name}"), ("mountpoint", point));
        let is_read_only = of("readonly").is_some_and(|is_so| is_so > 0.0);
        if is_read_only || recorded.iter().any(is_same) || recorded.len() == FILESYSTEMS_MAX {
            continue;
        }
        recorded.push((point, device));
        let labels = [("system.filesystem.mountpoint", point)];
        // Blocks reserved for root are not free.
        let free = of("free_bytes").zip(of("avail_bytes"));
        let free = free.and_then(|(free, available)| share(available, size - free + available));
        level(meter, metric::FILESYSTEM_FREE, &labels, free);
        // Some file systems allocate inodes dynamically, and report 0.
        let inodes = of("files_free").zip(of("files"));
        let inodes = inodes.and_then(|(free, all)| share(free, all));
        level(meter, metric::FILESYSTEM_INODES_FREE, &labels, inodes);
    }
}

/// `None` of nothing.
fn share(part: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| part / of)
}
