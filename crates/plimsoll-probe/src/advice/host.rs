//! Limits of this host: CPU, accept queues, descriptors, ports and tables of the kernel.

use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use super::{Advice, Demand, kernel};
use crate::files::Files;
use crate::host::cgroups::Cgroups;
use crate::parse::network::port_range;
use crate::parse::process;

/// Descriptors that a target and a generator should be allowed.
const FILES_ADVISED: u64 = 65_536;
/// Fewer than this bind below the connections that the generator opens by default (10,000) and a reserve.
const FILES_MIN: u64 = 10_500;
/// Usual backlog of busy servers in `listen()` (nginx: 511).
const BACKLOG_MIN: u64 = 511;
/// The kernel's own default since Linux 5.4.
const SOMAXCONN_ADVISED: u64 = 4096;
/// Half-open connections that a burst may bring.
const SYN_BACKLOG_MIN: u64 = 1024;
/// Seconds that a port rests in `TIME_WAIT`; not adjustable.
const TIME_WAIT_S: u64 = 60;
/// Width of the default range of local ports, 32768 to 60999.
const PORTS_MIN: u64 = 28_232;
/// Tracked connections below which a load test fills the table.
const CONNTRACK_MIN: u64 = 131_072;
/// Open files of the machine that suffice for one service.
const FILE_MAX_MIN: u64 = 500_000;

/// Limits of this host for the processes of the target.
pub(super) fn advice(
    files: &mut Files,
    readings: &Readings,
    pids: &[u32],
    demand: &Demand,
) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(quota(files, readings, pids));
    advice.extend(cpus(files, readings, pids, demand));
    advice.extend(backlogs(readings));
    advice.extend(descriptors(files, pids));
    advice.extend(ports(files));
    advice.extend(kernel_queues(files));
    advice.extend(conntrack(files));
    advice.extend(machine_files(files));
    advice.extend(kernel::advice(files, readings, demand));
    advice
}

/// The first number of a file.
pub(super) fn number(files: &mut Files, path: &str) -> Option<u64> {
    files
        .read(path)
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// CPUs that the tightest quota allows to the target, or without one to this process.
pub(super) fn quota_of(files: &mut Files, pids: &[u32]) -> Option<f64> {
    let mut cgroups = Cgroups::default();
    for &pid in pids {
        cgroups.follow(files, pid, metric::TARGET);
    }
    if pids.is_empty() {
        cgroups.follow(files, std::process::id(), metric::GENERATOR);
    }
    cgroups.quota(files)
}

/// Whole CPUs that programs of this machine can use, at least one; `None` where their number is not known.
pub(super) fn usable_cpus(files: &mut Files, readings: &Readings) -> Option<f64> {
    let &cpus = readings.values.get(metric::CPU_COUNT)?;
    let limit = quota_of(files, &[]);
    Some(limit.map_or(cpus, |limit| limit.min(cpus)).floor().max(1.0))
}

/// CPU time that the users need, where a run has measured what a request takes.
fn cpus(files: &mut Files, readings: &Readings, pids: &[u32], demand: &Demand) -> Option<Advice> {
    let needed = demand.cpus?;
    let cores = readings.values.get(metric::CPU_COUNT).copied()?;
    let quota = quota_of(files, pids).filter(|_| !pids.is_empty());
    let allowed = quota.map_or(cores, |quota| quota.min(cores));
    Some(
        Advice::new(
            format!("CPUs for {} users", demand.users),
            format!("{allowed:.1}"),
            format!("{needed:.1} or more, or less CPU time for each request"),
            needed <= allowed,
        )
        .binds_at(demand.users_for(allowed, needed))
        .because(format!(
            "the requests of {} users take {needed:.1} seconds of CPU time in each second, if each takes as much as it \
             took in the run ({}): where no setting binds before, the CPUs do",
            demand.users, demand.source
        )),
    )
}

fn quota(files: &mut Files, readings: &Readings, pids: &[u32]) -> Option<Advice> {
    let cores = readings.values.get(metric::CPU_COUNT).copied()?;
    let quota = quota_of(files, pids);
    let ok = quota.is_none_or(|quota| quota >= cores);
    let current = quota.map_or("none".to_owned(), |quota| format!("{quota:.2} CPUs"));
    let whose = if pids.is_empty() {
        "generator"
    } else {
        "target"
    };
    Some(
        Advice::new(
            format!("cgroup CPU quota of the {whose}"),
            current,
            format!("none, or {cores:.0} CPUs"),
            ok,
        )
        .because(format!(
            "a cgroup that has used up its quota is throttled until the next period (usually 100 ms), although the \
             machine has {cores:.0} CPUs"
        )),
    )
}

fn backlogs(readings: &Readings) -> Vec<Advice> {
    let backlogs = readings.values.iter().filter(|(series, _)| {
        series.starts_with(metric::LISTEN_BACKLOG)
            && label(series, "process") == Some(metric::TARGET)
    });
    backlogs
        .map(|(series, &backlog)| {
            let listener = label(series, "listener").unwrap_or("the target");
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a backlog is a whole number of 32 bits"
            )]
            let backlog = backlog as u64;
            Advice::new(
                format!("backlog of {listener}"),
                backlog,
                format!("{BACKLOG_MIN} or more"),
                backlog >= BACKLOG_MIN,
            )
            .binds_at(backlog)
            .because(format!(
                "connections that arrive faster than the application accepts them queue here, up to {}; further ones \
                 are dropped, and their clients retry after 1 s, 3 s, 7 s",
                backlog.saturating_add(1)
            ))
        })
        .collect()
}

