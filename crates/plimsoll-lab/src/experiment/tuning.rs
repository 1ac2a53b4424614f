//! The blocks of a search for settings.
//!
//! Block 0 is the load line of the default by a whole search, which sizes the rising loads of all other trials. Then come
//! the blocks that [`TuneSearch`] asks for, and in the end, for a setting that is adopted, the load line of that by a whole
//! search, which names the next limit. Everything is a function of the records.

pub mod lines;
pub mod ramp;
mod scores;
#[cfg(test)]
mod tests;
mod times;
pub mod users;
pub mod watched;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::tuning::{
    KnobSpace, Observation, Space, Step, TuneLimits, TuneOutcome, TuneSearch,
};
use plimsoll_model::experiment::{CommandLine, Experiment, Measurement, Tuning, Warm};
use plimsoll_model::price::HeldResources;
use plimsoll_model::seed::Seed;

pub use self::ramp::{RampShape, TrialRamps};
use self::times::{RestTimes, TrialTimes};
use super::block::{BlockTrial, Blocks};
use super::trial::{PlannedTrial, RecordedOutcome, TrialRecord, TrialRole};

/// Trials of a load line by a whole search at most; a void one is repeated.
const LIMIT_TRIALS_MAX: usize = 2;
/// Blocks at the begin in which the load line of the default may be searched.
const LIMIT_BLOCKS: u32 = 2;
/// Time for a service to stop and for everything to be put back.
const STOP_TIME: Duration = Duration::from_mins(1);

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneStage {
    /// The load line of the default.
    Baseline,
    /// Settings are tried.
    Search,
    /// The best setting is compared with the default.
    Confirm,
    /// The load line of the best setting.
    Limit,
}

impl TuneStage {
    /// The stage that a trial is of.
    pub fn of(trial: &PlannedTrial) -> Self {
        match trial.role {
            TrialRole::Reference | TrialRole::Cell => Self::Search,
            TrialRole::Confirm => Self::Confirm,
            TrialRole::Limit if trial.block < LIMIT_BLOCKS => Self::Baseline,
            TrialRole::Limit => Self::Limit,
        }
    }
}

/// The blocks of a search for settings.
#[derive(Clone, Debug)]
pub struct TuneBlocks {
    experiment: Arc<Experiment>,
    tuning: Tuning,
    seed: Seed,
    within: Duration,
    machine: HeldResources,
}

impl TuneBlocks {
    /// The search of an experiment with knobs. `seed` is that of the log's header, `within` the time of all trials together,
    /// and `machine` what the machine has, for prices.
    ///
    /// # Panics
    /// When the experiment has no knobs.
    pub fn new(
        experiment: Arc<Experiment>,
        seed: Seed,
        within: Duration,
        machine: HeldResources,
    ) -> Self {
        let tuning = experiment.tuning.clone().expect("the experiment has knobs");
        Self {
            experiment,
            tuning,
            seed,
            within,
            machine,
        }
    }

    /// The cell of the settings that stand today.
    pub fn default_cell(&self) -> usize {
        self.cell_of(&self.tuning.default_levels())
    }

    /// The cell of a setting.
    pub fn cell_of(&self, levels: &[usize]) -> usize {
        self.experiment.design.index_of(levels)
    }

    /// What the records show, for the search and for the table of users.
    pub fn scores(&self, records: &[TrialRecord]) -> Vec<Observation> {
        scores::scores(records, &self.experiment, self.default_cell(), self.machine)
    }

    /// The result so far.
    pub fn outcome(&self, records: &[TrialRecord]) -> TuneOutcome {
        let observations = self.scores(records);
        self.search(records, &observations).outcome(&observations)
    }

    /// The longest time of a trial: a longer one hangs.
    pub fn longest_trial(&self) -> Duration {
        let experiment = &self.experiment;
        let search = match experiment.measure.measurement {
            // Of users, it takes as much longer as they think.
            Measurement::Limit(effort) => effort.longest().saturating_mul(2),
            Measurement::PlanLoad | Measurement::Loads { .. } => Duration::ZERO,
        };
        let within = |command: Option<&CommandLine>| {
            command.map_or(Duration::ZERO, |command| command.within)
        };
        let setups = experiment.setups.iter().map(|setup| {
            let files = setup.files.iter();
            // Each file is written and put back.
            let files =
                files.map(|file| within(file.check.as_ref()) + within(file.reload.as_ref()) * 2);
            let build = setup
                .source
                .as_ref()
                .map(|source| within(source.build.as_ref()));
            // Usually a few signals, there and back.
            let workers = setup.workers.iter().map(|signals| signals.within * 4);
            files.sum::<Duration>() + workers.sum::<Duration>() + build.unwrap_or_default()
        });
        let checks = [&experiment.ready, &experiment.health]
            .into_iter()
            .flatten();
        // A service is waited for when it starts, and when it comes back.
        let ready: Duration = checks.map(|check| check.within * 2).sum();
        let warm = experiment.warm.map_or(Duration::ZERO, Warm::longest);
        let around = setups.sum::<Duration>() + ready + warm + within(experiment.reset.as_ref());
        search.max(ramp::LONGEST) + around + experiment.settle + STOP_TIME
    }

