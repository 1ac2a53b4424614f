//! What else is looked at while a plan is carried out.

mod figures;
mod part;
mod valid;

use std::net::SocketAddr;

use plimsoll_model::part::Part;

use super::desk::Desk;
use super::source::Source;
use super::tree::{self, Kind, Node};
use super::{Faults, Surroundings};
use part::PARTS;

/// Names that the plan may give and that nothing looks at yet: the door says so.
const LATER: [&str; 2] = ["envoy", "docker"];
/// Names that mean something.
const NOW: [&str; 5] = ["host", "process", "pid", "edge", "auto"];
/// Processes, numbers of processes, and parts of a kind that can be named.
const NAMED_MAX: usize = 64;
/// Parts that can be watched together; each is asked by a thread of its own.
const PARTS_MAX: usize = 64;

/// What the probes look at beside the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Processes by number.
    pub pids: Vec<u32>,
    /// Processes by name, as the kernel knows it.
    pub processes: Vec<String>,
    /// The admin address of an edge, whose figures become series.
    pub edge: Option<SocketAddr>,
    /// Parts of the service that tell of themselves.
    pub parts: Vec<Part>,
    /// Look for parts on this machine.
    pub auto: bool,
    /// What is named and cannot be looked at yet.
    pub later: Vec<String>,
}

/// Reads a file that says what is watched, as it would stand behind `watch:` in a plan.
///
/// # Errors
/// All faults of the file together.
pub fn read_watch(text: &str, surroundings: &dyn Surroundings) -> Result<Watch, Faults> {
    let source = Source::new(text);
    let desk = Desk::new(&source, surroundings);
    let (root, tree_faults) = tree::read(&source);
    for fault in tree_faults {
        desk.note(fault.span.start, fault.fault, fault.valid, None);
    }
    let watched = match &root {
        Some(root) if !root.is_null() => watch(&desk, root),
        None if !source.text().trim().is_empty() && desk.has_faults() => Watch::default(),
        _ => {
            desk.note(0, "nothing is to be watched", VALID, None);
            Watch::default()
        }
    };
    let faults = desk.into_faults();
    if faults.is_empty() {
        Ok(watched)
    } else {
        Err(Faults::new(faults))
    }
}

const VALID: &str = "auto, none, or names, such as host: local, process: [nginx, node], haproxy: unix:/run/haproxy.sock";

/// Reads `watch:`.
pub(crate) fn watch(desk: &Desk<'_>, node: &Node) -> Watch {
    if matches!(node.kind, Kind::Scalar { .. }) {
        let auto = desk.one_of(node, &[("auto", true), ("none", false)]);
        return Watch {
            auto: auto.unwrap_or_default(),
            ..Watch::default()
        };
    }
    named(desk, node)
}

fn named(desk: &Desk<'_>, node: &Node) -> Watch {
    let mut watch = Watch::default();
    let parts = PARTS.iter().map(|(name, _)| *name);
    let known: Vec<&str> = NOW.into_iter().chain(parts).chain(LATER).collect();
    for (key, value) in desk.entries(node, VALID).unwrap_or_default() {
        let kind = PARTS.iter().find(|(name, _)| *name == key.text);
        for item in desk.one_or_more(value).iter().take(NAMED_MAX) {
            if let Some((_, kind)) = kind {
                watch.parts.extend(part::part(desk, item, *kind));
                continue;
            }
            match key.text.as_str() {
                "host" => host(desk, item),
                "auto" => watch.auto = desk.switch(item).unwrap_or_default(),
                "edge" => watch.edge = edge(desk, item).or(watch.edge),
                "process" => watch.processes.extend(process(desk, item)),
                "pid" => watch
                    .pids
                    .extend(desk.count32(item, 1..=u32::try_from(i32::MAX).unwrap_or(u32::MAX))),
                later if LATER.contains(&later) => {
                    let where_it_tells = "where it tells of itself, such as unix:/run/haproxy.sock";
                    if desk.text(item, where_it_tells).is_some() && !watch.later.contains(&key.text)
                    {
                        watch.later.push(key.text.clone());
                    }
                }
                _ => {}
            }
        }
        if !known.contains(&key.text.as_str()) {
            desk.unknown(&key.span, "what is to be watched,", &key.text, &known);
        }
        if desk.one_or_more(value).len() > NAMED_MAX {
            desk.fault(value, "too many are named", "at most 64");
        }
    }
    if watch.parts.len() > PARTS_MAX {
        desk.fault(node, "too many parts are named", "at most 64 together");
    }
    watch
}

/// The host of the generator is always looked at; no other can be yet.
fn host(desk: &Desk<'_>, node: &Node) {
    const VALID: &str = "local: this machine, on which Plimsoll runs";
    if let Some(text) = desk.text(node, VALID).filter(|text| text != "local") {
        desk.fault(
            node,
            format!("the host `{text}` cannot be looked at"),
            VALID,
        );
    }
}

/// Where an edge is asked for its figures.
fn edge(desk: &Desk<'_>, node: &Node) -> Option<SocketAddr> {
    const VALID: &str = "its admin address without a token, such as 127.0.0.1:9191";
    let text = desk.text(node, VALID)?;
    let address = text.strip_prefix("http://").unwrap_or(&text);
    let address = address.strip_suffix('/').unwrap_or(address);
    let parsed = address.parse().ok();
    if parsed.is_none() {
        desk.fault(node, format!("`{text}` is no address of an edge"), VALID);
    }
    parsed
}

/// The name of a process: at most 15 bytes, as the kernel keeps it.
fn process(desk: &Desk<'_>, node: &Node) -> Option<String> {
    const VALID: &str = "the name of a process, 1 to 15 bytes, as `ps -o comm` shows it";
    let name = desk.word(node, VALID)?;
    if name.len() > 15 || name.contains('/') {
        desk.fault(node, format!("`{name}` is no name of a process"), VALID);
        return None;
    }
    Some(name)
}
