//! A gauge of the application, over synthetic series: at its limit where the load line is, always, never, and missing.

use plimsoll_model::finding::{Certainty, Finding, Strength, Tier};
use plimsoll_model::metric::{self, series};

use super::plain;
use crate::diagnosis::rule_id::RuleId;
use crate::rules::definition;
use crate::rules::tests::{
    AT, SyntheticRun, at, check, found_in, found_over, found_over_gaps, only, rules_and_causes,
};

fn gauge(metric: &str, of: &str) -> String {
    series(metric, &[("at", AT), ("name", "queue_depth"), ("of", of)])
}

fn level() -> String {
    gauge(metric::FIGURES_LEVEL, "queue:mail")
}

fn limit() -> String {
    gauge(metric::FIGURES_LIMIT, "queue:mail")
}

/// A gauge with these values at low load, at the highest that passed, and at the lowest that failed.
fn run(values: [f64; 3]) -> SyntheticRun {
    SyntheticRun::healthy()
        .set(&limit(), [100.0; 3])
        .set(&level(), values)
}

/// The same without low load, on another machine.
fn healthy() -> Vec<(String, f64)> {
    vec![
        (metric::TARGET_IS_LOCAL.to_owned(), 0.0),
        (limit(), 100.0),
        (level(), 41.5),
    ]
}

#[test]
fn a_gauge_that_reaches_its_limit_at_the_line() {
    check(
        &run([3.0, 41.5, 100.0]),
        RuleId::S12,
        Certainty::Suspected,
        0.8,
        "queue_depth (queue:mail) was at its limit of 100 in 100 % of the seconds, on average 41.5 below the line",
    );
    let finding = only(
        found_in(&healthy(), &[(level(), 104.0)]),
        RuleId::S12,
        [
            "queue_depth (queue:mail) of the application (10.0.0.7:1)",
            "at its limit of 100",
            "raise the limit in the application (now 100)",
        ],
    );
    assert_eq!(finding.tier, Some(Tier::Runtime));
    let [line] = &finding.evidence[..] else {
        panic!("{finding:#?}");
    };
    assert_eq!(line.label, "queue_depth (queue:mail)");
    assert_eq!(
        (line.passing, line.failing, line.bound),
        (Some(41.5), Some(104.0), Some(100.0))
    );
}

/// As strong as any other capacity that is used up: nothing but strength and onset decides.
#[test]
fn it_ranks_as_other_capacities() {
    let strength = |rule: RuleId| definition(rule).checks()[0].strength;
    for other in [RuleId::J6, RuleId::R1] {
        assert_eq!(strength(RuleId::S12), strength(other));
    }
    assert_eq!(strength(RuleId::S12), Strength::Queue);
}

#[test]
fn a_gauge_that_is_always_at_its_limit_did_not_set_the_line() {
    check(
        &run([100.0; 3]),
        RuleId::S12,
        Certainty::Possible,
        0.16,
        "on average 100 below the line",
    );
    let found = found_in(&[healthy(), vec![(level(), 100.0)]].concat(), &[]);
    let finding = only(found, RuleId::S12, ["", "", ""]);
    assert!((finding.score - 0.4).abs() < 1e-9, "{finding:#?}");
}

#[test]
fn a_gauge_that_is_never_near_its_limit_is_silent() {
    assert_eq!(run([3.0, 41.0, 99.0]).find(), []);
    // Reached in one second of ten: not sustained.
    let once = found_over(&healthy(), |nth| {
        vec![(level(), if nth == 4 { 100.0 } else { 80.0 })]
    });
    assert_eq!(once, []);
}

#[test]
fn a_missing_gauge_is_silent() {
    assert_eq!(SyntheticRun::healthy().find(), []);
    // Without a limit it is a series as any other.
    assert_eq!(run([3.0, 41.0, 100.0]).without(&limit()).find(), []);
    assert_eq!(run([3.0, 41.0, 100.0]).without(&level()).find(), []);
    assert_eq!(found_over_gaps(&healthy(), &[], &[level(), limit()]), []);
}

/// Of several, the one that came with the load is named, whatever others are full all the time.
#[test]
fn of_several_gauges_the_one_that_filled_is_named() {
    let other = gauge(metric::FIGURES_LEVEL, "queue:images");
    let run = run([3.0, 41.0, 100.0])
        .set(&gauge(metric::FIGURES_LIMIT, "queue:images"), [5.0; 3])
        .set(&other, [5.0; 3]);
    let found = run.find();
    assert_eq!(
        rules_and_causes(&found),
        [(RuleId::S12, None)],
        "{found:#?}"
    );
    assert!(
        found[0].limit.starts_with("queue_depth (queue:mail)"),
        "{found:#?}"
    );
}

/// A queue fills because what is behind it has no room.
#[test]
fn a_gauge_before_a_full_store_follows_from_it() {
    let mut healthy = healthy();
    healthy.push((at(metric::MEMCACHED_REFUSED), 0.0));
    let failing = [(level(), 100.0), (at(metric::MEMCACHED_REFUSED), 90.0)];
    let found: Vec<Finding> = found_in(&healthy, &failing);
    let ids = rules_and_causes(&found);
    assert_eq!(
        ids,
        [(RuleId::K6, None), (RuleId::S12, Some(RuleId::K6))],
        "{found:#?}"
    );
}

#[test]
fn numbers_without_idle_digits() {
    for (value, right) in [
        (100.0, "100"),
        (1234.56, "1235"),
        (41.5, "41.5"),
        (10.0, "10"),
        (0.9, "0.9"),
        (0.123, "0.12"),
        (0.0, "0"),
    ] {
        assert_eq!(plain(value), right);
    }
}