    /// The last whole search of the load line of a cell.
    pub fn limit_record<'r>(
        &self,
        records: &'r [TrialRecord],
        cell: usize,
    ) -> Option<&'r TrialRecord> {
        let is_limit = |record: &&TrialRecord| {
            record.trial.role == TrialRole::Limit && record.trial.cell == cell
        };
        records.iter().rev().find(is_limit)
    }

    /// The search with the blocks for which there is time beside the trials that the confirmation takes at least.
    fn search(&self, records: &[TrialRecord], observations: &[Observation]) -> TuneSearch {
        let knobs = self.tuning.knobs.iter().map(|knob| KnobSpace {
            levels: knob.levels.len(),
            is_ordered: knob.is_ordered,
            default: knob.default,
            usual: knob.usual,
        });
        let space = Space::new(knobs.collect());
        let search = |limits| TuneSearch::new(space.clone(), self.seed, limits);
        let mut limits = TuneLimits::STANDARD;
        let times = TrialTimes::of(records);
        let unlimited = search(limits);
        if !times.has_trials() {
            return unlimited;
        }
        let best = unlimited.incumbent(observations);
        let best = best.map_or_else(|| self.default_cell(), |levels| self.cell_of(&levels));
        let pairs = u32::try_from(unlimited.pairs_needed(observations)).unwrap_or(u32::MAX);
        let rest = RestTimes::of(times, self.default_cell(), best, pairs);
        let left = self.within.saturating_sub(times.taken());
        let is_climbing = unlimited.is_climbing(observations);
        limits.blocks = rest.blocks_within(left, is_climbing);
        let smaller = rest.smaller_block_within(left).filter(|_| is_climbing);
        if let (0, Some(settings)) = (limits.blocks, smaller) {
            limits.blocks = 1;
            limits.settings = limits.settings.min(settings);
        } else if limits.blocks == 0 {
            let is_of_search = |record: &&TrialRecord| {
                matches!(record.trial.role, TrialRole::Reference | TrialRole::Cell)
            };
            limits.evaluations = records.iter().filter(is_of_search).count();
            limits.reverts = rest.has_reversion_within(left);
        }
        search(limits)
    }

    /// The load line of a cell by a whole search, unless that is done or cannot be had.
    fn limit_block(&self, records: &[TrialRecord], cell: usize) -> Vec<BlockTrial> {
        let is_limit = |record: &&TrialRecord| {
            record.trial.role == TrialRole::Limit && record.trial.cell == cell
        };
        let attempts = records.iter().filter(is_limit).count();
        let last = self.limit_record(records, cell);
        let is_void = last.is_none_or(|last| matches!(last.outcome, RecordedOutcome::Void(_)));
        if is_void && attempts < LIMIT_TRIALS_MAX {
            vec![(cell, TrialRole::Limit)]
        } else {
            Vec::new()
        }
    }

    fn search_block(&self, records: &[TrialRecord]) -> Vec<BlockTrial> {
        let default = self.default_cell();
        let is_feasible = |levels: &[usize]| self.tuning.is_feasible(levels);
        let observations = self.scores(records);
        let search = self.search(records, &observations);
        match search.next(&observations, &is_feasible) {
            Step::Search(settings) => settings
                .iter()
                .map(|levels| match self.cell_of(levels) {
                    cell if cell == default => (cell, TrialRole::Reference),
                    cell => (cell, TrialRole::Cell),
                })
                .collect(),
            Step::Confirm { candidate, order } => {
                let candidate = self.cell_of(&candidate);
                let cell = |is_candidate| if is_candidate { candidate } else { default };
                let trials = order.map(|it| (cell(it), TrialRole::Confirm));
                trials.to_vec()
            }
            Step::Done => {
                let outcome = self.outcome(records);
                match outcome.best.filter(|_| outcome.adopt) {
                    Some(best) => self.limit_block(records, self.cell_of(&best.levels)),
                    None => Vec::new(),
                }
            }
        }
    }
}

impl Blocks for TuneBlocks {
    fn next_block(&mut self, _block: u32, records: &[TrialRecord]) -> Vec<BlockTrial> {
        let default = self.default_cell();
        let baseline = self.limit_record(records, default);
        if baseline.and_then(ramp::line_of_search).is_some() {
            self.search_block(records)
        } else {
            self.limit_block(records, default)
        }
    }

    fn is_spent(&mut self, next: &PlannedTrial, records: &[TrialRecord]) -> bool {
        let times = TrialTimes::of(records);
        let expected = match next.role {
            TrialRole::Limit => times.of_limit(),
            TrialRole::Reference | TrialRole::Cell | TrialRole::Confirm => {
                times.of_trial(next.cell)
            }
        };
        !records.is_empty() && times.taken().saturating_add(expected) > self.within
    }
}
