//! Pools of connections, over synthetic series: names and values as `HikariCP` and Node report them.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, TO_DATABASE, TO_HTTP, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::two_stretch_run::{TwoStretchRun, answered, expect_of_run};
use crate::rules::tests::{AT, at, found_in, only, rules_and_causes};

fn pool(metric: &str, to: &str, name: &str) -> String {
    series(metric, &[("at", AT), ("to", to), ("pool", name)])
}

/// Pools with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (pool(metric::POOL_USED, TO_DATABASE, "HikariPool-1"), 10.0),
        (pool(metric::POOL_LIMIT, TO_DATABASE, "HikariPool-1"), 10.0),
        (pool(metric::POOL_WAITING, TO_DATABASE, "HikariPool-1"), 0.0),
        (pool(metric::POOL_WAITS, TO_DATABASE, "shop"), 0.0),
        (pool(metric::POOL_USED, TO_HTTP, "http.Agent"), 1.0),
        (pool(metric::POOL_LIMIT, TO_HTTP, "http.Agent"), 2.0),
        (pool(metric::POOL_WAITING, TO_HTTP, "http.Agent"), 0.0),
        (at(metric::NODE_POOL_WAIT), 0.0004),
    ]
}

#[track_caller]
fn expect_only(found: Vec<Finding>, rule: RuleId, expected: [&str; 3]) -> Finding {
    let finding = only(found, rule, expected);
    assert!(!finding.evidence.is_empty());
    finding
}

fn found(failing: &[(String, f64)]) -> Vec<Finding> {
    found_in(&healthy(), failing)
}

#[test]
fn pools_with_room_are_silent() {
    assert_eq!(found(&[]), []);
    // Waits with free connections: a waiter gets one at once.
    let near = [
        (pool(metric::POOL_USED, TO_DATABASE, "HikariPool-1"), 8.0),
        (pool(metric::POOL_WAITING, TO_DATABASE, "HikariPool-1"), 1.0),
    ];
    assert_eq!(found(&near), []);
}

#[test]
fn pools_of_connections() {
    let waited = [(
        pool(metric::POOL_WAITING, TO_DATABASE, "HikariPool-1"),
        31.0,
    )];
    let waiting = expect_only(
        found(&waited),
        RuleId::J6,
        [
            "the pool of connections to the database HikariPool-1",
            "all 10 connections of the pool of connections to the database HikariPool-1 were busy while up to 31 \
             requests waited",
            "raise its size (now 10)",
        ],
    );
    assert_eq!(
        (waiting.tier, waiting.certainty),
        (Some(Tier::Runtime), Certainty::Suspected)
    );
    let counted = [(pool(metric::POOL_WAITS, TO_DATABASE, "shop"), 80.0)];
    let expected = [
        "shop",
        "80 requests a second had to wait for one",
        "raise its size (",
    ];
    expect_only(found(&counted), RuleId::J6, expected);
    let client = [
        (pool(metric::POOL_USED, TO_HTTP, "http.Agent"), 2.0),
        (pool(metric::POOL_WAITING, TO_HTTP, "http.Agent"), 7.0),
    ];
    expect_only(
        found(&client),
        RuleId::J8,
        [
            "the HTTP client's pool of connections http.Agent",
            "all 2 connections",
            "`maxSockets`",
        ],
    );
}

/// A database that is slow keeps the pool's connections, and so does one that has no more.
#[test]
fn a_pool_that_waits_for_a_database_follows_from_it() {
    let mut healthy = healthy();
    healthy.push((at(metric::MEMCACHED_REFUSED), 0.0));
    let failing = [
        (
            pool(metric::POOL_WAITING, TO_DATABASE, "HikariPool-1"),
            31.0,
        ),
        (at(metric::MEMCACHED_REFUSED), 90.0),
    ];
    let found = found_in(&healthy, &failing);
    let ids = rules_and_causes(&found);
    assert_eq!(
        ids,
        [(RuleId::K6, None), (RuleId::J6, Some(RuleId::K6))],
        "{found:#?}"
    );
}

#[test]
fn sessions_begun_in_each_request() {
    let beginning = |count: f64, each_s: f64| {
        TwoStretchRun::new(
            |_, window| answered(window, 120, 100, 30),
            move |failing, _| {
                vec![
                    (metric::CPU_COUNT.to_owned(), 2.0),
                    (at(metric::DATABASE_SESSION_START), each_s),
                    (
                        at(metric::DATABASE_SESSIONS_BEGUN),
                        if failing { count } else { 100.0 },
                    ),
                ]
            },
        )
    };
    expect_of_run(
        &beginning(120.0, 0.006),
        RuleId::J11,
        &[
            "each request opened 1.0 sessions at 10.0.0.7:1, 120 a second in all; at 6.0 ms each, opening them takes \
             36 % of all CPUs",
        ],
    );
    assert_eq!(beginning(120.0, 0.0003).find(), [], "they cost little");
    assert_eq!(beginning(40.0, 0.03).find(), [], "most requests have one");
}
