//! Texts of real kernels, and any text at all.

use proptest::prelude::*;

use super::{cgroup, cpu, disk, memory, mount, network, process, socket, value_of};

#[test]
fn proc_stat_of_linux_6() {
    let text = "cpu  36816 95 6086 189874 1744 1 89 63 7 0\n\
                cpu0 17720 2 2200 96897 494 0 10 25 0 0\n\
                cpu1 19096 93 3885 92977 1250 1 78 38 0 0\n\
                intr 344942 0 0\nctxt 503942\nbtime 1795297656\nprocesses 10883\nprocs_running 1\n";
    let stat = cpu::stat(text);
    assert_eq!(stat.each.len(), 2);
    assert_eq!(stat.processes_created, 10_883);
    // Everything but idle, I/O wait and stolen; guests are part of user time and not counted again.
    assert_eq!(stat.all.busy(), 36_816 + 95 + 6086 + 1 + 89);
    assert_eq!(stat.all.total(), stat.all.busy() + 189_874 + 1744 + 63);
    assert_eq!(stat.each[1].1.softirq(), 78);
    // I/O wait may fall from one reading to the next.
    let mut later = stat.all;
    later.by_mode[4] -= 4;
    later.by_mode[0] += 10;
    assert_eq!(later.since(stat.all).total(), 10);
}

#[test]
fn load_pressure_and_time_on_a_cpu() {
    let load = cpu::loadavg("0.30 0.48 0.32 3/89 10883\n");
    assert_eq!((load.one_minute, load.running), (0.30, 3));
    let text = "some avg10=0.97 avg60=0.91 avg300=0.95 total=15969760\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
    assert_eq!(cpu::pressure(text), (Some(15_969_760), Some(12)));
    assert_eq!(cpu::pressure("some avg10=0.97 total=5\n"), (Some(5), None));
    assert_eq!(
        cpu::schedstat("1500000 1639342 7\n"),
        (1_500_000, 1_639_342)
    );
}

#[test]
fn memory_in_bytes() {
    let text = "MemTotal:       1000 kB\nMemFree:         400 kB\nMemAvailable:    700 kB\nBuffers:  10 kB\n\
                Cached: 200 kB\nSReclaimable: 90 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n";
    let memory = memory::meminfo(text);
    assert_eq!(memory.used(), 300 * 1024);
    assert_eq!(memory.available, 700 * 1024);
    let paging = memory::vmstat("pgfault 9\npgmajfault 1708\npswpin 1\npswpout 2\noom_kill 3\n");
    assert_eq!(
        (paging.major_faults, paging.swapped_in, paging.swapped_out),
        (1708, 1, 2)
    );
    assert_eq!(paging.oom_kills, Some(3));
}

#[test]
fn disks_that_did_something() {
    let text = "   7       0 loop0 5 0 9 1 0 0 0 0 0 0 0\n\
                254       0 vda 59756 10892 4990098 61872 27450 24038 4158448 12881 0 19100 77774 8889 27 888648 2854 3526 165\n\
                254      16 vdb 0 0 0 0 0 0 0 0 0 0 0\n";
    let disks = disk::diskstats(text);
    assert_eq!(disks.len(), 1);
    assert_eq!(disks[0].name, "vda");
    assert_eq!(
        (disks[0].reads, disks[0].sectors_read, disks[0].read_ms),
        (59_756, 4_990_098, 61_872)
    );
    assert_eq!(
        (disks[0].writes, disks[0].write_ms, disks[0].busy_ms),
        (27_450, 12_881, 19_100)
    );
    assert_eq!((disks[0].flushes, disks[0].flush_ms), (3526, 165));
}

#[test]
fn interfaces_whose_name_touches_the_number() {
    let text = "Inter-|   Receive |  Transmit\n face |bytes packets |bytes\n\
                \x20   lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0\n\
                eth0:290347017   10127    1    2    0     0          0         0   754781    6502    3    4    0     0       0          0\n";
    let interfaces = network::dev(text);
    assert_eq!(interfaces.len(), 2);
    let eth0 = &interfaces[1];
    assert_eq!(
        (
            eth0.receive.bytes,
            eth0.receive.errors,
            eth0.receive.dropped
        ),
        (290_347_017, 1, 2)
    );
    assert_eq!(
        (
            eth0.transmit.packets,
            eth0.transmit.errors,
            eth0.transmit.dropped
        ),
        (6502, 3, 4)
    );
}

