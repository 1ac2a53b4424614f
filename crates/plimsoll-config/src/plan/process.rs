//! Reads external scripts that drive users.

use std::time::Duration;

use plimsoll_model::journey::ProcessPlan;

use super::keywords::PROCESS;
use super::scope::{PlanScope, index};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};

/// Default time-out of a reply.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// Keys of a journey that are not allowed with a process.
const OF_STEPS: [&str; 3] = ["once", "steps", "cache"];

/// Reads `process:` of a journey.
pub(crate) fn process(
    scope: &PlanScope<'_>,
    journey: &MapFields<'_>,
    node: &DocumentNode,
) -> Option<ProcessPlan> {
    let reader = scope.reader;
    for (key, _) in journey.among(&OF_STEPS) {
        let message = format!("`{}` and `process` are mutually exclusive", key.text);
        let valid = "either steps, or a process";
        reader.report_at(key.span.start, message, valid, None);
    }
    if !matches!(node.kind, NodeKind::Map(_)) {
        return Some(ProcessPlan {
            command: command(reader, node)?,
            count: 1,
            feeds: Vec::new(),
            timeout: TIMEOUT_DEFAULT,
        });
    }
    let fields = reader.fields(node, &PROCESS)?;
    let count = fields
        .get("processes")
        .and_then(|node| reader.count32(node, 1..=64));
    let timeout = fields
        .get("timeout")
        .and_then(|node| reader.duration_above_zero(node));
    let feeds = fields.get("data").map(|node| feeds(scope, node));
    let Some(node) = fields.get("command") else {
        if !fields.misspells(&["command"]) {
            reader.report(node, "`command` is missing", "command: [python3, user.py]");
        }
        return None;
    };
    Some(ProcessPlan {
        command: command(reader, node)?,
        count: count.unwrap_or(1),
        feeds: feeds.unwrap_or_default(),
        timeout: timeout.unwrap_or(TIMEOUT_DEFAULT),
    })
}

/// The data sets whose rows the users receive.
fn feeds(scope: &PlanScope<'_>, node: &DocumentNode) -> Vec<u32> {
    let reader = scope.reader;
    let names: Vec<&str> = scope.feeds.iter().map(|feed| feed.name.as_str()).collect();
    let mut feeds = Vec::new();
    for item in reader.one_or_more(node) {
        let Some(name) = reader.word(item, "the name of a data set of this plan") else {
            continue;
        };
        match names.iter().position(|known| *known == name) {
            Some(place) if !feeds.contains(&index(place)) => feeds.push(index(place)),
            Some(_) => reader.report(
                item,
                format!("duplicate name `{name}`"),
                "each data set once",
            ),
            None => reader.unknown(&item.span, "data set", &name, &names),
        }
    }
    feeds
}

fn command(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<String>> {
    const VALID: &str = "[python3, user.py]";
    let items = reader.one_or_more(node);
    let words: Vec<Option<String>> = items
        .iter()
        .map(|item| reader.text(item, "an executable or argument"))
        .collect();
    let words: Vec<String> = words.into_iter().collect::<Option<_>>()?;
    match words.as_slice() {
        [line] if line.contains(char::is_whitespace) => {
            let list = line.split_whitespace().collect::<Vec<_>>().join(", ");
            let message = "the command is not a list";
            reader.report(node, message, format!("[{list}]"));
        }
        [first, ..] if !first.is_empty() => return Some(words),
        _ => reader.report(node, "the command is empty", VALID),
    }
    None
}
