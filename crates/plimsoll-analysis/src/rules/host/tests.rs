//! A machine that has room, for tests of its rules.

use std::collections::BTreeMap;

use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::Readings;

use crate::diagnosis::Context;
use crate::rules::tests::{SyntheticRun, cgroup, of};

pub(crate) fn link(metric: &str, direction: &str) -> String {
    let labels = [
        ("network.interface.name", "eth0"),
        ("network.io.direction", direction),
    ];
    series(metric, &labels[..if direction.is_empty() { 1 } else { 2 }])
}

pub(crate) fn disk(metric: &str, direction: &str) -> String {
    let labels = [("system.device", "vda"), ("disk.io.direction", direction)];
    series(metric, &labels[..if direction.is_empty() { 1 } else { 2 }])
}

pub(crate) fn stall(resource: &str, kind: &str) -> String {
    series(metric::PRESSURE, &[("resource", resource), ("stall", kind)])
}

pub(crate) fn target(metric: &str, name: &str, value: &str) -> String {
    series(metric, &[("process", metric::TARGET), (name, value)])
}

pub(crate) fn paging(direction: &str) -> String {
    let labels = [("system.paging.direction", direction)];
    series(metric::PAGING_OPERATIONS, &labels)
}

pub(crate) fn mount(metric: &str) -> String {
    series(metric, &[("system.filesystem.mountpoint", "/var")])
}

pub(crate) fn mode(mode: &str) -> String {
    series(metric::CPU_UTILIZATION, &[("cpu.mode", mode)])
}

pub(crate) fn major_faults() -> String {
    series(
        metric::PAGING_FAULTS,
        &[("system.paging.fault.type", "major")],
    )
}

pub(crate) fn softirq(cpu: &str) -> String {
    series(metric::CPU_SOFTIRQ, &[("cpu.logical_number", cpu)])
}

/// A healthy machine: every series of the rules is present, and grows with the load.
pub(crate) fn calm() -> SyntheticRun {
    let mut run = SyntheticRun::healthy();
    for window in &mut run.windows {
        window.outcomes.add_many(Outcome::Ok, 1000);
        window.handshakes = 10;
    }
    for (name, values) in calm_network().into_iter().chain(calm_machine()) {
        run = run.set(&name, values);
    }
    run
}

/// What grows with the load, to this level.
pub(crate) fn grows(level: f64) -> [f64; 3] {
    [level / 10.0, level * 0.8, level]
}

pub(crate) fn calm_network() -> Vec<(String, [f64; 3])> {
    vec![
        (metric::LISTEN_DROPS.to_owned(), [0.0; 3]),
        (metric::SYN_QUEUE_DROPS.to_owned(), [0.0; 3]),
        (metric::SYN_COOKIES.to_owned(), [0.0; 3]),
        (metric::SYN_RETRANSMITS.to_owned(), [0.0, 0.0, 0.1]),
        (metric::TCP_SEGMENTS_OUT.to_owned(), grows(20_000.0)),
        (metric::TCP_RETRANSMITS.to_owned(), grows(30.0)),
        (metric::TCP_ACTIVE_OPENS.to_owned(), grows(200.0)),
        (metric::CONNTRACK_USED.to_owned(), grows(9000.0)),
        (metric::CONNTRACK_LIMIT.to_owned(), [262_144.0; 3]),
        (metric::SOFTNET_DROPPED.to_owned(), [0.0; 3]),
        (metric::SOFTNET_SQUEEZED.to_owned(), grows(3.0)),
        (link(metric::NETWORK_DROPPED, "receive"), [0.3; 3]),
        (link(metric::NETWORK_PACKETS, "receive"), grows(20_000.0)),
        (link(metric::NETWORK_IO, "transmit"), grows(5e7)),
        (link(metric::NETWORK_SPEED, ""), [125e6; 3]),
        (softirq("0"), grows(0.3)),
        (metric::TCP_MEMORY_PRESSURES.to_owned(), [0.0; 3]),
        (metric::TCP_MEMORY_ABORTS.to_owned(), [0.0; 3]),
        (metric::TCP_MEMORY.to_owned(), grows(3e7)),
        (metric::TCP_MEMORY_LIMIT.to_owned(), [2e9; 3]),
        (metric::TIME_WAIT_OVERFLOWS.to_owned(), [0.0; 3]),
    ]
}

pub(crate) fn calm_machine() -> Vec<(String, [f64; 3])> {
    vec![
        (mode("steal"), [0.0, 0.01, 0.02]),
        (metric::CPU_CLOCK.to_owned(), [1.2, 1.1, 1.05]),
        (metric::CPU_SLOWED.to_owned(), [0.0; 3]),
        (of(metric::PROCESS_THREADS, metric::TARGET), [32.0; 3]),
        (switches("voluntary"), grows(4000.0)),
        (switches("involuntary"), grows(200.0)),
        (
            target(metric::PROCESS_CPU_TIME, "cpu.mode", "user"),
            grows(1.0),
        ),
        (
            target(metric::PROCESS_CPU_TIME, "cpu.mode", "system"),
            grows(0.6),
        ),
        (stall("memory", "full"), [0.0; 3]),
        (stall("io", "some"), [0.0, 0.02, 0.05]),
        (stall("io", "full"), [0.0, 0.01, 0.02]),
        (major_faults(), [1.0, 3.0, 5.0]),
        (paging("in"), [0.0, 0.0, 2.0]),
        (paging("out"), [0.0, 50.0, 80.0]),
        (disk(metric::DISK_UTILIZATION, ""), grows(0.5)),
        (disk(metric::DISK_AWAIT, ""), [0.001, 0.001, 0.0015]),
        (disk(metric::DISK_IO, "read"), grows(1e6)),
        (disk(metric::DISK_IO, "write"), grows(9e6)),
        (disk(metric::DISK_OPERATIONS, "read"), grows(10.0)),
        (disk(metric::DISK_OPERATIONS, "write"), grows(900.0)),
        (disk(metric::DISK_FLUSH_TIME, ""), [0.001, 0.002, 0.002]),
        (disk(metric::DISK_FLUSHES, ""), grows(90.0)),
        (mount(metric::FILESYSTEM_FREE), [0.4; 3]),
        (mount(metric::FILESYSTEM_INODES_FREE), [0.8; 3]),
        (cgroup(metric::CGROUP_MEMORY_HIGH), [0.0; 3]),
        (cgroup(metric::CGROUP_MEMORY), [6e7; 3]),
        (cgroup(metric::CGROUP_PIDS), grows(30.0)),
        (cgroup(metric::CGROUP_PIDS_LIMIT), [64.0; 3]),
        (cgroup(metric::CGROUP_PIDS_REFUSED), [0.0; 3]),
        (metric::MEMORY_AVAILABLE.to_owned(), [4e9; 3]),
        (metric::MEMORY_LIMIT.to_owned(), [8e9; 3]),
        (of(metric::PROCESS_MEMORY, metric::TARGET), [1e8; 3]),
    ]
}

pub(crate) fn switches(kind: &str) -> String {
    target(
        metric::PROCESS_SWITCHES,
        "process.context_switch.type",
        kind,
    )
}

#[test]
fn a_machine_that_does_its_work_is_silent() {
    assert_eq!(calm().find(), []);
}

/// A second of readings.
pub(crate) fn row(second: u32, values: BTreeMap<String, f64>) -> Readings {
    Readings {
        second,
        values,
        new_series: BTreeMap::new(),
    }
}

/// A run whose objective has no bound.
pub(crate) fn context() -> Context {
    Context {
        target: "127.0.0.1:8080".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    }
}
