//! The blocks of a comparison of two sides: A B B A or B A A B, until the data decides or the budget is spent.
//!
//! The data is looked at twice, after a fixed number of blocks, and each look spends its part of the error
//! ([`Criteria::error`]). A budget that ends the blocks earlier takes the place of the looks that are left.

use std::cmp::Ordering;
use std::time::Duration;

use plimsoll_analysis::experiment::comparison::blocks::{
    BASELINE, BlockComparison, CANDIDATE, TRIALS_PER_BLOCK, compare_blocks,
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

/// Blocks after which trials at a rate are looked at. Holm's correction for three metrics that vary needs eleven at the
/// error of the first look; the last are what ten minutes hold.
pub const LOOKS_AT_RATE: [u32; 2] = [11, 22];
/// The same for load lines, one metric, and a block takes twice as long.
pub const LOOKS_AT_LINE: [u32; 2] = [9, 12];
/// The time that [`LOOKS_AT_RATE`] and [`LOOKS_AT_LINE`] are meant for.
const LOOKS_WITHIN: Duration = Duration::from_mins(10);
/// Blocks of a comparison at most.
const BLOCKS_MAX: u32 = 1000;
/// Chance of a false alarm that each look may spend. Little at the first, so that the last keeps its power; 2 % in all.
const LOOK_ERRORS: [f64; 2] = [0.004, 0.016];
/// Blocks after which a side that has failed in every trial ends the comparison: by chance alone one side would not fail in
/// six trials and the other in none.
const FAILING_BLOCKS: u32 = 3;

/// The looks of a comparison within a time: a longer one has as many more blocks before each. A shorter one is ended by
/// its time.
pub fn looks_within(looks: [u32; 2], within: Duration) -> [u32; 2] {
    let meant_for = LOOKS_WITHIN.as_millis();
    looks.map(|blocks| {
        let blocks = u128::from(blocks) * within.as_millis().max(meant_for) / meant_for;
        u32::try_from(blocks).unwrap_or(BLOCKS_MAX).min(BLOCKS_MAX)
    })
}

/// Sides that have never measured because the service failed.
fn failing_sides(records: &[TrialRecord]) -> usize {
    let is_failing = |cell: &&usize| {
        let mut trials = records.iter().filter(|record| record.trial.cell == **cell);
        trials.all(|record| matches!(record.outcome, RecordedOutcome::Failed(_)))
    };
    let sides = [BASELINE_CELL, CANDIDATE_CELL];
    sides.iter().filter(is_failing).count()
}

/// The blocks of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonBlocks {
    looks: [u32; 2],
    budget: Duration,
    criteria: Criteria,
    seed: Seed,
}

impl ComparisonBlocks {
    /// Blocks that are looked at after each number of `looks`, ascending; there are no more than the last says, and no
    /// more than fit into `budget`. The error of `criteria` is set for each look.
    pub fn new(looks: [u32; 2], budget: Duration, criteria: Criteria, seed: Seed) -> Self {
        Self {
            looks,
            budget,
            criteria,
            seed,
        }
    }

    /// Blocks at most.
    pub fn blocks_max(&self) -> u32 {
        self.looks[1]
    }

    /// What the records show.
    pub fn result(&self, records: &[TrialRecord]) -> BlockComparison {
        let criteria = Criteria {
            error: self.error(records.len() / TRIALS_PER_BLOCK),
            ..self.criteria
        };
        compare_blocks(&Self::trials(records), criteria)
    }

    /// What the look after so many whole blocks may spend: all, if the budget ended them before the first look.
    fn error(&self, blocks: usize) -> f64 {
        match blocks.cmp(&(self.looks[0] as usize)) {
            Ordering::Less => LOOK_ERRORS.iter().sum(),
            Ordering::Equal => LOOK_ERRORS[0],
            Ordering::Greater => LOOK_ERRORS[1],
        }
    }

    /// The records for the arithmetic.
    pub fn trials(records: &[TrialRecord]) -> Vec<ExperimentTrial> {
        let trials = records.iter().map(|record| match record.trial.cell {
            BASELINE_CELL => record.analysed(&BASELINE),
            _ => record.analysed(&CANDIDATE),
        });
        trials.collect()
    }

    /// Whether a further block would exceed the budget, if it takes as long as those before it. The time between a kill and
    /// the start that goes on is not counted.
    fn is_over_budget(&self, block: u32, records: &[TrialRecord]) -> bool {
        let taken_ms: u64 = records.iter().map(TrialRecord::lasted_ms).sum();
        let next_ms = taken_ms as f64 * (1.0 + 1.0 / f64::from(block.max(1)));
        next_ms > self.budget_ms()
    }

    /// Blocks that fit into the budget, at most those of the last look; `None` before the first trial.
    pub fn blocks_that_fit(&self, records: &[TrialRecord]) -> Option<u32> {
        let taken_ms: u64 = records.iter().map(TrialRecord::lasted_ms).sum();
        let trial_ms = taken_ms as f64 / records.len().max(1) as f64;
        let block_ms = trial_ms * TRIALS_PER_BLOCK as f64;
        let most = self.blocks_max();
        let fit = |most: u32| {
            (1..=most)
                .take_while(|count| f64::from(*count) * block_ms <= self.budget_ms())
                .last()
                .unwrap_or(1)
        };
        (taken_ms > 0).then(|| fit(most))
    }

    /// Blocks before the first look, which may decide. Fewer, ended by the budget, have an interval too where each metric has
    /// enough of them for the error that is left, but rarely one that is narrow enough.
    pub fn blocks_needed(&self) -> u32 {
        self.looks[0]
    }

    fn budget_ms(&self) -> f64 {
        self.budget.as_secs_f64() * 1000.0
    }
}

impl Blocks for ComparisonBlocks {
    fn next_block(&mut self, block: u32, records: &[TrialRecord]) -> Vec<BlockTrial> {
        let is_last = block >= self.blocks_max();
        let is_at_end = block > 0
            && (is_last
                || self.is_over_budget(block, records)
                || (block >= FAILING_BLOCKS && failing_sides(records) > 0)
                // There is nothing to compare.
                || failing_sides(records) > 1
                || (self.looks.contains(&block) && self.result(records).is_decided()));
        if is_at_end {
            Vec::new()
        } else {
            mirrored_block(block, self.seed)
        }
    }

    /// The most that are left: the data may decide earlier.
    fn cells_left(&self, records: &[TrialRecord]) -> Vec<usize> {
        let blocks = self.blocks_that_fit(records).unwrap_or(0);
        let planned = (0..blocks).flat_map(|block| mirrored_block(block, self.seed));
        let cells = planned.map(|(cell, _)| cell);
        cells.skip(records.len()).collect()
    }
}

#[cfg(test)]
mod tests;
