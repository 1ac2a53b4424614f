//! The containers of a page.

use std::collections::BTreeMap;

use crate::collectors::prometheus::parse::{MetricSample, ParsedExposition};

/// Names that are read, and beginnings of names.
const BEGINNINGS: [&str; 7] = [
    "container_cpu_",
    "container_memory_failcnt",
    "container_memory_usage_bytes",
    "container_memory_working_set_bytes",
    "container_oom_events_total",
    "container_spec_",
    "container_threads",
];
/// When a container was started, s since 1970.
const STARTED: &str = "container_start_time_seconds";
/// CPU time that it has used, s.
const CPU_TIME: &str = "container_cpu_usage_seconds_total";
/// Containers that are recorded at most: those that used the most CPU.
const CONTAINERS_MAX: usize = 64;
/// Limits of memory from which there is none, bytes: cgroups have the largest number of their kind for it.
const MEMORY_UNLIMITED: f64 = (1_u64 << 60) as f64;

/// Whether series of this name are read.
pub(super) fn is_known(name: &str) -> bool {
    name == STARTED || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// A container, as a page shows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Container<'p> {
    /// When cAdvisor read it, ms since 1970; `None` where the page has no times.
    pub(super) time_ms: Option<i64>,
    /// Whether it has a name of its own, and not that of its cgroup alone.
    is_named: bool,
    values: BTreeMap<&'p str, f64>,
}

impl Container<'_> {
    /// The value of a metric; of one with several series, their sum.
    pub(super) fn value(&self, metric: &str) -> Option<f64> {
        self.values.get(metric).copied()
    }

    /// CPUs that it may use; `None` where it has no quota.
    pub(super) fn quota(&self) -> Option<f64> {
        let quota = self
            .value("container_spec_cpu_quota")
            .filter(|&it| it > 0.0)?;
        let period = self
            .value("container_spec_cpu_period")
            .filter(|&it| it > 0.0)?;
        Some(quota / period)
    }

    /// Its limit of memory, bytes; `None` where it has none.
    pub(super) fn memory_limit(&self) -> Option<f64> {
        let limit = self.value("container_spec_memory_limit_bytes")?;
        (limit > 0.0 && limit < MEMORY_UNLIMITED).then_some(limit)
    }

    fn started(&self) -> f64 {
        self.value(STARTED).unwrap_or(0.0)
    }

    fn add(&mut self, time_ms: Option<i64>) {
        self.time_ms = self.time_ms.max(time_ms);
    }
}

/// The containers by their names. Of several with one name, as before and after a restart, the newest.
pub(super) fn of_page(parsed: &ParsedExposition) -> BTreeMap<String, Container<'_>> {
    let mut by_id: BTreeMap<&str, (String, Container<'_>)> = BTreeMap::new();
    for sample in &parsed.samples {
        let Some(id) = label(sample, "id").filter(|id| *id != "/") else {
            continue;
        };
        let Some((name, is_named)) = name_of(sample, id) else {
            continue;
        };
        let (_, container) = by_id.entry(id).or_insert_with(|| {
            let container = Container {
                is_named,
                ..Container::default()
            };
            (name, container)
        });
        container.add(sample.time_ms);
        *container.values.entry(sample.name.as_str()).or_default() += sample.value;
    }
    let mut by_name: BTreeMap<String, Container<'_>> = BTreeMap::new();
    for (name, container) in by_id.into_values() {
        let is_limited = container.quota().is_some() || container.memory_limit().is_some();
        let is_newer = |known: &Container<'_>| container.started() > known.started();
        // A cgroup that is no container says something only by a limit.
        if (container.is_named || is_limited) && by_name.get(&name).is_none_or(is_newer) {
            by_name.insert(name, container);
        }
    }
    busiest(by_name)
}

fn busiest(by_name: BTreeMap<String, Container<'_>>) -> BTreeMap<String, Container<'_>> {
    let mut all: Vec<(String, Container<'_>)> = by_name.into_iter().collect();
    let used = |container: &Container<'_>| container.value(CPU_TIME).unwrap_or(0.0);
    all.sort_by(|a, b| used(&b.1).total_cmp(&used(&a.1)));
    all.truncate(CONTAINERS_MAX);
    all.into_iter().collect()
}

/// Labels of a container in Kubernetes, as the kubelet writes them and as cAdvisor itself does.
const NAMESPACE: [&str; 2] = ["namespace", "container_label_io_kubernetes_pod_namespace"];
const POD: [&str; 2] = ["pod", "container_label_io_kubernetes_pod_name"];
const CONTAINER: [&str; 2] = ["container", "container_label_io_kubernetes_container_name"];

/// How a container is called, and whether that is a name of its own: `namespace/pod/container` in Kubernetes, its name in
/// Docker, its cgroup elsewhere. `None` of a pod as a whole, and of the container that only holds its network.
fn name_of(sample: &MetricSample, id: &str) -> Option<(String, bool)> {
    let of = |names: [&str; 2]| {
        let mut names = names.into_iter();
        names.find_map(|name| label(sample, name))
    };
    if let Some(pod) = of(POD) {
        let container = of(CONTAINER).filter(|name| *name != "POD")?;
        let namespace = of(NAMESPACE).unwrap_or("-");
        return Some((format!("{namespace}/{pod}/{container}"), true));
    }
    Some(match label(sample, "name") {
        Some(name) => (name.to_owned(), true),
        None => (id.to_owned(), false),
    })
}

/// The value of a label that is not empty.
fn label<'s>(sample: &'s MetricSample, name: &str) -> Option<&'s str> {
    let mut labels = sample.labels.iter();
    let found = labels.find(|(key, _)| key == name)?;
    Some(found.1.as_str()).filter(|value| !value.is_empty())
}
