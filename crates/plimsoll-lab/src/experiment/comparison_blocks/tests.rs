//! Comparisons in virtual time: equal services, a slower one, and a machine that is disturbed now and then.

use std::collections::BTreeMap;

use plimsoll_analysis::experiment::comparison::ComparisonVerdict;
use plimsoll_analysis::experiment::effect::Direction;
use plimsoll_analysis::experiment::metrics::{ERRORS, P50, P95, P99, THROUGHPUT};
use plimsoll_analysis::experiment::trial::Scale;
use plimsoll_testkit::compared_services::ComparedServices;
use plimsoll_testkit::queue::quantiles_of;

use super::*;
use crate::experiment::trial::{PlannedTrial, TrialRole, TrialTraffic};

fn blocks(budget: Duration) -> ComparisonBlocks {
    let criteria = Criteria {
        replicates: 100,
        ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, Seed(1))
    };
    ComparisonBlocks::new([9, 14], budget, criteria, Seed(1))
}

/// The record of a trial; all take as long.
fn record(
    index: u32,
    block: u32,
    position: u32,
    cell: usize,
    outcome: RecordedOutcome,
    lasting_ms: u64,
) -> TrialRecord {
    TrialRecord {
        trial: PlannedTrial {
            index,
            block,
            position,
            cell,
            role: TrialRole::Cell,
            seed: Seed(1),
        },
        began_ms: u64::from(index) * lasting_ms,
        ended_ms: u64::from(index + 1) * lasting_ms,
        outcome,
        traffic: TrialTraffic::default(),
        runs: Vec::new(),
        notes: Vec::new(),
    }
}

/// Carries out blocks of trials of ten seconds each whose line of the candidate is `factor` times that of the baseline.
fn carry_out(blocks: &mut ComparisonBlocks, factor: impl Fn(u32) -> f64) -> Vec<TrialRecord> {
    let mut records: Vec<TrialRecord> = Vec::new();
    for block in 0..100 {
        let planned = blocks.next_block(block, &records);
        if planned.is_empty() {
            return records;
        }
        for (position, (cell, role)) in (0..).zip(planned) {
            assert_eq!(role, TrialRole::Cell);
            let index = u32::try_from(records.len()).unwrap();
            let line = if cell == CANDIDATE_CELL {
                1000.0 * factor(block)
            } else {
                1000.0
            };
            let outcome =
                RecordedOutcome::Measured(BTreeMap::from([("load_line".to_owned(), line)]));
            records.push(record(index, block, position, cell, outcome, 10_000));
        }
    }
    records
}

#[test]
fn the_first_look_that_decides_is_the_last() {
    let mut blocks = blocks(Duration::from_hours(1));
    let records = carry_out(&mut blocks, |_| 0.9);
    assert_eq!(records.len(), 9 * 4);
    let result = blocks.result(&records);
    assert_eq!(result.comparison().verdict(), ComparisonVerdict::Worse);
}

#[test]
fn without_a_decision_it_ends_at_the_last_look() {
    let mut blocks = blocks(Duration::from_hours(1));
    let swing = |block: u32| if block.is_multiple_of(2) { 0.9 } else { 1.1 };
    let records = carry_out(&mut blocks, swing);
    assert_eq!(records.len(), 14 * 4);
    let result = blocks.result(&records);
    assert_eq!(result.comparison().verdict(), ComparisonVerdict::Undecided);
}

#[test]
fn a_side_that_always_fails_ends_it_early() {
    let mut blocks = blocks(Duration::from_hours(1));
    let mut records = Vec::new();
    for block in 0..3 {
        let planned = blocks.next_block(block, &records);
        assert_eq!(planned.len(), 4);
        let mut more = carry_out(&mut self::blocks(Duration::ZERO), |_| 1.0);
        for record in &mut more {
            record.trial.block = block;
            if record.trial.cell == CANDIDATE_CELL {
                record.outcome = RecordedOutcome::Failed("it died".to_owned());
            }
        }
        records.extend(more);
    }
    assert!(blocks.next_block(3, &records).is_empty());
    let result = blocks.result(&records);
    assert_eq!(result.failed(), (0, 6));
    assert_eq!(result.comparison().verdict(), ComparisonVerdict::Worse);
}

