use std::time::Duration;

use plimsoll_model::load_line::{LoadLine, NoLine, SearchResult};
use plimsoll_model::objective::Objective;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::{Verdict, VoidReason};

use super::super::effect::EffectVerdict;
use super::super::metrics::tests::{ending, exponential, run_of};
use super::super::metrics::{ERRORS, LOAD_LINE, MEMORY, P50, P95, THROUGHPUT};
use super::*;

fn criteria(seed: u64) -> RunsCriteria {
    RunsCriteria {
        replicates: 200,
        ..RunsCriteria::standard(Seed(seed))
    }
}

fn compare(baseline: &Run, candidate: &Run) -> Comparison {
    compare_runs(baseline, candidate, criteria(1))
}

#[test]
fn equal_laws_rarely_alarm() {
    let alarms = (0..25)
        .filter(|&seed| {
            let [a, b] = [2 * seed, 2 * seed + 1].map(|seed| run_of(40, seed, exponential(10.0)));
            let verdict = compare_runs(&a, &b, criteria(seed)).verdict();
            matches!(
                verdict,
                ComparisonVerdict::Better | ComparisonVerdict::Worse
            )
        })
        .count();
    assert!(alarms <= 2, "{alarms} of 25");
}

#[test]
fn a_fifth_slower_is_worse_and_the_interval_holds_it() {
    let (before, after) = (
        run_of(60, 1, exponential(10.0)),
        run_of(60, 2, exponential(12.0)),
    );
    let comparison = compare(&before, &after);
    assert_eq!(comparison.verdict(), ComparisonVerdict::Worse);
    for name in [P50, P95] {
        let metric = comparison.metric(name).unwrap();
        assert_eq!(metric.verdict, EffectVerdict::Worse, "{metric:?}");
        assert!(
            metric.low.unwrap() < 1.2 && metric.high.unwrap() > 1.2,
            "{metric:?}"
        );
        assert_eq!(
            metric.evidence,
            Evidence::Batches {
                counts: (12, 12),
                seconds: (5, 5)
            }
        );
    }
    let throughput = comparison.metric(THROUGHPUT).unwrap();
    assert_eq!(throughput.verdict, EffectVerdict::Same);
    assert_eq!(
        compare(&after, &before).verdict(),
        ComparisonVerdict::Better
    );
}

#[test]
fn constant_times_are_the_same() {
    let run = || run_of(40, 1, |_, _| 8.0);
    let comparison = compare(&run(), &run());
    assert_eq!(comparison.verdict(), ComparisonVerdict::Same);
    let errors = comparison.metric(ERRORS).unwrap();
    assert_eq!((errors.low, errors.high), (Some(0.0), Some(0.0)));
}

/// Kayenta's sample that was passed: seven of ten stretches a hundred times slower.
#[test]
fn most_stretches_a_hundred_times_slower_are_worse() {
    let control = run_of(50, 1, |_, _| 1.0);
    let canary = run_of(
        50,
        1,
        |second, _| {
            if (second / 5) % 3 == 2 { 1.0 } else { 100.0 }
        },
    );
    let comparison = compare(&control, &canary);
    assert_eq!(comparison.verdict(), ComparisonVerdict::Worse);
    assert!(comparison.metric(P50).unwrap().is_of_mean);
}

#[test]
fn short_runs_decide_nothing() {
    let run = || run_of(24, 1, |_, _| 8.0);
    let comparison = compare(&run(), &run());
    assert_eq!(comparison.verdict(), ComparisonVerdict::Undecided);
    let p50 = comparison.metric(P50).unwrap();
    assert_eq!((p50.low, p50.high), (None, None));
    assert_eq!(p50.verdict, EffectVerdict::TooFew);
    assert_eq!(p50.estimate, Some(1.0));
    assert_eq!(p50.evidence, Evidence::SingleValues);
    assert_eq!(comparison.metric(MEMORY), None);
}

#[test]
fn errors_alone_are_worse() {
    let before = run_of(40, 1, |_, _| 8.0);
    let mut after = before.clone();
    for window in &mut after.windows {
        window.outcomes.add_many(Outcome::WrongStatus, 4);
    }
    let comparison = compare(&before, &after);
    assert_eq!(comparison.verdict(), ComparisonVerdict::Worse);
    let errors = comparison.metric(ERRORS).unwrap();
    assert!((errors.estimate.unwrap() - 4.0 / 204.0).abs() < 1e-9);
}

