//! Values read by probes, once a second, in columns.
//!
//! A series is named as in OpenTelemetry and written similarly to Prometheus:
//! `system.cpu.utilization{cpu.mode=user}` ([`crate::labels`]). The unit is part of the metric's definition in the
//! probe; [`SeriesInfo`] holds it beside the name. What an agent reads on another machine carries the name of that machine
//! ([`crate::machine`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::labels::label;
use crate::labels::metric;
use crate::machine::{machine_of, without_machine};

/// How the values of a series behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// A level at a moment.
    Gauge,
    /// Increase during the second that ends at the reading (probes turn counters into increases).
    Delta,
}

/// What a series means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesInfo {
    /// Level or increase.
    pub kind: SeriesKind,
    /// UCUM-like unit as in OpenTelemetry: `1` (a share), `By`, `s`, `{thread}`.
    pub unit: String,
}

/// All values read at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    /// The second of run time whose end these values describe; joins them to the window of that second.
    pub second: u32,
    /// Series name → value.
    pub values: BTreeMap<String, f64>,
    /// Definitions of the series that appear here for the first time in this run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub new_series: BTreeMap<String, SeriesInfo>,
}

/// Values of many series over a run: one row a second, NaN where nothing was read.
///
/// A copy shares the values, and so does the table of a single machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTable {
    seconds: Arc<Vec<u32>>,
    columns: BTreeMap<String, Column>,
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    info: SeriesInfo,
    values: Arc<Vec<f64>>,
}

impl SeriesTable {
    /// Appends the readings of one second. Seconds must ascend; a repeated or earlier second is ignored.
    pub fn push(&mut self, readings: &Readings) {
        if self
            .seconds
            .last()
            .is_some_and(|&last| readings.second <= last)
        {
            return;
        }
        let rows = self.seconds.len();
        Arc::make_mut(&mut self.seconds).push(readings.second);
        for (name, &value) in &readings.values {
            if !self.columns.contains_key(name) {
                let info = readings.new_series.get(name).cloned();
                let info = info.unwrap_or(SeriesInfo {
                    kind: SeriesKind::Gauge,
                    unit: "1".to_owned(),
                });
                self.columns.insert(
                    name.clone(),
                    Column {
                        info,
                        values: Arc::new(vec![f64::NAN; rows]),
                    },
                );
            }
            if let Some(column) = self.columns.get_mut(name) {
                Arc::make_mut(&mut column.values).push(value);
            }
        }
        for column in self.columns.values_mut() {
            if column.values.len() <= rows {
                Arc::make_mut(&mut column.values).push(f64::NAN);
            }
        }
    }

    /// Seconds of run time with readings, ascending.
    pub fn seconds(&self) -> &[u32] {
        &self.seconds
    }

    /// Names of all series, of every machine, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Names of the series whose metric (the part before `{`) is `wanted`. Only those of the generator's own machine: what is
    /// added up or compared must not mix machines. The others are in [`SeriesTable::of_machine`].
    pub fn names_of<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a str> {
        self.names()
            .filter(move |name| metric(name) == wanted && machine_of(name).is_none())
    }

    /// Machines whose series agents read, sorted; empty without agents.
    pub fn machines(&self) -> Vec<&str> {
        let machines: BTreeSet<&str> = self.names().filter_map(machine_of).collect();
        machines.into_iter().collect()
    }

    /// The series that the agent of a machine read, under their ordinary names; none for a machine without an agent.
    #[must_use]
    pub fn of_machine(&self, machine: &str) -> Self {
        self.of_columns(|name| machine_of(name) == Some(machine))
    }

    /// The series of the generator's own machine.
    #[must_use]
    pub fn of_own_machine(&self) -> Self {
        self.of_columns(|name| machine_of(name).is_none())
    }

    /// The series that are wanted, without their machine, over the same seconds.
    fn of_columns(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let wanted = self.columns.iter().filter(|(name, _)| is_wanted(name));
        Self {
            seconds: Arc::clone(&self.seconds),
            columns: wanted
                .map(|(name, column)| (without_machine(name), column.clone()))
                .collect(),
        }
    }

    /// Values of a series, one per entry of [`SeriesTable::seconds`]; NaN where nothing was read.
    pub fn values(&self, name: &str) -> Option<&[f64]> {
        self.columns
            .get(name)
            .map(|column| column.values.as_slice())
    }

    /// Kind and unit of a series.
    pub fn info(&self, name: &str) -> Option<&SeriesInfo> {
        self.columns.get(name).map(|column| &column.info)
    }

    /// Values of a series at seconds in `[from, to)`, gaps left out.
    pub fn between(&self, name: &str, from: u32, to: u32) -> Vec<f64> {
        let Some(values) = self.values(name) else {
            return Vec::new();
        };
        let inside = self
            .seconds
            .iter()
            .zip(values)
            .filter(|(second, _)| (from..to).contains(second));
        inside
            .map(|(_, &value)| value)
            .filter(|value| !value.is_nan())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(second: u32, values: &[(&str, f64)]) -> Readings {
        let values = values
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect();
        Readings {
            second,
            values,
            new_series: BTreeMap::new(),
        }
    }

    #[test]
    fn each_machine_has_a_table_of_its_own() {
        let mut table = SeriesTable::default();
        table.push(&readings(1, &[("a", 1.0), ("a{host.name=db1}", 7.0)]));
        table.push(&readings(3, &[("a", 2.0), ("b{x=1,host.name=web1}", 5.0)]));
        assert_eq!(table.machines(), ["db1", "web1"]);
        assert_eq!(table.names_of("a").collect::<Vec<_>>(), ["a"]);
        assert_eq!(table.names_of("b").count(), 0);
        let web = table.of_machine("web1");
        assert_eq!(web.seconds(), [1, 3]);
        assert_eq!(web.names().collect::<Vec<_>>(), ["b{x=1}"]);
        assert_eq!(web.between("b{x=1}", 0, 9), [5.0]);
        assert!(web.machines().is_empty());
        let own = table.of_own_machine();
        assert_eq!(own.names().collect::<Vec<_>>(), ["a"]);
        assert_eq!(table.of_machine("db2").names().count(), 0);
        // A table goes on by itself: those that were taken of it before do not change.
        table.push(&readings(4, &[("a{host.name=db1}", 9.0)]));
        assert_eq!(table.of_machine("db1").between("a", 0, 9), [7.0, 9.0]);
        assert_eq!(own.seconds(), [1, 3]);
        assert_eq!(own.between("a", 0, 9), [1.0, 2.0]);
    }

    #[test]
    fn late_and_missing_series_leave_gaps() {
        let mut table = SeriesTable::default();
        table.push(&readings(1, &[("a", 1.0)]));
        table.push(&readings(2, &[("b", 2.0)]));
        table.push(&readings(4, &[("a", 4.0), ("b", 5.0)]));
        assert_eq!(table.seconds(), [1, 2, 4]);
        assert_eq!(table.between("a", 0, 9), [1.0, 4.0]);
        assert_eq!(table.between("b", 2, 4), [2.0]);
        assert!(table.values("b").unwrap()[0].is_nan());
    }
}
