//! Trials of a queue with constant service (M/D/1) in virtual time, on a machine that is disturbed now and then.

use std::collections::BTreeMap;

use plimsoll_model::seed::Seed;
use plimsoll_testkit::queue::quantiles_of_a_trial;

use super::*;
use crate::experiment::effect::Direction;
use crate::experiment::metrics::{ERRORS, P50, P95, P99, THROUGHPUT};
use crate::experiment::trial::{Role, Scale};

fn criteria(seed: u64) -> Criteria {
    Criteria {
        error: 0.016,
        replicates: 100,
        ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, Seed(seed))
    }
}

fn trial(block: u32, index: usize, side: usize, outcome: TrialOutcome) -> ExperimentTrial {
    ExperimentTrial::new(block, index as f64, Role::Cell(vec![side]), outcome)
}

fn measured(values: &[(&str, f64)]) -> TrialOutcome {
    let pairs = values
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect::<BTreeMap<_, _>>();
    TrialOutcome::Measured(pairs)
}

/// Five seconds of 100 requests per second; the arrivals are those of the block, for both sides.
fn queue(arrivals: Seed, service_ms: f64) -> TrialOutcome {
    let [p50, p95, p99] = quantiles_of_a_trial(arrivals, service_ms);
    measured(&[
        (THROUGHPUT, 100.0),
        (P50, p50),
        (P95, p95),
        (P99, p99),
        (ERRORS, 0.0),
    ])
}

#[test]
fn kayentas_sample_is_worse() {
    let mut trials = Vec::new();
    for (block, canary) in [
        100.0, 100.0, 1.0, 100.0, 100.0, 1.0, 100.0, 100.0, 1.0, 100.0,
    ]
    .into_iter()
    .enumerate()
    {
        for side in [0, 1, 1, 0] {
            let value = if side == 1 { canary } else { 1.0 };
            let block = u32::try_from(block).unwrap();
            trials.push(trial(block, trials.len(), side, measured(&[(P50, value)])));
        }
    }
    let result = compare_blocks(&trials, criteria(1));
    assert_eq!(result.comparison().verdict(), ComparisonVerdict::Worse);
    assert_eq!((result.valid(), result.void()), (10, 0));
}

/// Twelve equal blocks, of which `change` replaces outcomes by block, position and side.
fn changed(change: impl Fn(u32, usize, usize) -> Option<TrialOutcome>) -> BlockComparison {
    changed_blocks(12, change)
}

fn changed_blocks(
    blocks: u32,
    change: impl Fn(u32, usize, usize) -> Option<TrialOutcome>,
) -> BlockComparison {
    let mut trials = Vec::new();
    for block in 0..blocks {
        for (position, side) in [0, 1, 1, 0].into_iter().enumerate() {
            let outcome = change(block, position, side).unwrap_or_else(|| queue(Seed(1), 5.0));
            trials.push(trial(block, trials.len(), side, outcome));
        }
    }
    compare_blocks(&trials, criteria(1))
}

#[test]
fn void_blocks_do_not_enter_and_too_many_void_the_whole() {
    let some =
        changed(|block, position, _| (block < 4 && position == 2).then_some(TrialOutcome::Void));
    assert_eq!((some.valid(), some.void()), (8, 4));
    assert_eq!(some.comparison().verdict(), ComparisonVerdict::Same);
    assert!(some.comparison().void().is_empty());
    let many =
        changed(|block, position, _| (block < 5 && position == 2).then_some(TrialOutcome::Void));
    assert_eq!(many.comparison().verdict(), ComparisonVerdict::Undecided);
    assert_eq!(many.comparison().void().len(), 1);
}

#[test]
fn a_service_that_fails_on_one_side_is_worse() {
    let head = changed(|block, _, side| (block < 6 && side == 1).then_some(TrialOutcome::Failed));
    assert_eq!(head.failed(), (0, 12));
    assert_eq!(head.valid(), 6);
    assert_eq!(head.comparison().verdict(), ComparisonVerdict::Worse);
    let base = changed(|block, _, side| (block < 6 && side == 0).then_some(TrialOutcome::Failed));
    assert_eq!(base.comparison().verdict(), ComparisonVerdict::Better);
    let once =
        changed(|block, position, _| (block == 0 && position == 1).then_some(TrialOutcome::Failed));
    assert_eq!(once.comparison().verdict(), ComparisonVerdict::Same);
}

/// Six of six against none of five: by halves, five of the candidate's trials would have failed six times.
#[test]
fn a_void_trial_of_the_other_side_does_not_hide_failures() {
    let head = changed_blocks(3, |block, position, side| match (block, position) {
        (0, 0) => Some(TrialOutcome::Void),
        _ => (side == 1).then_some(TrialOutcome::Failed),
    });
    assert_eq!(head.failed(), (0, 6));
    assert!(head.comparison().void().is_empty());
    assert_eq!(head.comparison().verdict(), ComparisonVerdict::Worse);
}

#[test]
fn an_interrupted_block_does_not_count() {
    let all: Vec<ExperimentTrial> = (0..30)
        .map(|index| {
            trial(
                index / 4,
                index as usize,
                usize::from(matches!(index % 4, 1 | 2)),
                queue(Seed(1), 5.0),
            )
        })
        .collect();
    let result = compare_blocks(&all, criteria(1));
    assert_eq!((result.valid(), result.void()), (7, 0));
}

/// Metrics of steps are further chances of a false alarm, so both share the error: seven pairs decide alone, at 1.6 %, and
/// not beside steps.
#[test]
fn steps_share_the_error() {
    let verdict = |with_step: bool| {
        let result = changed_blocks(7, |_, _, side| {
            let value = if side == 1 { 2.0 } else { 1.0 };
            let mut values = vec![(P50, value)];
            if with_step {
                values.push(("p50{journey=shop,step=cart}", value));
            }
            Some(measured(&values))
        });
        result.comparison().verdict()
    };
    assert_eq!(verdict(false), ComparisonVerdict::Worse);
    assert_eq!(verdict(true), ComparisonVerdict::Undecided);
}

#[test]
fn lines_decide_alone_where_they_were_measured() {
    let with_line = |line: f64| measured(&[(LOAD_LINE, line), (P95, 1.0), (THROUGHPUT, 1.0)]);
    let result = changed(|block, _, side| {
        let line = 1000.0 + f64::from(block);
        Some(with_line(if side == 1 { 0.9 * line } else { line }))
    });
    assert_eq!(result.comparison().verdict(), ComparisonVerdict::Worse);
    let line = result.comparison().metric(LOAD_LINE).unwrap();
    assert!((line.estimate.unwrap() - 0.9).abs() < 1e-9);
    assert_eq!(line.evidence, Evidence::Blocks(12));
    let p95 = result.comparison().metric(P95).unwrap();
    assert_eq!(p95.weight, MetricWeight::Reported);
}
