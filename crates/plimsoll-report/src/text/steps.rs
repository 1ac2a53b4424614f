//! The table of steps or URLs in the terminal, at most 100 columns.

use plimsoll_analysis::summary::breakdown::{Breakdown, ScopeMetrics};

use super::layout::Style;
use crate::answer;
use crate::printable::printable;
use crate::report::Report;

/// Columns of the table.
const COLUMNS: usize = 100;
/// Minimum width of a label, columns.
const LABEL_MIN: usize = 12;
/// Most rows on one screen; further steps of a long journey are in the report.
const ROWS_MAX: usize = 60;

/// Names of the columns behind the label; times are in ms.
const NAMES: [&str; 10] = [
    "samples", "avg ms", "p50", "p75", "p90", "p95", "p99", "errors", "/s", "bytes",
];

/// A row of the table.
struct StepTextRow {
    label: String,
    /// Follows the label and is never cut.
    mark: &'static str,
    indent: usize,
    cells: [String; 10],
}

/// The table of steps, or of several URLs; empty with one.
pub(super) fn table(report: &Report<'_>, style: Style) -> Vec<String> {
    let urls = report.summary.urls.iter();
    let rows = match &report.summary.breakdown {
        Some(breakdown) => rows(breakdown),
        None => urls
            .map(|row| StepTextRow::of(&row.label, "", 0, &row.metrics))
            .collect(),
    };
    if rows.is_empty() {
        return Vec::new();
    }
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    let mut lines = draw(&rows[..rows.len() - left_out], style);
    if left_out > 0 {
        lines.push(format!("… and {left_out} more rows in the report"));
    }
    lines
}

/// With several journeys each has a row of its own over those of its steps.
fn rows(breakdown: &Breakdown) -> Vec<StepTextRow> {
    let several = breakdown.journeys.len() > 1;
    let indent = if several { 2 } else { 0 };
    let mut rows = Vec::new();
    for journey in &breakdown.journeys {
        if several {
            rows.push(StepTextRow::of(&journey.name, "", 0, &journey.metrics));
        }
        let steps = breakdown.steps.iter();
        for step in steps.filter(|step| step.journey == journey.name) {
            let mark = if step.once { " (once)" } else { "" };
            rows.push(StepTextRow::of(&step.label, mark, indent, &step.metrics));
        }
        let groups = breakdown.groups.iter();
        for group in groups.filter(|group| group.journey == journey.name) {
            rows.push(StepTextRow::of(
                &group.name,
                " (group)",
                indent,
                &group.metrics,
            ));
        }
    }
    rows
}

impl StepTextRow {
    fn of(label: &str, mark: &'static str, indent: usize, metrics: &ScopeMetrics) -> Self {
        Self {
            label: printable(label),
            mark,
            indent,
            cells: answer::step_cells(metrics).map(|(text, _)| text),
        }
    }

    /// The label with indent and mark in so many columns.
    fn named(&self, width: usize) -> String {
        let room = width.saturating_sub(self.indent + self.mark.chars().count());
        let label = cut(&self.label, room);
        format!("{:indent$}{label}{}", "", self.mark, indent = self.indent)
    }

    fn label_len(&self) -> usize {
        self.indent + self.label.chars().count() + self.mark.chars().count()
    }
}

fn draw(rows: &[StepTextRow], style: Style) -> Vec<String> {
    let width = |index: usize| {
        let cells = rows.iter().map(|row| row.cells[index].chars().count());
        cells
            .chain([NAMES[index].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..NAMES.len()).map(width).collect();
    // Huge numbers stand closer to each other.
    let numbers = |gap: usize| widths.iter().map(|width| gap + width).sum::<usize>();
    let gap = if numbers(2) + LABEL_MIN <= COLUMNS {
        2
    } else {
        1
    };
    let numbers = numbers(gap);
    let longest = rows.iter().map(StepTextRow::label_len).max().unwrap_or(0);
    let room = COLUMNS.saturating_sub(numbers).max(LABEL_MIN);
    let label = longest.min(room);
    let line = |name: &str, cells: &[String]| {
        let pad = label.saturating_sub(name.chars().count());
        let mut line = format!("{name}{:pad$}", "");
        for (cell, width) in cells.iter().zip(&widths) {
            let pad = gap + width.saturating_sub(cell.chars().count());
            line.push_str(&" ".repeat(pad));
            line.push_str(cell);
        }
        line
    };
    let heading = line("", &NAMES.map(str::to_owned));
    let mut lines = vec![style.paint("2", &heading)];
    lines.extend(rows.iter().map(|row| line(&row.named(label), &row.cells)));
    lines
}

/// `text` in at most `room` characters: a long text loses its middle, since paths differ at their ends.
pub(super) fn cut(text: &str, room: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let mut short: String = letters[..head].iter().collect();
    short.push('…');
    short.extend(&letters[letters.len() - tail..]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_label_loses_its_middle() {
        assert_eq!(cut("GET /a", 6), "GET /a");
        assert_eq!(cut("GET /accounts/42/orders", 11), "GET /…rders");
        assert_eq!(cut("abc", 1), "…");
    }

    #[test]
    fn wide_numbers_leave_a_label_and_fit() {
        let summary = ScopeMetrics {
            samples: 123_456_789,
            throughput: 98_765.0,
            bytes: 1023 << 30,
            response_us: Some(plimsoll_model::trial::Percentiles {
                p50: 12_345_000,
                p75: 12_345_000,
                p90: 12_345_000,
                p95: 12_345_000,
                p99: 12_345_000,
                mean: 12_345_000.0,
                ..Default::default()
            }),
            ..ScopeMetrics::default()
        };
        let rows = [StepTextRow::of(&"x".repeat(300), " (once)", 2, &summary)];
        for line in draw(&rows, Style { colour: false }) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
