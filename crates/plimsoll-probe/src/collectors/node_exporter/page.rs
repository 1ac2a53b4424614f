//! The metrics of a page, found by their names.

use std::collections::BTreeMap;

use crate::collectors::prometheus::parse::{MetricSample, ParsedExposition};

/// When the page was made, s since 1970.
pub(super) const TIME: &str = "node_time_seconds";
/// When the machine was started, s since 1970.
pub(super) const BOOT_TIME: &str = "node_boot_time_seconds";
/// CPU time by CPU and mode, s.
pub(super) const CPU_TIME: &str = "node_cpu_seconds_total";

/// Beginnings of the names that are read.
const BEGINNINGS: [&str; 18] = [
    BOOT_TIME,
    CPU_TIME,
    TIME,
    "node_cpu_core_throttles_total",
    "node_disk_",
    "node_filefd_",
    "node_filesystem_",
    "node_forks_total",
    "node_load1",
    "node_memory_",
    "node_netstat_Tcp",
    "node_network_",
    "node_nf_conntrack_",
    "node_pressure_",
    "node_procs_running",
    "node_sockstat_",
    "node_softnet_",
    "node_vmstat_",
];

/// Whether series of this name are read.
pub(super) fn is_known(name: &str) -> bool {
    name.starts_with("node_") && BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// The metrics of a page by name.
#[derive(Debug)]
pub(super) struct MetricsPage<'a> {
    by_name: BTreeMap<&'a str, Vec<&'a MetricSample>>,
}

impl<'a> MetricsPage<'a> {
    pub(super) fn of(parsed: &'a ParsedExposition) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&MetricSample>> = BTreeMap::new();
        for sample in &parsed.samples {
            by_name.entry(&sample.name).or_default().push(sample);
        }
        Self { by_name }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn samples(&self, name: &str) -> &[&'a MetricSample] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a metric without labels.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.samples(name).first().map(|sample| sample.value)
    }

    /// The sum of all series of a metric.
    pub(super) fn sum(&self, name: &str) -> Option<f64> {
        let samples = self.samples(name).iter();
        samples.map(|sample| sample.value).reduce(|a, b| a + b)
    }

    /// The value of the first series with a label of this value.
    pub(super) fn at(&self, name: &str, (label, value): (&str, &str)) -> Option<f64> {
        let mut samples = self.samples(name).iter();
        let found = samples.find(|sample| label_of(sample, label) == Some(value));
        found.map(|sample| sample.value)
    }
}

/// The value of a label.
pub(super) fn label_of<'s>(sample: &'s MetricSample, name: &str) -> Option<&'s str> {
    let mut labels = sample.labels.iter();
    let found = labels.find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}

/// The value of a label as a page has it between quotes.
pub(super) fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
