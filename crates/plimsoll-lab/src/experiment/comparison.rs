//! The blocks of a comparison of two sides: A B B A or B A A B, until the data decides or the budget is spent.
//!
//! The data is looked at after a fixed number of blocks only, and each look spends its part of the error
//! ([`Criteria::looks`]). A budget that ends the blocks earlier takes the place of the looks that are left.

use std::time::Duration;

use plimsoll_analysis::experiment::comparison::blocks::{
    BASELINE, BlockComparison, CANDIDATE, compare_blocks,
};
use plimsoll_analysis::experiment::effect::Criteria;
use plimsoll_analysis::experiment::trial::ExperimentTrial;
use plimsoll_model::seed::Seed;

use super::block::{BlockTrial, Blocks, mirrored_block};
use super::trial::{RecordedOutcome, TrialRecord};

/// Index of the cell of the baseline.
pub const BASELINE_CELL: usize = 0;
/// Index of the cell of the candidate.
pub const CANDIDATE_CELL: usize = 1;

/// Blocks after which a side that has failed in every trial ends the comparison: by chance alone one side would not fail in
/// six trials and the other in none.
const FAILING_BLOCKS: u32 = 3;

/// Whether a side has never measured because the service failed.
fn has_failing_side(records: &[TrialRecord]) -> bool {
    [BASELINE_CELL, CANDIDATE_CELL].iter().any(|cell| {
        let mut trials = records.iter().filter(|record| record.trial.cell == *cell);
        trials.all(|record| matches!(record.outcome, RecordedOutcome::Failed(_)))
    })
}

/// The blocks of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonBlocks {
    looks: Vec<u32>,
    budget: Duration,
    criteria: Criteria,
    seed: Seed,
}

impl ComparisonBlocks {
    /// Blocks that are looked at after each number of `looks`, ascending; there are no more than the last says, and no
    /// more than fit into `budget`. The looks of `criteria` are set to theirs.
    pub fn new(looks: Vec<u32>, budget: Duration, criteria: Criteria, seed: Seed) -> Self {
        let count = u32::try_from(looks.len()).unwrap_or(u32::MAX).max(1);
        Self {
            looks,
            budget,
            criteria: Criteria {
                looks: count,
                ..criteria
            },
            seed,
        }
    }

    /// What the records show.
    pub fn result(&self, records: &[TrialRecord]) -> BlockComparison {
        compare_blocks(&Self::trials(records), self.criteria)
    }

    /// The records for the arithmetic.
    pub fn trials(records: &[TrialRecord]) -> Vec<ExperimentTrial> {
        let trials = records.iter().map(|record| match record.trial.cell {
            BASELINE_CELL => record.analysed(&BASELINE),
            _ => record.analysed(&CANDIDATE),
        });
        trials.collect()
    }

    /// Whether a further block would exceed the budget, if it takes as long as those before it.
    fn is_over_budget(&self, block: u32, records: &[TrialRecord]) -> bool {
        let taken_ms = records.last().map_or(0, |record| record.ended_ms);
        let next_ms = taken_ms as f64 * (1.0 + 1.0 / f64::from(block.max(1)));
        next_ms > self.budget.as_secs_f64() * 1000.0
    }
}

impl Blocks for ComparisonBlocks {
    fn next_block(&mut self, block: u32, records: &[TrialRecord]) -> Vec<BlockTrial> {
        let is_last = self.looks.last().is_none_or(|&last| block >= last);
        let is_at_end = block > 0
            && (is_last
                || self.is_over_budget(block, records)
                || (block >= FAILING_BLOCKS && has_failing_side(records))
                || (self.looks.contains(&block) && self.result(records).is_decided()));
        if is_at_end {
            Vec::new()
        } else {
            mirrored_block(block, self.seed)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_analysis::experiment::comparison::ComparisonVerdict;
    use plimsoll_analysis::experiment::effect::Direction;
    use plimsoll_analysis::experiment::trial::Scale;

    use super::super::trial::{PlannedTrial, TrialRole};
    use super::*;

    fn blocks(budget: Duration) -> ComparisonBlocks {
        let criteria = Criteria {
            replicates: 100,
            ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, Seed(1))
        };
        ComparisonBlocks::new(vec![8, 14], budget, criteria, Seed(1))
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
                records.push(TrialRecord {
                    trial: PlannedTrial {
                        index,
                        block,
                        position,
                        cell,
                        role,
                        seed: Seed(1),
                    },
                    began_ms: u64::from(index) * 10_000,
                    ended_ms: u64::from(index + 1) * 10_000,
                    outcome: RecordedOutcome::Measured(BTreeMap::from([(
                        "load_line".to_owned(),
                        line,
                    )])),
                    runs: Vec::new(),
                    notes: Vec::new(),
                });
            }
        }
        records
    }

    #[test]
    fn the_first_look_that_decides_is_the_last() {
        let mut blocks = blocks(Duration::from_hours(1));
        let records = carry_out(&mut blocks, |_| 0.9);
        assert_eq!(records.len(), 8 * 4);
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
        let records = carry_out(&mut blocks, |_| 0.9);
        assert_eq!(records.len(), 5 * 4);
    }
}
