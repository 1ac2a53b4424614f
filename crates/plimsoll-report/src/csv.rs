//! The tables of a run as CSV (RFC 4180): a header line, commas, quotes where needed, empty for missing values.
//!
//! Labels, statements and addresses are untrusted, and spreadsheets execute cells that look like formulas
//! (CWE-1236). A text that begins like one gets a `'` before it, as OWASP advises; readers that want the text as it was
//! take one `'` away from cells that begin with `'` and one of `=`, `+`, `-`, `@`, tab, CR or LF, or take Parquet, which
//! holds it unchanged. Numbers stay numbers, also negative ones.

use std::fmt::Write as _;

use plimsoll_model::run::Run;

use crate::export_table::{ColumnValues, ExportTable, RunTable};

/// A table of a run.
pub fn render(run: &Run, table: RunTable) -> String {
    file(&table.of(run))
}

/// A table as a file.
pub(crate) fn file(table: &ExportTable) -> String {
    let names = table.columns.iter().map(|column| cell(&column.name));
    let mut text = names.collect::<Vec<_>>().join(",") + "\r\n";
    for row in 0..table.rows() {
        for (index, column) in table.columns.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            match &column.values {
                ColumnValues::Counts(values) => push(&mut text, values[row]),
                ColumnValues::Numbers(values) => push(&mut text, values[row]),
                ColumnValues::Texts(values) => push(&mut text, values[row].as_deref().map(cell)),
            }
        }
        text.push_str("\r\n");
    }
    text
}

fn push(text: &mut String, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        write!(text, "{value}").expect("writing to a string does not fail");
    }
}

/// A text as a cell: never a formula, quoted where it must be.
fn cell(value: &str) -> String {
    let guard = if is_formula(value) { "'" } else { "" };
    if value.contains(['"', ',', '\r', '\n', ';', '\t']) {
        format!("\"{guard}{}\"", value.replace('"', "\"\""))
    } else {
        format!("{guard}{value}")
    }
}

/// Whether a spreadsheet may take a text for a formula. Some skip leading spaces and quotes; full-width
/// forms of the signs count for those that normalise them. A `'` before a sign gets one more, so that removing one
/// always restores the text.
fn is_formula(value: &str) -> bool {
    let begins = |text: &str| {
        text.starts_with([
            '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
            '\0',
        ])
    };
    let inner = value.trim_start_matches([' ', '"', '\'', '\u{a0}', '\u{feff}']);
    // A plain number is never executed.
    (begins(value) || begins(inner)) && value.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export_table::Column;

    #[test]
    fn cells_of_strangers_are_no_formulas_and_numbers_stay() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("\"=1", "\"'\"\"=1\""),
            ("\"\"\"=1", "\"'\"\"\"\"\"\"=1\""),
            ("'=1", "''=1"),
            (" =1", "' =1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("=A,\"b\"", "\"'=A,\"\"b\"\"\""),
            ("-5", "-5"),
            ("-5.25e3", "-5.25e3"),
            ("+3", "+3"),
            ("GET /a=b", "GET /a=b"),
            ("SELECT a, b", "\"SELECT a, b\""),
            ("'quoted", "'quoted"),
            ("", ""),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }

    #[test]
    fn numbers_of_a_table_stay_numbers() {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let table = ExportTable {
            columns: vec![
                column("=name", ColumnValues::Texts(vec![Some("@a".to_owned())])),
                column("n", ColumnValues::Numbers(vec![Some(-1.5)])),
                column("c", ColumnValues::Counts(vec![None])),
            ],
        };
        assert_eq!(file(&table), "'=name,n,c\r\n'@a,-1.5,\r\n");
    }

    proptest::proptest! {
        /// A guarded cell is never a formula in any CSV reader, and removing the guard restores the text.
        #[test]
        fn what_is_read_back_is_the_text(text in "\\PC{0,12}|[-=+@'\" \t\r\n;,0-9a.]{0,8}") {
            let written = cell(&text);
            let read = match written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(inner) if written.len() >= 2 => inner.replace("\"\"", "\""),
                _ => written.clone(),
            };
            let is_number = read.parse::<f64>().is_ok();
            proptest::prop_assert!(is_number || !read.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']), "{:?}", read);
            let back = match read.strip_prefix('\'') {
                Some(rest) if is_formula(rest) => rest,
                _ => &read,
            };
            proptest::prop_assert_eq!(back, text);
        }
    }
}
