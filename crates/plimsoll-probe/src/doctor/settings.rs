//! Settings that `check` judges too, with the command for each; and the descriptors of the generator.

use plimsoll_model::reading::Readings;

use super::{Area, Bounds, Condition, Health};
use crate::advice::{self, Advice};
use crate::files::Files;
use crate::parse::process;

/// Rows of `check` that bear on the generator, by the beginning of their names; the others are limits of the service, which a
/// measurement finds.
const RELEVANT: [&str; 7] = [
    "cgroup CPU quota of the generator",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_tw_reuse",
    "net.netfilter.nf_conntrack_max",
    "net.core.netdev_max_backlog",
    "fs.file-max",
    "time source",
];
/// Descriptors beside connections: logs, sockets of the probe, files.
const BESIDE: u64 = 500;
/// Prefixes of settings that `sysctl` changes.
const SYSCTL: [&str; 2] = ["net.", "fs."];

pub(super) fn conditions(
    files: &mut Files,
    readings: &Readings,
    bounds: &Bounds,
) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = descriptors(files, bounds).into_iter().collect();
    let rows = advice::of_machine(files, readings);
    let is_relevant = |row: &Advice| RELEVANT.iter().any(|name| row.name.starts_with(name));
    let rows = rows.into_iter().filter(is_relevant);
    conditions.extend(rows.map(of_advice));
    conditions
}

/// A run raises its soft limit to the hard one by itself.
fn descriptors(files: &mut Files, bounds: &Bounds) -> Option<Condition> {
    let limits = files.read("proc/self/limits").ok()?;
    let (_, hard) = process::files_limit(limits)?;
    let wanted = bounds.connections + BESIDE;
    let current = if hard == u64::MAX {
        "unlimited".to_owned()
    } else {
        hard.to_string()
    };
    let row = Condition::new(
        Area::Generator,
        "open files (hard limit)",
        current,
        format!("{wanted} or more"),
    );
    let commands = [
        "echo '* - nofile 1048576' | sudo tee /etc/security/limits.d/plimsoll.conf",
        "exec su - \"$USER\"",
    ];
    Some(
        row.because(format!(
            "each connection takes a descriptor, and up to {} are opened by default; a run raises its soft limit to the hard \
             one by itself",
            bounds.connections
        ))
        .unless(hard >= wanted, Health::Lacking, commands),
    )
}

fn of_advice(row: Advice) -> Condition {
    let health = if row.is_hint {
        Health::Weak
    } else {
        Health::Lacking
    };
    let area = if row.name.contains("generator") {
        Area::Generator
    } else {
        Area::Machine
    };
    let commands = commands(&row);
    Condition::new(area, row.name, row.current, row.advised)
        .because(row.why)
        .unless(row.ok, health, commands)
}

/// The commands that set the advised value.
fn commands(row: &Advice) -> Vec<String> {
    if SYSCTL.iter().any(|prefix| row.name.starts_with(prefix)) {
        return vec![format!(
            "sudo sysctl -w {}='{}'",
            row.name,
            value(&row.advised)
        )];
    }
    let command = match row.name.as_str() {
        "time source" => {
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
        }
        name if name.starts_with("cgroup CPU quota") => {
            "sudo systemd-run --scope -p CPUQuota= plimsoll limit http://127.0.0.1:3000/"
        }
        _ => return Vec::new(),
    };
    vec![command.to_owned()]
}

/// The numbers at the beginning of what is advised: `10240 65535`, `1024 or more`.
fn value(advised: &str) -> String {
    let words = advised.split_whitespace();
    let numbers: Vec<&str> = words
        .take_while(|word| word.parse::<u64>().is_ok())
        .collect();
    numbers.join(" ")
}
