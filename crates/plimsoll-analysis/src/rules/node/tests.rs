//! Node, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, only};

/// A Node with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::NODE_POOL_WAIT), 0.0004),
        (at(metric::NODE_POOL_THREADS), 4.0),
        (at(metric::NODE_ACTIVE), 0.2),
        (at(metric::NODE_DELAY), 0.002),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_node_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
    // Tasks wait for the event loop, which has its own rule below its bound.
    let near = [(at(metric::NODE_POOL_WAIT), 0.009)];
    assert_eq!(found_in(&healthy(), &near), []);
}

#[test]
fn an_event_loop_that_is_busy() {
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
fn tasks_that_wait_for_a_thread() {
    expect_only(
        &[(at(metric::NODE_POOL_WAIT), 0.180)],
        RuleId::J2,
        [
            "libuv's pool of threads",
            "all 4 threads of libuv's pool in Node were busy: files, DNS, crypto and compression waited up to 180 ms",
            "UV_THREADPOOL_SIZE=16 node …` (now 4)",
        ],
    );
}
