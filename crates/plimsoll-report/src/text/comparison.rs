//! Before and after in the terminal.

use std::fmt::Write as _;

use plimsoll_model::run::Run;

use super::layout::wrap;
use crate::comparison::{gain, rows};
use crate::report::Report;

/// A table of runs, one per row, and a sentence on the first and the last of them.
pub fn comparison(runs: &[(&str, &Run)]) -> String {
    let reports: Vec<(&str, Report<'_>)> = runs
        .iter()
        .map(|&(label, run)| (label, Report::of(run)))
        .collect();
    let mut text = table(&rows(&reports));
    if let Some(sentence) = gain(&reports) {
        text.push('\n');
        for line in wrap(&sentence, "", 3) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// Columns wide enough for their cells; numbers to the right, the first and the last column to the left.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            let gap = if column == 0 { "" } else { "  " };
            let left = column == 0 || column + 1 == columns;
            let (before, after) = if left {
                ("", pad.as_str())
            } else {
                (pad.as_str(), "")
            };
            let _ = write!(line, "{gap}{before}{cell}{after}");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
