//! What drivers, pools and mappers add to the work of requests.

use plimsoll_sql::clauses::is_framing;

use super::{Advice, StatementUse, WORTH_MS, per_request_ms, schema};

/// Statements without work of their own in one request that are worth a word.
const IDLE_MIN: f64 = 2.0;
/// Whole statements by which pools and drivers check whether a session lives, and of what kind it is.
const CHECKS: [&str; 7] = [
    "select $1",
    "select ?",
    "select 1",
    "select version()",
    "select version ( )",
    "select @@version",
    "select @@session.transaction_read_only",
];

/// It does nothing for the request by itself.
pub(super) fn is_idle(usage: &StatementUse) -> bool {
    let lower = usage
        .statement
        .trim_end_matches(';')
        .trim()
        .to_ascii_lowercase();
    is_framing(&usage.statement)
        || CHECKS.contains(&lower.as_str())
        || schema::is_question(&usage.statement)
}

/// What such statements cost, but for those that other advice is about.
pub(super) fn advice(uses: &[StatementUse], but: &[&str]) -> Option<Advice> {
    let is_apart = |usage: &&StatementUse| !but.contains(&usage.statement.as_str());
    let idle: Vec<&StatementUse> = uses
        .iter()
        .filter(is_apart)
        .filter(|usage| is_idle(usage))
        .collect();
    let calls = |usage: &StatementUse| usage.calls_per_request.unwrap_or(0.0);
    let of_idle: f64 = idle.iter().map(|usage| calls(usage)).sum();
    let of_all: f64 = uses.iter().map(calls).sum();
    let saves_ms: f64 = idle.iter().map(|usage| per_request_ms(usage)).sum();
    let mut most = idle;
    most.sort_by(|a, b| calls(b).total_cmp(&calls(a)));
    let named: Vec<String> = most
        .iter()
        .take(3)
        .map(|usage| format!("`{}` {:.1}", usage.statement, calls(usage)))
        .collect();
    (of_idle >= IDLE_MIN).then(|| Advice {
        reason: format!(
            "{of_idle:.1} of the {of_all:.1} statements per request do no work of their own ({}): each costs a round trip",
            named.join(", ")
        ),
        remedy: format!(
            "let the pool validate only sessions idle for long, run single reads without a transaction (autocommit), \
             set constant settings once for the role (`ALTER ROLE … SET …`), and let the ORM cache table metadata: \
             this saves {saves_ms:.1} ms of database time and up to {of_idle:.0} round trips per request"
        ),
        sql: None,
        saves_ms: saves_ms.max(WORTH_MS),
    })
}
