//! MariaDB, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only, setting};

const SELECT: &str = "SELECT n FROM orders WHERE customer = ?";

fn with(metric: &str, labels: &[(&str, &str)]) -> String {
    let labels: Vec<_> = std::iter::once(("at", AT))
        .chain(labels.iter().copied())
        .collect();
    series(metric, &labels)
}

const POINT: &str = "SELECT n FROM items WHERE id = ?";

const SORT: &str = "SELECT note FROM sales WHERE shop = ? ORDER BY placed";

fn of_statement(metric: &str, statement: &str) -> String {
    series(metric, &[("at", AT), ("statement", statement)])
}

/// A MariaDB with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::MYSQL_COLLECTOR_REFUSED), 0.0),
        (at(metric::MYSQL_REFUSED), 0.0),
        (at(metric::MYSQL_SESSIONS), 20.0),
        (at(metric::MYSQL_SESSIONS_RUNNING), 3.0),
        (with(metric::MYSQL_RUNNING, &[("statement", SELECT)]), 2.0),
        (at(metric::MYSQL_SCANS), 10.0),
        (at(metric::MYSQL_ROWS_SCANNED), 5000.0),
        (at(metric::MYSQL_SORT_PASSES), 0.0),
        (at(metric::MYSQL_TEMPORARY_TABLES), 10.0),
        (at(metric::MYSQL_TEMPORARY_ON_DISK), 3.0),
        (at(metric::MYSQL_ROW_LOCKS_WAITED), 0.0),
        (at(metric::MYSQL_POOL_READS), 20.0),
        (at(metric::MYSQL_POOL_REQUESTS), 1000.0),
        (at(metric::MYSQL_POOL_WAITS), 0.0),
        (at(metric::MYSQL_LOG_WAITS), 0.0),
        (setting("max_connections", "/etc/my.cnf"), 151.0),
    ]
}

/// The same, with counts of statements.
fn with_statements() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
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
fn a_mariadb_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
    assert_eq!(found_in(&with_statements(), &[]), []);
}

#[test]
fn mariadb_is_at_its_limits() {
    expect_only(
        &[(at(metric::MYSQL_REFUSED), 4.0)],
        RuleId::Q1,
        [
            "max_connections of MariaDB",
            "it refused 4 connections a second",
            "(now 151) in /etc/my.cnf",
        ],
    );
    expect_only(
        &[(at(metric::MYSQL_SESSIONS), 150.0)],
        RuleId::Q1,
        [
            "max_connections",
            "up to 150 sessions of at most 151",
            "pool",
        ],
    );
    expect_only(
        &[(at(metric::MYSQL_ROWS_SCANNED), 1e6)],
        RuleId::Q3,
        [
            "a missing index",
            "100000 per scanning statement",
            "ADD INDEX (customer)",
        ],
    );
    expect_only(
        &[(at(metric::MYSQL_SORT_PASSES), 1.0)],
        RuleId::Q4,
        ["sort_buffer_size", "60 sorts a minute", "order"],
    );
    expect_only(
        &[(at(metric::MYSQL_TEMPORARY_ON_DISK), 12.0)],
        RuleId::Q5,
        ["tmp_table_size", "wrote 12 to disk", "text column"],
    );
    expect_only(
        &[(at(metric::MYSQL_ROW_LOCKS_WAITED), 4.0)],
        RuleId::Q6,
        ["row locks", "4 sessions of MariaDB waited", "shorter"],
    );
    expect_only(
        &[(at(metric::MYSQL_POOL_READS), 90.0)],
        RuleId::Q7,
        [
            "innodb_buffer_pool_size",
            "read 90 pages a second from files, 9 %",
            "two thirds",
        ],
    );
    expect_only(
        &[(at(metric::MYSQL_LOG_WAITS), 1.0)],
        RuleId::Q8,
        ["innodb_log_buffer_size", "60 times a minute", "faster disk"],
    );
    expect_only(
        &[(at(metric::MYSQL_POOL_WAITS), 1.0)],
        RuleId::Q9,
        ["free pages", "60 times a minute", "innodb_io_capacity"],
    );
}

#[test]
fn who_waits_for_a_row_uses_no_cpu() {
    let busy = [
        (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
        (metric::CPU_COUNT.to_owned(), 2.0),
        (metric::CPU_BUSY.to_owned(), 1.0),
        (at(metric::MYSQL_SESSIONS_RUNNING), 9.0),
    ];
    let expected = ["CPU for MariaDB", "9 statements ran at once", "index"];
    expect_only(&busy, RuleId::Q2, expected);
    let waiting = (at(metric::MYSQL_ROW_LOCKS_WAITED), 8.0);
    let expected = ["row locks", "8 sessions", "shorter"];
    expect_only(&[&busy[..], &[waiting]].concat(), RuleId::Q6, expected);
}

#[test]
fn sorts_are_named_with_their_statement_and_the_index_that_spares_them() {
    let found = only(
        found_in(
            &with_statements(),
            &[(at(metric::MYSQL_SESSIONS_RUNNING), 7.0)],
        ),
        RuleId::Q4,
        [
            "sort_buffer_size of MariaDB",
            "sorted 20000 rows for each `SELECT note FROM sales WHERE shop = ? ORDER BY placed`",
            "`ALTER TABLE sales ADD INDEX (shop, placed)`",
        ],
    );
    assert!(found.sentence.contains("180 sorts a minute"), "{found:#?}");
}
