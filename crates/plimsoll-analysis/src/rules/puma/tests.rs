//! Puma, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, only};

/// A Puma with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::PUMA_BACKLOG), 0.0),
        (at(metric::PUMA_CAPACITY), 2.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_puma_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn threads_that_are_all_busy() {
    expect_only(
        &[
            (at(metric::PUMA_BACKLOG), 7.0),
            (at(metric::PUMA_CAPACITY), 0.0),
        ],
        RuleId::R1,
        ["threads of Puma", "up to 7 requests", "workers"],
    );
}
