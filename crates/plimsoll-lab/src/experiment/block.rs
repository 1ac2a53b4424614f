//! Which trials a block has, and when there is no further block.

use plimsoll_analysis::experiment::order::{mirrored_order, random_order};
use plimsoll_model::seed::Seed;

use super::trial::{PlannedTrial, TrialRecord, TrialRole};

/// A trial of a block: the cell and what the trial is for.
pub type BlockTrial = (usize, TrialRole);

/// Decides on each block from the records of those before it. The decision is a function of the records alone: a
/// resumed experiment then makes the same.
pub trait Blocks {
    /// The trials of a block in their order; empty when the experiment is at its end. Blocks are asked for in their
    /// order, also those that the log has already.
    fn next_block(&mut self, block: u32, records: &[TrialRecord]) -> Vec<BlockTrial>;

    /// Whether the experiment ends before this trial, for example because it would exceed a budget.
    fn is_spent(&mut self, _next: &PlannedTrial, _records: &[TrialRecord]) -> bool {
        false
    }

    /// The cells of the trials that are left after these records, as far as it is known; for a forecast.
    fn cells_left(&self, _records: &[TrialRecord]) -> Vec<usize> {
        Vec::new()
    }
}

/// The cells of `alive` in a random order of the block, after the reference trial.
pub fn random_block(
    alive: &[usize],
    reference: Option<usize>,
    block: u32,
    seed: Seed,
) -> Vec<BlockTrial> {
    let reference = reference.map(|cell| (cell, TrialRole::Reference));
    let order = random_order(alive.len(), block, seed);
    let cells = order
        .into_iter()
        .map(|index| (alive[index], TrialRole::Cell));
    reference.into_iter().chain(cells).collect()
}

/// Two cells as A B B A or B A A B, by chance.
pub fn mirrored_block(block: u32, seed: Seed) -> Vec<BlockTrial> {
    mirrored_order(block, seed)
        .map(|cell| (cell, TrialRole::Cell))
        .to_vec()
}