#[test]
fn counters_by_name_whatever_their_place() {
    let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 333\nIpExt: InNoRoutes\nIpExt: 4\n";
    let counters = network::Counters::of(text, "TcpExt").unwrap();
    assert_eq!(counters.get("ListenOverflows"), Some(22));
    assert_eq!(counters.get("InNoRoutes"), None);
    assert_eq!(
        network::softnet("0000279c 00000002 00000001\n00000001 0000000a 00000010\n"),
        (12, 17)
    );
    let stat = network::sockstat("sockets: used 14\nTCP: inuse 1 orphan 0 tw 7 alloc 1 mem 258\n");
    assert_eq!(
        (
            stat.used,
            stat.tcp_in_use,
            stat.tcp_time_wait,
            stat.tcp_memory_pages
        ),
        (14, 1, 7, 258)
    );
    assert_eq!(network::sockstat6_in_use("TCP6: inuse 5\n"), 5);
    assert_eq!(
        network::port_range("32768\t60999\n"),
        Some((32_768, 60_999))
    );
    assert_eq!(network::port_range("60999 32768"), None);
}

#[test]
fn a_process_may_call_itself_anything() {
    let text = "42 (a) b (c)) S 1 42 42 0 -1 4194304 121 5 3 0 700 30 0 0 20 0 4 0 117769 3133440 393 18446744073709551615 1\n";
    let stat = process::stat(text).unwrap();
    assert_eq!(stat.comm, "a) b (c)");
    assert_eq!((stat.state, stat.parent, stat.threads), ('S', 1, 4));
    assert_eq!(
        (stat.user_ticks, stat.system_ticks, stat.major_faults),
        (700, 30, 3)
    );
    assert_eq!((stat.start_ticks, stat.resident_pages), (117_769, 393));
    assert_eq!(process::stat("no such line"), None);
    assert_eq!(process::stat(")("), None);
}

/// The kernel knows nothing of a process's arguments while it puts a program in the place of another.
#[test]
fn a_process_that_starts_a_program() {
    let line = |state: &str, size: &str, code: &str, environment: &str| {
        let zeros = |count: usize| "0 ".repeat(count);
        format!(
            "7 (a) b) {state} {}{size} 130 9 {code} {}{environment} 0\n",
            zeros(19),
            zeros(24)
        )
    };
    let is_starting = |text: String| process::is_starting(&text);
    assert!(is_starting(line("R", "135168", "0", "0")));
    assert!(is_starting(line("D", "135168", "0", "0")));
    // One that runs, one whose memory may not be looked at, one that has ended, and a thread of the kernel.
    assert!(!is_starting(line("S", "3133440", "4194304", "140721")));
    assert!(!is_starting(line("S", "3133440", "1", "0")));
    assert!(!is_starting(line("Z", "0", "0", "0")));
    assert!(!is_starting(line("S", "0", "0", "0")));
    assert!(!process::is_starting("7 (a) R 1"));
    assert!(!process::is_starting(""));
}

#[test]
fn limits_switches_and_memory_of_a_process() {
    let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                Max open files            1024                 unlimited            files     \n";
    assert_eq!(process::files_limit(text), Some((1024, u64::MAX)));
    let text = "Name:\tcat\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t34\n";
    assert_eq!(process::switches(text), (12, 34));
    assert_eq!(
        process::pss("5-6 [rollup]\nRss: 1748 kB\nPss: 370 kB\n"),
        Some(370 * 1024)
    );
}

#[test]
fn cgroups_of_both_versions() {
    let text = "9:name=systemd:/\n4:memory:/shop/a:b\n2:cpu,cpuacct:/shop\n0::/user.slice\n";
    assert_eq!(cgroup::path_of(text, "memory"), Some("/shop/a:b"));
    assert_eq!(cgroup::path_of(text, "cpu"), Some("/shop"));
    assert_eq!(cgroup::path_of(text, ""), Some("/user.slice"));
    assert_eq!(cgroup::path_of(text, "pids"), None);
    let mounts = cgroup::mounts(
        "30 25 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw\n\
         32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
         41 31 0:38 /docker/1 /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n",
    );
    assert_eq!(mounts.len(), 2);
    assert_eq!(mounts[0].options.as_deref(), Some("rw,cpu"));
    assert_eq!(
        (mounts[1].root.as_str(), &mounts[1].options),
        ("/docker/1", &None)
    );
    assert_eq!(cgroup::cpu_max("50000 100000\n"), Some(0.5));
    assert_eq!(cgroup::cpu_max("max 100000\n"), None);
    assert_eq!(cgroup::limit("9223372036854771712\n"), None);
    assert_eq!(cgroup::limit("max\n"), None);
    assert_eq!(cgroup::limit("-1\n"), None);
    assert_eq!(cgroup::limit("67108864\n"), Some(64 << 20));
    let v1 = cgroup::cpu_stat("nr_periods 10\nnr_throttled 3\nthrottled_time 5000\n");
    let v2 = cgroup::cpu_stat("usage_usec 9\nnr_periods 10\nnr_throttled 3\nthrottled_usec 5\n");
    assert_eq!(v1, v2);
    assert_eq!((v1.periods, v1.throttled, v1.throttled_ns), (10, 3, 5000));
}

