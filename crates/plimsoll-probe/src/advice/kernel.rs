//! Settings of the kernel: queues and memory of TCP, retries, swapping, pages, clock, and limits of cgroups.

use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use super::host::number;
use super::{Advice, Demand};
use crate::files::Files;
use crate::parse::{memory, network};

/// Bytes of a mebibyte.
const MEBIBYTE: f64 = 1_048_576.0;
/// Above this the kernel swaps out idle pages of a service in favour of the page cache ...
const SWAPPINESS_MAX: u64 = 30;
/// ... which it has no reason to, while this share of the memory is available and nothing is swapped out.
const AVAILABLE_SHARE: f64 = 0.2;
/// The kernel's own length of the queue of received packets.
const NETDEV_BACKLOG_MIN: u64 = 1000;
/// Bytes that a connection queues in buffers while a client reads slowly: the initial window of a receiver.
const QUEUED: f64 = 65_536.0;
/// Bytes that one connection may have on the way: below, distant clients receive slowly.
const BUFFER_MIN: u64 = 1 << 20;
/// Defaults of the kernel that suffice.
const FIN_TIMEOUT_S: u64 = 60;
const SYN_RETRIES: u64 = 6;
const SYNACK_RETRIES: u64 = 5;
/// Share of a memory limit in use, above which a cgroup is short of memory.
const CGROUP_SHARE: f64 = 0.8;

/// Settings of the kernel, against what the users need.
pub(super) fn advice(files: &mut Files, readings: &Readings, demand: &Demand) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(packets(files));
    advice.extend(tcp_memory(files, demand));
    advice.extend(orphans(files, demand));
    for (name, direction) in [("tcp_rmem", "receive"), ("tcp_wmem", "send")] {
        advice.extend(tcp_buffers(files, name, direction));
    }
    advice.extend(tcp_times(files));
    advice.extend(cgroups(readings, demand));
    advice.extend(swapping(files));
    advice.extend(pages(files));
    advice.extend(time_source(files));
    advice
}

/// The queue of packets that no CPU has processed yet.
fn packets(files: &mut Files) -> Option<Advice> {
    let len = number(files, "proc/sys/net/core/netdev_max_backlog")?;
    let text = files.read("proc/net/softnet_stat").unwrap_or_default();
    let (dropped, _) = network::softnet(text);
    let advised = if dropped > 0 {
        len.saturating_mul(2).max(NETDEV_BACKLOG_MIN)
    } else {
        NETDEV_BACKLOG_MIN
    };
    Some(
        Advice::new(
            "net.core.netdev_max_backlog",
            format!("{len} ({dropped} packets dropped since the start)"),
            format!("{advised} or more"),
            dropped == 0 && len >= NETDEV_BACKLOG_MIN,
        )
        .hint()
        .because(
            "packets of the loopback interface, of containers and of receive steering wait here for their CPU, in a \
             queue for each; beyond its length they are dropped and sent again after 200 ms or more",
        ),
    )
}

/// Numbers of a file of three: least, default or pressure, most.
fn three(files: &mut Files, path: &str) -> Option<[u64; 3]> {
    let text = files.read(path).ok()?;
    let mut words = text.split_whitespace().map(str::parse::<u64>);
    Some([
        words.next()?.ok()?,
        words.next()?.ok()?,
        words.next()?.ok()?,
    ])
}

/// Memory of all connections, in pages.
fn tcp_memory(files: &mut Files, demand: &Demand) -> Option<Advice> {
    let [_, pressure, most] = three(files, "proc/sys/net/ipv4/tcp_mem")?;
    let page_len = rustix::param::page_size() as f64;
    let room = pressure as f64 * page_len;
    let needed = demand.connections * QUEUED;
    Some(
        Advice::new(
            "net.ipv4.tcp_mem",
            format!("pressure from {pressure} pages ({:.0} MiB), at most {most}", room / MEBIBYTE),
            format!("pressure from {:.0} pages or more", (needed / page_len).ceil()),
            room >= needed,
        )
        .binds_at(demand.users_for(room, needed))
        .because(format!(
            "{:.0} connections with 64 KiB each in their buffers, as slow clients leave them, take {:.0} MiB; above the \
             second number the kernel shrinks windows, above the third it drops packets and aborts connections",
            demand.connections,
            needed / MEBIBYTE
        )),
    )
}

