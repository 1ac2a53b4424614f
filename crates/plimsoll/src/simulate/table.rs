//! Tables of text: the first column to the left, all others to the right.

/// Space between columns.
const GAP: &str = "  ";

/// Rows as lines, indented; each row has as many cells as the first.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(GAP);
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width - cell.chars().count());
            let cell = if column == 0 {
                format!("{cell}{space}")
            } else {
                format!("{GAP}{space}{cell}")
            };
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["", "mean", "p95"]),
            row(["web", "8 ms", "1.25 s"]),
            row(["store", "–", ""]),
        ];
        let expected = "         mean     p95\n  web    8 ms  1.25 s\n  store     –\n";
        assert_eq!(table(&rows), expected);
        assert_eq!(table(&[]), "");
    }
}
