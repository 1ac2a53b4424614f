//! Rules about JVMs, programs in Go, uWSGI and Varnish, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use super::components_tests::{AT, at, found_in, only, setting};
use super::tests::rules_and_causes;
use crate::diagnosis::rule_id::RuleId;

const MIB: f64 = 1_048_576.0;

fn of_kind(metric: &str, kind: &str) -> String {
    series(metric, &[("at", AT), ("kind", kind)])
}

fn pool(metric: &str, name: &str) -> String {
    series(metric, &[("at", AT), ("pool", name)])
}

/// All with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (of_kind(metric::JVM_GC_TIME, "young"), 0.02),
        (of_kind(metric::JVM_GC_TIME, "full"), 0.0),
        (of_kind(metric::JVM_GC_COUNT, "young"), 4.0),
        (of_kind(metric::JVM_GC_COUNT, "full"), 0.0),
        (at(metric::JVM_GC_PAUSE), 0.005),
        (at(metric::JVM_OLD_USED), 40.0 * MIB),
        (at(metric::JVM_OLD_AFTER), 20.0 * MIB),
        (at(metric::JVM_OLD_LIMIT), 43.0 * MIB),
        (setting("-Xmx", ""), 64.0 * MIB),
        (pool(metric::JVM_POOL, "pool-1-thread-"), 2.0),
        (pool(metric::JVM_POOL, "scheduling-"), 1.0),
        (at(metric::JVM_WAITING), 1.0),
        (pool(metric::JVM_POOL_BUSY, "http-nio-8080"), 7.0),
        (pool(metric::JVM_POOL_LIMIT, "http-nio-8080"), 10.0),
        (at(metric::UWSGI_PLACES), 4.0),
        (at(metric::UWSGI_BUSY), 3.0),
        (at(metric::UWSGI_QUEUE), 0.0),
        (setting("processes", "/etc/uwsgi/shop.ini:3"), 2.0),
        (setting("threads", ""), 2.0),
        (at(metric::GO_GC_SHARE), 0.02),
        (at(metric::GO_GC_COUNT), 2.0),
        (at(metric::GO_HEAP), 8.0 * MIB),
        (at(metric::GO_SCHEDULER_DELAY), 0.001),
        (at(metric::GO_GOROUTINES), 40.0),
        (setting("GOMAXPROCS", ""), 2.0),
        (at(metric::VARNISH_THREADS), 12.0),
        (at(metric::VARNISH_QUEUE), 0.0),
        (at(metric::VARNISH_AT_LIMIT), 0.0),
        (at(metric::VARNISH_DROPPED), 0.0),
        (setting("thread_pools", ""), 2.0),
        (at(metric::MONGO_QUEUE), 0.0),
        (of_kind(metric::MONGO_TICKETS, "read"), 100.0),
        (of_kind(metric::MONGO_TICKETS, "write"), 128.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn engines_with_room_are_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
    // A pool that grows is no limit, and one connection that was not read yet is none.
    let growing = [
        (at(metric::JVM_WAITING), 1.0),
        (at(metric::UWSGI_QUEUE), 3.0),
        (at(metric::JVM_OLD_USED), 43.0 * MIB),
    ];
    assert_eq!(found_in(&healthy(), &growing), []);
}

#[test]
fn collections_that_take_the_time() {
    let found = expect_only(
        &[
            (of_kind(metric::JVM_GC_TIME, "young"), 0.2),
            (of_kind(metric::JVM_GC_TIME, "full"), 0.4),
            (of_kind(metric::JVM_GC_COUNT, "full"), 5.0),
            (at(metric::JVM_GC_PAUSE), 0.12),
        ],
        RuleId::J3,
        [
            "the garbage collector of the JVM",
            "took 60 % of the time and stopped all threads for up to 120 ms, in 4.0 young and 5.0 full collections a \
             second",
            "`-Xmx` (now 64 MiB)",
        ],
    );
    assert_eq!(
        (found.tier, found.certainty),
        (Some(Tier::Runtime), Certainty::Suspected)
    );
    let tenth = [(of_kind(metric::JVM_GC_TIME, "young"), 0.15)];
    expect_only(&tenth, RuleId::J3, ["JVM", "15 % of the time", "ZGC"]);
}