#[test]
fn the_budget_is_kept() {
    let mut blocks = blocks(Duration::from_secs(205));
    let mut records = carry_out(&mut blocks, |_| 0.9);
    assert_eq!(records.len(), 5 * 4);
    assert_eq!(blocks.blocks_that_fit(&records), Some(5));
    assert_eq!(blocks.cells_left(&records[..4]).len(), 16);
    assert_eq!(blocks.blocks_that_fit(&[]), None);
    // A night between a kill and the start that goes on costs nothing.
    for record in &mut records[8..] {
        record.began_ms += 40_000_000;
        record.ended_ms += 40_000_000;
    }
    assert_eq!(blocks.next_block(4, &records[..16]).len(), 4);
    assert!(blocks.next_block(5, &records).is_empty());
}

#[test]
fn more_time_allows_more_blocks() {
    let looks = |minutes| looks_within([11, 22], Duration::from_mins(minutes));
    assert_eq!(
        [looks(1), looks(10), looks(20)],
        [[11, 22], [11, 22], [22, 44]]
    );
    assert_eq!(looks(6000), [1000, 1000]);
}

#[test]
fn two_sides_that_fail_end_it_after_a_block() {
    let mut blocks = blocks(Duration::from_hours(1));
    let mut records = carry_out(&mut self::blocks(Duration::ZERO), |_| 1.0);
    for record in &mut records {
        record.outcome = RecordedOutcome::Failed("no such program".to_owned());
    }
    assert_eq!(records.len(), 4);
    assert!(blocks.next_block(1, &records).is_empty());
}

/// The quantiles of the response times of a trial of 100 requests per second; void without them.
fn outcome(times: Option<Vec<f64>>) -> RecordedOutcome {
    let Some(times) = times else {
        return RecordedOutcome::Void("robbed".to_owned());
    };
    let [p50, p95, p99] = quantiles_of(&times);
    let metrics = [
        (THROUGHPUT, 100.0),
        (P50, p50),
        (P95, p95),
        (P99, p99),
        (ERRORS, 0.0),
    ];
    RecordedOutcome::Measured(metrics.map(|(name, value)| (name.to_owned(), value)).into())
}

/// A service of 5 ms against one of 5 ms times `factor`, until the comparison ends. A trial takes 6.5 s.
fn compared(factor: f64, seed: u64) -> (ComparisonVerdict, u64) {
    let criteria = Criteria {
        replicates: 100,
        ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, Seed(seed))
    };
    let budget = Duration::from_mins(10);
    let mut blocks = ComparisonBlocks::new(LOOKS_AT_RATE, budget, criteria, Seed(seed));
    let mut services = ComparedServices::new(factor, Seed(seed));
    let mut records = Vec::new();
    for block in 0..100 {
        let planned = blocks.next_block(block, &records);
        if planned.is_empty() {
            break;
        }
        services.begin_block(block);
        for (position, (cell, _)) in (0..).zip(planned) {
            let outcome = outcome(services.trial(position, cell == CANDIDATE_CELL));
            let index = u32::try_from(records.len()).unwrap();
            records.push(record(index, block, position, cell, outcome, 6_500));
        }
    }
    let verdict = blocks.result(&records).comparison().verdict();
    (verdict, records.last().unwrap().ended_ms)
}

fn count(comparisons: u64, factor: f64, wanted: &[ComparisonVerdict]) -> usize {
    (0..comparisons)
        .map(|seed| compared(factor, seed))
        .inspect(|(_, ended_ms)| assert!(*ended_ms <= 600_000, "{ended_ms}"))
        .filter(|(verdict, _)| wanted.contains(verdict))
        .count()
}

#[test]
fn equal_services_alarm_in_at_most_two_of_a_hundred() {
    let wanted = [ComparisonVerdict::Better, ComparisonVerdict::Worse];
    let alarms = count(200, 1.0, &wanted);
    assert!(alarms <= 4, "{alarms} of 200");
}

#[test]
fn five_percent_are_found_in_nine_of_ten_within_ten_minutes() {
    let found = count(50, 1.05, &[ComparisonVerdict::Worse]);
    assert!(found >= 45, "{found} of 50");
}

/// The canary of ten blocks that Kayenta passed: seven times a hundred, three times one.
#[test]
fn kayentas_sample_is_worse() {
    let mut blocks = blocks(Duration::from_secs(405));
    let slow = |block: u32| !matches!(block, 2 | 5 | 8);
    let records = carry_out(&mut blocks, |block| if slow(block) { 0.01 } else { 1.0 });
    assert_eq!(records.len(), 10 * 4);
    let verdict = blocks.result(&records).comparison().verdict();
    assert_eq!(verdict, ComparisonVerdict::Worse);
}
