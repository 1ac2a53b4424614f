//! Varnish, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, only, setting};

/// A Varnish with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::VARNISH_THREADS), 12.0),
        (at(metric::VARNISH_QUEUE), 0.0),
        (at(metric::VARNISH_AT_LIMIT), 0.0),
        (at(metric::VARNISH_DROPPED), 0.0),
        (setting("thread_pools", ""), 2.0),
    ]
}

#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_varnish_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn threads_that_are_all_busy() {
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
