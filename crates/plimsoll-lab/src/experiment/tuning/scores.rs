//! What the records of trials show, as the search needs it.

use plimsoll_analysis::experiment::metrics::{MEMORY, MetricValues};
use plimsoll_analysis::stats::order::median;
use plimsoll_analysis::tuning::{Guard, Observation, Phase, Score};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::price::HeldResources;

use super::lines::{self, CARRIED, ERRORS_BELOW_LINE, LOAD_LINE_MIN, MEMORY_AVAILABLE};
use crate::experiment::trial::{RecordedOutcome, TrialRecord, TrialRole};

/// Share of errors that is always allowed.
const ERRORS_ALLOWED: f64 = 0.001;
/// Share of the machine's memory that must be available before more memory counts as worse.
const MEMORY_SPARE: f64 = 0.1;

/// The observations of the search. The load line of a setting that is not the default is not among them.
pub(super) fn scores(
    records: &[TrialRecord],
    experiment: &Experiment,
    default_cell: usize,
    machine: HeldResources,
) -> Vec<Observation> {
    let guards = Guards::of(records, experiment, default_cell, machine);
    let observations = records.iter().filter_map(|record| {
        let cell = record.trial.cell;
        let phase = match record.trial.role {
            TrialRole::Limit if cell == default_cell => Phase::Baseline,
            TrialRole::Limit => return None,
            TrialRole::Confirm => Phase::Confirm,
            TrialRole::Reference | TrialRole::Cell => Phase::Search,
        };
        Some(Observation {
            levels: experiment.design.levels_at(cell),
            block: record.trial.block,
            at_s: record.began_ms as f64 / 1e3,
            phase,
            score: score(&record.outcome),
            guard: guards.guard(record),
        })
    });
    observations.collect()
}

fn score(outcome: &RecordedOutcome) -> Score {
    let metrics = match outcome {
        RecordedOutcome::Failed(_) => return Score::Failed,
        RecordedOutcome::Void(_) => return Score::Void,
        RecordedOutcome::Measured(metrics) => metrics,
    };
    let value = |name: &str| metrics.get(name).copied().filter(|value| *value > 0.0);
    match (lines::line(metrics), value(LOAD_LINE_MIN), value(CARRIED)) {
        (Some(line), _, _) => Score::Line(line),
        (None, Some(least), _) => Score::AtLeast(least),
        (None, None, Some(carried)) => Score::Line(carried),
        (None, None, None) => Score::Void,
    }
}

/// What the default has, against which settings are held.
struct Guards<'e> {
    experiment: &'e Experiment,
    machine: HeldResources,
    default_cell: usize,
    errors: Option<f64>,
    memory: Option<f64>,
    price: Option<f64>,
}

impl<'e> Guards<'e> {
    fn of(
        records: &[TrialRecord],
        experiment: &'e Experiment,
        default_cell: usize,
        machine: HeldResources,
    ) -> Self {
        let of_default = |name: &str| {
            let defaults = records.iter().filter(|record| {
                record.trial.cell == default_cell && record.trial.role != TrialRole::Limit
            });
            let values: Vec<f64> = defaults.filter_map(|it| value(it, name)).collect();
            median(&values)
        };
        Self {
            experiment,
            machine,
            default_cell,
            errors: of_default(ERRORS_BELOW_LINE),
            memory: of_default(MEMORY),
            price: price(experiment, default_cell, machine),
        }
    }

    fn guard(&self, record: &TrialRecord) -> Guard {
        let cell = record.trial.cell;
        if cell == self.default_cell || record.trial.role == TrialRole::Limit {
            return Guard::default();
        }
        let errors = value(record, ERRORS_BELOW_LINE).zip(self.errors);
        let price = price(self.experiment, cell, self.machine).zip(self.price);
        Guard {
            errors_ratio: errors.map(|(errors, allowed)| errors / allowed.max(ERRORS_ALLOWED)),
            memory_ratio: self.memory_ratio(record),
            price_ratio: price
                .filter(|(_, default)| *default > 0.0)
                .map(|(price, default)| price / default),
        }
    }

    /// More memory is worse only where the machine has little to spare.
    fn memory_ratio(&self, record: &TrialRecord) -> Option<f64> {
        let ratio = value(record, MEMORY)? / self.memory.filter(|memory| *memory > 0.0)?;
        let spare = value(record, MEMORY_AVAILABLE)?.max(f64::MIN_POSITIVE);
        Some(ratio.min(MEMORY_SPARE / spare))
    }
}

fn value(record: &TrialRecord, name: &str) -> Option<f64> {
    let metrics: &MetricValues = match &record.outcome {
        RecordedOutcome::Measured(metrics) => metrics,
        RecordedOutcome::Failed(_) | RecordedOutcome::Void(_) => return None,
    };
    metrics.get(name).copied()
}

/// What the service costs in an hour; `None` where the experiment has no prices.
fn price(experiment: &Experiment, cell: usize, machine: HeldResources) -> Option<f64> {
    let cell = experiment.cell(cell)?;
    let price = experiment.price.as_ref()?.at(&cell)?;
    Some(price.per_hour(experiment.held(&cell, machine)))
}
