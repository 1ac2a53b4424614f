//! Rules over spans, on synthetic series: what triggers each, and what does not.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, found_in, only};

const SELECT: &str = "SELECT name FROM items WHERE id = ?";
const DATABASE: [(&str, &str); 2] = [("kind", "database"), ("component", "postgresql db:5432")];
const RATES: [(&str, &str); 2] = [("kind", "http"), ("component", "rates:8080")];
const POOL: [(&str, &str); 2] = [
    ("kind", "connecting"),
    ("component", "postgresql db:5432; connecting"),
];

fn with(metric: &str, more: &[(&str, &str)]) -> String {
    let route = [
        ("at", AT),
        ("service", "shop"),
        ("route", "GET /orders/:id"),
    ];
    series(metric, &[&route[..], more].concat())
}

/// Ten requests a second of 100 ms.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (metric::CPU_BUSY.to_owned(), 0.3),
        (with(metric::TRACE_REQUESTS, &[]), 10.0),
        (with(metric::TRACE_TIME, &[]), 1.0),
        (with(metric::TRACE_QUERIES, &[]), 610.0),
        (with(metric::TRACE_QUERY_FORMS, &[]), 20.0),
        (with(metric::TRACE_CALLS, &[("kind", "itself")]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &[("kind", "itself")]), 0.5),
        (with(metric::TRACE_CALLS, &DATABASE), 610.0),
        (with(metric::TRACE_SHARED_TIME, &DATABASE), 0.2),
        (with(metric::TRACE_CALLS, &RATES), 10.0),
        (with(metric::TRACE_SHARED_TIME, &RATES), 0.3),
        (with(metric::TRACE_CALLS, &POOL), 10.0),
        (with(metric::TRACE_SHARED_TIME, &POOL), 0.01),
        (
            with(metric::TRACE_REPEATED, &[("statement", SELECT)]),
            600.0,
        ),
    ]
}

fn refused(status: &str) -> String {
    let labels = [&RATES[..], &[("status", status)]].concat();
    with(metric::TRACE_REFUSED, &labels)
}

/// The only finding, with fragments of its limit, its sentence and its remedy.
#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn requests_that_are_slower_all_over_name_nobody() {
    assert_eq!(found_in(&healthy(), &[]), []);
    let slow = [
        (with(metric::TRACE_TIME, &[]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &[("kind", "itself")]), 7.0),
        (with(metric::TRACE_SHARED_TIME, &DATABASE), 2.0),
        (with(metric::TRACE_SHARED_TIME, &RATES), 1.0),
    ];
    assert_eq!(found_in(&healthy(), &slow), []);
}

#[test]
fn a_service_that_is_waited_for() {
    let slow = [
        (with(metric::TRACE_TIME, &[]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &RATES), 8.0),
    ];
    let found = expect_only(
        &slow,
        RuleId::J9,
        [
            "rates:8080, which shop waits for",
            "of the 1000 ms of each request of shop, 800 ms (80 %) went into 1 call of rates:8080, while the CPUs \
             here were 30 %",
            "watch it too",
        ],
    );
    assert_eq!(
        (found.tier, found.certainty),
        (Some(Tier::Runtime), Certainty::Suspected)
    );
    let busy = [&slow[..], &[(metric::CPU_BUSY.to_owned(), 0.9)]].concat();
    assert_eq!(found_in(&healthy(), &busy), []);
}

#[test]
fn a_store_with_an_eye_of_its_own_is_left_to_that() {
    let slow = [
        (with(metric::TRACE_TIME, &[]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &DATABASE), 8.0),
    ];
    let repeated = with(metric::TRACE_REPEATED, &[("statement", SELECT)]);
    let mut healthy = healthy();
    healthy.retain(|(series, _)| *series != repeated);
    only(
        found_in(&healthy, &slow),
        RuleId::J9,
        [
            "postgresql db:5432",
            "61 calls of postgresql",
            "parallelize",
        ],
    );
    let sessions = series(
        metric::POSTGRES_SESSIONS,
        &[("at", "db:5432"), ("state", "all")],
    );
    let watched = [&slow[..], &[(sessions, 3.0)]].concat();
    assert_eq!(found_in(&healthy, &watched), []);
}

#[test]
fn a_service_that_refuses() {
    let found = expect_only(
        &[(refused("429"), 4.0)],
        RuleId::J10,
        [
            "the rate limit of rates:8080",
            "answered 429 to 40 % of the calls of shop, 1 in each request",
            "higher quota",
        ],
    );
    assert_eq!(found.certainty, Certainty::Explicit);
    let found = expect_only(
        &[(refused("503"), 4.0)],
        RuleId::J10,
        ["unavailable at times", "answered 503", "what limits"],
    );
    assert_eq!(found.certainty, Certainty::Possible);
    assert_eq!(found_in(&healthy(), &[(refused("429"), 0.05)]), []);
}

#[test]
fn a_transaction_that_is_open_during_a_call() {
    let waiting = [
        (with(metric::TRACE_TIME, &[]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &POOL), 4.0),
        (with(metric::TRACE_SHARED_TIME, &RATES), 4.0),
        (with(metric::TRACE_HELD, &[]), 5.0),
        (with(metric::TRACE_HELD_REMOTE, &[]), 4.0),
    ];
    expect_only(
        &waiting,
        RuleId::J7,
        [
            "held during calls to rates:8080",
            "waited 400 ms for a connection to the database; it then holds one in a transaction for 500 ms, 400 ms",
            "call rates:8080 before the transaction begins",
        ],
    );
    // Transactions that do their own work.
    let mut working = waiting.to_vec();
    working[4].1 = 1.0;
    assert_eq!(found_in(&healthy(), &working), []);
}

#[test]
fn a_statement_that_a_route_repeats() {
    let waiting = [
        (with(metric::TRACE_TIME, &[]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &DATABASE), 4.5),
    ];
    let found = expect_only(
        &waiting,
        RuleId::NPlus1,
        [
            "one statement 60 times in each GET /orders/:id",
            "each GET /orders/:id of shop executed `SELECT name FROM items WHERE id = ?` 60 times, of 61 statements in \
             2 forms; its databases took 45 % of its 1000 ms",
            "`prefetch_related`",
        ],
    );
    assert_eq!(found.tier, Some(Tier::Store));
}

/// Clients leave before their requests have executed all statements: a slow machine gets to a few of them only.
#[test]
fn a_statement_that_a_route_repeats_in_requests_that_are_cut_short() {
    let cut = [
        (with(metric::TRACE_TIME, &[]), 10.0),
        (with(metric::TRACE_SHARED_TIME, &DATABASE), 4.5),
        (with(metric::TRACE_QUERIES, &[]), 80.0),
        (with(metric::TRACE_REPEATED, &[("statement", SELECT)]), 70.0),
    ];
    expect_only(
        &cut,
        RuleId::NPlus1,
        [
            "one statement 60 times in each GET /orders/:id",
            "60 times, of 61 statements in 2 forms; its databases took 45 %",
            "`prefetch_related`",
        ],
    );
    // Where it is not what requests wait for.
    assert_eq!(found_in(&healthy(), &cut[2..]), []);
}