#[test]
fn lines_of_the_socket_tables() {
    let line = "   0: 0100007F:1F90 0200007F:D431 0A 00000003:00000011 00:00000000 00000000  1000        0 1061 1 00 100 0 0 10 0";
    let socket = socket::tcp_line(line).unwrap();
    assert_eq!(socket.local, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(socket.remote, "127.0.0.2:54321".parse().unwrap());
    assert_eq!(
        (socket.state, socket.send_queue, socket.receive_queue),
        (socket::LISTEN, 3, 17)
    );
    assert_eq!(socket.inode, 1061);
    let six = "1: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1";
    assert_eq!(
        socket::tcp_line(six).unwrap().local,
        "[::1]:80".parse().unwrap()
    );
    let mapped = "1: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 01 00000000:00000000 00:00000000 00000000 0 0 7 1";
    assert_eq!(
        socket::tcp_line(mapped).unwrap().local,
        "127.0.0.1:80".parse().unwrap()
    );
    let unix = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                00000000: 00000003 00000000 00000000 0001 03 11 /run/app.sock\n\
                00000000: 00000002 00000000 00010000 0001 01 12 /run/app.sock\n";
    assert_eq!(socket::unix_listener(unix, "/run/app.sock"), Some(12));
    let udp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
               \x20 507: 0100007F:1FBD 00000000:0000 07 00000000:00034500 00:00000000 00000000     0        0 71 2 00 417\n\
               \x20 508: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 72 2 00 0\n";
    assert_eq!(socket::udp_drops(udp, 71), Some(417));
    assert_eq!(socket::udp_drops(udp, 72), Some(0));
    assert_eq!(socket::udp_drops(udp, 2), None);
}

/// Text of the words and marks that the parsers search for, in any order.
fn nearly_valid() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        " ",
        "\n",
        ":",
        "cpu",
        "cpu0",
        "processes",
        "(",
        ")",
        "some",
        "full",
        "total=",
        "18446744073709551615",
        "-1",
        "7",
        "MemTotal:",
        "kB",
        "vda",
        "TcpExt:",
        "Tcp:",
        "ListenDrops",
        "sockets:",
        "used",
        "TCP:",
        "mem",
        "Max open files",
        "unlimited",
        "Pss:",
        " - ",
        "cgroup",
        "cgroup2",
        "rw,cpu",
        "/",
        ",",
        "max",
        "é",
        "0A",
        "0100007F:1F90",
        "00000000:00000000",
        "é:é",
        "00010000",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

fn parse_everything(text: &str) {
    let stat = cpu::stat(text);
    let _ = (stat.all.busy(), stat.all.since(stat.all));
    let _ = (
        cpu::loadavg(text),
        cpu::pressure(text),
        cpu::schedstat(text),
    );
    let _ = (
        memory::meminfo(text).used(),
        memory::vmstat(text),
        disk::diskstats(text),
    );
    let _ = (
        network::dev(text),
        network::softnet(text),
        network::sockstat(text),
    );
    let _ = (network::sockstat6_in_use(text), network::port_range(text));
    let _ = network::Counters::of(text, "TcpExt").map(|counters| counters.get("ListenDrops"));
    let _ = (process::stat(text), process::is_starting(text));
    let _ = (
        process::switches(text),
        process::files_limit(text),
        process::pss(text),
    );
    let _ = (
        cgroup::path_of(text, "cpu"),
        cgroup::mounts(text),
        cgroup::cpu_max(text),
    );
    let _ = (
        cgroup::limit(text),
        cgroup::cpu_stat(text),
        value_of(text, "cpu"),
    );
    let _ = (socket::tcp_line(text), socket::unix_listener(text, "/"));
    let _ = socket::udp_drops(text, 7);
    let _ = mount::local(text);
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in ".{0,200}") {
        parse_everything(&text);
    }

    #[test]
    fn nearly_valid_text_is_read_without_panic(text in nearly_valid()) {
        parse_everything(&text);
    }
}
