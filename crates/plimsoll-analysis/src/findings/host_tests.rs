//! Rules about the machine, its kernel and the network over synthetic series: what triggers each, its text, and what
//! does not trigger it.

use plimsoll_model::finding::Certainty;
use plimsoll_model::metric::{self, series};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;

use super::tests::{SyntheticRun, cgroup, check, of, rule_of, rules_and_causes};
use crate::diagnosis::rule_id::RuleId;

fn link(metric: &str, direction: &str) -> String {
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

fn target(metric: &str, name: &str, value: &str) -> String {
    series(metric, &[("process", metric::TARGET), (name, value)])
}

pub(crate) fn paging(direction: &str) -> String {
    let labels = [("system.paging.direction", direction)];
    series(metric::PAGING_OPERATIONS, &labels)
}

pub(crate) fn mount(metric: &str) -> String {
    series(metric, &[("system.filesystem.mountpoint", "/var")])
}

fn mode(mode: &str) -> String {
    series(metric::CPU_UTILIZATION, &[("cpu.mode", mode)])
}

pub(crate) fn major_faults() -> String {
    series(
        metric::PAGING_FAULTS,
        &[("system.paging.fault.type", "major")],
    )
}

fn softirq(cpu: &str) -> String {
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
fn grows(level: f64) -> [f64; 3] {
    [level / 10.0, level * 0.8, level]
}

fn calm_network() -> Vec<(String, [f64; 3])> {
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

fn calm_machine() -> Vec<(String, [f64; 3])> {
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

fn switches(kind: &str) -> String {
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

#[test]
fn new_connections_that_the_kernel_drops() {
    let drops = calm().set(metric::LISTEN_DROPS, [0.0, 0.0, 40.0]);
    let expected = "40 times a second this machine dropped the first packet";
    check(&drops, RuleId::N2, Certainty::Explicit, 1.0, expected);
    // Each drop of a full SYN queue is counted as a drop of the listener too.
    let queue = drops.set(metric::SYN_QUEUE_DROPS, [0.0, 0.0, 40.0]);
    let expected = "2400 SYNs a minute were dropped";
    check(&queue, RuleId::N3, Certainty::Explicit, 1.0, expected);
    let cookies = calm().set(metric::SYN_COOKIES, [0.0, 0.0, 5.0]);
    check(
        &cookies,
        RuleId::N3,
        Certainty::Possible,
        1.0,
        "300 were answered with a cookie",
    );
    // One cookie in a minute is nothing.
    assert_eq!(calm().set(metric::SYN_COOKIES, [0.0, 0.0, 0.02]).find(), []);
}

#[test]
fn packets_that_are_lost() {
    let lossy = calm().set(metric::TCP_RETRANSMITS, [3.0, 24.0, 600.0]).set(
        &link(metric::NETWORK_DROPPED, "transmit"),
        [0.0, 0.0, 590.0],
    );
    let expected = "3.0 % of the TCP segments were retransmitted (600 a second): the network loses packets; eth0 \
        dropped 590";
    check(&lossy, RuleId::N4, Certainty::Suspected, 0.8, expected);
    // A line that always loses as many is no news.
    let always = calm().set(metric::TCP_RETRANSMITS, [60.0, 480.0, 600.0]);
    assert_eq!(always.find(), []);
    let syns = calm()
        .set(metric::SYN_RETRANSMITS, [0.0, 0.0, 570.0])
        .set(metric::TCP_RETRANSMITS, [3.0, 24.0, 600.0]);
    let expected = "570 SYNs a second were retransmitted, for 200 connections";
    check(&syns, RuleId::N5, Certainty::Suspected, 0.8, expected);
    let afar = syns.set(metric::TARGET_IS_LOCAL, [0.0; 3]);
    check(
        &afar,
        RuleId::N5,
        Certainty::Suspected,
        0.8,
        "a full accept queue of the target",
    );
}

#[test]
fn lost_syns_before_a_full_accept_queue_are_its_consequence() {
    let run = calm()
        .set(metric::LISTEN_OVERFLOWS, [0.0, 0.0, 50.0])
        .set(metric::LISTEN_DROPS, [0.0, 0.0, 50.0])
        .set(metric::SYN_RETRANSMITS, [0.0, 0.0, 60.0])
        .set(metric::SYN_COOKIES, [0.0, 0.0, 20.0])
        .set(metric::TCP_RETRANSMITS, [3.0, 24.0, 900.0]);
    let found = run.find();
    let order = rules_and_causes(&found);
    assert_eq!(order[0], (RuleId::N1, None), "{found:#?}");
    assert!(
        order[1..].iter().all(|entry| entry.1 == Some(RuleId::N1)),
        "{order:?}"
    );
}

#[test]
fn the_firewalls_table() {
    let full = calm().set(metric::CONNTRACK_USED, [9e3, 2e5, 2.5e5]);
    let expected = "the firewall tracked 250000 of at most 262144 connections";
    check(&full, RuleId::N6, Certainty::Explicit, 1.0, expected);
}

#[test]
fn packets_that_the_machine_drops() {
    let backlog = calm().set(metric::SOFTNET_DROPPED, [0.0, 0.0, 80.0]);
    let expected = "the kernel dropped 80 packets a second";
    check(&backlog, RuleId::N7, Certainty::Explicit, 1.0, expected);
    let ring = calm().set(&link(metric::NETWORK_DROPPED, "receive"), [0.3, 0.3, 700.0]);
    let expected = "eth0 dropped 700 of 20000 packets received a second";
    check(&ring, RuleId::N7, Certainty::Explicit, 1.0, expected);
}

#[test]
fn one_cpu_that_takes_all_interrupts() {
    let hot = calm().set(&softirq("3"), [0.1, 0.5, 0.97]);
    let expected =
        "CPU 3 spent 97 % of its time in soft interrupts while all CPUs together were 50 % busy";
    check(&hot, RuleId::N8, Certainty::Suspected, 0.6, expected);
}

#[test]
fn a_link_that_is_full() {
    let full = calm().set(&link(metric::NETWORK_IO, "transmit"), [1e6, 9e7, 1.2e8]);
    let expected = "eth0 sent 960 Mbit/s and can carry 1000";
    check(&full, RuleId::N9, Certainty::Suspected, 0.6, expected);
}

#[test]
fn a_link_that_somebody_holds() {
    let no_speed = calm().set(&link(metric::NETWORK_SPEED, ""), [0.0; 3]);
    let flat = no_speed.set(&link(metric::NETWORK_IO, "transmit"), [1e6, 2.5e6, 2.5e6]);
    assert_eq!(flat.find(), [], "nothing waits to be sent");
    let held = flat.set(metric::TCP_UNSENT, [0.0, 1e5, 4e6]);
    let expected = "eth0 sent a steady 20 Mbit/s, as under a rate limit, while 3.8 MiB of answers waited to be sent";
    check(&held, RuleId::N9, Certainty::Suspected, 0.6, expected);
}

#[test]
fn tables_and_memory_of_tcp() {
    let memory = calm()
        .set(metric::TCP_MEMORY_ABORTS, [0.0, 0.0, 0.5])
        .set(metric::TCP_MEMORY, [1e6, 1e9, 2e9]);
    let expected =
        "TCP ran out of memory: 1907 MiB in buffers of at most 1907; 30 connections a minute";
    check(&memory, RuleId::N10, Certainty::Explicit, 1.0, expected);
    let waiting = calm()
        .set(metric::TIME_WAIT_OVERFLOWS, [0.0, 0.0, 30.0])
        .set(metric::TIME_WAIT_LIMIT, [8192.0; 3]);
    let expected = "30 sockets a second skipped TIME_WAIT because its table was full (limit 8192)";
    check(&waiting, RuleId::N11, Certainty::Possible, 0.4, expected);
}

#[test]
fn handshakes_that_keep_one_thread_busy() {
    let busiest = metric::series(metric::THREAD_BUSIEST, &[("process", metric::TARGET)]);
    let run = calm()
        .set(&busiest, [0.2, 0.9, 0.99])
        .failing_windows(|window| window.handshakes = 800);
    let expected = "; there were 800 TLS handshakes a second, 0.8 per answer";
    check(&run, RuleId::C3, Certainty::Suspected, 0.6, expected);
    let found = run.find();
    assert!(found[0].remedy.contains("resume sessions"), "{found:#?}");
}

#[test]
fn handshakes_that_use_the_cpu_up() {
    let many: fn(&mut Window) = |window| window.handshakes = 800;
    let busy = calm()
        .set(metric::CPU_BUSY, [0.3, 0.7, 0.95])
        .failing_windows(many);
    let expected =
        "there were 800 TLS handshakes a second, 0.8 per answer, while the CPUs were 95 % busy";
    check(&busy, RuleId::N13, Certainty::Possible, 0.6, expected);
    assert_eq!(
        calm().failing_windows(many).find(),
        [],
        "there is CPU to spare"
    );
}

#[test]
fn cpus_that_others_use_or_that_are_hot() {
    let stolen = calm().set(&mode("steal"), [0.0, 0.01, 0.2]);
    let expected = "the hypervisor took 20 % of this machine's CPU time";
    check(&stolen, RuleId::C4, Certainty::Possible, 0.6, expected);
    let hot = calm().set(metric::CPU_CLOCK, [1.2, 1.1, 0.6]);
    let expected = "the CPUs ran at 60 % of their rated clock while they were 50 % busy";
    check(&hot, RuleId::C7, Certainty::Possible, 0.6, expected);
    // With little to do they may run slowly.
    let idle = hot.set(metric::CPU_BUSY, [0.2, 0.2, 0.2]);
    assert_eq!(idle.find(), []);
}

#[test]
fn cpu_time_in_the_kernel() {
    let system = target(metric::PROCESS_CPU_TIME, "cpu.mode", "system");
    let run = calm()
        .set(metric::CPU_BUSY, [0.3, 0.7, 0.95])
        .set(&of(metric::PROCESS_CPU, metric::TARGET), [0.2, 0.6, 0.9])
        .set(&system, [0.2, 1.0, 3.0]);
    let expected = "the target spent 75 % of its CPU time in the kernel";
    check(&run, RuleId::C6, Certainty::Suspected, 0.6, expected);
    let spare = calm().set(&system, [0.2, 1.0, 3.0]);
    assert_eq!(spare.find(), [], "there is CPU to spare");
    // The use of the CPU is reported beside its saturation.
    let full = run.set(&stall("cpu", "some"), [0.0, 0.1, 0.6]);
    let found = full.find();
    assert_eq!(rule_of(&found[0]), RuleId::C1, "{found:#?}");
    assert_eq!(rules_and_causes(&found)[1].1, Some(RuleId::C1));
}

#[test]
fn threads_that_wait_for_each_other() {
    let more: fn(&mut Window) = |window| {
        window.offered = 2000;
        window.sent = 2000;
    };
    let run = calm()
        .set(&switches("voluntary"), [400.0, 3200.0, 40_000.0])
        .failing_windows(more);
    let expected = "the target's 32 threads blocked 20 times per request";
    check(&run, RuleId::C5, Certainty::Suspected, 0.4, expected);
    let locked = target(metric::THREAD_WAITS, "on", "lock");
    let run = calm().set(&locked, [0.0, 2.0, 28.0]).failing_windows(more);
    let expected =
        "28.0 of the target's 32 threads on average waited for a lock, 2.0 at the load that passed";
    check(&run, RuleId::C5, Certainty::Suspected, 0.4, expected);
    // A pool's threads wait for one as well while they have nothing to do.
    let pool = calm().set(&locked, [30.0, 28.0, 9.0]).failing_windows(more);
    assert_eq!(pool.find(), []);
    let answered = calm()
        .set(&switches("voluntary"), [400.0, 3200.0, 8000.0])
        .failing_windows(|window| {
            window.offered = 2000;
            window.outcomes.add_many(Outcome::Ok, 1000);
        });
    assert_eq!(answered.find(), [], "twice as much was answered");
}
