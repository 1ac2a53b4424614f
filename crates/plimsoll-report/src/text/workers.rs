//! The tables of workers and of their regions in the terminal, at most 100 columns.

use super::layout::Style;
use super::named_rows::NamedRows;
use crate::report::Report;
use crate::workers::{COLUMNS, REGION_COLUMNS, region_rows, rows};

const TABLE: NamedRows<7> = NamedRows {
    name: ("worker", 15),
    headings: COLUMNS,
    widths: [13, 11, 9, 10, 20, 14, 8],
};
const REGIONS: NamedRows<6> = NamedRows {
    name: ("region", 28),
    headings: REGION_COLUMNS,
    widths: [9, 15, 12, 12, 12, 12],
};

/// The table of workers, and with regions theirs below it; empty for a load of this machine.
pub(super) fn table(report: &Report<'_>, style: Style) -> Vec<String> {
    let workers = &report.run.workers;
    let rows = rows(workers);
    let named = rows.iter().map(|row| (row.name.as_str(), &row.cells));
    let mut lines = TABLE.draw(named, style);
    let regions = region_rows(workers);
    if !regions.is_empty() {
        let named = regions.iter().map(|row| (row.name.as_str(), &row.cells));
        lines.push(String::new());
        lines.extend(REGIONS.draw(named, style));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::named_rows::tests::assert_fits;
    use super::*;

    #[test]
    fn a_line_fits_the_screen() {
        assert_fits(TABLE);
        assert_fits(REGIONS);
    }
}
