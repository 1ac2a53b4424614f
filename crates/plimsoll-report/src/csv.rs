//! The tables of a run as CSV (RFC 4180): a header line, a comma between, quotes where needed, empty for nothing.

use std::fmt::Write as _;

use plimsoll_model::run::Run;

use crate::table::{self, Table, Values};

/// One row for each second of results.
pub fn windows(run: &Run) -> String {
    render(&table::windows(run))
}

/// One row for each value of a probe.
pub fn readings(run: &Run) -> String {
    render(&table::readings(run))
}

/// One row for each line of evidence, best finding first.
pub fn findings(run: &Run) -> String {
    render(&table::findings(run))
}

/// One row for each judged trial.
pub fn trials(run: &Run) -> String {
    render(&table::trials(run))
}

/// One row for each journey, step and group, in the order of the plan.
pub fn steps(run: &Run) -> String {
    render(&table::steps(run))
}

fn render(table: &Table) -> String {
    let names: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let mut text = names.join(",") + "\r\n";
    for row in 0..table.rows() {
        for (index, column) in table.columns.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            match &column.values {
                Values::Counts(values) => push(&mut text, values[row]),
                Values::Numbers(values) => push(&mut text, values[row]),
                Values::Texts(values) => push(&mut text, values[row].as_deref().map(quoted)),
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

fn quoted(value: &str) -> String {
    if value.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
