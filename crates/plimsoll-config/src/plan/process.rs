//! Reads external scripts that drive users.

use std::time::Duration;

use plimsoll_model::journey::ProcessPlan;

use super::scope::{PlanScope, index};
use crate::document::Shape::{OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count, settings, time,
};

settings! {
    /// An external script that drives virtual users by lines of JSON.
    struct ProcessSettings, PROCESS "process" {
        /// Executable and arguments, without a shell; started in the folder of the plan file.
        "command": OneOrMore(&Text);
        /// Worker processes per event loop.
        count: u32 = 1, "processes": count(1..=64);
        /// Names of the data sets whose rows its users receive.
        "data": OneOrMore(&Text);
        /// Time-out of a reply of the script.
        timeout: Duration = Duration::from_secs(10), "timeout": time();
    }
}

/// Keys of a journey that are not allowed with a process.
const OF_STEPS: [&str; 4] = ["once", "steps", "cache", "gives_up"];

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
        let defaults = ProcessSettings::defaults();
        return Some(ProcessPlan {
            command: command(reader, node)?,
            count: defaults.count,
            feeds: Vec::new(),
            timeout: defaults.timeout,
        });
    }
    let fields = reader.fields(node, &PROCESS)?;
    let settings = ProcessSettings::read(reader, &fields);
    let feeds = fields.get("data").map(|node| feeds(scope, node));
    let Some(node) = fields.get("command") else {
        if !fields.misspells(&["command"]) {
            reader.report(node, "`command` is missing", "command: [python3, user.py]");
        }
        return None;
    };
    Some(ProcessPlan {
        command: command(reader, node)?,
        count: settings.count,
        feeds: feeds.unwrap_or_default(),
        timeout: settings.timeout,
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
