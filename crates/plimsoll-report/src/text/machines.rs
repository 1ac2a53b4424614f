//! The table of machines in the terminal, at most 100 columns.

use super::layout::Style;
use super::named_rows::NamedRows;
use super::steps::cut;
use crate::machines::{COLUMNS, rows};
use crate::report::Report;

const TABLE: NamedRows<6> = NamedRows {
    name: ("machine", 20),
    headings: COLUMNS,
    widths: [11, 12, 14, 12, 20, 10],
};

/// Width of a line, and most machines whose components are listed; the report has all.
const WIDTH: usize = 100;
const LISTED_MAX: usize = 20;

/// The table, and the components of each machine; empty without agents.
pub(super) fn table(report: &Report<'_>, style: Style) -> Vec<String> {
    let rows = rows(&report.machines);
    let named = rows.iter().map(|row| (row.name.as_str(), &row.cells));
    let mut lines = TABLE.draw(named, style);
    let with_components = rows.iter().filter(|row| !row.components.is_empty());
    let listed = with_components.map(|row| format!("{} runs {}", row.name, row.components));
    lines.extend(listed.take(LISTED_MAX).map(|line| cut(&line, WIDTH)));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::named_rows::tests::assert_fits;
    use super::*;

    #[test]
    fn a_line_fits_the_screen() {
        assert_fits(TABLE);
    }
}
