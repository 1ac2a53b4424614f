//! Rules about poolers, servers that run applications and statements, over synthetic series.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::window::Window;

use super::components_tests::{AT, at, found_in, only, setting};
use super::tests::rule_of;
use super::{Context, Stretches, find_in};
use crate::diagnosis::rule_id::RuleId;

const POINT: &str = "SELECT n FROM items WHERE id = ?";
const SORT: &str = "SELECT note FROM sales WHERE shop = ? ORDER BY placed";

fn pool(metric: &str, state: &str) -> String {
    let labels = [("at", AT), ("pool", "shop/app"), ("state", state)];
    series(metric, &labels[..if state.is_empty() { 2 } else { 3 }])
}

fn workers(state: &str) -> String {
    series(metric::APACHE_WORKERS, &[("at", AT), ("state", state)])
}

fn of_statement(metric: &str, statement: &str) -> String {
    series(metric, &[("at", AT), ("statement", statement)])
}

/// Servers with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    let size = [("at", AT), ("setting", "pool_size"), ("of", "shop")];
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (pool(metric::PGBOUNCER_CLIENTS, "active"), 2.0),
        (pool(metric::PGBOUNCER_CLIENTS, "waiting"), 0.0),
        (pool(metric::PGBOUNCER_SESSIONS, "active"), 2.0),
        (pool(metric::PGBOUNCER_SESSIONS, "idle"), 0.0),
        (pool(metric::PGBOUNCER_WAIT, ""), 0.0),
        (series(metric::SETTING, &size), 2.0),
        (setting("default_pool_size", "/etc/pgbouncer.ini:7"), 2.0),
        (workers("busy"), 3.0),
        (workers("idle"), 1.0),
        (at(metric::APACHE_SILENT), 0.0),
        (setting("MaxRequestWorkers", "/etc/apache2.conf:9"), 4.0),
        (at(metric::GUNICORN_PLACES), 2.0),
        (at(metric::GUNICORN_TAKEN), 2.0),
        (at(metric::GUNICORN_WAITING), 0.0),
        (setting("workers", ""), 2.0),
        (at(metric::MYSQL_COLLECTOR_REFUSED), 0.0),
        (at(metric::MYSQL_SESSIONS_RUNNING), 1.0),
        (at(metric::MYSQL_SORT_PASSES), 3.0),
        (of_statement(metric::STATEMENT_CALLS, SORT), 20.0),
        (of_statement(metric::STATEMENT_TIME, SORT), 0.6),
        (of_statement(metric::STATEMENT_SORTED, SORT), 400_000.0),
        (of_statement(metric::STATEMENT_CALLS, POINT), 300.0),
        (of_statement(metric::STATEMENT_TIME, POINT), 0.4),
        (of_statement(metric::STATEMENT_SORTED, POINT), 0.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn servers_with_room_are_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn servers_at_their_limit() {
    let found = expect_only(
        &[
            (pool(metric::PGBOUNCER_CLIENTS, "waiting"), 38.0),
            (pool(metric::PGBOUNCER_WAIT, ""), 1.25),
        ],
        RuleId::P11,
        [
            "pool shop/app of pgbouncer",
            "all 2 sessions of pgbouncer's pool shop/app were busy while up to 38 clients waited for one, the longest \
             for 1250 ms",
            "(now 2) in /etc/pgbouncer.ini:7",
        ],
    );
    assert_eq!(
        (found.tier, found.certainty),
        (Some(Tier::Store), Certainty::Suspected)
    );
    let found = expect_only(
        &[(workers("idle"), 0.0)],
        RuleId::A0,
        [
            "MaxRequestWorkers of Apache",
            "all 4 workers of Apache were busy",
            "(now 4) in /etc/apache2.conf:9",
        ],
    );
    assert_eq!(found.certainty, Certainty::Explicit);
    expect_only(
        &[(at(metric::APACHE_SILENT), 1.0)],
        RuleId::A0,
        [
            "Apache",
            "in 100 % of the seconds none was free",
            "event MPM",
        ],
    );
    expect_only(
        &[(at(metric::GUNICORN_WAITING), 57.0)],
        RuleId::R2,
        [
            "workers of gunicorn",
            "all 2 workers of gunicorn were busy while up to 57 connections waited",
            "raise `--workers` (now 2)",
        ],
    );
}

#[test]
fn workers_that_are_not_all_used_are_no_limit() {
    // It may start more.
    assert_eq!(
        found_in(
            &healthy(),
            &[(workers("idle"), 0.0), (workers("busy"), 1.0)]
        ),
        []
    );
    let taken = [
        (at(metric::GUNICORN_WAITING), 57.0),
        (at(metric::GUNICORN_TAKEN), 1.0),
    ];
    assert_eq!(found_in(&healthy(), &taken), []);
    let idle = [
        (pool(metric::PGBOUNCER_CLIENTS, "waiting"), 3.0),
        (pool(metric::PGBOUNCER_SESSIONS, "idle"), 1.0),
    ];
    assert_eq!(found_in(&healthy(), &idle), []);
}

#[test]
fn sorts_are_named_with_their_statement_and_the_index_that_spares_them() {
    let found = expect_only(
        &[(at(metric::MYSQL_SESSIONS_RUNNING), 7.0)],
        RuleId::Q4,
        [
            "sort_buffer_size of MariaDB",
            "sorted 20000 rows for each `SELECT note FROM sales WHERE shop = ? ORDER BY placed`",
            "`ALTER TABLE sales ADD INDEX (shop, placed)`",
        ],
    );
    assert!(found.sentence.contains("180 sorts a minute"), "{found:#?}");
}

/// Findings for a rate of requests in both stretches, and a number of executions of a statement.
fn repeated(requests: [u64; 2], calls: [f64; 2]) -> Vec<Finding> {
    let (mut table, mut windows) = (SeriesTable::default(), Vec::new());
    for (start, requests, calls) in [(100, requests[0], calls[0]), (200, requests[1], calls[1])] {
        for second in start..start + 5 {
            let values = BTreeMap::from([
                (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
                (of_statement(metric::STATEMENT_CALLS, POINT), calls),
                (
                    of_statement(metric::STATEMENT_TIME, POINT),
                    calls / 10_000.0,
                ),
                (
                    of_statement(metric::STATEMENT_CALLS, "COMMIT"),
                    calls / 10.0,
                ),
            ]);
            table.push(&Readings {
                second,
                values,
                new_series: BTreeMap::new(),
            });
            windows.push(Window {
                second,
                sent: requests,
                ..Window::default()
            });
        }
    }
    let stretches = Stretches {
        base: Vec::new(),
        passing: Some((100, 105)),
        failing: Some((200, 205)),
    };
    let context = Context {
        target: "10.0.0.7:80".to_owned(),
        bound_us: None,
        open: true,
        robbed: false,
    };
    find_in(&table, &windows, &stretches, &context)
}

#[test]
fn a_statement_that_each_request_repeats() {
    let found = repeated([5, 200], [300.0, 6000.0]);
    assert_eq!(found.len(), 1, "{found:#?}");
    let found = &found[0];
    assert_eq!(
        (rule_of(found), found.certainty),
        (RuleId::NPlus1, Certainty::Suspected)
    );
    let expected = "each request executed `SELECT n FROM items WHERE id = ?` 60 times, 6000 times a second in all, \
        0.10 ms each";
    assert!(found.sentence.contains(expected), "{found:#?}");
    assert!(found.remedy.contains("= ANY"), "{found:#?}");
    // Few in each request, or few in all.
    assert_eq!(repeated([100, 2000], [300.0, 6000.0]), []);
    assert_eq!(repeated([1, 10], [60.0, 600.0]), []);
}