/// Connections that a program has closed and whose data is still on the way.
fn orphans(files: &mut Files, demand: &Demand) -> Option<Advice> {
    let most = number(files, "proc/sys/net/ipv4/tcp_max_orphans")?;
    let needed = demand.connections.ceil();
    Some(
        Advice::new(
            "net.ipv4.tcp_max_orphans",
            most,
            format!("{needed:.0} or more"),
            most as f64 >= needed,
        )
        .binds_at(demand.users_for(most as f64, demand.connections))
        .because(
            "a reload or a restart closes the connections of all users at once; beyond this many that wait for their \
             last acknowledgements, connections are reset, and responses are cut off. Each takes up to 64 KiB of memory",
        ),
    )
}

/// The largest buffer of one connection.
fn tcp_buffers(files: &mut Files, name: &str, direction: &str) -> Option<Advice> {
    let [least, default, most] = three(files, &format!("proc/sys/net/ipv4/{name}"))?;
    Some(
        Advice::new(
            format!("net.ipv4.{name}"),
            format!("{least} {default} {most}"),
            format!("{least} {default} 4194304"),
            most >= BUFFER_MIN,
        )
        .hint()
        .because(format!(
            "a connection has at most this much on the way in this direction ({direction}): to a client 100 ms away {:.1} \
             MiB/s",
            most as f64 / 0.1 / MEBIBYTE
        )),
    )
}

/// Times and retries of TCP.
fn tcp_times(files: &mut Files) -> Vec<Advice> {
    let mut advice = Vec::new();
    let mut row = |name: &str, advised: &str, is_right: fn(u64) -> bool, why: &str| {
        let value = number(files, &format!("proc/sys/net/ipv4/{name}"));
        advice.extend(value.map(|value| {
            let name = format!("net.ipv4.{name}");
            let row = Advice::new(name, value, advised, is_right(value));
            row.hint().because(why)
        }));
    };
    row(
        "tcp_slow_start_after_idle",
        "0",
        |value| value == 0,
        "at 1 a connection that was idle for longer than a retransmission time-out starts anew with ten packets: the \
         response to a user who comes back after a pause takes more round trips from 14 kB on. No difference where \
         clients are near",
    );
    row(
        "tcp_fin_timeout",
        "60 or less",
        |value| value <= FIN_TIMEOUT_S,
        "connections that were closed here stay in FIN_WAIT_2 for so many seconds if the client never closes its side; \
         each counts among net.ipv4.tcp_max_orphans. It does not shorten TIME_WAIT",
    );
    row(
        "tcp_syn_retries",
        "6 or less",
        |value| value <= SYN_RETRIES,
        "6 retries give up after about 2 minutes, each further one doubles that: a worker waits so long for a server that \
         does not respond, unless its program has a time-out for connecting",
    );
    row(
        "tcp_synack_retries",
        "5 or less",
        |value| value <= SYNACK_RETRIES,
        "5 retries hold a half-open connection for about a minute, each further one doubles that, and each takes a place \
         in net.ipv4.tcp_max_syn_backlog",
    );
    advice
}

/// Limits of the cgroups of the target and of what is behind it.
fn cgroups(readings: &Readings, demand: &Demand) -> Vec<Advice> {
    let mut advice = Vec::new();
    for (series, &limit) in &readings.values {
        let process = label(series, "process");
        let (Some(name), true) = (
            label(series, "cgroup"),
            process.is_some_and(|process| process != metric::GENERATOR),
        ) else {
            continue;
        };
        let of = |metric: &str| {
            let labels = [("cgroup", name), ("process", process.unwrap_or_default())];
            readings
                .values
                .get(&metric::series(metric, &labels))
                .copied()
        };
        match plimsoll_model::labels::metric(series) {
            metric::CGROUP_MEMORY_LIMIT => advice.extend(memory_limit(
                name,
                limit,
                of(metric::CGROUP_MEMORY),
                of(metric::CGROUP_MEMORY_INACTIVE),
            )),
            metric::CGROUP_PIDS_LIMIT => {
                advice.extend(pids_limit(name, limit, of(metric::CGROUP_PIDS), demand));
            }
            _ => {}
        }
    }
    advice
}

