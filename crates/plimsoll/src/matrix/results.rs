//! What the trials show, and the files that say it.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_analysis::experiment::result::{MatrixFactor, MatrixResult, MatrixTrials};
use plimsoll_lab::experiment::log::ExperimentHeader;
use plimsoll_lab::experiment::trial::{RecordedOutcome, TrialRecord, TrialRole};
use plimsoll_lab::output;
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::experiment::{Experiment, Factor};
use plimsoll_model::objective::Objective;
use plimsoll_model::price::HeldResources;
use plimsoll_model::seed::Seed;
use plimsoll_report::matrix::{
    self, BlockForecastObject, CellPricing, MatrixFiles, MatrixObject, MatrixReport, MatrixTrial,
    SpentObject, TrialResult,
};

use super::cost::CellCost;
use super::cycle;
use crate::cycles::CycleTarget;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::{Screen, print};

/// Names of the files.
const CSV: &str = "trials.csv";
const PARQUET: &str = "trials.parquet";
const PAGE: &str = "report.html";

/// Everything that the results are made of.
pub(super) struct Outcome<'o> {
    pub(super) experiment: &'o Experiment,
    pub(super) header: &'o ExperimentHeader,
    pub(super) records: &'o [TrialRecord],
    pub(super) end: ExperimentEnd,
    pub(super) dropped: Vec<usize>,
    pub(super) cost: Option<&'o CellCost>,
    pub(super) forecast: Option<BlockForecastObject>,
    pub(super) load_unit: &'static str,
    pub(super) objective: Option<&'o Objective>,
    /// What the machine has.
    pub(super) machine: HeldResources,
    /// Weights of the axes of the ranking.
    pub(super) weights: BTreeMap<String, f64>,
    /// The record of cycles that the result is appended to.
    pub(super) cycles: Option<&'o CycleTarget>,
}

/// Writes the tables and the page, prints the result, and returns the exit code.
pub(super) fn deliver(
    outcome: &Outcome<'_>,
    folder: &Path,
    log: &Path,
    json: bool,
    screen: Screen,
) -> Result<Exit, CliError> {
    let input = input(outcome);
    let result = MatrixResult::of(&input);
    let trials: Vec<MatrixTrial> = outcome.records.iter().map(shown).collect();
    let experiment = outcome.experiment;
    let design = &experiment.design;
    let axes = design.axes();
    let levels = |cell| {
        let level = |axis| design.level_text(cell, axis).map(str::to_owned);
        (0..axes.len()).map(level).collect()
    };
    let report = MatrixReport {
        name: &experiment.name,
        started_at: &outcome.header.started_at,
        seed: outcome.header.seed,
        state: outcome.end,
        axes: axes.iter().map(|axis| axis.name().to_owned()).collect(),
        cells: experiment.listed().iter().map(levels).collect(),
        trials: &trials,
        dropped: outcome.dropped.clone(),
        load_unit: outcome.load_unit,
        price_unit: outcome.cost.map(|cost| cost.unit.as_str()),
        pricing: pricing(outcome),
        spent: spent(outcome),
        forecast: outcome.forecast,
        input: &input,
        result: &result,
    };
    let (mut files, error) = write_files(&report, folder);
    files.log = Some(log.to_owned());
    if json {
        print(&MatrixObject::of(&report, files).json());
    } else {
        print(&matrix::summary(&report, &files, screen.colours_data()));
    }
    if let Some(target) = outcome.cycles {
        cycle::append(target, outcome, &input, &result, folder)?;
    }
    match error {
        Some(error) => Err(error),
        None => Ok(exit(outcome)),
    }
}

/// What each cell costs, with the traffic of its trials.
fn pricing(outcome: &Outcome<'_>) -> Vec<CellPricing> {
    let Some(prices) = outcome.cost.and_then(|cost| cost.prices.as_ref()) else {
        return Vec::new();
    };
    let cells = prices.cells().iter().enumerate();
    cells
        .map(|(cell, priced)| {
            let records = outcome.records.iter();
            let of_cell = records.filter(|record| record.trial.cell == cell);
            let (requests, bytes) =
                of_cell.fold((0, 0), |(requests, bytes): (u64, u64), record| {
                    let traffic = record.traffic;
                    (
                        requests.saturating_add(traffic.requests),
                        bytes.saturating_add(traffic.bytes_out),
                    )
                });
            CellPricing {
                price: priced.price.clone(),
                per_hour: priced.hour,
                bytes_by_request: bytes as f64 / requests.max(1) as f64,
            }
        })
        .collect()
}

/// What the trials cost.
fn spent(outcome: &Outcome<'_>) -> Option<SpentObject> {
    let prices = outcome.cost?.prices.as_ref()?;
    Some(SpentObject {
        price: prices.spent(outcome.records),
        currency: prices.currency().to_owned(),
    })
}