/// Kept memory is why collections take the time, which is why the CPU is used up.
#[test]
fn a_heap_that_is_full_explains_its_collections() {
    let found = found_in(
        &healthy(),
        &[
            (at(metric::JVM_OLD_AFTER), 42.0 * MIB),
            (of_kind(metric::JVM_GC_TIME, "full"), 0.9),
            (of_kind(metric::JVM_GC_COUNT, "full"), 9.0),
        ],
    );
    let ids = rules_and_causes(&found);
    assert_eq!(
        ids,
        [(RuleId::J4, None), (RuleId::J3, Some(RuleId::J4))],
        "{found:#?}"
    );
    let expected = "after full collections 98 % of the 43 MiB of the JVM's old generation were still used; 9.0 full";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    assert!(found[0].remedy.contains("GC.class_histogram"), "{found:#?}");
}

#[test]
fn pools_of_threads() {
    expect_only(
        &[(at(metric::JVM_WAITING), 60.0)],
        RuleId::J5,
        [
            "threads of the JVM's pool pool-1-thread-*",
            "up to 60 connections to the JVM waited for a thread to read their requests, while its pool \
             pool-1-thread-* stayed at 2 threads",
            "(now 2)",
        ],
    );
    expect_only(
        &[(pool(metric::JVM_POOL_BUSY, "http-nio-8080"), 10.0)],
        RuleId::J5,
        [
            "threads of the JVM's pool http-nio-8080",
            "all 10 threads",
            "server.tomcat.threads.max",
        ],
    );
    expect_only(
        &[
            (at(metric::UWSGI_BUSY), 4.0),
            (at(metric::UWSGI_QUEUE), 57.0),
        ],
        RuleId::R2,
        [
            "workers of uWSGI",
            "all 2 workers of uWSGI were busy, each with 2 threads, while up to 57 connections waited",
            "raise `processes` (now 2) in /etc/uwsgi/shop.ini:3",
        ],
    );
    // The queue of a Unix socket is unknown.
    expect_only(
        &[(at(metric::UWSGI_BUSY), 4.0)],
        RuleId::R2,
        [
            "uWSGI",
            "each with 2 threads",
            "a larger `listen` only lengthens the queue",
        ],
    );
    let found = expect_only(
        &[
            (at(metric::VARNISH_QUEUE), 40.0),
            (at(metric::VARNISH_AT_LIMIT), 8.0),
            (at(metric::VARNISH_DROPPED), 3.0),
        ],
        RuleId::V1,
        [
            "thread_pool_max of Varnish",
            "all 12 threads of Varnish were busy while up to 40 requests and connections waited for one, and 3 a \
             second were dropped",
            "(now about 6 in each of 2 pools)",
        ],
    );
    assert_eq!(found.certainty, Certainty::Explicit);
}

#[test]
fn programs_in_go() {
    expect_only(
        &[
            (at(metric::GO_GC_SHARE), 0.4),
            (at(metric::GO_GC_COUNT), 30.0),
        ],
        RuleId::R5,
        [
            "the garbage collector of the Go program",
            "took 40 % of the CPU available to it, in 30 collections a second of a heap of 8 MiB",
            "GOMEMLIMIT",
        ],
    );
    expect_only(
        &[(at(metric::GO_SCHEDULER_DELAY), 0.08)],
        RuleId::R5,
        [
            "the scheduler of the Go program",
            "waited more than 80 ms for a thread; there were up to 40 goroutines on 2 threads (GOMAXPROCS)",
            "`GOMAXPROCS` (now 2)",
        ],
    );
}

#[test]
fn operations_that_wait_in_mongodb() {
    expect_only(
        &[
            (at(metric::MONGO_QUEUE), 31.0),
            (of_kind(metric::MONGO_TICKETS, "read"), 0.0),
        ],
        RuleId::K7,
        [
            "the storage of MongoDB",
            "up to 31 operations waited in MongoDB for a lock or for a storage engine ticket; no ticket was left in 100 %",
            "db.currentOp",
        ],
    );
}
