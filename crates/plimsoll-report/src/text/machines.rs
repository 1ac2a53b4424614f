//! The table of machines in the terminal, at most 100 columns.

use super::layout::Style;
use super::named_rows::NamedRows;
use crate::machines::{COLUMNS, rows};
use crate::report::Report;

const TABLE: NamedRows<6> = NamedRows {
    name: ("machine", 20),
    headings: COLUMNS,
    widths: [11, 12, 14, 12, 20, 10],
};

/// The table; empty without agents.
pub(super) fn table(report: &Report<'_>, style: Style) -> Vec<String> {
    let rows = rows(&report.machines);
    let named = rows.iter().map(|row| (row.name.as_str(), &row.cells));
    TABLE.draw(named, style)
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
