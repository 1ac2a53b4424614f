//! Experiments: trials in blocks, and a log that can be resumed.
//!
//! [`run_experiment`] asks [`Blocks`] for the trials of each block and a [`Conduct`] to carry each out, and puts every
//! record into the log before it asks for the next. After `kill -9` the same call goes on where the log ends: at most
//! the trial that was running is repeated, and the records are the same.

pub mod block;
pub mod comparison_blocks;
pub mod forecast;
pub mod log;
pub mod matrix;
pub mod service_trials;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod tuning;
mod warm;

use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::seed::Seed;

use crate::error::LabError;
use crate::progress::StopFlag;
use crate::service::ApplyFault;
use block::{BlockTrial, Blocks};
use log::{ExperimentLog, ExperimentLogError};
use trial::{Conduct, PlannedTrial, TrialError, TrialRecord};

/// Blocks of an experiment at most.
pub const BLOCKS_MAX: u32 = 10_000;
/// Label of the seeds of loads, apart from those of orders.
const LOAD_SEEDS: u64 = 1 << 40;

/// Observer of an experiment. Every method does nothing by default.
pub trait ExperimentWatcher {
    /// A trial begins; `records` are those before it, `left` the cells of it and of those after it, where known.
    fn trial_started(&mut self, _trial: &PlannedTrial, _records: &[TrialRecord], _left: &[usize]) {}
    /// A trial has its record, the last of `records`; `left` are the cells of the trials after it, where known.
    fn trial_ended(&mut self, _records: &[TrialRecord], _left: &[usize]) {}
    /// A block is complete; `left` are the cells of the trials after it, where known. Also called for blocks that the log
    /// has already.
    fn block_ended(&mut self, _block: u32, _records: &[TrialRecord], _left: &[usize]) {}
}

/// Carries out an experiment, or the rest of it: trials that the log already has are not repeated. The seed is that of
/// the log's header.
///
/// # Errors
/// When the log cannot be written or has other trials, or the instrument fails.
pub fn run_experiment(
    log: &mut ExperimentLog,
    blocks: &mut dyn Blocks,
    conduct: &mut dyn Conduct,
    stop: &StopFlag,
    watcher: &mut dyn ExperimentWatcher,
) -> Result<ExperimentEnd, ExperimentError> {
    let mut begun = 0;
    for block in 0..BLOCKS_MAX {
        let records = log.records();
        let planned = blocks.next_block(block, &records[..begun.min(records.len())]);
        if planned.is_empty() {
            break;
        }
        for trial in trials_of(block, begun, &planned, Seed(log.header().seed)) {
            if let Some(record) = log.records().get(begun) {
                if record.trial != trial {
                    return Err(ExperimentLogError::OtherTrials {
                        path: log.path().to_owned(),
                        index: trial.index,
                    }
                    .into());
                }
                begun += 1;
                continue;
            }
            if stop.is_raised() {
                return Ok(ExperimentEnd::Interrupted);
            }
            if blocks.is_spent(&trial, log.records()) {
                return Ok(ExperimentEnd::Spent);
            }
            log.start(trial)?;
            watcher.trial_started(&trial, log.records(), &blocks.cells_left(log.records()));
            match conduct.trial(&trial, log.records()) {
                Ok(record) => log.append(record)?,
                Err(TrialError::Interrupted) => return Ok(ExperimentEnd::Interrupted),
                Err(TrialError::Lab(error)) => return Err(error.into()),
                Err(TrialError::Apply(error)) => return Err(error.into()),
            }
            begun += 1;
            watcher.trial_ended(log.records(), &blocks.cells_left(log.records()));
        }
        let records = &log.records()[..begun];
        watcher.block_ended(block, records, &blocks.cells_left(records));
    }
    Ok(ExperimentEnd::Complete)
}

/// The trials of a block; `begun` is the number of trials before it.
fn trials_of(block: u32, begun: usize, planned: &[BlockTrial], seed: Seed) -> Vec<PlannedTrial> {
    let load_seed = seed.derive(LOAD_SEEDS + u64::from(block));
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    planned
        .iter()
        .enumerate()
        .map(|(position, (cell, role))| PlannedTrial {
            index: number(begun + position),
            block,
            position: number(position),
            cell: *cell,
            role: *role,
            seed: load_seed,
        })
        .collect()
}

/// Why an experiment could not go on; its log can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The log failed.
    #[error(transparent)]
    Log(#[from] ExperimentLogError),
    /// The instrument failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Something that was applied cannot be put back.
    #[error(transparent)]
    Apply(#[from] ApplyFault),
}
