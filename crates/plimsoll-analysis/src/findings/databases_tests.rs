//! Rules about databases and runtimes over synthetic series: what triggers each, and what does not.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use super::components_tests::{AT, at, found_in, only, setting};
use super::tests::rules_and_causes;
use crate::diagnosis::rule_id::RuleId;

fn with(metric: &str, labels: &[(&str, &str)]) -> String {
    let labels: Vec<_> = std::iter::once(("at", AT))
        .chain(labels.iter().copied())
        .collect();
    series(metric, &labels)
}

fn sessions(state: &str) -> String {
    with(metric::POSTGRES_SESSIONS, &[("state", state)])
}

fn waits(name: &str, value: &str) -> String {
    with(metric::POSTGRES_ACTIVE, &[(name, value)])
}

fn scanned(metric: &str) -> String {
    with(metric, &[("table", "public.orders")])
}

const SELECT: &str = "SELECT n FROM orders WHERE customer = ?";

/// A PostgreSQL with room, on another machine.
fn postgres() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::POSTGRES_REFUSED), 0.0),
        (sessions("all"), 21.0),
        (sessions("idle"), 16.0),
        (sessions("active"), 4.0),
        (waits("wait", "none"), 4.0),
        (waits("wait", "lock"), 0.0),
        (waits("wait", "lwlock"), 0.0),
        (waits("event", "DataFileRead"), 0.0),
        (waits("event", "WALSync"), 0.0),
        (
            with(metric::POSTGRES_RUNNING, &[("statement", SELECT)]),
            2.0,
        ),
        (at(metric::POSTGRES_IDLE_IN_TRANSACTION), 0.0),
        (at(metric::POSTGRES_BLOCKS_HIT), 1000.0),
        (at(metric::POSTGRES_BLOCKS_READ), 100.0),
        (scanned(metric::POSTGRES_SCANS), 10.0),
        (scanned(metric::POSTGRES_ROWS_SCANNED), 1000.0),
        (at(metric::POSTGRES_TEMPORARY), 0.0),
        (at(metric::POSTGRES_WAL_FULL), 0.0),
        (at(metric::POSTGRES_CHECKPOINTS_TIMED), 0.0),
        (at(metric::POSTGRES_CHECKPOINTS_REQUESTED), 0.1),
        (at(metric::POSTGRES_DEADLOCKS), 0.0),
        (setting("max_connections", "/etc/pg.conf:5"), 100.0),
        (setting("superuser_reserved_connections", ""), 3.0),
        (setting("work_mem", "/etc/pg.conf:9"), 4_194_304.0),
    ]
}

/// A MariaDB with room, and runtimes with room before it.
fn mysql() -> Vec<(String, f64)> {
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
        (at(metric::PHP_FPM_SILENT), 0.0),
        (at(metric::PHP_FPM_QUEUE), 0.0),
        (at(metric::PHP_FPM_AT_LIMIT), 0.0),
        (with(metric::PHP_FPM_PROCESSES, &[("state", "idle")]), 1.0),
        (setting("pm.max_children", "/etc/php.conf:7"), 5.0),
        (at(metric::NODE_ACTIVE), 0.5),
        (at(metric::NODE_DELAY), 0.01),
        (at(metric::PUMA_BACKLOG), 0.0),
        (at(metric::PUMA_CAPACITY), 2.0),
    ]
}

/// The only finding, with fragments of its limit, its sentence and its remedy.
#[track_caller]
fn expect_only(
    healthy: &[(String, f64)],
    failing: &[(String, f64)],
    rule: RuleId,
    expected: [&str; 3],
) -> Finding {
    only(found_in(healthy, failing), rule, expected)
}

#[test]
fn databases_with_room_are_silent() {
    assert_eq!(found_in(&postgres(), &[]), []);
    assert_eq!(found_in(&mysql(), &[]), []);
}

#[test]
fn postgres_is_at_its_limits() {
    let expect_only = |failing: &[(String, f64)], rule: RuleId, expected| {
        expect_only(&postgres(), failing, rule, expected)
    };
    let full = expect_only(
        &[(sessions("all"), 97.0)],
        RuleId::P1,
        [
            "max_connections of PostgreSQL (10.0.0.7:1)",
            "up to 97 sessions and allows 97",
            "(now 100) in /etc/pg.conf:5",
        ],
    );
    assert_eq!(
        (full.tier, full.certainty),
        (Some(Tier::Store), Certainty::Explicit)
    );
    expect_only(
        &[(at(metric::POSTGRES_REFUSED), 1.0)],
        RuleId::P1,
        ["max_connections", "allows 97", "pgbouncer"],
    );
    expect_only(
        &[(waits("wait", "lock"), 3.0)],
        RuleId::P3,
        ["locks", "75 % of PostgreSQL's active sessions", "shorter"],
    );
    expect_only(
        &[
            (waits("wait", "lwlock"), 3.0),
            (waits("event", "LockManager"), 3.0),
        ],
        RuleId::P4,
        ["internal", "LockManager", "fewer"],
    );
    expect_only(
        &[(waits("event", "DataFileRead"), 3.0)],
        RuleId::P5,
        ["buffers", "for blocks of files", "shared_buffers"],
    );
    expect_only(
        &[(waits("event", "WALSync"), 3.0)],
        RuleId::P6,
        ["the write-ahead log", "75 %", "synchronous_commit"],
    );
}

