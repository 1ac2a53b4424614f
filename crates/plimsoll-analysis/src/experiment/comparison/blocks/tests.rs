//! Trials of a queue with constant service (M/D/1) in virtual time, on a machine that is disturbed now and then.

use std::collections::BTreeMap;

use plimsoll_model::seed::Seed;
use rand::RngExt as _;

use super::*;
use crate::experiment::effect::Direction;
use crate::experiment::metrics::{ERRORS, P50, P95, P99, THROUGHPUT};
use crate::experiment::order::mirrored_order;
use crate::experiment::trial::{Role, Scale};

/// Blocks after which the data is looked at.
const LOOKS: [u32; 2] = [8, 18];

fn criteria(seed: u64) -> Criteria {
    Criteria {
        looks: 2,
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
    let mut random = arrivals.generator();
    let (mut wait_ms, mut times) = (0.0_f64, Vec::with_capacity(500));
    for _ in 0..500 {
        times.push(wait_ms + service_ms);
        let gap_ms = -10.0 * (1.0 - random.random::<f64>()).ln();
        wait_ms = (wait_ms + service_ms - gap_ms).max(0.0);
    }
    times.sort_by(f64::total_cmp);
    measured(&[
        (THROUGHPUT, 100.0),
        (P50, times[250]),
        (P95, times[475]),
        (P99, times[495]),
        (ERRORS, 0.0),
    ])
}

/// Blocks of a service of 5 ms against one of 5 ms times `factor`. Each trial varies by 1 %; in a quarter of the blocks
/// something else takes a core from a trial on, for as long as a block.
fn trials(blocks: u32, factor: f64, seed: u64) -> Vec<ExperimentTrial> {
    let mut random = Seed(seed).derive(3).generator();
    let (mut trials, mut burning) = (Vec::new(), 0_u32);
    for block in 0..blocks {
        let starts_at = (random.random::<f64>() < 0.25).then(|| random.random_range(0..4_usize));
        for (position, side) in mirrored_order(block, Seed(seed)).into_iter().enumerate() {
            if starts_at == Some(position) {
                burning = 4;
            }
            let burner = if burning > 0 { 1.2 } else { 1.0 };
            burning = burning.saturating_sub(1);
            let noise: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            let level = if side == 1 { factor } else { 1.0 };
            let service_ms = 5.0 * level * burner * (0.01 * noise).exp();
            let outcome = queue(Seed(seed).derive(1000 + u64::from(block)), service_ms);
            trials.push(trial(block, trials.len(), side, outcome));
        }
    }
    trials
}

/// The verdict at the first look that decides, or at the last.
fn verdict(factor: f64, seed: u64) -> ComparisonVerdict {
    let trials = trials(LOOKS[1], factor, seed);
    let look = |blocks: u32| {
        let until: Vec<ExperimentTrial> = trials
            .iter()
            .filter(|trial| trial.block() < blocks)
            .cloned()
            .collect();
        compare_blocks(&until, criteria(seed))
    };
    let first = look(LOOKS[0]);
    if first.is_decided() {
        first.comparison().verdict()
    } else {
        look(LOOKS[1]).comparison().verdict()
    }
}

fn count(trials: u64, factor: f64, wanted: &[ComparisonVerdict]) -> usize {
    (0..trials)
        .filter(|&seed| wanted.contains(&verdict(factor, seed)))
        .count()
}

#[test]
fn equal_services_alarm_in_at_most_two_of_a_hundred() {
    let alarms = count(
        200,
        1.0,
        &[ComparisonVerdict::Better, ComparisonVerdict::Worse],
    );
    assert!(alarms <= 4, "{alarms} of 200");
}

#[test]
fn five_percent_are_found_in_nine_of_ten() {
    let found = count(50, 1.05, &[ComparisonVerdict::Worse]);
    assert!(found >= 45, "{found} of 50");
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
    assert!(result.comparison().metric(P50).unwrap().is_of_mean);
}

/// Twelve equal blocks, of which `change` replaces outcomes by block, position and side.
fn changed(change: impl Fn(u32, usize, usize) -> Option<TrialOutcome>) -> BlockComparison {
    let mut trials = Vec::new();
    for block in 0..12 {
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

#[test]
fn an_interrupted_block_does_not_count() {
    let mut all = trials(8, 1.0, 1);
    all.truncate(30);
    let result = compare_blocks(&all, criteria(1));
    assert_eq!((result.valid(), result.void()), (7, 0));
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
