//! A history on the terminal.

use super::phrases::{answer_word, change_sentence, counted, headline, metric_label, quantity};
use super::{GateAnswer, HistoryObject, SeriesGateObject};
use crate::printable::printable;
use crate::text::Style;

/// Changes that are shown: the newest.
const CHANGES_MAX: usize = 20;

/// The summary: the answer, each series with its metrics, the changes.
pub fn summary(object: &HistoryObject, colour: bool) -> String {
    let style = Style { colour };
    let code = match object.gate.verdict {
        GateAnswer::Passed => "1;32",
        GateAnswer::Regressed => "1;31",
        GateAnswer::Undecided | GateAnswer::Void => "1;33",
    };
    let word = style.paint(code, answer_word(object.gate.verdict));
    let mut lines = Vec::new();
    if object.gate.series.len() < 2 {
        lines.push(format!("{word}: {}", printable(&object.gate.sentence)));
    } else {
        lines.push(style.paint(code, &headline(&object.gate)));
        let series = object.gate.series.iter();
        lines.extend(series.map(|gate| format!("  {}", printable(&series_answer(object, gate)))));
    }
    for (index, series) in object.series.iter().enumerate() {
        lines.push(String::new());
        let title = format!("{} of {}", series.command, series.name);
        lines.push(format!(
            "{}: {}{}",
            style.paint("1", &printable(&title)),
            counted(series.runs, "run"),
            printable(&on_machine(&series.machine))
        ));
        lines.extend(metric_lines(object, index, style));
    }
    lines.extend(change_lines(object, style));
    lines.join("\n") + "\n"
}

/// `run of shop: worse: p95 rose from …`.
fn series_answer(object: &HistoryObject, gate: &SeriesGateObject) -> String {
    let series = &object.series[gate.series];
    let reasons = match gate.reasons.len() {
        0 => String::new(),
        _ => format!(": {}", gate.reasons.join("; ")),
    };
    format!(
        "{} of {}: {}{reasons}",
        series.command,
        series.name,
        answer_word(gate.verdict)
    )
}

fn on_machine(machine: &str) -> String {
    if machine.is_empty() {
        return String::new();
    }
    format!(" on {machine}")
}

fn metric_lines(object: &HistoryObject, series: usize, style: Style) -> Vec<String> {
    let charts = object.charts.iter().filter(|chart| chart.series == series);
    let rows: Vec<(String, String)> = charts
        .map(|chart| {
            let name = &chart.metric;
            let value = format!(
                "{}, expected {} to {}{}",
                quantity(name, chart.newest),
                quantity(name, chart.low.max(0.0)),
                quantity(name, chart.high),
                if chart.signal.is_some() {
                    ": stands out"
                } else {
                    ""
                }
            );
            (printable(&metric_label(name)), value)
        })
        .collect();
    let width = rows.iter().map(|row| row.0.chars().count()).max();
    let width = width.unwrap_or_default();
    rows.into_iter()
        .map(|(label, value)| {
            format!(
                "  {}  {value}",
                style.paint("2", &format!("{label:<width$}"))
            )
        })
        .collect()
}

fn change_lines(object: &HistoryObject, style: Style) -> Vec<String> {
    let mut lines = vec![String::new()];
    if object.changes.is_empty() {
        lines.push("no change".to_owned());
        return lines;
    }
    let mut changes: Vec<_> = object.changes.iter().collect();
    changes.sort_by_key(|change| change.point);
    let left_out = changes.len().saturating_sub(CHANGES_MAX);
    lines.push(style.paint("1", "Changes"));
    if left_out > 0 {
        lines.push(format!("  … {left_out} older, in --json"));
    }
    for change in &changes[left_out..] {
        let series = &object.series[change.series];
        let code = if change.worse == Some(true) {
            "31"
        } else {
            "0"
        };
        let text = format!("{}: {}", series.name, change_sentence(change));
        lines.push(format!("  {}", style.paint(code, &printable(&text))));
    }
    lines
}
