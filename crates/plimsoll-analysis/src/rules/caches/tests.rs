//! Caches, over synthetic windows and series.

use plimsoll_model::metric;

use crate::diagnosis::rule_id::RuleId;
use crate::rules::tests::two_stretch_run::{TwoStretchRun, answered, expect_of_run};
use crate::rules::tests::{at, rule_of};

fn cache(hits: f64, misses: f64) -> Vec<(String, f64)> {
    vec![
        (at(metric::REDIS_HITS), hits),
        (at(metric::REDIS_MISSES), misses),
    ]
}

#[test]
fn copies_that_end_all_at_once() {
    let bursts = |nth: u32| nth % 8 == 7;
    let run = TwoStretchRun::new(
        |nth, window| answered(window, 120, 100, if bursts(nth) { 90 } else { 30 }),
        |failing, nth| cache(400.0, if failing && bursts(nth) { 150.0 } else { 4.0 }),
    );
    let found = run.find();
    assert_eq!(rule_of(&found[0]), RuleId::S4, "{found:#?}");
    let expected = "in 3 seconds up to 150 lookups a second missed in Redis (10.0.0.7:1), and 4 in the others; answers \
        then took 3.0";
    assert!(found[0].sentence.contains(expected), "{found:#?}");
    // The same bursts, without an effect on response times.
    let unfelt = TwoStretchRun::new(
        |_, window| answered(window, 120, 100, 30),
        |failing, nth| cache(400.0, if failing && bursts(nth) { 150.0 } else { 4.0 }),
    );
    assert_eq!(unfelt.find(), []);
}

#[test]
fn a_cache_without_room() {
    let varnish = |thrown: f64| {
        TwoStretchRun::new(
            |_, window| answered(window, 120, 100, 30),
            move |failing, _| {
                vec![
                    (at(metric::VARNISH_HITS), 80.0),
                    (at(metric::VARNISH_MISSES), 20.0),
                    (
                        at(metric::VARNISH_NUKED),
                        if failing { thrown } else { 0.0 },
                    ),
                ]
            },
        )
    };
    expect_of_run(
        &varnish(20.0),
        RuleId::S5,
        &["80 % of the lookups in Varnish were hits; it evicted 20 responses a second"],
    );
    assert_eq!(varnish(0.0).find(), []);
}

#[test]
fn a_cache_that_finds_less() {
    let run = TwoStretchRun::new(
        |_, window| answered(window, 120, 100, 30),
        |failing, _| {
            if failing {
                cache(60.0, 40.0)
            } else {
                cache(90.0, 10.0)
            }
        },
    );
    expect_of_run(
        &run,
        RuleId::S5,
        &["60 % of the lookups in Redis (10.0.0.7:1) were hits, and 90 % at"],
    );
    let few = TwoStretchRun::new(
        |_, window| answered(window, 120, 100, 30),
        |failing, _| {
            if failing {
                cache(0.0, 2.0)
            } else {
                cache(90.0, 10.0)
            }
        },
    );
    assert_eq!(few.find(), [], "two look-ups a second tell nothing");
}
