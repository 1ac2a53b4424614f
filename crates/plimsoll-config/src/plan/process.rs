//! Programs that say what users do.

use std::time::Duration;

use plimsoll_model::journey::ProcessPlan;

use super::desk::{Desk, Fields};
use super::names::{Scene, index};
use super::tree::{Kind, Node};
use super::words::PROCESS;

/// How long a program may take to say what a user does, when the plan does not say.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// Words of a journey that mean nothing where a program says what users do.
const OF_STEPS: [&str; 3] = ["once", "steps", "cache"];

/// Reads `process:` of a journey.
pub(crate) fn process(scene: &Scene<'_>, journey: &Fields<'_>, node: &Node) -> Option<ProcessPlan> {
    let desk = scene.desk;
    for (key, _) in journey.among(&OF_STEPS) {
        let fault = format!("`{}` and `process` cannot stand together", key.text);
        let valid = "steps, or a process that says them";
        desk.note(key.span.start, fault, valid, None);
    }
    if !matches!(node.kind, Kind::Map(_)) {
        return Some(ProcessPlan {
            command: command(desk, node)?,
            count: 1,
            feeds: Vec::new(),
            timeout: TIMEOUT_DEFAULT,
        });
    }
    let fields = desk.fields(node, &PROCESS)?;
    let count = fields
        .get("processes")
        .and_then(|node| desk.count32(node, 1..=64));
    let timeout = fields
        .get("timeout")
        .and_then(|node| desk.duration_above_zero(node));
    let feeds = fields.get("data").map(|node| feeds(scene, node));
    let Some(node) = fields.get("command") else {
        if !fields.misspells(&["command"]) {
            desk.fault(
                node,
                "the command is missing",
                "command: [python3, user.py]",
            );
        }
        return None;
    };
    Some(ProcessPlan {
        command: command(desk, node)?,
        count: count.unwrap_or(1),
        feeds: feeds.unwrap_or_default(),
        timeout: timeout.unwrap_or(TIMEOUT_DEFAULT),
    })
}

/// The data that users are handed.
fn feeds(scene: &Scene<'_>, node: &Node) -> Vec<u32> {
    let desk = scene.desk;
    let names: Vec<&str> = scene.feeds.iter().map(|feed| feed.name.as_str()).collect();
    let mut feeds = Vec::new();
    for item in desk.one_or_more(node) {
        let Some(name) = desk.word(item, "the name of data of this plan") else {
            continue;
        };
        match names.iter().position(|known| *known == name) {
            Some(place) if !feeds.contains(&index(place)) => feeds.push(index(place)),
            Some(_) => desk.fault(item, format!("`{name}` is named twice"), "each data once"),
            None => desk.unknown(&item.span, "the data", &name, &names),
        }
    }
    feeds
}

fn command(desk: &Desk<'_>, node: &Node) -> Option<Vec<String>> {
    const VALID: &str = "[python3, user.py]";
    let items = desk.one_or_more(node);
    let words: Vec<Option<String>> = items
        .iter()
        .map(|item| desk.text(item, "a word of the command"))
        .collect();
    let words: Vec<String> = words.into_iter().collect::<Option<_>>()?;
    match words.as_slice() {
        [one] if one.contains(char::is_whitespace) => {
            let list = one.split_whitespace().collect::<Vec<_>>().join(", ");
            let fault = "a command and its arguments are a list";
            desk.fault(node, fault, format!("[{list}]"));
        }
        [first, ..] if !first.is_empty() => return Some(words),
        _ => desk.fault(node, "the command is missing", VALID),
    }
    None
}