#[test]
fn what_differs_is_named() {
    let before = run_of(20, 1, |_, _| 8.0);
    let what = |change: &dyn Fn(&mut Run)| {
        let mut after = before.clone();
        change(&mut after);
        let comparison = compare(&before, &after);
        let names: Vec<String> = comparison
            .differences()
            .iter()
            .map(|difference| difference.what().to_owned())
            .collect();
        if !names.is_empty() {
            assert_eq!(comparison.verdict(), ComparisonVerdict::Incomparable);
            assert!(comparison.metrics().is_empty());
        }
        names
    };
    assert_eq!(
        what(&|run| run.header.plan.objective = Some(Objective::default())),
        ["objective"]
    );
    assert_eq!(
        what(&|run| run.header.plan.request.paths = vec!["/other".to_owned()]),
        ["path"]
    );
    assert_eq!(
        what(&|run| {
            run.header.plan.load = Load::Closed {
                connections: 2,
                think: Duration::ZERO,
                lasting: Duration::from_secs(20),
            };
        }),
        ["load"]
    );
    assert_eq!(
        what(&|run| {
            run.header
                .host
                .insert("cpu_model".to_owned(), "another".to_owned());
        }),
        ["processor"]
    );
    assert_eq!(
        what(&|run| run.header.command = "limit".to_owned()),
        ["command"]
    );
    // Another server, name and seed are no other plan.
    let same = what(&|run| {
        run.header.plan.name = "other".to_owned();
        run.header.plan.seed = Seed(99);
        run.header.plan.target.url = "http://other/".to_owned();
        run.header.plan.request.headers = vec![("Host".to_owned(), "other".to_owned())];
    });
    assert_eq!(same, [""; 0]);
}

#[test]
fn other_machines_are_compared_on_purpose_only() {
    let on = |cores: &str, time_ms: f64| {
        let mut run = run_of(40, 1, move |_, _| time_ms);
        run.header.host.insert("cores".to_owned(), cores.to_owned());
        run
    };
    let (before, mut after) = (on("2", 8.0), on("4", 6.0));
    let across = RunsCriteria {
        is_across_machines: true,
        ..criteria(1)
    };
    assert_eq!(
        compare(&before, &after).verdict(),
        ComparisonVerdict::Incomparable
    );
    let comparison = compare_runs(&before, &after, across);
    assert_eq!(comparison.verdict(), ComparisonVerdict::Better);
    assert_eq!(comparison.differences().len(), 1);
    // Another objective is no machine.
    after.header.plan.objective = None;
    let comparison = compare_runs(&before, &after, across);
    assert_eq!(comparison.verdict(), ComparisonVerdict::Incomparable);
}

#[test]
fn void_runs_decide_nothing() {
    let before = run_of(40, 1, |_, _| 8.0);
    let mut after = run_of(40, 1, |_, _| 80.0);
    after.ending = Some(ending(Verdict::Void));
    after.ending.as_mut().unwrap().void = vec![VoidReason::NotSteady];
    let comparison = compare(&before, &after);
    assert_eq!(comparison.verdict(), ComparisonVerdict::Undecided);
    assert_eq!(comparison.void().len(), 1);
    assert!(comparison.void()[0].starts_with("candidate: "));
}

fn search(line: Result<(f64, f64, f64), NoLine>) -> Run {
    let mut run = run_of(1, 1, |_, _| 8.0);
    run.header.command = "limit".to_owned();
    run.search = Some(SearchResult {
        line: line.map(|(low, median, high)| LoadLine {
            unit: LoadUnit::RequestsPerSecond,
            median,
            low,
            high,
            verified: low,
            confirmed_trials: 5,
            confirmed_passes: 5,
            pass_probability_low: 0.5,
            broken: None,
            trial_s: 10,
        }),
        remarks: Vec::new(),
    });
    run
}

#[test]
fn the_ratio_of_lines_has_the_interval_of_both() {
    let comparison = compare(
        &search(Ok((950.0, 1000.0, 1050.0))),
        &search(Ok((1150.0, 1200.0, 1250.0))),
    );
    assert_eq!(comparison.verdict(), ComparisonVerdict::Better);
    let line = comparison.metric(LOAD_LINE).unwrap();
    for (value, expected) in [
        (line.estimate, 1.2),
        (line.low, 1.1109),
        (line.high, 1.2974),
    ] {
        let value = value.unwrap();
        assert!((value - expected).abs() < 2e-3, "{value}, {expected}");
    }
}

#[test]
fn lines_decide_by_their_intervals() {
    let verdict = |before, after| compare(&search(before), &search(after)).verdict();
    let near = || Ok((995.0, 1000.0, 1005.0));
    assert_eq!(verdict(near(), near()), ComparisonVerdict::Same);
    let wide = || Ok((900.0, 1000.0, 1100.0));
    assert_eq!(verdict(wide(), wide()), ComparisonVerdict::Undecided);
    assert_eq!(
        verdict(near(), Ok((900.0, 910.0, 920.0))),
        ComparisonVerdict::Worse
    );
    let missed = || {
        Err(NoLine::MissedAtOnce {
            alone_us: Some(1),
            errors: 0.0,
        })
    };
    assert_eq!(verdict(near(), missed()), ComparisonVerdict::Worse);
    assert_eq!(verdict(missed(), near()), ComparisonVerdict::Better);
    assert_eq!(verdict(missed(), missed()), ComparisonVerdict::Undecided);
    let beyond = Err(NoLine::NotReached {
        highest_passed: 2000.0,
    });
    assert_eq!(verdict(near(), beyond.clone()), ComparisonVerdict::Better);
    assert_eq!(verdict(beyond, near()), ComparisonVerdict::Worse);
    let unreached = || {
        Err(NoLine::Interrupted {
            estimate: None,
            highest_passed: None,
        })
    };
    assert_eq!(verdict(near(), unreached()), ComparisonVerdict::Undecided);
}
