//! Statements that each request executes repeatedly.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::routes::repeating_route;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{C1, C3, J1, J9, NPlus1, P1, P2, P4, P11, Q1, Q2};
use crate::diagnosis::statements::{StatementCounts, counted};
use crate::diagnosis::stretch::{View, bounded};
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::traces;

/// Times in one request from which a statement is repeated.
const PER_REQUEST: f64 = 10.0;
/// Times a second from which that is work.
const PER_SECOND: f64 = 1000.0;
/// Share of all calls from which one statement dominates the database.
const MOSTLY: f64 = 0.5;
/// What to do about it.
pub(crate) const REMEDY: &str = "fetch all rows at once: one statement with `IN (…)`, `= ANY (…)` or a join instead of \
    one per row; in an ORM, use eager loading (`includes`, `select_related`, `prefetch_related`, `JOIN FETCH`, \
    `with`). Cache what is the same for all requests";
/// Statements that only hold others together.
const FRAME: [&str; 7] = [
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET",
    "START",
    "DEALLOCATE",
    "SAVEPOINT",
];

pub(crate) const RULES: &[Rule] = &[Rule::new(
    NPlus1,
    "one statement again and again in each request",
    &[
        Check {
            strength: Strength::Decomposition,
            tier: Tier::Store,
            symptom: Symptom::Signs(statements),
            words: statements_words,
            remedy: "fetch all rows at once",
            explains: &[BEFORE_STORES, &[J1, P1, P2, P4, P11, Q1, Q2, C1, C3]],
        },
        Check {
            strength: Strength::Decomposition,
            tier: Tier::Store,
            symptom: Symptom::Change(traces::repeated),
            words: traces::repeated_words,
            remedy: "fetch all rows at once",
            explains: &[BEFORE_STORES, &[J1, P1, P2, P4, P11, Q1, Q2, C1, C3, J9]],
        },
    ],
)];

/// Requests sent, per second.
fn requests(view: &View<'_>) -> Option<f64> {
    let sent = view.sum(|window| window.sent)?;
    let seconds = view.sum(|_| 1)?;
    (sent > 0).then(|| sent as f64 / seconds as f64)
}

fn is_frame(statement: &str) -> bool {
    let first = statement.split([' ', ';']).next().unwrap_or_default();
    FRAME.iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// N+1: one short statement makes up most of the calls of a database, many times per request.
pub(crate) fn statements(view: &View<'_>) -> Vec<Sign> {
    let Some(requests) = requests(view) else {
        return Vec::new();
    };
    let mut places: Vec<&str> = view.series_of(metric::STATEMENT_CALLS).map(place).collect();
    places.dedup();
    let signs = places.into_iter().flat_map(|at| {
        let counted = counted(view, at);
        let all: f64 = counted.iter().map(|entry| entry.calls).sum();
        let repeated = counted
            .into_iter()
            .filter(|entry| !is_frame(entry.statement));
        repeated.map(move |entry: StatementCounts<'_>| Sign {
            label_set: metric::series("", &[("at", at), ("statement", entry.statement)]),
            magnitude: entry.calls,
            present: entry.calls >= PER_SECOND
                && entry.calls >= PER_REQUEST * requests
                && entry.calls > MOSTLY * all,
        })
    });
    signs.collect()
}

fn statements_words(case: &RuleMatch<'_>) -> Words {
    let at = place(case.label_set);
    let statement = label(case.label_set, "statement").unwrap_or("?");
    let calls = case.series(metric::STATEMENT_CALLS);
    let per_request = case
        .over
        .evidence((&calls, "executions per request", "1"), |view| {
            Some(view.mean(&calls)? / requests(view)?)
        });
    // Under the failing load some requests were never served.
    let times = per_request
        .passing
        .or(per_request.base)
        .or(per_request.failing);
    let counted = counted(case.failing(), at)
        .into_iter()
        .find(|entry| entry.statement == statement);
    let each = counted.map_or_else(|| "0 µs".to_owned(), |entry| entry.each());
    let route = repeating_route(case.failing(), statement);
    let route = route.map_or(String::new(), |route| format!(", most of them in {route}"));
    Words::new(
        format!("one statement {:.0} times in each request ({at})", times.unwrap_or(0.0)),
        format!(
            "each request executed `{statement}` {:.0} times, {:.0} times a second in all, {each} each{route}: the \
             cost lies in their number",
            times.unwrap_or(0.0),
            counted.map_or(0.0, |entry| entry.calls)
        ),
    )
    .with(bounded(per_request, Some(PER_REQUEST)))
    .with(bounded(case.line(&calls, "executions, per second"), Some(PER_SECOND)))
    .with(case.line(&case.series(metric::STATEMENT_TIME), "time in the database, per second"))
    .advising(REMEDY.to_owned())
}
