//! Statements that fetch what the request already carried, or could carry.

use plimsoll_sql::clauses::{ColumnValue, Select, bare};

use super::{Advice, CHANGES_MAX, EVERY, StatementUse, changes_of, with_round_trip_ms};

/// Executions per request from which it is worth a word.
const SOME: f64 = 0.5;
/// Rows for each execution where the row was always there, and only one was.
const ALWAYS: std::ops::RangeInclusive<f64> = 0.99..=1.01;
/// Names of tables with the sessions of users.
const SESSIONS: [&str; 11] = [
    "session",
    "sessions",
    "user_sessions",
    "login_sessions",
    "tokens",
    "auth_tokens",
    "access_tokens",
    "api_tokens",
    "api_keys",
    "oauth_access_tokens",
    "personal_access_tokens",
];

/// Whether all columns of the result are values that the statement was given.
fn returns_what_it_was_given(select: &Select) -> bool {
    select.columns.iter().all(|column| match &column.value {
        ColumnValue::Plain(name) => select.equal.contains(name),
        ColumnValue::Given => true,
        ColumnValue::Count | ColumnValue::Sum(_) | ColumnValue::Other => false,
    })
}

/// A read of one row by the values in its condition.
pub(super) fn advice(usage: &StatementUse, uses: &[StatementUse]) -> Option<Advice> {
    let calls = usage.calls_per_request.filter(|&calls| calls >= SOME)?;
    let select = Select::of(&usage.statement)?;
    let [table] = select.tables.as_slice() else {
        return None;
    };
    let is_one_row = select.is_by_value
        && !select.equal.is_empty()
        && !select.locks
        && !select.is_aggregate()
        && ALWAYS.contains(&usage.rows);
    if !is_one_row {
        return None;
    }
    let saves_ms = with_round_trip_ms(usage);
    if returns_what_it_was_given(&select) {
        return Some(Advice {
            reason: format!(
                "`{}` returns nothing but the values that it is given, {calls:.1} times per request, and found its row in \
                 {:.0} % of the executions",
                usage.statement,
                usage.rows * 100.0
            ),
            remedy: format!(
                "use the values that the request already carried: where only the existence of the row matters, let a foreign \
                 key, or the number of rows that the next statement finds, show it. This saves {:.2} ms of database time \
                 and {calls:.0} round trips per request",
                calls * usage.each_ms
            ),
            sql: None,
            saves_ms,
        });
    }
    let is_session = SESSIONS.contains(&bare(table).to_ascii_lowercase().as_str());
    let is_read_only = changes_of(&select, usage, uses) <= CHANGES_MAX * usage.calls;
    (is_session && calls >= EVERY && is_read_only).then(|| Advice {
        reason: format!(
            "`{}` is executed {calls:.1} times per request: each request fetches its session again",
            usage.statement
        ),
        remedy: format!(
            "let the request carry these values in a signed cookie or token with a short lifetime, or keep sessions in the \
             application's memory for some seconds: this saves {:.2} ms of database time and {calls:.0} round trips per \
             request; a session that is revoked lives until then",
            calls * usage.each_ms
        ),
        sql: None,
        saves_ms,
    })
}
