//! What the machine does: its clock rate, what others take of its CPU, connections that rest.

use std::collections::BTreeMap;

use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use super::{Area, Bounds, Condition, Health};
use crate::files::Files;
use crate::parse::{network, process};

/// Neighbours that are named.
const NAMED_MAX: usize = 3;
/// Share of one CPU from which a process is a neighbour.
const BUSY_MIN: f64 = 0.05;
/// Share of the local ports that may rest in `TIME_WAIT`.
const RESTING_MAX: f64 = 0.5;
/// CPUs: one for the generator, one for the service.
const CPUS_MIN: f64 = 2.0;
/// Memory that a generator may need for its connections and histograms, bytes.
const MEMORY_MIN: f64 = 512.0 * 1_048_576.0;
/// Folder of the settings of the CPUs.
const CPUS: &str = "sys/devices/system/cpu";

/// CPU time that each process has taken so far.
#[derive(Debug, Default)]
pub(super) struct ProcessTimes {
    /// Ticks since the machine started, by its CPUs together.
    total: u64,
    /// Name and ticks by process.
    of: BTreeMap<u32, (String, u64)>,
}

impl ProcessTimes {
    pub(super) fn read(files: &mut Files) -> Self {
        let stat = files.read("proc/stat").map(crate::parse::cpu::stat);
        let mut times = Self {
            total: stat.map_or(0, |stat| stat.all.total()),
            of: BTreeMap::new(),
        };
        for pid in files.numbers_in("proc").unwrap_or_default() {
            let stat = files.read(&format!("proc/{pid}/stat")).ok();
            if let Some(stat) = stat.and_then(process::stat) {
                let ticks = stat.user_ticks + stat.system_ticks;
                times.of.insert(pid, (stat.comm, ticks));
            }
        }
        times
    }

    /// Processes that took CPU since, the busiest first, each with its share of the machine; without this one.
    fn busiest_since(&self, before: &Self) -> Vec<(u32, &str, f64)> {
        let total = self.total.saturating_sub(before.total).max(1) as f64;
        let mut busy: Vec<(u32, &str, f64)> = self
            .of
            .iter()
            .filter(|(pid, _)| **pid != std::process::id())
            .filter_map(|(pid, (name, ticks))| {
                let (_, earlier) = before.of.get(pid)?;
                let share = ticks.saturating_sub(*earlier) as f64 / total;
                Some((*pid, name.as_str(), share))
            })
            .collect();
        busy.sort_by(|a, b| b.2.total_cmp(&a.2));
        busy
    }
}

pub(super) fn conditions(
    files: &mut Files,
    readings: &Readings,
    bounds: &Bounds,
    (before, after): (&ProcessTimes, &ProcessTimes),
) -> Vec<Condition> {
    let cpus = readings
        .values
        .get(metric::CPU_COUNT)
        .copied()
        .unwrap_or(1.0);
    let mut conditions = vec![
        cores(cpus),
        neighbours(cpus, bounds, &after.busiest_since(before)),
    ];
    conditions.extend(steal(readings, bounds));
    conditions.extend(governor(files));
    conditions.extend(time_wait(files));
    conditions.extend(memory(readings));
    conditions.push(pressure(files));
    conditions
}

fn cores(cpus: f64) -> Condition {
    Condition::new(
        Area::Generator,
        "CPUs",
        format!("{cpus:.0}"),
        format!("{CPUS_MIN:.0} or more"),
    )
    .because(
        "on a single CPU generator and service wait for each other; measure from another machine",
    )
    .unless(
        cpus >= CPUS_MIN,
        Health::Weak,
        ["ssh OTHER-MACHINE plimsoll limit http://THIS-MACHINE/"],
    )
}

fn neighbours(cpus: f64, bounds: &Bounds, busiest: &[(u32, &str, f64)]) -> Condition {
    let busy: Vec<_> = busiest
        .iter()
        .filter(|(_, _, share)| share * cpus >= BUSY_MIN)
        .take(NAMED_MAX)
        .collect();
    let total: f64 = busiest.iter().map(|(_, _, share)| share).sum();
    let names: Vec<String> = busy
        .iter()
        .map(|(pid, name, share)| format!("{name} ({pid}) {:.0} %", share * 100.0))
        .collect();
    let mut current = format!("{:.0} % of the CPU", total * 100.0);
    if !names.is_empty() {
        current = format!("{current}: {}", names.join(", "));
    }
    let room = 1.0 - bounds.cpu_max;
    let pids: Vec<String> = busy.iter().map(|(pid, ..)| pid.to_string()).collect();
    // Which of them is the service is not known: nothing is stopped blindly.
    let command = format!(
        "ps -o pid,user,pcpu,args -p {}   # end or move those that are not the service",
        pids.join(",")
    );
    Condition::new(
        Area::Machine,
        "busy neighbours",
        current,
        format!("at most {:.0} %", room * 100.0),
    )
    .because(format!(
        "a trial is void where the generator has less than {:.0} % of its CPU to spare; and the service shares what is left",
        room * 100.0
    ))
    .unless(total <= room, Health::Lacking, [command])
}

