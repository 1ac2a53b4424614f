//! Two statements that could be one: each costs a round trip.

use plimsoll_sql::clauses::{Select, Update, inserts_into};
use plimsoll_sql::summary_table::Dialect;

use super::{Advice, StatementUse, dialect, is_as_often, with_round_trip_ms};

/// Executions per request from which it is worth a word.
const SOME: f64 = 0.2;
/// Rows for each execution of a statement that finds one row at most.
const ONE_ROW: f64 = 1.01;
/// Statements that read the key of the row that was inserted last.
const LAST_KEYS: [&str; 4] = [
    "select last_insert_id()",
    "select lastval()",
    "select currval(?)",
    "select @@identity",
];

/// Pairs of statements that are executed equally often on the same row.
pub(super) fn advice(uses: &[StatementUse]) -> Vec<Advice> {
    let often = |usage: &&StatementUse| usage.calls_per_request.is_some_and(|calls| calls >= SOME);
    let mut found = Vec::new();
    for (index, first) in uses.iter().enumerate().filter(|(_, usage)| often(usage)) {
        for second in uses[index + 1..].iter().filter(often) {
            if is_as_often(first, second) {
                let pair = reads(first, second)
                    .or_else(|| read_of_update(first, second))
                    .or_else(|| read_of_update(second, first))
                    .or_else(|| key_of_insert(first, second))
                    .or_else(|| key_of_insert(second, first));
                found.extend(pair);
            }
        }
    }
    found
}

/// A read by the values in its condition, and of nothing else.
fn point_read(usage: &StatementUse) -> Option<Select> {
    let select = Select::of(&usage.statement)?;
    let is_point = select.tables.len() == 1
        && select.is_by_value
        && !select.equal.is_empty()
        && !select.is_aggregate()
        && !select.locks
        && usage.rows <= ONE_ROW;
    is_point.then_some(select)
}

/// Two reads of different columns of the same row.
fn reads(first: &StatementUse, second: &StatementUse) -> Option<Advice> {
    let (a, b) = (point_read(first)?, point_read(second)?);
    if a.tables != b.tables || a.equal != b.equal {
        return None;
    }
    let mut columns: Vec<&str> = a
        .columns
        .iter()
        .map(|column| column.text.as_str())
        .collect();
    for column in &b.columns {
        if !columns.contains(&column.text.as_str()) {
            columns.push(&column.text);
        }
    }
    let conditions: Vec<String> = a.equal.iter().map(|name| format!("{name} = ?")).collect();
    let columns = if columns.contains(&"*") {
        "*".to_owned()
    } else {
        columns.join(", ")
    };
    let table = &a.tables[0];
    Some(Advice {
        reason: format!(
            "`{}` and `{}` are executed equally often, {:.1} times per request, and read one row of {table} by the same columns",
            first.statement,
            second.statement,
            first.calls_per_request.unwrap_or(0.0)
        ),
        remedy: format!(
            "where both are given the same values, read the row once: {}",
            saving(second)
        ),
        sql: Some(format!(
            "SELECT {columns} FROM {table} WHERE {};",
            conditions.join(" AND ")
        )),
        saves_ms: with_round_trip_ms(second),
    })
}

/// A read of a row that is also updated, in PostgreSQL: the update can return it.
fn read_of_update(read: &StatementUse, change: &StatementUse) -> Option<Advice> {
    let update = Update::of(&change.statement)?;
    let select = point_read(read).filter(|_| dialect(read) == Dialect::Postgres)?;
    let is_same = select.tables.first() == Some(&update.table)
        && update.is_by_value
        && select.equal == update.equal;
    // What is replaced by a value of the application may be computed from what was read.
    let is_replaced = select.columns.iter().any(|column| {
        column.text == "*"
            || update
                .given
                .iter()
                .any(|name| column.text.contains(name.as_str()))
    });
    if !is_same || is_replaced {
        return None;
    }
    let columns: Vec<&str> = select
        .columns
        .iter()
        .map(|column| column.text.as_str())
        .collect();
    Some(Advice {
        reason: format!(
            "`{}` and `{}` are executed equally often, {:.1} times per request, on a row of {} that both find by the same \
             columns",
            read.statement,
            change.statement,
            read.calls_per_request.unwrap_or(0.0),
            update.table
        ),
        remedy: format!(
            "where both are given the same values, let the update return the row: {}; columns that it changes are returned \
             as they are afterwards",
            saving(read)
        ),
        sql: Some(format!(
            "{} RETURNING {};",
            change.statement.trim_end_matches(';'),
            columns.join(", ")
        )),
        saves_ms: with_round_trip_ms(read),
    })
}

/// A question for the key of the row that was just inserted.
fn key_of_insert(read: &StatementUse, insert: &StatementUse) -> Option<Advice> {
    let lower = read.statement.to_ascii_lowercase().replace(" (", "(");
    if !LAST_KEYS.contains(&lower.as_str()) {
        return None;
    }
    let table = inserts_into(&insert.statement)?;
    Some(Advice {
        reason: format!(
            "`{}` follows each `{}`, {:.1} times per request",
            read.statement,
            insert.statement,
            read.calls_per_request.unwrap_or(0.0)
        ),
        remedy: format!(
            "let the insert into {table} return the key (`INSERT … RETURNING`, in MariaDB since 10.5), or take the key that \
             the driver already has from its answer: {}",
            saving(read)
        ),
        sql: None,
        saves_ms: with_round_trip_ms(read),
    })
}

/// What one execution less for each saves.
fn saving(usage: &StatementUse) -> String {
    let calls = usage.calls_per_request.unwrap_or(0.0);
    format!(
        "this saves {:.2} ms of database time and {calls:.1} round trips per request",
        calls * usage.each_ms
    )
}
