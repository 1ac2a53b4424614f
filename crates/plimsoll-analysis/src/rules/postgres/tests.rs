//! PostgreSQL, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only, rules_and_causes, setting};

const SELECT: &str = "SELECT n FROM orders WHERE customer = ?";

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

/// A PostgreSQL with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
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

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_postgres_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn postgres_is_at_its_limits() {
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
    assert_eq!(found_in(&healthy(), &[sign, (sessions("active"), 0.3)]), []);
    // What is read is in memory.
    let hits = (at(metric::POSTGRES_BLOCKS_HIT), 1e5);
    assert_eq!(
        found_in(&healthy(), &[(waits("event", "DataFileRead"), 3.0), hits]),
        []
    );
}

#[test]
fn an_idle_transaction_is_named_and_not_those_who_wait_for_it() {
    let held = [
        (waits("wait", "lock"), 3.0),
        (at(metric::POSTGRES_IDLE_IN_TRANSACTION), 20.0),
    ];
    let ids = |failing: &[(String, f64)]| rules_and_causes(&found_in(&healthy(), failing));
    assert_eq!(
        ids(&held),
        [(RuleId::P8, None), (RuleId::P3, Some(RuleId::P8))]
    );
    // The holder is active.
    let busy = [("state", "active"), ("statement", "UPDATE t")];
    let busy = (with(metric::POSTGRES_BLOCKING, &busy), 3.0);
    assert_eq!(ids(&[&held[..], &[busy]].concat()), [(RuleId::P3, None)]);
}
