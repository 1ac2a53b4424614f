//! MongoDB, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{AT, at, found_in, only};

fn of_kind(metric: &str, kind: &str) -> String {
    series(metric, &[("at", AT), ("kind", kind)])
}

/// A MongoDB with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
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
fn a_mongodb_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
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
