//! memcached, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, only_cause};

/// A memcached with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::MEMCACHED_REFUSED), 0.0),
        (at(metric::MEMCACHED_EVICTIONS), 0.0),
        (at(metric::MEMCACHED_HITS), 90.0),
        (at(metric::MEMCACHED_MISSES), 10.0),
    ]
}

/// One finding that follows from no other, of this rule, with these fragments in limit, sentence and remedy.
#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only_cause(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_memcached_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn memcached_without_connections() {
    expect_only(
        &[(at(metric::MEMCACHED_REFUSED), 1.0)],
        RuleId::K6,
        [
            "connections of memcached",
            "refused 60 connections a minute",
            "option -c",
        ],
    );
}

#[test]
fn throwing_away_what_nobody_asks_for_is_no_sure_limit() {
    let evicted = (at(metric::MEMCACHED_EVICTIONS), 50.0);
    let words = ["mem", "90 % of the lookups were hits", "memory"];
    let found = expect_only(std::slice::from_ref(&evicted), RuleId::K6, words);
    assert_eq!(found.certainty, Certainty::Possible);
    let missed = (at(metric::MEMCACHED_MISSES), 90.0);
    let words = ["mem", "50 % of the lookups were hits", "mem"];
    let found = expect_only(&[evicted, missed], RuleId::K6, words);
    assert_eq!(found.certainty, Certainty::Explicit);
}
