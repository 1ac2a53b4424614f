//! Rules about connection and thread pools, slow scripts and slow servers, over synthetic series: names and values as
//! `HikariCP`, .NET and nginx report them.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, TO_DATABASE, TO_HTTP, series};

use super::components_tests::{AT, at, found_in, found_over, only};
use super::tests::rules_and_causes;
use crate::diagnosis::rule_id::RuleId;

fn pool(metric: &str, to: &str, name: &str) -> String {
    series(metric, &[("at", AT), ("to", to), ("pool", name)])
}

fn time(phase: &str) -> String {
    series(metric::NGINX_TIME, &[("at", AT), ("phase", phase)])
}

/// All with room, on another machine.
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
        (at(metric::NODE_POOL_THREADS), 4.0),
        (at(metric::NODE_ACTIVE), 0.2),
        (at(metric::NODE_DELAY), 0.002),
        (at(metric::DOTNET_QUEUE), 0.0),
        (at(metric::DOTNET_THREADS), 12.0),
        (at(metric::PHP_FPM_SLOW), 0.0),
        (time("request"), 0.040),
        (time("connect"), 0.001),
        (time("header"), 0.030),
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
    let near = [
        // Waits with free connections: a waiter gets one at once.
        (pool(metric::POOL_USED, TO_DATABASE, "HikariPool-1"), 8.0),
        (pool(metric::POOL_WAITING, TO_DATABASE, "HikariPool-1"), 1.0),
        // A queue before a pool that does not grow.
        (at(metric::DOTNET_QUEUE), 3.0),
        // Tasks wait for the event loop, which has its own rule below its bound.
        (at(metric::NODE_POOL_WAIT), 0.009),
        // Three times as slow, and still quick.
        (time("header"), 0.045),
        (time("connect"), 0.008),
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
fn threads_of_pools() {
    expect_only(
        found(&[(at(metric::NODE_POOL_WAIT), 0.180)]),
        RuleId::J2,
        [
            "libuv's pool of threads",
            "all 4 threads of libuv's pool in Node were busy: files, DNS, crypto and compression waited up to 180 ms",
            "UV_THREADPOOL_SIZE=16 node …` (now 4)",
        ],
    );
    let starved = found_over(&healthy(), |nth| {
        vec![
            (at(metric::DOTNET_QUEUE), 120.0),
            (at(metric::DOTNET_THREADS), 12.0 + f64::from(nth)),
        ]
    });
    expect_only(
        starved,
        RuleId::R6,
        [
            "threads of .NET's pool",
            "up to 120 tasks waited for a thread of .NET's pool, which grew from 12 to 21 threads",
            "dotnet-stack",
        ],
    );
}

#[test]
fn scripts_and_servers_that_are_slow() {
    let call = "PDOStatement->execute() /srv/www/db.php:12";
    let log = |metric, labels: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("at", "/var/log/fpm.slow"), ("class", "slow")]
            .into_iter()
            .chain(labels.iter().copied())
            .collect();
        series(metric, &all)
    };
    let slow = [
        (at(metric::PHP_FPM_SLOW), 2.0),
        (log(metric::LOG_FAILURES, &[]), 2.0),
        (log(metric::LOG_FAILURES_OF, &[("of", call)]), 1.5),
    ];
    let expected = "120 requests a minute took longer than the `request_slowlog_timeout` of PHP-FPM; 75 % of them \
        were in PDOStatement->execute() /srv/www/db.php:12";
    expect_only(found(&slow), RuleId::R4, [call, expected, "timeout"]);
    let answers = [(time("header"), 0.900), (time("request"), 0.950)];
    let expected = "took 900 ms to the first byte (95th percentile), 30 ms at low load, and accepted connections \
        within 1 ms";
    expect_only(
        found(&answers),
        RuleId::X7,
        [
            "servers behind nginx are slow",
            expected,
            "watch the application behind nginx",
        ],
    );
    let connects = [(time("header"), 0.300), (time("connect"), 0.250)];
    let expected = [
        "accepts no connections",
        "nginx took 250 ms to connect to a server (95th percentile), and 1 ms at low load",
        "backlog",
    ];
    expect_only(found(&connects), RuleId::X3, expected);
}
