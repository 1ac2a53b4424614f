//! Programs in Go, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, only, setting};

const MIB: f64 = 1_048_576.0;

/// A Go program with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::GO_GC_SHARE), 0.02),
        (at(metric::GO_GC_COUNT), 2.0),
        (at(metric::GO_HEAP), 8.0 * MIB),
        (at(metric::GO_SCHEDULER_DELAY), 0.001),
        (at(metric::GO_GOROUTINES), 40.0),
        (setting("GOMAXPROCS", ""), 2.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_go_program_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
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