fn steal(readings: &Readings, bounds: &Bounds) -> Option<Condition> {
    let (_, share) = readings.values.iter().find(|(series, _)| {
        series.starts_with(metric::CPU_UTILIZATION) && label(series, "cpu.mode") == Some("steal")
    })?;
    let condition = Condition::new(
        Area::Machine,
        "CPU taken by the hypervisor (steal)",
        format!("{:.1} %", share * 100.0),
        format!("at most {:.0} %", bounds.steal_max * 100.0),
    );
    Some(
        condition
            .because("in seconds above it another guest of the same host has the CPU; trials with many of them are void")
            .unless(
                *share <= bounds.steal_max,
                Health::Lacking,
                ["sar -u 1 60   # whether it lasts; if it does, use a machine with CPUs of its own"],
            ),
    )
}

/// The governor of the CPUs' clock rate; `None` where the machine does not tell, as most guests.
fn governor(files: &mut Files) -> Option<Condition> {
    let path = format!("{CPUS}/cpu0/cpufreq/scaling_governor");
    let current = files.read(&path).ok()?.trim().to_owned();
    let is_met = current == "performance";
    let condition = Condition::new(Area::Machine, "CPU governor", current, "performance");
    Some(
        condition
            .because(
                "others lower the clock rate where little is to do, so that low loads are answered slower than high ones",
            )
            .unless(
                is_met,
                Health::Weak,
                [format!("echo performance | sudo tee /{CPUS}/cpu*/cpufreq/scaling_governor")],
            ),
    )
}

fn time_wait(files: &mut Files) -> Option<Condition> {
    let range = files.read("proc/sys/net/ipv4/ip_local_port_range").ok();
    let (first, last) = range.and_then(network::port_range)?;
    let ports = f64::from(last) - f64::from(first) + 1.0;
    let stat = files
        .read("proc/net/sockstat")
        .ok()
        .map(network::sockstat)?;
    let resting = stat.tcp_time_wait as f64;
    let condition = Condition::new(
        Area::Generator,
        "connections in TIME_WAIT",
        format!("{resting:.0}"),
        format!("at most half of the {ports:.0} local ports"),
    );
    Some(
        condition
            .because("each holds its port towards the same address for 60 s; they are those of an earlier load, or of others")
            .unless(
                resting <= RESTING_MAX * ports,
                Health::Lacking,
                ["sleep 60", "sudo sysctl -w net.ipv4.tcp_tw_reuse='1'"],
            ),
    )
}

/// The memory that the cgroup of the generator leaves.
fn memory(readings: &Readings) -> Option<Condition> {
    let of = |metric: &str| {
        let mut values = readings.values.iter();
        let found = values.find(|(series, _)| {
            plimsoll_model::labels::metric(series) == metric
                && label(series, "process") == Some(metric::GENERATOR)
        });
        found.map(|(_, value)| *value)
    };
    let limit = of(metric::CGROUP_MEMORY_LIMIT)?;
    let used = of(metric::CGROUP_MEMORY).unwrap_or(0.0)
        - of(metric::CGROUP_MEMORY_INACTIVE).unwrap_or(0.0);
    let room = limit - used.max(0.0);
    let mebibytes = |bytes: f64| format!("{:.0} MiB", bytes / 1_048_576.0);
    let condition = Condition::new(
        Area::Generator,
        "memory left by the cgroup",
        mebibytes(room),
        format!("{} or more", mebibytes(MEMORY_MIN)),
    );
    Some(
        condition
            .because("a generator with many connections is killed at the limit, and the run ends there")
            .unless(
                room >= MEMORY_MIN,
                Health::Lacking,
                ["sudo systemd-run --scope -p MemoryMax=infinity plimsoll limit http://127.0.0.1:3000/"],
            ),
    )
}

fn pressure(files: &mut Files) -> Condition {
    let is_there = files.read("proc/pressure/cpu").is_ok();
    let current = if is_there { "yes" } else { "no" };
    Condition::new(Area::Machine, "pressure (PSI)", current, "yes")
        .because("without it the time that tasks wait for CPU, memory or disk is not known, and some findings are missing")
        .unless(
            is_there,
            Health::Weak,
            [
                "sudo sed -i 's/GRUB_CMDLINE_LINUX=\"/&psi=1 /' /etc/default/grub && sudo update-grub",
                "sudo reboot",
            ],
        )
}
