//! Puma, over synthetic series.

use plimsoll_model::finding::Finding;
use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::{at, found_in, of, only, rules_and_causes, rules_of, setting};

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

/// Puma with 8 threads as the target, of which so many wait for clients.
fn taken(waiting: f64, busy: f64) -> Vec<(String, f64)> {
    let clients = [("process", metric::TARGET), ("on", "clients")];
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
        (at(metric::PUMA_CAPACITY), 0.0),
        (at(metric::PUMA_BACKLOG), 3.0),
        (at(metric::PUMA_REQUESTS), 39.0),
        (setting("threads", ""), 8.0),
        (of(metric::PROCESS_CPU, metric::TARGET), busy),
        (metric::series(metric::THREAD_WAITS, &clients), waiting),
    ]
}

#[test]
fn threads_that_wait_on_idle_connections() {
    let found = found_in(&healthy(), &taken(7.6, 0.1));
    let rules = rules_and_causes(&found);
    assert_eq!(
        rules,
        [(RuleId::R7, None), (RuleId::R1, Some(RuleId::R7))],
        "{found:#?}"
    );
    let expected = "all 8 threads of Puma were taken, but 7.6 of them on average waited for the next request of a client that had \
        sent none, and Puma used 10 % of the CPUs: each request took a thread for 205 ms";
    assert_eq!(found[0].sentence, expected);
    assert!(found[0].remedy.contains("max_fast_inline"), "{found:#?}");
    // Threads at work, and busy ones: R1 alone, or nothing that is known.
    let working = found_in(&healthy(), &taken(1.0, 0.1));
    assert_eq!(rules_of(&working), [RuleId::R1], "{working:#?}");
    let computing = found_in(&healthy(), &taken(7.6, 0.7));
    assert_eq!(rules_of(&computing), [RuleId::R1], "{computing:#?}");
}
