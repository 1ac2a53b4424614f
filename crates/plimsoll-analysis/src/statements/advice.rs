//! Remedies for statements other than an index: results that are the same for every request, results that could be kept
//! instead of computed, statements that could be one, and statements that need not be executed. Each with its savings.

mod carried;
mod computed;
mod merged;
mod overhead;
mod schema;
mod settings;

#[cfg(test)]
mod tests;

use plimsoll_sql::clauses::{Select, first_word, may_change};
use plimsoll_sql::summary_table::Dialect;

use super::StatementUse;

/// Executions per request from which every request counts as executing it.
const EVERY: f64 = 0.9;
/// What takes less of the database's time for each request is not worth a word, ms.
const WORTH_MS: f64 = 0.05;
/// Changes of a table for each execution of a statement up to which a stored result pays.
const CHANGES_MAX: f64 = 0.1;
/// Difference between the rates of two statements up to which one accompanies the other, as a share.
const SAME_RATE: f64 = 0.02;
/// Executions per second from which rates can be compared.
const OFTEN: f64 = 1.0;

/// What makes the result of a statement differ from one execution to the next.
const VOLATILE: [&str; 9] = [
    "random",
    "rand(",
    "rand (",
    "uuid",
    "nextval",
    "lastval",
    "currval",
    "last_insert_id",
    "current_user",
];

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The observation.
    pub reason: String,
    /// What to do.
    pub remedy: String,
    /// Statements that do it, where their form shows them.
    pub sql: Option<String>,
    /// The database's time that it would save for each request, ms.
    pub saves_ms: f64,
}

/// Remedies for these statements, the largest saving first.
pub fn advice(uses: &[StatementUse]) -> Vec<Advice> {
    let mut all: Vec<Advice> = uses
        .iter()
        .filter_map(|usage| {
            computed::advice(usage, uses)
                .or_else(|| settings::advice(usage, uses))
                .or_else(|| alike(usage, uses))
                .or_else(|| carried::advice(usage, uses))
        })
        .collect();
    all.extend(merged::advice(uses));
    let (before_inserts, questions) = schema::advice(uses);
    all.extend(before_inserts);
    all.extend(overhead::advice(uses, &questions));
    all.retain(|advice| advice.saves_ms >= WORTH_MS);
    all.sort_by(|a, b| b.saves_ms.total_cmp(&a.saves_ms));
    all
}

/// The database's time in each request, ms.
fn per_request_ms(usage: &StatementUse) -> f64 {
    usage.calls_per_request.unwrap_or(0.0) * usage.each_ms
}

/// The same where a round trip is saved, too: that costs the request more than the database.
fn with_round_trip_ms(usage: &StatementUse) -> f64 {
    per_request_ms(usage).max(WORTH_MS)
}

/// Which database executes it: only MariaDB and MySQL count executions without an index.
fn dialect(usage: &StatementUse) -> Dialect {
    if usage.without_index.is_some() {
        Dialect::Mariadb
    } else {
        Dialect::Postgres
    }
}

/// The statements that may change one of these tables.
fn changes<'a>(
    tables: &[String],
    at: &str,
    uses: &'a [StatementUse],
) -> impl Iterator<Item = &'a StatementUse> {
    let tables = tables.to_vec();
    let same = uses.iter().filter(move |other| other.at == at);
    same.filter(move |other| {
        let is_of = |table: &String| may_change(&other.statement, table);
        tables.iter().any(is_of)
    })
}

/// Changes of the tables of a statement, per second, by all statements that were counted.
fn changes_of(select: &Select, usage: &StatementUse, uses: &[StatementUse]) -> f64 {
    changes(&select.tables, &usage.at, uses)
        .map(|other| other.calls)
        .sum()
}

/// Whether one is executed as often as the other.
fn is_as_often(a: &StatementUse, b: &StatementUse) -> bool {
    let (more, fewer) = (a.calls.max(b.calls), a.calls.min(b.calls));
    a.at == b.at && fewer >= OFTEN && more - fewer <= SAME_RATE * more
}

/// Whether its result may differ although no table changed.
fn is_volatile(usage: &StatementUse) -> bool {
    let lower = usage.statement.to_ascii_lowercase();
    VOLATILE.iter().any(|word| lower.contains(word))
}

/// It reads tables, with the same values at each execution: it has no placeholder.
fn is_plain_read(usage: &StatementUse) -> bool {
    let has_values = usage.statement.contains(['?', '$', '…']) || usage.statement.contains("/*");
    let reads_tables = usage.statement.to_ascii_lowercase().contains(" from ");
    first_word(&usage.statement).eq_ignore_ascii_case("select")
        && reads_tables
        && !has_values
        && !is_volatile(usage)
        && !overhead::is_idle(usage)
}

/// A statement with the same text in every request: its result is the same for all until its tables change.
fn alike(usage: &StatementUse, uses: &[StatementUse]) -> Option<Advice> {
    let calls = usage.calls_per_request.filter(|&calls| calls >= EVERY)?;
    let changes =
        Select::of(&usage.statement).map_or(0.0, |select| changes_of(&select, usage, uses));
    if !is_plain_read(usage) || changes > CHANGES_MAX * usage.calls {
        return None;
    }
    let saves_ms = per_request_ms(usage);
    Some(Advice {
        reason: format!(
            "`{}` is executed {calls:.1} times per request, with the same text in all requests",
            usage.statement
        ),
        remedy: format!(
            "cache its result in the application, for a while or until its tables change: this saves {saves_ms:.1} ms \
             of database time per request"
        ),
        sql: None,
        saves_ms,
    })
}
