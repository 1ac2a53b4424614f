//! Pages of `node_exporter`: one in its format, and those of a real one.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};

use plimsoll_model::component::{ComponentAddress, ComponentKind, instance_query};
use plimsoll_model::machine::on_machine;
use plimsoll_model::metric::{self, series};
use plimsoll_testkit::program::exporters::{NodeExporter, Prometheus};
use proptest::prelude::*;

use super::collect::runs_target;
use super::machine::{MachinePage, MachinePages};
use crate::clock;
use crate::collectors::fixture::{CollectorFixture, LONG};
use crate::collectors::link::ScrapeError;
use crate::parse::cpu::{self, CpuTimes};
use crate::parse::memory::meminfo;
use crate::parse::network;

/// A page in the format of version 1.9 on Linux, shortened.
const PAGE: &str = include_str!("page.txt");
const NAME: &str = "db1";

/// The page with other values of these series.
fn page_with(changes: &[(&str, &str)]) -> String {
    let replaced = |line: &str| {
        let (series, _) = line.rsplit_once(' ')?;
        let (series, value) = changes.iter().find(|(changed, _)| *changed == series)?;
        Some(format!("{series} {value}\n"))
    };
    let lines = PAGE.lines();
    lines
        .map(|line| replaced(line).unwrap_or_else(|| format!("{line}\n")))
        .collect()
}