#[test]
fn postgres_works_in_vain() {
    let expect_only = |failing: &[(String, f64)], rule: RuleId, expected| {
        expect_only(&postgres(), failing, rule, expected)
    };
    let sign = (scanned(metric::POSTGRES_ROWS_SCANNED), 1e6);
    expect_only(
        std::slice::from_ref(&sign),
        RuleId::P7,
        [
            "a missing index on public.orders",
            "100000 per scan",
            "CREATE INDEX CONCURRENTLY ON public.orders (customer)",
        ],
    );
    expect_only(
        &[(at(metric::POSTGRES_TEMPORARY), 1e6)],
        RuleId::P9,
        [
            "work_mem",
            "1.0 MiB a second",
            "(now 4.0 MiB) in /etc/pg.conf:9",
        ],
    );
    expect_only(
        &[(at(metric::POSTGRES_CHECKPOINTS_REQUESTED), 0.5)],
        RuleId::P10,
        ["max_wal_size", "30.0 checkpoints a minute", "max_wal_size"],
    );
    expect_only(
        &[(at(metric::POSTGRES_DEADLOCKS), 0.1)],
        RuleId::P12,
        ["deadlocks", "6 deadlocks a minute", "one order"],
    );
    // Few requests that read a whole table are no limit.
    assert_eq!(
        found_in(&postgres(), &[sign, (sessions("active"), 0.3)]),
        []
    );
    // What is read is in memory.
    let hits = (at(metric::POSTGRES_BLOCKS_HIT), 1e5);
    assert_eq!(
        found_in(&postgres(), &[(waits("event", "DataFileRead"), 3.0), hits]),
        []
    );
}

#[test]
fn an_idle_transaction_is_named_and_not_those_who_wait_for_it() {
    let held = [
        (waits("wait", "lock"), 3.0),
        (at(metric::POSTGRES_IDLE_IN_TRANSACTION), 20.0),
    ];
    let ids = |failing: &[(String, f64)]| rules_and_causes(&found_in(&postgres(), failing));
    assert_eq!(
        ids(&held),
        [(RuleId::P8, None), (RuleId::P3, Some(RuleId::P8))]
    );
    // The holder is active.
    let busy = [("state", "active"), ("statement", "UPDATE t")];
    let busy = (with(metric::POSTGRES_BLOCKING, &busy), 3.0);
    assert_eq!(ids(&[&held[..], &[busy]].concat()), [(RuleId::P3, None)]);
}

#[test]
fn mariadb_is_at_its_limits() {
    let expect_only = |failing: &[(String, f64)], rule: RuleId, expected| {
        expect_only(&mysql(), failing, rule, expected)
    };
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
fn runtimes_are_at_their_limits() {
    let expect_only = |failing: &[(String, f64)], rule: RuleId, expected| {
        expect_only(&mysql(), failing, rule, expected)
    };
    let idle = (with(metric::PHP_FPM_PROCESSES, &[("state", "idle")]), 0.0);
    let queue = (at(metric::PHP_FPM_QUEUE), 9.0);
    let full = expect_only(
        &[idle, queue.clone()],
        RuleId::R3,
        [
            "pm.max_children of PHP-FPM",
            "all 5 processes of PHP-FPM were busy while up to 9",
            "(now 5) in /etc/php.conf:7",
        ],
    );
    assert_eq!(full.tier, Some(Tier::Runtime));
    expect_only(
        &[(at(metric::PHP_FPM_SILENT), 1.0)],
        RuleId::R3,
        ["pm.max_children", "none was free", "memory"],
    );
    assert_eq!(found_in(&mysql(), &[queue]), [], "a process is idle");
    expect_only(
        &[
            (at(metric::PUMA_BACKLOG), 7.0),
            (at(metric::PUMA_CAPACITY), 0.0),
        ],
        RuleId::R1,
        ["threads of Puma", "up to 7 requests", "workers"],
    );
    expect_only(
        &[(at(metric::NODE_ACTIVE), 0.99)],
        RuleId::J1,
        ["event loop of Node", "busy 99 %", "worker threads"],
    );
    expect_only(
        &[(at(metric::NODE_DELAY), 0.2)],
        RuleId::J1,
        ["event loop", "up to 200 ms", "cluster"],
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
    expect_only(&mysql(), &busy, RuleId::Q2, expected);
    let waiting = (at(metric::MYSQL_ROW_LOCKS_WAITED), 8.0);
    let expected = ["row locks", "8 sessions", "shorter"];
    expect_only(
        &mysql(),
        &[&busy[..], &[waiting]].concat(),
        RuleId::Q6,
        expected,
    );
}
