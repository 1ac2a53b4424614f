//! A history as Markdown: for the summary of a job, and as a note on a merge request.

use std::fmt::Write as _;

use super::phrases::{answer_word, commit_range, day, metric_label, quantity, relative};
use super::{ChangeObject, HistoryObject};
use crate::printable::printable;

/// Rows of a table.
const ROWS_MAX: usize = 50;

/// The whole text.
pub fn render(object: &HistoryObject) -> String {
    let mut text = format!("## Plimsoll: {}\n\n", answer_word(object.gate.verdict));
    answers(object, &mut text);
    for damaged in &object.damaged {
        let what = escaped(&damaged.what);
        let _ = writeln!(text, "\n> Line {} of the history: {what}.", damaged.line);
    }
    newest(object, &mut text);
    changes(object, &mut text);
    text
}

/// The answer for each series, with its reasons as a list.
fn answers(object: &HistoryObject, text: &mut String) {
    if object.gate.series.is_empty() {
        let _ = writeln!(text, "{}.", escaped(&object.gate.sentence));
    }
    for gate in &object.gate.series {
        let series = &object.series[gate.series];
        let _ = writeln!(
            text,
            "- **{} of {}**: {}",
            escaped(&series.command),
            escaped(&series.name),
            answer_word(gate.verdict)
        );
        for reason in gate.reasons.iter().take(ROWS_MAX) {
            let _ = writeln!(text, "  - {}", escaped(reason));
        }
    }
}

/// The newest run of each series on its chart.
fn newest(object: &HistoryObject, text: &mut String) {
    if object.charts.is_empty() {
        return;
    }
    text.push_str("\n| run | metric | newest | expected | |\n|---|---|---:|---:|---|\n");
    for chart in object.charts.iter().take(ROWS_MAX) {
        let name = &chart.metric;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} to {} | {} |",
            escaped(&object.series[chart.series].name),
            escaped(&metric_label(name)),
            quantity(name, chart.newest),
            quantity(name, chart.low.max(0.0)),
            quantity(name, chart.high),
            if chart.signal.is_some() {
                "stands out"
            } else {
                ""
            }
        );
    }
    left_out(object.charts.len(), text);
}

fn changes(object: &HistoryObject, text: &mut String) {
    if object.changes.is_empty() {
        text.push_str("\nNo change.\n");
        return;
    }
    let mut changes: Vec<&ChangeObject> = object.changes.iter().collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.point));
    text.push_str("\n| change | run | metric | before | after | | commits |\n");
    text.push_str("|---|---|---|---:|---:|---:|---|\n");
    for change in changes.iter().take(ROWS_MAX) {
        let worse = match change.worse {
            Some(true) => "worse",
            Some(false) => "better",
            None => "",
        };
        let commits = change.commits.as_ref().map(commit_range);
        let commits = commits.map_or_else(String::new, |range| format!("`{}`", escaped(&range)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} {worse} | {commits} |",
            escaped(&day(&change.at)),
            escaped(&object.series[change.series].name),
            escaped(&metric_label(&change.metric)),
            quantity(&change.metric, change.before),
            quantity(&change.metric, change.after),
            relative(change.before, change.after),
        );
    }
    left_out(changes.len(), text);
}

fn left_out(rows: usize, text: &mut String) {
    if rows > ROWS_MAX {
        let _ = writeln!(text, "\n{} more rows are in `--json`.", rows - ROWS_MAX);
    }
}

/// A text that Markdown shows as it is: neither markup nor HTML, and no further column.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in printable(text).chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '@' => {
                safe.push('\\');
                safe.push(letter);
            }
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        assert_eq!(escaped("a|b"), "a\\|b");
        assert_eq!(
            escaped("<img src=x> [x](y) `z`"),
            "&lt;img src=x&gt; \\[x\\](y) \\`z\\`"
        );
        assert_eq!(escaped("@everyone"), "\\@everyone");
    }
}
