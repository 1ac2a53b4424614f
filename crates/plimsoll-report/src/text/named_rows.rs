//! Tables whose first column names their rows, in the terminal.

use super::layout::Style;
use super::steps::cut;

/// Most rows of a table on one screen; the report has all.
const ROWS_MAX: usize = 20;

/// The columns of a table; together at most 100 wide.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedRows<const N: usize> {
    /// What the rows are, and the width of their names.
    pub(super) name: (&'static str, usize),
    /// Headings of the further columns.
    pub(super) headings: [&'static str; N],
    /// Their widths, with the space before each.
    pub(super) widths: [usize; N],
}

impl<const N: usize> NamedRows<N> {
    /// The lines: a heading, and one for each row; empty without rows.
    pub(super) fn draw<'r>(
        &self,
        rows: impl ExactSizeIterator<Item = (&'r str, &'r [String; N])>,
        style: Style,
    ) -> Vec<String> {
        let count = rows.len();
        if count == 0 {
            return Vec::new();
        }
        let heading = self.line(self.name.0, self.headings);
        let mut lines = vec![style.paint("2", &heading)];
        for (name, cells) in rows.take(ROWS_MAX) {
            lines.push(self.line(name, cells.each_ref().map(String::as_str)));
        }
        if count > ROWS_MAX {
            let left_out = count - ROWS_MAX;
            lines.push(format!("… and {left_out} more rows in the report"));
        }
        lines
    }

    fn line(&self, name: &str, cells: [&str; N]) -> String {
        let name_room = self.name.1;
        let mut line = format!("{:<name_room$}", cut(name, name_room));
        for (cell, width) in cells.into_iter().zip(self.widths) {
            let room = width - 1;
            let cell = format!(" {:<room$}", cut(cell, room));
            line.push_str(&cell);
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// However long its cells are, a table fits the screen.
    pub(in crate::text) fn assert_fits<const N: usize>(table: NamedRows<N>) {
        let style = Style { colour: false };
        let (name, cells) = ("w".repeat(60), [(); N].map(|()| "9".repeat(60)));
        let rows = std::iter::repeat_n((name.as_str(), &cells), ROWS_MAX + 10);
        let lines = table.draw(rows, style);
        assert_eq!(lines.len(), 1 + ROWS_MAX + 1);
        assert!(lines[0].starts_with(table.name.0), "{lines:#?}");
        for heading in table.headings {
            assert!(lines[0].contains(heading), "{lines:#?}");
        }
        assert_eq!(lines[ROWS_MAX + 1], "… and 10 more rows in the report");
        let fits = |line: &String| line.chars().count() <= 100;
        assert!(lines.iter().all(fits), "{lines:#?}");
        assert!(table.draw(std::iter::empty(), style).is_empty());
    }
}