/// Writes what can be written: those files, and the first error.
fn write_files(report: &MatrixReport<'_>, folder: &Path) -> (MatrixFiles, Option<CliError>) {
    let mut first_error = None;
    let mut write = |name: &str, content: Result<Vec<u8>, CliError>| {
        let path = folder.join(name);
        let written = content.and_then(|content| {
            output::write_whole(&path, &content).map_err(|error| {
                CliError::usage(format!("cannot write {}: {error}", path.display()))
                    .remedy("free some space; the same command writes it again")
            })
        });
        match written {
            Ok(()) => Some(path),
            Err(error) => {
                first_error.get_or_insert(error);
                None
            }
        }
    };
    let parquet =
        matrix::parquet(report).map_err(|error| CliError::new(Exit::Internal, chain(&error)));
    let files = MatrixFiles {
        csv: write(CSV, Ok(matrix::csv(report).into_bytes())),
        parquet: write(PARQUET, parquet),
        report: write(PAGE, Ok(matrix::render(report).into_bytes())),
        log: None,
    };
    (files, first_error)
}

/// 6 when more than a third of the trials are void, 3 when the service failed in all others.
fn exit(outcome: &Outcome<'_>) -> Exit {
    if outcome.end == ExperimentEnd::Interrupted {
        return Exit::Interrupted;
    }
    let count = |is: fn(&RecordedOutcome) -> bool| {
        let of_kind = outcome.records.iter().filter(|record| is(&record.outcome));
        of_kind.count()
    };
    let void = count(|outcome| matches!(outcome, RecordedOutcome::Void(_)));
    let measured = count(|outcome| matches!(outcome, RecordedOutcome::Measured(_)));
    if 3 * void > outcome.records.len() {
        Exit::Void
    } else if measured == 0 {
        Exit::Missed
    } else {
        Exit::Met
    }
}

/// The trials for the arithmetic.
fn input(outcome: &Outcome<'_>) -> MatrixTrials {
    let experiment = outcome.experiment;
    let factors = experiment.design.factors(experiment.listed());
    let levels_of = |cell| -> Vec<usize> {
        let levels = factors.iter().map(|factor| factor.level_of(cell));
        levels
            .map(|level| level.expect("a factor has the levels of all cells"))
            .collect()
    };
    let cells: Vec<Vec<usize>> = experiment.listed().iter().map(levels_of).collect();
    let analysed = |record: &TrialRecord| {
        let cell = record.trial.cell;
        (cell, record.analysed(&cells[cell]))
    };
    MatrixTrials {
        trials: outcome.records.iter().map(analysed).collect(),
        factors: factors
            .iter()
            .map(|factor| shown_factor(experiment, factor))
            .collect(),
        cells,
        prices: outcome.cost.map(|cost| cost.by_cell.clone()),
        held: experiment
            .listed()
            .iter()
            .map(|cell| experiment.held(cell, outcome.machine))
            .collect(),
        weights: outcome.weights.clone(),
        objective_s: objective_s(outcome),
        seed: Seed(outcome.header.seed),
    }
}

/// The tightest time that the objective allows.
fn objective_s(outcome: &Outcome<'_>) -> Option<f64> {
    let bounds = outcome
        .objective
        .iter()
        .flat_map(|objective| &objective.latency);
    let within_us = bounds.map(|bound| bound.within_us).min()?;
    Some(within_us as f64 / 1e6)
}

fn shown_factor(experiment: &Experiment, factor: &Factor) -> MatrixFactor {
    let design = &experiment.design;
    let levels: Vec<String> = (0..factor.levels())
        .map(|level| factor.level_text(design, level))
        .collect();
    MatrixFactor {
        name: factor.name(design),
        numbers: levels.iter().map(|level| leading_number(level)).collect(),
        levels,
    }
}

/// The number with which a level begins: 4 of `4GiB`.
fn leading_number(level: &str) -> Option<f64> {
    let end = level
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(level.len());
    level[..end].parse().ok()
}

fn shown(record: &TrialRecord) -> MatrixTrial {
    MatrixTrial {
        index: record.trial.index,
        block: record.trial.block,
        position: record.trial.position,
        cell: record.trial.cell,
        is_reference: record.trial.role == TrialRole::Reference,
        seed: record.trial.seed.0,
        began_s: record.began_ms as f64 / 1000.0,
        lasted_s: record.lasted_ms() as f64 / 1000.0,
        result: match &record.outcome {
            RecordedOutcome::Measured(metrics) => TrialResult::Measured(metrics.clone()),
            RecordedOutcome::Failed(reason) => TrialResult::Failed(reason.clone()),
            RecordedOutcome::Void(reason) => TrialResult::Void(reason.clone()),
        },
        runs: record.runs.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_with_a_unit_are_numbers() {
        assert_eq!(leading_number("4GiB"), Some(4.0));
        assert_eq!(leading_number("0.5"), Some(0.5));
        assert_eq!(leading_number("2, 4GiB"), Some(2.0));
        assert_eq!(leading_number("none"), None);
        assert_eq!(leading_number("5x2"), Some(5.0));
    }
}
