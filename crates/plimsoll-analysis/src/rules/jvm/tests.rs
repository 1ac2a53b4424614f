//! JVMs, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding, Tier};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only, rules_and_causes, setting};

const MIB: f64 = 1_048_576.0;

fn of_kind(metric: &str, kind: &str) -> String {
    series(metric, &[("at", AT), ("kind", kind)])
}

fn pool(metric: &str, name: &str) -> String {
    series(metric, &[("at", AT), ("pool", name)])
}

/// A JVM with room, on another machine.
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
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_jvm_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
    // A pool that grows is no limit, and one connection that was not read yet is none.
    let growing = [
        (at(metric::JVM_WAITING), 1.0),
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
}