fn descriptors(files: &mut Files, pids: &[u32]) -> Vec<Advice> {
    let mut advice = Vec::new();
    let mut lowest: Option<(u64, u64, String)> = None;
    for pid in pids {
        let limits = files.read(&format!("proc/{pid}/limits")).ok();
        let Some((soft, hard)) = limits.and_then(process::files_limit) else {
            continue;
        };
        if lowest.as_ref().is_none_or(|lowest| soft < lowest.0) {
            let comm = files.read(&format!("proc/{pid}/comm")).unwrap_or("?");
            lowest = Some((soft, hard, format!("{} ({pid})", comm.trim_end())));
        }
    }
    if let Some((soft, hard, who)) = lowest {
        advice.push(
            Advice::new(format!("open files of {who}"), soft, FILES_ADVISED, soft >= FILES_MIN)
                .binds_at(soft)
                .because(format!(
                    "each connection takes one descriptor, each proxied connection two; the hard limit is {}",
                    limit_text(hard)
                )),
        );
    }
    let limits = files.read("proc/self/limits").ok();
    if let Some((soft, hard)) = limits.and_then(process::files_limit) {
        advice.push(
            Advice::new("open files of this shell (ulimit -n)", soft, FILES_ADVISED, soft >= FILES_MIN)
                .binds_at(soft)
                .because(format!(
                    "the generator opens up to 10,000 connections, one descriptor each; the hard limit is {}",
                    limit_text(hard)
                )),
        );
    }
    advice
}

fn limit_text(limit: u64) -> String {
    if limit == u64::MAX {
        "unlimited".to_owned()
    } else {
        limit.to_string()
    }
}

fn ports(files: &mut Files) -> Vec<Advice> {
    let mut advice = Vec::new();
    let range = files.read("proc/sys/net/ipv4/ip_local_port_range").ok();
    if let Some((first, last)) = range.and_then(port_range) {
        let width = u64::from(last) - u64::from(first) + 1;
        advice.push(
            Advice::new(
                "net.ipv4.ip_local_port_range",
                format!("{first} {last}"),
                "10240 65535",
                width >= PORTS_MIN,
            )
            .binds_at(width)
            .because(format!(
                "{width} ports per destination; a connection that this side closes first holds its port in \
                 TIME_WAIT for {TIME_WAIT_S} s, so at most {} new connections a second can be sustained without \
                 keep-alive",
                width / TIME_WAIT_S
            )),
        );
    }
    if let Some(reuse) = number(files, "proc/sys/net/ipv4/tcp_tw_reuse") {
        advice.push(
            Advice::new(
                "net.ipv4.tcp_tw_reuse",
                reuse,
                "1 (2: loopback only)",
                reuse != 0,
            )
            .hint()
            .because(
                "lets a new outgoing connection reuse a port in TIME_WAIT after one second if TCP timestamps are \
                enabled",
            ),
        );
    }
    advice
}

fn kernel_queues(files: &mut Files) -> Vec<Advice> {
    let mut advice = Vec::new();
    if let Some(somaxconn) = number(files, "proc/sys/net/core/somaxconn") {
        advice.push(
            Advice::new(
                "net.core.somaxconn",
                somaxconn,
                SOMAXCONN_ADVISED,
                somaxconn >= SOMAXCONN_ADVISED,
            )
            .binds_at(somaxconn)
            .because("caps the backlog that an application passes to listen()"),
        );
    }
    if let Some(half_open) = number(files, "proc/sys/net/ipv4/tcp_max_syn_backlog") {
        advice.push(
            Advice::new(
                "net.ipv4.tcp_max_syn_backlog",
                half_open,
                format!("{SYN_BACKLOG_MIN} or more"),
                half_open >= SYN_BACKLOG_MIN,
            )
            .binds_at(half_open)
            .because(
                "length of the queue of incomplete handshakes; when it is full, SYNs are answered with cookies or \
                dropped",
            ),
        );
    }
    advice
}

fn conntrack(files: &mut Files) -> Option<Advice> {
    let max = number(files, "proc/sys/net/netfilter/nf_conntrack_max")?;
    let count = number(files, "proc/sys/net/netfilter/nf_conntrack_count")?;
    let is_used = count > 0;
    let room = max.saturating_sub(count);
    Some(
        Advice::new(
            "net.netfilter.nf_conntrack_max",
            format!("{max} ({count} in use)"),
            format!("{CONNTRACK_MIN} or more"),
            !is_used || room >= CONNTRACK_MIN / 2,
        )
        .binds_at(room)
        .because(
            "the firewall tracks every connection until two minutes after it ends; when the table is full, new \
            connections are dropped",
        ),
    )
}

fn machine_files(files: &mut Files) -> Option<Advice> {
    let max = number(files, "proc/sys/fs/file-max")?;
    Some(
        Advice::new(
            "fs.file-max",
            max,
            format!("{FILE_MAX_MIN} or more"),
            max >= FILE_MAX_MIN,
        )
        .binds_at(max)
        .because("open files of the whole machine"),
    )
}
