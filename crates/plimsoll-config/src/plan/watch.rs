//! Reads `watch:`, the collectors to run beside a plan.

mod agents;
mod component;
mod exporter;
mod gauges;
mod metrics;
mod reference;

use std::net::SocketAddr;

use plimsoll_model::component::{Component, ComponentKind, GaugeLimit};

use crate::document::{Diagnostics, DocumentNode, DocumentReader, NodeKind, Surroundings};
pub(crate) use agents::AGENT;
pub use agents::WatchedAgent;
pub(crate) use exporter::EXPORTER;
pub(crate) use gauges::{GAUGE, WATCH};
pub(crate) use reference::MEANING;

/// Programs that a plan may name but that have no collector yet; the CLI reports them.
const LATER: [&str; 2] = ["envoy", "docker"];
/// Keys with a collector.
const NOW: [&str; 7] = ["host", "process", "pid", "edge", "auto", "gauges", "agents"];
/// Maximum processes, process ids, and components per kind.
const NAMED_MAX: usize = 64;
/// Maximum components in total; each has a thread of its own.
const COMPONENTS_MAX: usize = 64;

/// What the collectors observe, besides the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchPlan {
    /// Process ids.
    pub pids: Vec<u32>,
    /// Process names, as the kernel reports them.
    pub processes: Vec<String>,
    /// The admin address of an edge, whose metrics become series.
    pub edge: Option<SocketAddr>,
    /// Components with a status interface.
    pub components: Vec<Component>,
    /// Gauges of the application that have a limit.
    pub gauges: Vec<GaugeLimit>,
    /// Agents that watch other machines.
    pub agents: Vec<WatchedAgent>,
    /// Whether components on this machine are discovered.
    pub auto: bool,
    /// Named programs that have no collector yet.
    pub later: Vec<String>,
}

/// Reads a file with the same content as `watch:` of a plan.
///
/// # Errors
/// All errors of the file together.
pub fn read_watch(text: &str, surroundings: &dyn Surroundings) -> Result<WatchPlan, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let watched = reader.read_root(("the list is empty", VALID), |root| watch(&reader, root));
    reader.finish(Some(watched.unwrap_or_default()))
}

const VALID: &str = "auto, none, or names, such as host: local, process: [nginx, node], haproxy: unix:/run/haproxy.sock";

/// Reads `watch:`.
pub(crate) fn watch(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<WatchPlan> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let text = reader.text(node, VALID)?;
        let auto = match &*text {
            "auto" => true,
            "none" => false,
            other => {
                reader.report(node, format!("unknown value `{other}`"), VALID);
                return None;
            }
        };
        return Some(WatchPlan {
            auto,
            ..WatchPlan::default()
        });
    }
    Some(named(reader, node))
}

fn named(reader: &DocumentReader<'_>, node: &DocumentNode) -> WatchPlan {
    let mut watch = WatchPlan::default();
    let known = [&watched_words()[..], &LATER].concat();
    for (key, value) in reader.entries(node, VALID).unwrap_or_default() {
        let kind = ComponentKind::of_word(&key.text);
        for item in reader.one_or_more(value).iter().take(NAMED_MAX) {
            if let Some(kind) = kind {
                watch
                    .components
                    .extend(component::component(reader, item, kind));
                continue;
            }
            match key.text.as_str() {
                "host" => host(reader, item),
                "auto" => watch.auto = reader.switch(item).unwrap_or_default(),
                "edge" => watch.edge = edge(reader, item).or(watch.edge),
                "gauges" => watch.gauges.extend(gauges::gauge(reader, item)),
                "agents" => watch.agents.extend(agents::agent(reader, item)),
                "process" => watch.processes.extend(process(reader, item)),
                "pid" => watch
                    .pids
                    .extend(reader.count32(item, 1..=u32::try_from(i32::MAX).unwrap_or(u32::MAX))),
                later if LATER.contains(&later) => {
                    let valid = "its address, such as unix:/run/haproxy.sock";
                    if reader.text(item, valid).is_some() && !watch.later.contains(&key.text) {
                        watch.later.push(key.text.clone());
                    }
                }
                _ => {}
            }
        }
        if !known.contains(&key.text.as_str()) {
            reader.unknown(&key.span, "key", &key.text, &known);
        }
        if reader.one_or_more(value).len() > NAMED_MAX {
            reader.report(value, "there are too many components", "at most 64");
        }
    }
    if let Some(gauges) = node.get("gauges") {
        gauges::check(reader, gauges, &watch.components);
    }
    exporter::check(reader, node, &watch.components);
    if watch.components.len() > COMPONENTS_MAX {
        reader.report(node, "there are too many components", "at most 64 in total");
    }
    watch
}

/// Keys with a collector: those of components in alphabetical order, as messages list them.
pub fn watched_words() -> Vec<&'static str> {
    let kinds = ComponentKind::ALL.iter();
    let mut words: Vec<&str> = kinds.flat_map(|kind| kind.words()).copied().collect();
    words.sort_unstable();
    NOW.into_iter().chain(words).collect()
}

/// The host of the load generator is always observed; others by agents.
fn host(reader: &DocumentReader<'_>, node: &DocumentNode) {
    const VALID: &str = "local: this machine, on which Plimsoll runs; other machines by `agents`";
    if let Some(text) = reader.text(node, VALID).filter(|text| text != "local") {
        reader.report(node, format!("the host `{text}` cannot be observed"), VALID);
    }
}

/// The admin address of an edge.
fn edge(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<SocketAddr> {
    const VALID: &str = "its admin address without a token, such as 127.0.0.1:9191";
    let text = reader.text(node, VALID)?;
    let address = text.strip_prefix("http://").unwrap_or(&text);
    let address = address.strip_suffix('/').unwrap_or(address);
    let parsed = address.parse().ok();
    if parsed.is_none() {
        reader.report(
            node,
            format!("`{text}` is not the address of an edge"),
            VALID,
        );
    }
    parsed
}

/// A process name: at most 15 bytes, as the kernel truncates it.
fn process(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    const VALID: &str = "a process name of 1 to 15 bytes, as in `ps -o comm`";
    let name = reader.word(node, VALID)?;
    if name.len() > 15 || name.contains('/') {
        reader.report(node, format!("`{name}` is not a process name"), VALID);
        return None;
    }
    Some(name)
}
