//! Which series of the probes are shown, and in which chart.
//!
//! Series of a single process, thread or CPU are left out: the page shows machines, target and components; the report has all.

use std::collections::BTreeMap;

use plimsoll_model::labels;
use plimsoll_model::machine::machine_of;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, SeriesInfo, SeriesKind};
use serde_json::{Value, json};

use crate::columns::{ColumnValue, Merge};
use crate::text::clip;

/// Series shown at most, and of one group of a machine.
const SERIES_MAX: usize = 160;
const GROUP_MAX: usize = 20;

/// Labels of series about one of many; the sum or the busiest has a series without it.
const DETAILS: [&str; 6] = [
    "pid",
    "tid",
    "cpu.logical_number",
    "statement",
    "system.device",
    "network.interface.name",
];

/// Metrics of the host in their group; components are grouped by the technology in their name.
const HOST: [(&str, &str); 18] = [
    (metric::CPU_BUSY, "CPU"),
    (metric::PROCESS_CPU, "CPU"),
    (metric::PRESSURE, "CPU"),
    (metric::RUN_QUEUE, "Queues"),
    (metric::LISTEN_QUEUE, "Queues"),
    (metric::LISTEN_BACKLOG, "Queues"),
    (metric::TCP_CONNECTIONS, "TCP states"),
    (metric::LISTEN_OVERFLOWS, "TCP events"),
    (metric::LISTEN_DROPS, "TCP events"),
    (metric::SYN_QUEUE_DROPS, "TCP events"),
    (metric::TCP_RETRANSMITS, "TCP events"),
    (metric::TCP_FAILED_OPENS, "TCP events"),
    (metric::MEMORY_AVAILABLE, "Memory"),
    (metric::PROCESS_MEMORY, "Memory"),
    (metric::PROCESS_THREADS, "Processes"),
    (metric::PROCESS_FILES, "Processes"),
    (metric::CGROUP_CPU_THROTTLED_TIME, "CPU"),
    (metric::CGROUP_MEMORY, "Memory"),
];

/// Groups that the page shows of the own machine alone: of several machines they would take the room of all others.
const OWN_ONLY: [&str; 3] = ["TCP states", "TCP events", "Processes"];

/// Families of metrics of the host whose other members the page leaves to the report.
const LEFT_OUT: [&str; 15] = [
    "system", "process", "cgroup", "cpu", "pressure", "memory", "disk", "network", "tcp",
    "sockets", "listen", "ports", "files", "target", "probe",
];

/// A series that is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShownSeries {
    id: usize,
    name: String,
    group: String,
    /// The machine whose agent or exporter read it; `None` for that of the generator.
    machine: Option<String>,
    unit: String,
    is_delta: bool,
}

impl ShownSeries {
    /// Its line in the document.
    pub(crate) fn entry(&self) -> Value {
        json!({
            "id": self.id, "name": clip(&self.name), "group": self.group, "machine": self.machine.as_deref().map(clip),
            "unit": self.unit, "delta": self.is_delta,
        })
    }
}

/// The series of one run that are shown.
#[derive(Debug, Default)]
pub(crate) struct SeriesChoice {
    ids: BTreeMap<String, usize>,
    /// How many series a group of a machine has.
    groups: BTreeMap<(Option<String>, String), usize>,
}

impl SeriesChoice {
    /// Series that appear, and the values of a second.
    pub(crate) fn of(&mut self, readings: &Readings) -> (Vec<ShownSeries>, Vec<ColumnValue>) {
        let new = readings.new_series.iter();
        let named = new
            .filter_map(|(name, info)| self.choose(name, info))
            .collect();
        let mut values = Vec::with_capacity(self.ids.len() + 1);
        for (name, id) in &self.ids {
            if let Some(&value) = readings.values.get(name) {
                values.push(ColumnValue {
                    key: format!("series.{id}"),
                    merge: Merge::Mean,
                    value,
                });
            }
        }
        let steal = labels::series(metric::CPU_UTILIZATION, &[("cpu.mode", "steal")]);
        let is_stolen = readings
            .values
            .get(&steal)
            .is_some_and(|&share| share > 0.05);
        if is_stolen {
            values.push(ColumnValue {
                key: "void".to_owned(),
                merge: Merge::Max,
                value: 1.0,
            });
        }
        (named, values)
    }