/// The page two seconds later.
fn later() -> String {
    page_with(&[
        ("node_time_seconds", "1.764100002e+09"),
        (r#"node_cpu_seconds_total{cpu="0",mode="idle"}"#, "800000.7"),
        (r#"node_cpu_seconds_total{cpu="0",mode="system"}"#, "9100.7"),
        (r#"node_cpu_seconds_total{cpu="0",mode="user"}"#, "40212.4"),
        (r#"node_cpu_seconds_total{cpu="1",mode="idle"}"#, "801001.5"),
        (
            r#"node_cpu_seconds_total{cpu="1",mode="iowait"}"#,
            "1100.55",
        ),
        (r#"node_cpu_seconds_total{cpu="1",mode="steal"}"#, "79.3"),
        (r#"node_cpu_seconds_total{cpu="1",mode="user"}"#, "41211.4"),
        (
            r#"node_cpu_core_throttles_total{core="1",package="0"}"#,
            "5",
        ),
        (r#"node_disk_reads_completed_total{device="vda"}"#, "180010"),
        (
            r#"node_disk_read_time_seconds_total{device="vda"}"#,
            "900.35",
        ),
        (
            r#"node_disk_writes_completed_total{device="vda"}"#,
            "2.40009e+06",
        ),
        (
            r#"node_disk_write_time_seconds_total{device="vda"}"#,
            "7201.4",
        ),
        (
            r#"node_disk_written_bytes_total{device="vda"}"#,
            "9.8306e+10",
        ),
        (
            r#"node_disk_io_time_seconds_total{device="vda"}"#,
            "18212.636",
        ),
        (r#"node_disk_flush_requests_total{device="vda"}"#, "620120"),
        (
            r#"node_disk_flush_requests_time_seconds_total{device="vda"}"#,
            "310.7",
        ),
        (
            r#"node_network_receive_bytes_total{device="eth0"}"#,
            "3.105e+11",
        ),
        (r#"node_network_receive_drop_total{device="eth0"}"#, "218"),
        ("node_netstat_TcpExt_ListenDrops", "150"),
        ("node_netstat_TcpExt_ListenOverflows", "140"),
        ("node_netstat_Tcp_RetransSegs", "30100"),
        ("node_pressure_cpu_waiting_seconds_total", "5101.25"),
        ("node_pressure_io_stalled_seconds_total", "700.7"),
        (r#"node_softnet_times_squeezed_total{cpu="1"}"#, "6"),
        ("node_vmstat_oom_kill", "3"),
        ("node_vmstat_pswpin", "1100"),
    ])
}

/// Reads a page that is none's copy.
fn read(pages: &mut MachinePages, text: &str) -> MachinePage {
    pages.read(text, 1, None).unwrap().expect("a new page")
}

#[track_caller]
fn check(values: &BTreeMap<String, f64>, metric: &str, labels: &[(&str, &str)], right: f64) {
    let name = series(metric, labels);
    let value = values.get(&name).copied();
    let is_right = value.is_some_and(|value| (value - right).abs() <= right.abs() * 1e-6);
    assert!(is_right, "{name}: {value:?} instead of {right}");
}

#[test]
fn levels_of_a_page_have_our_names() {
    let page = read(&mut MachinePages::default(), PAGE);
    assert_eq!(page.missing, "");
    let values = page.readings.values;
    for (metric, right) in [
        (metric::CPU_COUNT, 2.0),
        (metric::LOAD_1M, 3.25),
        (metric::RUN_QUEUE, 6.0),
        (metric::MEMORY_LIMIT, 8.2e9),
        (metric::MEMORY_AVAILABLE, 5e9),
        (metric::FILES_OPEN, 2144.0),
        (metric::SOCKETS_IN_USE, 410.0),
        (metric::TCP_IN_USE, 42.0),
        (metric::TCP_TIME_WAIT, 25.0),
        (metric::TCP_MEMORY, 262_144.0),
        (metric::CONNTRACK_USED, 5100.0),
        (metric::CONNTRACK_LIMIT, 65_536.0),
    ] {
        check(&values, metric, &[], right);
    }
    for (state, right) in [("used", 2.8e9), ("free", 3e9), ("cached", 2.25e9)] {
        let labels = [("system.memory.state", state)];
        check(&values, metric::MEMORY_USAGE, &labels, right);
    }
    let swap = [("system.paging.state", "used")];
    check(&values, metric::PAGING_USAGE, &swap, 1e8);
    let link = [("network.interface.name", "eth0")];
    check(&values, metric::NETWORK_SPEED, &link, 1.25e9);
    let root = [("system.filesystem.mountpoint", "/")];
    check(&values, metric::FILESYSTEM_FREE, &root, 0.25);
    check(&values, metric::FILESYSTEM_INODES_FREE, &root, 0.75);
    // Mounted twice, of firmware, read only; speed that is not known.
    for absent in ["/var/lib/app", "/boot/efi", "/archive", "docker0"] {
        let mut names = values.keys();
        assert!(!names.any(|name| name.contains(absent)), "{absent}");
    }
    // One page shows no increase.
    assert!(!values.contains_key(metric::CPU_BUSY));
    assert!(!values.contains_key(metric::LISTEN_OVERFLOWS));
}

#[test]
fn increases_and_shares_are_those_between_two_pages() {
    let mut pages = MachinePages::default();
    read(&mut pages, PAGE);
    let values = read(&mut pages, &later()).readings.values;
    let mode = |mode| [("cpu.mode", mode)];
    check(&values, metric::CPU_BUSY, &[], 0.575);
    check(&values, metric::CPU_UTILIZATION, &mode("user"), 0.5);
    check(&values, metric::CPU_UTILIZATION, &mode("steal"), 0.05);
    let first = [("cpu.logical_number", "0")];
    check(&values, metric::CPU_UTILIZATION, &first, 0.9);
    for (metric, right) in [
        (metric::CPU_SLOWED, 1.0),
        (metric::LISTEN_OVERFLOWS, 10.0),
        (metric::TCP_RETRANSMITS, 50.0),
        (metric::SOFTNET_SQUEEZED, 2.0),
        (metric::SOFTNET_DROPPED, 0.0),
        (metric::OOM_KILLS, 0.5),
    ] {
        check(&values, metric, &[], right);
    }
    let waiting = [("resource", "cpu"), ("stall", "some")];
    check(&values, metric::PRESSURE, &waiting, 0.5);
    let stalled = [("resource", "io"), ("stall", "full")];
    check(&values, metric::PRESSURE, &stalled, 0.1);
    let swapped = [("system.paging.direction", "in")];
    check(&values, metric::PAGING_OPERATIONS, &swapped, 50.0);
    let disk = [("system.device", "vda")];
    check(&values, metric::DISK_UTILIZATION, &disk, 0.95);
    check(&values, metric::DISK_AWAIT, &disk, 0.01);
    check(&values, metric::DISK_FLUSHES, &disk, 10.0);
    check(&values, metric::DISK_FLUSH_TIME, &disk, 0.01);
    let written = [("system.device", "vda"), ("disk.io.direction", "write")];
    check(&values, metric::DISK_OPERATIONS, &written, 45.0);
    check(&values, metric::DISK_IO, &written, 1e6);
    let received = [
        ("network.interface.name", "eth0"),
        ("network.io.direction", "receive"),
    ];
    check(&values, metric::NETWORK_IO, &received, 2.5e8);
    check(&values, metric::NETWORK_DROPPED, &received, 4.0);
    // Which drops are those of a full SYN queue is not on the page; devices without work are left out.
    assert!(!values.contains_key(metric::LISTEN_DROPS));
    assert!(!values.contains_key(metric::SYN_QUEUE_DROPS));
    for absent in ["dm-0", "loop0", "docker0"] {
        let mut names = values.keys();
        assert!(!names.any(|name| name.contains(absent)), "{absent}");
    }
}

#[test]
fn drops_of_listeners_are_read_with_those_of_the_syn_queue() {
    let with_drops = |page: &str| format!("{page}node_netstat_TcpExt_TCPReqQFullDrop 7\n");
    let mut pages = MachinePages::default();
    read(&mut pages, &with_drops(PAGE));
    let values = read(&mut pages, &with_drops(&later())).readings.values;
    check(&values, metric::LISTEN_DROPS, &[], 10.0);
    check(&values, metric::SYN_QUEUE_DROPS, &[], 0.0);
}

#[test]
fn a_copy_shows_no_second_without_work() {
    let mut pages = MachinePages::default();
    read(&mut pages, PAGE);
    for now_ns in [2, 1_000_000_000] {
        let copy = pages.read(PAGE, now_ns, None);
        assert!(copy.unwrap().is_none());
    }
    // The increase is that of the two seconds between the pages, whenever they arrive.
    let new = pages.read(&later(), 15_000_000_000, None).unwrap().unwrap();
    check(&new.readings.values, metric::LISTEN_OVERFLOWS, &[], 10.0);
}

#[test]
fn pages_without_a_time_count_from_their_arrival() {
    let mut pages = MachinePages::default();
    let without = |page: &str| page.replace("\nnode_time_seconds ", "\nother ");
    for (now_ns, right) in [(1_000_000_000, None), (5_000_000_000, Some(5.0))] {
        let text = if right.is_none() {
            PAGE.to_owned()
        } else {
            later()
        };
        let page = pages.read(&without(&text), now_ns, None).unwrap().unwrap();
        let drops = page.readings.values.get(metric::LISTEN_OVERFLOWS);
        assert_eq!(drops.copied(), right);
    }
}

#[test]
fn clocks_that_go_back_and_new_starts_have_no_increase() {
    let back = later().replace("1.764100002e+09", "1.764099000e+09");
    let anew = later().replace(
        "node_boot_time_seconds 1.764e+09",
        "node_boot_time_seconds 1.7641e+09",
    );
    for (page, is_same_start) in [(&back, true), (&anew, false)] {
        let mut pages = MachinePages::default();
        let before = read(&mut pages, PAGE).started;
        let after = read(&mut pages, page);
        assert!(before.is_some());
        assert_eq!(after.started == before, is_same_start);
        let values = after.readings.values;
        check(&values, metric::LOAD_1M, &[], 3.25);
        assert!(!values.contains_key(metric::LISTEN_OVERFLOWS), "{page}");
        assert!(!values.contains_key(metric::CPU_BUSY), "{page}");
    }
    // The time of a start moves with corrections of the clock.
    let corrected = later().replace(
        "node_boot_time_seconds 1.764e+09",
        "node_boot_time_seconds 1.764000001e+09",
    );
    let mut pages = MachinePages::default();
    let before = read(&mut pages, PAGE).started;
    let after = read(&mut pages, &corrected);
    assert_eq!(after.started, before);
    check(&after.readings.values, metric::LISTEN_OVERFLOWS, &[], 10.0);
}

#[test]
fn other_pages_are_refused_and_missing_collectors_named() {
    let mut pages = MachinePages::default();
    for text in ["", "<html></html>", "go_goroutines 9\n"] {
        let refused = pages.read(text, 1, None);
        assert!(matches!(refused, Err(ScrapeError::Strange(_))), "{text}");
    }
    let page = read(&mut pages, "node_load1 2\nnode_procs_running 1\n");
    assert_eq!(page.missing, "cpu, meminfo, netdev, netstat");
    let names: Vec<String> = page.readings.values.into_keys().collect();
    assert_eq!(names, [metric::LOAD_1M, metric::RUN_QUEUE]);
}

#[test]
fn the_target_is_on_the_machine_that_responds_from_its_address() {
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let target = address("10.0.0.5");
    for (peer, right) in [
        ("10.0.0.5", Some(true)),
        ("::ffff:10.0.0.5", Some(true)),
        ("10.0.0.6", Some(false)),
        // The end of a tunnel.
        ("127.0.0.1", None),
    ] {
        assert_eq!(runs_target(target, address(peer)), right, "{peer}");
    }
    assert_eq!(runs_target(None, target), None);
    let mut pages = MachinePages::default();
    let page = pages.read(PAGE, 1, Some(true)).unwrap().unwrap();
    check(&page.readings.values, metric::TARGET_IS_LOCAL, &[], 1.0);
}

proptest! {
    #[test]
    fn no_page_is_too_strange(text in "\\PC{0,60}", at in 0_usize..20_000, value in any::<f64>()) {
        let mut pages = MachinePages::default();
        let cut = PAGE.get(..at).unwrap_or(PAGE);
        for page in [
            format!("{cut}{text}\n"),
            PAGE.replace("vda", &text),
            PAGE.replace("800000.5", &value.to_string()),
        ] {
            let _ = pages.read(&page, 1, None);
        }
    }
}

/// What the kernel shows at a moment.
#[derive(Clone, Copy)]
struct KernelReading {
    at_s: f64,
    cpus: usize,
    /// The sum of each CPU's times, which the exporter shows: that of all is rounded once.
    cpu: CpuTimes,
    loopback_bytes: f64,
}

impl KernelReading {
    fn now() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).unwrap();
        let interfaces = network::dev(&text("/proc/thread-self/net/dev"));
        let loopback = interfaces.iter().find(|it| it.name == "lo").unwrap();
        let each = cpu::stat(&text("/proc/stat")).each;
        let mut cpu = CpuTimes::default();
        for (_, times) in &each {
            for (sum, ticks) in cpu.by_mode.iter_mut().zip(times.by_mode) {
                *sum += ticks;
            }
        }
        Self {
            at_s: clock::now_ns() as f64 / 1e9,
            cpus: each.len(),
            cpu,
            loopback_bytes: loopback.receive.bytes as f64,
        }
    }
}

/// What passed from one reading to another.
type Passed = fn(KernelReading, KernelReading) -> f64;

fn seconds(from: KernelReading, to: KernelReading) -> f64 {
    to.at_s - from.at_s
}

fn bytes(from: KernelReading, to: KernelReading) -> f64 {
    to.loopback_bytes - from.loopback_bytes
}

fn busy_ticks(from: KernelReading, to: KernelReading) -> f64 {
    to.cpu.since(from.cpu).busy() as f64
}

fn all_ticks(from: KernelReading, to: KernelReading) -> f64 {
    to.cpu.since(from.cpu).total() as f64
}

/// Sends bytes to itself until fifty ticks of each CPU have passed.
fn send_over_loopback(since: KernelReading) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let mut block = vec![0; 32 << 10];
    let needed = since.cpus as f64 * 50.0;
    while all_ticks(since, KernelReading::now()) < needed {
        sender.write_all(&block).unwrap();
        receiver.read_exact(&mut block).unwrap();
    }
}

#[test]
fn a_real_exporter_shows_what_the_kernel_counts() {
    let exporter = NodeExporter::start();
    let place = ComponentAddress::Machine {
        host: exporter.address.ip().to_string(),
        port: exporter.address.port(),
        path: "/metrics".to_owned(),
        name: NAME.to_owned(),
    };
    let mut watched = CollectorFixture::of(ComponentKind::NodeExporter, place, "", "");
    // Each page is made between two readings of the kernel.
    let before_first = KernelReading::now();
    watched.scrape();
    let after_first = KernelReading::now();
    send_over_loopback(after_first);
    let before_second = KernelReading::now();
    let readings = watched.scrape();
    let after_second = KernelReading::now();
    let within = |metric: &str, labels: &[(&str, &str)], [least, most]: [f64; 2]| {
        let name = on_machine(&series(metric, labels), NAME);
        let value = readings.values.get(&name).copied();
        let is_within = value.is_some_and(|value| (least..=most).contains(&value));
        let notes = watched.notes();
        assert!(
            is_within,
            "{name}: {value:?} is not in {least}..={most}; {notes}"
        );
    };
    // At least what passed between the inner readings, at most what passed between the outer ones.
    let ratio = |of: Passed, over: Passed| {
        let least = of(after_first, before_second) / over(before_first, after_second);
        let most = of(before_first, after_second) / over(after_first, before_second);
        [least, most]
    };
    let received = [
        ("network.interface.name", "lo"),
        ("network.io.direction", "receive"),
    ];
    // The clocks of both are not corrected at the same rate.
    let [least, most] = ratio(bytes, seconds);
    within(metric::NETWORK_IO, &received, [least * 0.99, most * 1.01]);
    let [least, most] = ratio(busy_ticks, all_ticks);
    within(metric::CPU_BUSY, &[], [least - 0.05, most + 0.05]);
    let cpus = after_second.cpus as f64;
    within(metric::CPU_COUNT, &[], [cpus; 2]);
    let memory = meminfo(&std::fs::read_to_string("/proc/meminfo").unwrap());
    let (total, available) = (memory.total as f64, memory.available as f64);
    within(metric::MEMORY_LIMIT, &[], [total; 2]);
    let around = [available - total * 0.2, available + total * 0.2];
    within(metric::MEMORY_AVAILABLE, &[], around);
}

#[test]
fn a_server_has_what_an_exporter_showed_it() {
    let exporter = NodeExporter::start();
    let server = Prometheus::scraping(exporter.address);
    let place = ComponentAddress::Machine {
        host: server.address.ip().to_string(),
        port: server.address.port(),
        path: instance_query::path_of("", &exporter.address.to_string()),
        name: NAME.to_owned(),
    };
    let mut watched = CollectorFixture::of(ComponentKind::NodeExporter, place, "", "");
    let busy = on_machine(metric::CPU_BUSY, NAME);
    // Two pages show an increase; until then the server has none, or one.
    let begin_ns = clock::now_ns();
    let mut readings = BTreeMap::new();
    while !readings.contains_key(&busy) && u128::from(clock::now_ns() - begin_ns) < LONG.as_nanos()
    {
        readings = watched.scrape().values;
    }
    let value = |metric: &str| readings.get(&on_machine(metric, NAME)).copied();
    let notes = watched.notes();
    let cpus = KernelReading::now().cpus as f64;
    assert_eq!(value(metric::CPU_COUNT), Some(cpus), "{notes}");
    let busy = value(metric::CPU_BUSY);
    assert!(
        busy.is_some_and(|share| (0.0..=1.0).contains(&share)),
        "{busy:?}"
    );
    let memory = meminfo(&std::fs::read_to_string("/proc/meminfo").unwrap());
    assert_eq!(value(metric::MEMORY_LIMIT), Some(memory.total as f64));
    // Pages that are read again before the server has a new one are its pace, not a copy in front of the exporter.
    assert!(!notes.contains("is a copy"), "{notes}");
}

#[test]
fn pages_tell_how_long_after_each_other_they_were_made() {
    let mut pages = MachinePages::default();
    assert_eq!(read(&mut pages, PAGE).after_s, None);
    let after_s = read(&mut pages, &later()).after_s.unwrap();
    assert!((after_s - 2.0).abs() < 1e-3, "{after_s}");
}
