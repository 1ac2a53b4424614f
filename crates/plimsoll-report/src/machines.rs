//! The machines of a run as rows: what each used of what it has. Terminal and page show the same cells.

use plimsoll_analysis::machines::usage::{MachinesSummary, ResourceUse};

use crate::number::{bytes, percent, short, whole};
use crate::printable::printable;

/// Names of the columns behind the machine's.
pub(crate) const COLUMNS: [&str; 6] = ["tier", "CPU", "memory", "disk", "network", "clock"];

/// What stands where nothing is known.
const UNKNOWN: &str = "–";

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineRow {
    pub(crate) name: String,
    pub(crate) cells: [String; 6],
    /// The components that run there, as far as they are known; empty for none.
    pub(crate) components: String,
    /// Whether it adds up the machines of a tier.
    pub(crate) is_sum: bool,
}

/// How a machine is called; the generator's own has no name.
pub(crate) fn machine_name(name: Option<&str>) -> String {
    name.map_or_else(|| "generator's machine".to_owned(), printable)
}

/// A line for each machine, and below one for each tier of several; empty without agents.
pub(crate) fn rows(summary: &MachinesSummary) -> Vec<MachineRow> {
    let machines = summary.machines.iter().map(|machine| {
        let used = &machine.used;
        MachineRow {
            name: machine_name(machine.name.as_deref()),
            cells: [
                machine.tier.name().to_owned(),
                of_all(used.cpu_share, used.cpus.map(short)),
                of_all(used.memory_share(), size(used.memory)),
                busiest(used.disk_share, machine.disk.as_deref()),
                network(used, machine.link.as_deref()),
                machine.offset_ms.map_or_else(
                    || UNKNOWN.to_owned(),
                    |offset_ms| format!("{offset_ms:+.1} ms"),
                ),
            ],
            components: machine.components.join(", "),
            is_sum: false,
        }
    });
    let tiers = summary.tiers.iter().map(|tier| {
        let used = &tier.used;
        MachineRow {
            name: format!("{} machines together", tier.machines),
            cells: [
                tier.tier.name().to_owned(),
                of_all(used.cpu_share, used.cpus.map(short)),
                of_all(used.memory_share(), size(used.memory)),
                busiest(used.disk_share, None),
                network(used, None),
                UNKNOWN.to_owned(),
            ],
            components: String::new(),
            is_sum: true,
        }
    });
    machines.chain(tiers).collect()
}

fn size(memory: Option<f64>) -> Option<String> {
    memory.map(|memory| bytes(whole(memory)))
}

/// `37 % of 8`: a share, and what it is of, where that is known.
fn of_all(share: Option<f64>, all: Option<String>) -> String {
    match (share.map(percent), all) {
        (Some(share), Some(all)) => format!("{share} of {all}"),
        (Some(share), None) => share,
        (None, _) => UNKNOWN.to_owned(),
    }
}

/// `70 % (sda)`: of several disks, the busiest.
fn busiest(share: Option<f64>, name: Option<&str>) -> String {
    match (share.map(percent), name) {
        (Some(share), Some(name)) => format!("{share} ({})", printable(name)),
        (Some(share), None) => share,
        (None, _) => UNKNOWN.to_owned(),
    }
}

/// `20 % of 119 MiB/s (eth0)`, or what went over the link where its capacity is not known.
fn network(used: &ResourceUse, link: Option<&str>) -> String {
    let rate = |bytes_per_second: f64| format!("{}/s", bytes(whole(bytes_per_second)));
    let text = match (used.network_share(), used.network) {
        (Some(_), _) => of_all(used.network_share(), used.network_capacity.map(rate)),
        (None, Some(network)) => rate(network),
        (None, None) => return UNKNOWN.to_owned(),
    };
    match link {
        Some(link) => format!("{text} ({})", printable(link)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_analysis::machines::MachineTier;
    use plimsoll_analysis::machines::usage::{MachineUse, TierUse};

    use super::*;

    #[test]
    fn cells_are_shares_of_what_there_is() {
        let used = ResourceUse {
            cpus: Some(8.0),
            cpu_share: Some(0.37),
            memory_used: Some(2_147_483_648.0),
            memory: Some(8_589_934_592.0),
            disk_share: Some(0.7),
            network: Some(25e6),
            network_capacity: Some(125e6),
        };
        let unknown = ResourceUse {
            network: Some(1_048_576.0),
            ..ResourceUse::default()
        };
        let machine = |name: Option<&str>, used: &ResourceUse, offset_ms| MachineUse {
            name: name.map(str::to_owned),
            tier: MachineTier::Application,
            components: name.map_or_else(Vec::new, |_| vec!["nginx".to_owned(), "Node".to_owned()]),
            used: used.clone(),
            disk: name.map(|_| "sda".to_owned()),
            link: name.map(|_| "eth0".to_owned()),
            offset_ms,
        };
        let summary = MachinesSummary {
            machines: vec![
                machine(None, &unknown, None),
                machine(Some("web1"), &used, Some(-12.04)),
            ],
            tiers: vec![TierUse {
                tier: MachineTier::Application,
                machines: 2,
                used,
            }],
        };
        let rows = rows(&summary);
        let texts: Vec<String> = rows
            .iter()
            .map(|row| format!("{}: {}", row.name, row.cells.join(", ")))
            .collect();
        let right = [
            "generator's machine: application, –, –, –, 1 MiB/s, –",
            "web1: application, 37 % of 8, 25 % of 8 GiB, 70 % (sda), 20 % of 119 MiB/s (eth0), -12.0 ms",
            "2 machines together: application, 37 % of 8, 25 % of 8 GiB, 70 %, 20 % of 119 MiB/s, –",
        ];
        assert_eq!(texts, right);
        let components: Vec<&str> = rows.iter().map(|row| row.components.as_str()).collect();
        assert_eq!(components, ["", "nginx, Node", ""]);
        assert!(rows[2].is_sum && !rows[1].is_sum);
    }
}