fn memory_limit(name: &str, limit: f64, usage: Option<f64>, idle: Option<f64>) -> Option<Advice> {
    let used = (usage? - idle.unwrap_or(0.0)).max(0.0);
    Some(
        Advice::new(
            format!("memory limit of cgroup {name}"),
            format!("{:.0} MiB, {:.0} MiB in use", limit / MEBIBYTE, used / MEBIBYTE),
            format!("{:.0} MiB or more", used / CGROUP_SHARE / MEBIBYTE),
            used <= CGROUP_SHARE * limit,
        )
        .because(
            "what is in use without load leaves little room; at the limit the kernel first reclaims pages, which slows \
             every process of the cgroup, then kills one",
        ),
    )
}

fn pids_limit(name: &str, limit: f64, count: Option<f64>, demand: &Demand) -> Option<Advice> {
    let room = (limit - count?).max(0.0);
    let needed = demand.workers();
    Some(
        Advice::new(
            format!("process limit of cgroup {name}"),
            format!("{limit:.0}, {:.0} in use", limit - room),
            format!("{:.0} or more", limit - room + needed),
            room >= needed,
        )
        .binds_at(demand.users_for(room, demand.in_flight))
        .because(
            "threads count too; a service that starts one for each request in progress fails to beyond it \
             (`Resource temporarily unavailable`)",
        ),
    )
}

fn swapping(files: &mut Files) -> Vec<Advice> {
    let mut advice = Vec::new();
    let memory = files.read("proc/meminfo").map(memory::meminfo);
    let memory = memory.unwrap_or_default();
    let used = memory.swap_total.saturating_sub(memory.swap_free);
    if let Some(swappiness) = number(files, "proc/sys/vm/swappiness") {
        let why = if memory.swap_total == 0 {
            "this machine has no swap".to_owned()
        } else {
            format!(
                "{} of {} MiB of swap are in use, and {} of {} MiB of memory are available: idle pages of the service may \
                 be swapped out to make room for file cache, and the next request waits for the disk",
                used >> 20,
                memory.swap_total >> 20,
                memory.available >> 20,
                memory.total >> 20
            )
        };
        let has_room = memory.available as f64 >= AVAILABLE_SHARE * memory.total as f64;
        let is_idle = used == 0 && has_room;
        let ok = memory.swap_total == 0 || swappiness <= SWAPPINESS_MAX || is_idle;
        let row = Advice::new("vm.swappiness", swappiness, 10, ok).hint();
        advice.push(row.because(why));
    }
    if let Some(overcommit) = number(files, "proc/sys/vm/overcommit_memory") {
        let row = Advice::new(
            "vm.overcommit_memory",
            overcommit,
            "0 or 1",
            overcommit != 2,
        );
        advice.push(row.hint().because(
            "at 2 a large process cannot fork although memory is free (Redis snapshots, pre-forking servers)",
        ));
    }
    advice
}

fn pages(files: &mut Files) -> Option<Advice> {
    let text = files
        .read("sys/kernel/mm/transparent_hugepage/enabled")
        .ok()?;
    // The active setting is in brackets.
    let current = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))?;
    let row = Advice::new(
        "transparent huge pages",
        current,
        "madvise",
        current != "always",
    );
    Some(row.hint().because(
        "with `always`, databases and Redis stall for milliseconds while the kernel assembles huge pages, and use more \
         memory",
    ))
}

