//! Redis, over synthetic series.

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric::{self, series};

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{
    AT, at, found_in, found_over_gaps, only_cause, rules_and_causes, setting,
};

/// A Redis with room, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (at(metric::REDIS_MAIN_THREAD), 0.5),
        (at(metric::REDIS_EVICTED), 0.0),
        (at(metric::REDIS_OUT_OF_MEMORY), 0.0),
        (at(metric::REDIS_REJECTED), 0.0),
        (at(metric::REDIS_FSYNC_DELAYED), 0.0),
        (at(metric::REDIS_HITS), 90.0),
        (at(metric::REDIS_MISSES), 10.0),
        (setting("maxclients", "/etc/redis.conf"), 500.0),
    ]
}

/// One finding that follows from no other, of this rule, with these fragments in limit, sentence and remedy.
#[track_caller]
fn expect_only(failing: &[(String, f64)], rule: RuleId, expected: [&str; 3]) -> Finding {
    only_cause(found_in(&healthy(), failing), rule, expected)
}

#[test]
fn a_redis_with_room_is_silent() {
    assert_eq!(found_in(&healthy(), &[]), []);
}

#[test]
fn redis_at_its_limits() {
    expect_only(
        &[(at(metric::REDIS_MAIN_THREAD), 0.99)],
        RuleId::K1,
        ["the one thread of Redis", "99 % of a CPU", "pipelines"],
    );
    expect_only(
        &[(at(metric::REDIS_OUT_OF_MEMORY), 3.0)],
        RuleId::K2,
        [
            "maxmemory of Redis",
            "refused 3 commands a second",
            "allkeys-lru",
        ],
    );
    expect_only(
        &[(at(metric::REDIS_REJECTED), 3.0)],
        RuleId::K4,
        [
            "maxclients of Redis",
            "its limit of 500 clients was reached",
            "(now 500) in /etc/redis.conf",
        ],
    );
    expect_only(
        &[(at(metric::REDIS_FSYNC_DELAYED), 0.1)],
        RuleId::K5,
        ["append-only file", "6 times a minute", "appendfsync no"],
    );
}

#[test]
fn throwing_away_what_nobody_asks_for_is_no_sure_limit() {
    let evicted = (at(metric::REDIS_EVICTED), 50.0);
    let words = ["mem", "90 % of the lookups were hits", "memory"];
    let found = expect_only(std::slice::from_ref(&evicted), RuleId::K2, words);
    assert_eq!(found.certainty, Certainty::Possible);
    let missed = (at(metric::REDIS_MISSES), 90.0);
    let words = ["mem", "50 % of the lookups were hits", "mem"];
    let found = expect_only(&[evicted, missed], RuleId::K2, words);
    assert_eq!(found.certainty, Certainty::Explicit);
}

#[test]
fn a_command_that_holds_redis() {
    let of = |metric| series(metric, &[("at", AT), ("command", "keys")]);
    let healthy = vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (of(metric::REDIS_COMMAND_CALLS), 0.1),
        (of(metric::REDIS_COMMAND_TIME), 0.001),
    ];
    // One call in ten seconds may be slow.
    assert_eq!(found_in(&healthy, &[]), []);
    let often = [
        (of(metric::REDIS_COMMAND_CALLS), 50.0),
        (of(metric::REDIS_COMMAND_TIME), 0.7),
    ];
    let found = found_in(&healthy, &often);
    assert_eq!(rules_and_causes(&found), [(RuleId::K3, None)], "{found:#?}");
    let expected = "KEYS took 14.0 ms on average and occupied Redis's one thread 70 % of the time";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    assert!(found[0].remedy.contains("use SCAN instead"), "{found:#?}");
    // Saturated by it, Redis answers no INFO: its cost at the load below is used.
    let swamped = found_over_gaps(
        &healthy,
        &[(at(metric::REDIS_MAIN_THREAD), 1.0)],
        &[
            of(metric::REDIS_COMMAND_CALLS),
            of(metric::REDIS_COMMAND_TIME),
        ],
    );
    assert_eq!(
        rules_and_causes(&swamped),
        [(RuleId::K3, None), (RuleId::K1, Some(RuleId::K3))],
        "{swamped:#?}"
    );
    let expected = "KEYS took 10.0 ms on average at the load below";
    assert!(swamped[0].sentence.contains(expected), "{swamped:#?}");
    // Many calls that are quick each are K1's concern.
    let quick = [
        (of(metric::REDIS_COMMAND_CALLS), 5000.0),
        (of(metric::REDIS_COMMAND_TIME), 0.7),
    ];
    assert_eq!(found_in(&healthy, &quick), []);
}
