//! Reads commands, which run without a shell.

use std::time::Duration;

use plimsoll_model::experiment::{CommandLine, LevelText};

use super::required;
use super::scope::ExperimentScope;
use crate::document::Shape::{Either, Of, OneOrMore, Text};
use crate::document::{DocumentNode, NodeKind, SettingsMap as _, Shape, settings, time};

/// A command: its words, or a map with a time limit.
pub(super) const COMMAND_SHAPE: Shape = Either(&[OneOrMore(&Text), Of(&COMMAND)]);

/// Words of a command at most.
const WORDS_MAX: usize = 1000;

settings! {
    /// A command that must end within a time limit; it runs without a shell.
    struct CommandSettings, COMMAND "command" {
        /// Executable and arguments.
        "command": OneOrMore(&Text);
        /// Time limit. Default: 5m for `reset`, 30m for `build`, 30s for `check` and `reload`.
        within: Option<Duration> = None, "within": time().within(
            Duration::from_millis(1),
            Duration::from_hours(24),
            "1ms to 24h"
        );
    }
}

/// Reads a command with its time limit.
pub(super) fn command_line(
    scope: &ExperimentScope<'_, '_>,
    node: &DocumentNode,
    within: Duration,
) -> Option<CommandLine> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        let words = command(scope, node)?;
        return Some(CommandLine { words, within });
    }
    let fields = scope.reader.fields(node, &COMMAND)?;
    let settings = CommandSettings::read(scope.reader, &fields);
    let words = required(scope.reader, &fields, "command", "[bin/reset, --all]")?;
    Some(CommandLine {
        words: command(scope, words)?,
        within: settings.within.unwrap_or(within),
    })
}

/// Reads the words of a command; at least one.
pub(super) fn command(
    scope: &ExperimentScope<'_, '_>,
    node: &DocumentNode,
) -> Option<Vec<LevelText>> {
    let reader = scope.reader;
    let items = reader.one_or_more(node);
    if items.len() > WORDS_MAX {
        let message = format!("the command has {} words", items.len());
        reader.report(node, message, format!("at most {WORDS_MAX}"));
        return None;
    }
    let words = scope.texts(node, "an executable or argument");
    let first = items.first().and_then(|item| match &item.kind {
        NodeKind::Scalar { text, .. } => Some(text.as_str()),
        NodeKind::List(_) | NodeKind::Map(_) => None,
    });
    match first {
        Some("") => reader.report(node, "the command is empty", "[bin/server, --port, 8080]"),
        // Spaces within a placeholder separate nothing.
        Some(line) if items.len() == 1 && !line.contains("{{") && line.contains(' ') => {
            let list = line.split_whitespace().collect::<Vec<_>>().join(", ");
            reader.report(node, "the command is not a list", format!("[{list}]"));
        }
        None if items.is_empty() => {
            reader.report(node, "the command is empty", "[bin/server, --port, 8080]");
        }
        // A word that is missing has its own error.
        _ if words.len() < items.len() => {}
        _ => return Some(words),
    }
    None
}