fn time_source(files: &mut Files) -> Option<Advice> {
    /// Sources that are read without entering the kernel.
    const CHEAP: [&str; 4] = [
        "tsc",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
    ];
    let folder = "sys/devices/system/clocksource/clocksource0";
    let current = files.read(&format!("{folder}/current_clocksource")).ok()?;
    let current = current.trim().to_owned();
    let ok = CHEAP.contains(&current.as_str());
    let row = Advice::new("time source", current, "tsc (kvm-clock in a guest)", ok).hint();
    Some(row.because("reading any other clock takes a system call, about a microsecond"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(put: &[(&str, &str)], readings: &Readings) -> Vec<Advice> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in put {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut files = Files::new(root.path().to_owned());
        advice(&mut files, readings, &Demand::assumed(3000))
    }

    fn wrong(rows: &[Advice]) -> Vec<(&str, Option<u64>)> {
        let wrong = rows.iter().filter(|row| !row.ok);
        wrong.map(|row| (row.name.as_str(), row.binds_at)).collect()
    }

    #[test]
    fn the_kernels_own_settings_suffice_and_small_ones_do_not() {
        let defaults = [
            ("proc/sys/net/core/netdev_max_backlog", "1000\n"),
            ("proc/net/softnet_stat", "00000009 00000000 00000001\n"),
            ("proc/sys/net/ipv4/tcp_mem", "92709\t123613\t185418\n"),
            ("proc/sys/net/ipv4/tcp_max_orphans", "16384\n"),
            ("proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456\n"),
            ("proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304\n"),
            ("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1\n"),
            ("proc/sys/net/ipv4/tcp_fin_timeout", "60\n"),
            ("proc/sys/net/ipv4/tcp_syn_retries", "6\n"),
            ("proc/sys/net/ipv4/tcp_synack_retries", "5\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            (
                "proc/meminfo",
                "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 1000000 kB\nSwapFree: 1000000 kB\n",
            ),
        ];
        let rows_of_defaults = rows(&defaults, &Readings::default());
        assert_eq!(rows_of_defaults.len(), 10);
        let only = [("net.ipv4.tcp_slow_start_after_idle", None)];
        assert_eq!(wrong(&rows_of_defaults), only);
        let small = [
            ("proc/sys/net/core/netdev_max_backlog", "1000\n"),
            ("proc/net/softnet_stat", "00000009 0000000a 00000001\n"),
            ("proc/sys/net/ipv4/tcp_mem", "100 16000 30000\n"),
            ("proc/sys/net/ipv4/tcp_max_orphans", "1024\n"),
            ("proc/sys/net/ipv4/tcp_wmem", "4096 16384 65536\n"),
            ("proc/sys/net/ipv4/tcp_fin_timeout", "600\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            (
                "proc/meminfo",
                "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 1000000 kB\nSwapFree: 900000 kB\n",
            ),
        ];
        let small = rows(&small, &Readings::default());
        let page_len = rustix::param::page_size() as f64;
        let binds_at = crate::parse::whole(16_000.0 * page_len / QUEUED);
        let right = [
            ("net.core.netdev_max_backlog", None),
            ("net.ipv4.tcp_mem", Some(binds_at)),
            ("net.ipv4.tcp_max_orphans", Some(1024)),
            ("net.ipv4.tcp_wmem", None),
            ("net.ipv4.tcp_fin_timeout", None),
            ("vm.swappiness", None),
        ];
        assert_eq!(wrong(&small), right);
        assert_eq!(small[0].advised, "2000 or more");
    }

    #[test]
    fn limits_of_a_cgroup() {
        let of = |metric: &str, process: &str, value: f64| {
            let labels = [("cgroup", "/shop"), ("process", process)];
            (metric::series(metric, &labels), value)
        };
        let values = [
            of(
                metric::CGROUP_MEMORY_LIMIT,
                metric::TARGET,
                512.0 * MEBIBYTE,
            ),
            of(metric::CGROUP_MEMORY, metric::TARGET, 500.0 * MEBIBYTE),
            of(
                metric::CGROUP_MEMORY_INACTIVE,
                metric::TARGET,
                20.0 * MEBIBYTE,
            ),
            of(metric::CGROUP_PIDS_LIMIT, metric::TARGET, 100.0),
            of(metric::CGROUP_PIDS, metric::TARGET, 40.0),
            of(metric::CGROUP_PIDS_LIMIT, metric::GENERATOR, 1.0),
            of(metric::CGROUP_PIDS, metric::GENERATOR, 1.0),
        ];
        let readings = Readings {
            values: values.into_iter().collect(),
            ..Readings::default()
        };
        let rows = rows(&[], &readings);
        let right = [
            ("memory limit of cgroup /shop", None),
            ("process limit of cgroup /shop", Some(1200)),
        ];
        assert_eq!(wrong(&rows), right);
        assert_eq!(rows[0].current, "512 MiB, 480 MiB in use");
        assert_eq!(
            (rows[1].current.as_str(), rows[1].advised.as_str()),
            ("100, 40 in use", "190 or more")
        );
    }
}