    fn choose(&mut self, name: &str, info: &SeriesInfo) -> Option<ShownSeries> {
        let is_detail = DETAILS
            .iter()
            .any(|label| labels::label(name, label).is_some());
        if self.ids.contains_key(name) || self.ids.len() >= SERIES_MAX || is_detail {
            return None;
        }
        let group = group(labels::metric(name))?;
        let machine = machine_of(name).map(str::to_owned);
        if machine.is_some() && OWN_ONLY.contains(&group.as_str()) {
            return None;
        }
        let of_machine = (machine.clone(), group.clone());
        let count = self.groups.entry(of_machine).or_default();
        if *count >= GROUP_MAX {
            return None;
        }
        *count += 1;
        let id = self.ids.len();
        self.ids.insert(name.to_owned(), id);
        Some(ShownSeries {
            id,
            name: name.to_owned(),
            group,
            machine,
            unit: info.unit.clone(),
            is_delta: info.kind == SeriesKind::Delta,
        })
    }
}

/// The chart of a metric; `None` for what the page leaves to the report.
fn group(metric: &str) -> Option<String> {
    if let Some((_, group)) = HOST.iter().find(|(name, _)| *name == metric) {
        return Some((*group).to_owned());
    }
    let name = metric.strip_prefix("plimsoll.").unwrap_or(metric);
    let (technology, _) = name.split_once('.')?;
    (!LEFT_OUT.contains(&technology)).then(|| technology.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(names: &[&str]) -> Readings {
        let info = SeriesInfo {
            kind: SeriesKind::Gauge,
            unit: "1".to_owned(),
        };
        Readings {
            second: 3,
            values: names.iter().map(|name| ((*name).to_owned(), 0.5)).collect(),
            new_series: names
                .iter()
                .map(|name| ((*name).to_owned(), info.clone()))
                .collect(),
        }
    }

    #[test]
    fn machine_target_and_components_are_shown_and_single_processes_are_not() {
        let mut choice = SeriesChoice::default();
        let (new, values) = choice.of(&readings(&[
            "plimsoll.cpu.busy",
            "process.cpu.utilization{process=target}",
            "process.cpu.utilization{process=target,pid=7,comm=x}",
            "system.network.connection.count{network.connection.state=time_wait}",
            "plimsoll.php_fpm.queue{pool=www}",
            "postgresql.connections{state=active}",
            "plimsoll.probe.interval",
        ]));
        let groups: Vec<&str> = new.iter().map(|series| &*series.group).collect();
        assert_eq!(
            groups,
            ["CPU", "php_fpm", "postgresql", "CPU", "TCP states"]
        );
        assert_eq!(values.len(), 5);
        let (new, values) = choice.of(&readings(&["plimsoll.cpu.busy"]));
        assert_eq!((new.len(), values.len()), (0, 1));
    }

    #[test]
    fn each_machine_has_groups_of_its_own() {
        let mut choice = SeriesChoice::default();
        let (new, values) = choice.of(&readings(&[
            "plimsoll.cpu.busy",
            "plimsoll.cpu.busy{host.name=db1}",
            "postgresql.connections{state=active,host.name=db1}",
            "system.network.connection.count{network.connection.state=time_wait,host.name=db1}",
        ]));
        let shown: Vec<_> = new
            .iter()
            .map(|series| (series.machine.as_deref(), &*series.group))
            .collect();
        assert_eq!(
            shown,
            [
                (None, "CPU"),
                (Some("db1"), "CPU"),
                (Some("db1"), "postgresql")
            ]
        );
        assert_eq!(values.len(), 3);
        assert_eq!(new[1].entry()["machine"], "db1");
        assert!(new[0].entry()["machine"].is_null());
    }

    #[test]
    fn there_is_an_end_to_series() {
        let mut choice = SeriesChoice::default();
        let names: Vec<String> = (0..500)
            .map(|index| format!("plimsoll.t{}.x{{a={index}}}", index % 10))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (new, values) = choice.of(&readings(&names));
        assert_eq!((new.len(), values.len()), (SERIES_MAX, SERIES_MAX));
    }

    #[test]
    fn a_second_that_the_hypervisor_took_is_void() {
        let steal = "system.cpu.utilization{cpu.mode=steal}";
        let (_, values) = SeriesChoice::default().of(&readings(&[steal]));
        assert_eq!(values.last().map(|value| &*value.key), Some("void"));
    }
}
