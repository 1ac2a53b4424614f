//! The table of machines in the terminal, at most 100 columns.

use super::layout::Style;
use super::steps::cut;
use crate::machines::{COLUMNS, MachineRow, rows};
use crate::report::Report;

/// Columns of a machine's name, and of each cell behind it.
const NAME: usize = 20;
const WIDTHS: [usize; 6] = [11, 12, 14, 12, 20, 10];
/// Most machines on one screen; the report has all.
const ROWS_MAX: usize = 20;

/// The table; empty without agents.
pub(super) fn table(report: &Report<'_>, style: Style) -> Vec<String> {
    draw(&rows(&report.machines), style)
}

fn draw(rows: &[MachineRow], style: Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let heading = line("machine", COLUMNS.iter().copied());
    let mut lines = vec![style.paint("2", &heading)];
    let shown = rows.iter().take(ROWS_MAX);
    lines.extend(shown.map(|row| line(&row.name, row.cells.iter().map(String::as_str))));
    if rows.len() > ROWS_MAX {
        let left_out = rows.len() - ROWS_MAX;
        lines.push(format!("… and {left_out} more rows in the report"));
    }
    lines
}

/// Each cell has a space before it.
fn line<'c>(name: &str, cells: impl Iterator<Item = &'c str>) -> String {
    let mut line = format!("{:<NAME$}", cut(name, NAME));
    for (cell, width) in cells.zip(WIDTHS) {
        let room = width - 1;
        let cell = format!(" {:<room$}", cut(cell, room));
        line.push_str(&cell);
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_the_screen() {
        let row = |name: &str, cell: &str| MachineRow {
            name: name.to_owned(),
            cells: [cell; 6].map(str::to_owned),
            is_sum: false,
        };
        let mut rows = vec![row(&"w".repeat(60), &"9".repeat(60)); 30];
        rows[0] = row("web1", "37 % of 8");
        let lines = draw(&rows, Style { colour: false });
        assert_eq!(lines.len(), 1 + ROWS_MAX + 1);
        assert!(lines[0].starts_with("machine  "), "{lines:#?}");
        assert!(lines[1].starts_with("web1 "), "{lines:#?}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 100),
            "{lines:#?}"
        );
        assert!(draw(&[], Style { colour: false }).is_empty());
    }
}
