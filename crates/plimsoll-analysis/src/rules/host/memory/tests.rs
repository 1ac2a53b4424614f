//! Memory, on made-up series.

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::Stretches;
use crate::diagnosis::rule_id::RuleId;
use crate::findings::find_in;
use crate::rules::host::tests::{calm, context, major_faults, paging, row, stall};
use crate::rules::tests::{SyntheticRun, cgroup, check, of, rules_of};

#[test]
fn m2_a_process_killed_for_want_of_memory() {
    // The machine's counter counts the kill of the cgroup too: one kill, one finding.
    let run = SyntheticRun::healthy()
        .set(&cgroup(metric::CGROUP_OOM_KILLS), [0.0, 0.0, 0.1])
        .set(metric::OOM_KILLS, [0.0, 0.0, 0.1]);
    let expected = "the OOM killer killed 1 processes of cgroup /shop; its limit is 64 MiB";
    check(&run, RuleId::M2, Certainty::Explicit, 1.0, expected);
    let machine = SyntheticRun::healthy().set(metric::OOM_KILLS, [0.0, 0.0, 0.3]);
    check(
        &machine,
        RuleId::M2,
        Certainty::Explicit,
        1.0,
        "3 processes of this machine",
    );
}

#[test]
fn memory_that_is_short() {
    let stalled = calm().set(&stall("memory", "full"), [0.0, 0.01, 0.3]);
    let expected = "all tasks waited for it 30 % of the time";
    check(&stalled, RuleId::M1, Certainty::Suspected, 0.8, expected);
    let thrashing = calm().set(&major_faults(), [1.0, 3.0, 2000.0]);
    let expected = "2000 pages a second were read back from disk";
    check(&thrashing, RuleId::M1, Certainty::Suspected, 0.8, expected);
    let swapping = calm().set(&paging("in"), [0.0, 0.0, 400.0]);
    let expected = "400 pages a second were swapped in and 80 out";
    check(&swapping, RuleId::M3, Certainty::Suspected, 0.8, expected);
    // What is only swapped out was idle.
    assert_eq!(calm().set(&paging("out"), [0.0, 0.0, 9000.0]).find(), []);
    let high = calm().set(&cgroup(metric::CGROUP_MEMORY_HIGH), [0.0, 0.0, 12.0]);
    let expected = "12 times a second cgroup /shop was throttled";
    check(&high, RuleId::M5, Certainty::Explicit, 1.0, expected);
}

/// Anchors of 15 s every two minutes; memory as `at` says, bytes at a second.
fn anchors(at: impl Fn(f64) -> f64) -> Vec<Finding> {
    let mut readings = SeriesTable::default();
    let starts = [0, 120, 240, 360, 480];
    let spans: Vec<(u32, u32)> = starts.iter().map(|&start| (start, start + 15)).collect();
    for second in spans
        .iter()
        .flat_map(|&(from, to)| from..to)
        .chain(600..610)
    {
        // As much noise as a heap makes that is collected now and then.
        let noise = f64::from(second * 37 % 11) * 1e5;
        let values = [
            (metric::TARGET_IS_LOCAL.to_owned(), 1.0),
            (metric::MEMORY_LIMIT.to_owned(), 2e9),
            (
                of(metric::PROCESS_MEMORY, metric::TARGET),
                at(f64::from(second)) + noise,
            ),
        ];
        readings.push(&row(second, values.into_iter().collect()));
    }
    let stretches = Stretches {
        base: spans,
        passing: None,
        failing: Some((600, 610)),
    };
    find_in(&readings, &[], &stretches, &context())
}

#[test]
fn memory_that_leaks() {
    // 360 MB an hour.
    let found = anchors(|second| 1e8 + 1e5 * second);
    assert_eq!(rules_of(&found), [RuleId::M4], "{found:#?}");
    let expected = [
        "the target's memory grew by",
        "MiB an hour (95 % interval ",
        "it reaches its limit in 5.",
    ];
    for expected in expected {
        assert!(
            found[0].sentence.contains(expected),
            "{expected}: {}",
            found[0].sentence
        );
    }
}

#[test]
fn memory_that_stands_or_fills_a_cache_does_not_leak() {
    assert_eq!(anchors(|_| 1e8), []);
    assert_eq!(anchors(|second| 1e8 + 1e5 * second.min(200.0)), []);
    // Too slow to matter: a tenth of a percent an hour.
    assert_eq!(anchors(|second| 1e8 + 30.0 * second), []);
}
