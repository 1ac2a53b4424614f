//! Limits of this host that will bind first, found without load: current value, advised value, reason.

mod buffers;
mod chains;
mod components;
mod times;

use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use crate::files::Files;
use crate::host::cgroups::Cgroups;
use crate::parse::network::port_range;
use crate::parse::{memory, process};
use crate::probe::{Probe, ProbePlan};

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
/// Above this the kernel swaps out idle pages of a service in favour of the page cache.
const SWAPPINESS_MAX: u64 = 30;

/// One setting of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The setting, such as `net.core.somaxconn`.
    pub name: String,
    /// Its value.
    pub current: String,
    /// The advised value.
    pub advised: String,
    /// Its effect, with numbers.
    pub why: String,
    /// Number of connections at which it binds; `None` where connections are not what it limits.
    pub binds_at: Option<u64>,
    /// Position in the order in which settings will bind, from 0.
    pub rank: u32,
    /// Whether the current value suffices.
    pub ok: bool,
}

impl Advice {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "numbers and texts stand at the call without a mark"
    )]
    fn new(
        name: impl Into<String>,
        current: impl ToString,
        advised: impl ToString,
        ok: bool,
    ) -> Self {
        Self {
            name: name.into(),
            current: current.to_string(),
            advised: advised.to_string(),
            why: String::new(),
            binds_at: None,
            rank: 0,
            ok,
        }
    }

    fn because(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    fn binds_at(mut self, connections: u64) -> Self {
        self.binds_at = Some(connections);
        self
    }

    /// A setting that binds below this number of users is not right, and no such value is advised.
    fn suffice_for(&mut self, users: u64) {
        if self.binds_at.is_none_or(|count| count >= users) {
            return;
        }
        self.ok = false;
        let number = self.advised.trim_end_matches(" or more").parse::<u64>();
        if number.is_ok_and(|number| number < users) {
            self.advised = format!("{users} or more");
        }
    }
}

/// Settings of this host that affect the target: those too low first, ordered by the number of connections at which
/// they bind. A setting that cannot be read is left out.
pub fn check(plan: &ProbePlan) -> Vec<Advice> {
    let mut probe = Probe::open(plan.clone());
    let readings = probe.read(0);
    let mut files = Files::new(plan.root.clone());
    let advice = of_host(&mut files, &readings, &probe.target_pids());
    in_order(advice)
}

/// The same for a number of users, with settings of the components found on this machine; and notes on what was
/// found and which access is missing.
pub fn check_for(plan: &ProbePlan, users: u64) -> (Vec<Advice>, Vec<String>) {
    let mut probe = Probe::open(ProbePlan {
        auto: true,
        ..plan.clone()
    });
    let mut readings = probe.read(0);
    // A component that responds late is included in the next sample.
    readings.values.extend(probe.read(1).values);
    let mut files = Files::new(plan.root.clone());
    let files = &mut files;
    let mut advice = of_host(files, &readings, &probe.target_pids());
    for item in &mut advice {
        item.suffice_for(users);
    }
    advice.extend(components::advice(&readings, files, users));
    advice.extend(buffers::advice(&readings, files));
    advice.extend(chains::advice(&readings, files));
    advice.extend(times::advice(&readings, files));
    (in_order(advice), probe.take_announced())
}

fn of_host(files: &mut Files, readings: &Readings, pids: &[u32]) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(quota(files, readings, pids));
    advice.extend(backlogs(readings));
    advice.extend(descriptors(files, pids));
    advice.extend(ports(files));
    advice.extend(kernel_queues(files));
    advice.extend(conntrack(files));
    advice.extend(machine_files(files));
    advice.extend(memory_settings(files));
    advice.extend(time_source(files));
    advice
}

/// CPU limits bind at any load; settings without a number of connections come last.
fn in_order(mut advice: Vec<Advice>) -> Vec<Advice> {
    advice.sort_by_key(|advice| {
        let is_cpu = advice.name.starts_with("cgroup");
        let order = if is_cpu {
            0
        } else {
            advice.binds_at.unwrap_or(u64::MAX)
        };
        (advice.ok, order)
    });
    for (rank, advice) in advice.iter_mut().enumerate() {
        advice.rank = u32::try_from(rank).unwrap_or(u32::MAX);
    }
    advice
}

fn number(files: &mut Files, path: &str) -> Option<u64> {
    files
        .read(path)
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn quota(files: &mut Files, readings: &Readings, pids: &[u32]) -> Option<Advice> {
    let mut cgroups = Cgroups::default();
    for &pid in pids {
        cgroups.follow(files, pid, metric::TARGET);
    }
    if pids.is_empty() {
        cgroups.follow(files, std::process::id(), metric::GENERATOR);
    }
    let cores = readings.values.get(metric::CPU_COUNT).copied()?;
    let quota = cgroups.quota(files);
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
                "connections that arrive faster than the application accepts them queue here; the {}th is dropped \
                 and its client retries after 1 s, 3 s, 7 s",
                backlog + 2
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

fn memory_settings(files: &mut Files) -> Vec<Advice> {
    let mut advice = Vec::new();
    let swap = files
        .read("proc/meminfo")
        .map_or(0, |text| memory::meminfo(text).swap_total);
    if let Some(swappiness) = number(files, "proc/sys/vm/swappiness") {
        let why = if swap == 0 {
            "this machine has no swap".to_owned()
        } else {
            format!(
                "{} MiB of swap: idle pages of the service may be swapped out to make room for file cache, and the \
                 next request waits for the disk",
                swap >> 20
            )
        };
        let ok = swap == 0 || swappiness <= SWAPPINESS_MAX;
        advice.push(Advice::new("vm.swappiness", swappiness, 10, ok).because(why));
    }
    if let Some(overcommit) = number(files, "proc/sys/vm/overcommit_memory") {
        advice.push(
            Advice::new("vm.overcommit_memory", overcommit, "0 or 1", overcommit != 2)
                .because("at 2 a large process cannot fork although memory is free (Redis snapshots, pre-forking servers)"),
        );
    }
    if let Ok(text) = files.read("sys/kernel/mm/transparent_hugepage/enabled") {
        // The active setting is in brackets.
        let current = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        if let Some(current) = current {
            let why = "with `always`, databases and Redis stall for milliseconds while the kernel assembles huge \
                pages, and use more memory";
            advice.push(
                Advice::new(
                    "transparent huge pages",
                    current,
                    "madvise",
                    current != "always",
                )
                .because(why),
            );
        }
    }
    advice
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
    Some(
        Advice::new("time source", current, "tsc (kvm-clock in a guest)", ok)
            .because("reading any other clock takes a system call, about a microsecond"),
    )
}

#[cfg(test)]
mod tests;
