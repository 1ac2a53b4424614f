//! What the trials of a matrix show: effects, the best cells and the front of prices, scaling laws, correlations, drift.

mod change;
mod correlations;
mod laws;
mod scalability;
mod study;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::price::HeldResources;
use plimsoll_model::seed::Seed;

use super::cells::{CELLS_MAX, CellFit};
use super::drift::{Drift, DriftTrend};
use super::effect::{Criteria, Direction};
use super::matrix::{ContrastEffect, Matrix};
use super::metrics;
use super::trial::{ExperimentTrial, Scale, TRIALS_MAX, TrialOutcome};

pub use change::{CellChange, REFERENCE};
pub use correlations::{Correlation, Correlations};
pub use laws::FactorLaw;
pub use scalability::{CellMeters, FactorScale, WEIGHTED};
pub use study::{StudyMeters, StudyRanges};

/// Confidence of intervals and decisions.
pub const CONFIDENCE: f64 = 0.95;
/// Metrics whose main effects stand beside those of the main metric.
const BESIDE: [&str; 6] = [
    metrics::THROUGHPUT,
    metrics::P95,
    metrics::P99,
    metrics::ERRORS,
    metrics::CPU_PER_REQUEST,
    metrics::MEMORY,
];

/// Something that is varied by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixFactor {
    /// Its name.
    pub name: String,
    /// Its levels as texts.
    pub levels: Vec<String>,
    /// The same as numbers, where each begins with one.
    pub numbers: Option<Vec<f64>>,
}

/// The trials of a matrix and how its cells differ.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixTrials {
    /// The factors.
    pub factors: Vec<MatrixFactor>,
    /// The level of each factor, by cell.
    pub cells: Vec<Vec<usize>>,
    /// Index of the cell and the trial; its levels are those of the factors.
    pub trials: Vec<(usize, ExperimentTrial)>,
    /// Price of each cell, in any unit.
    pub prices: Option<Vec<f64>>,
    /// What the service holds in each cell; empty where it is not known.
    pub held: Vec<HeldResources>,
    /// Weights of the axes of the ranking, by their names in [`WEIGHTED`]; 1 where none is given.
    pub weights: BTreeMap<String, f64>,
    /// The time within which the objective wants an answer, s.
    pub objective_s: Option<f64>,
    /// Seed of the bootstrap.
    pub seed: Seed,
}

/// The effects on a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricEffects {
    /// The metric.
    pub metric: String,
    /// Main effects of all factors.
    pub main: Vec<ContrastEffect>,
    /// Interactions of all pairs of factors; of the main metric alone.
    pub interactions: Vec<ContrastEffect>,
}

/// What came of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellResult {
    /// Level of the main metric without the differences of blocks; `None` when it was never measured.
    pub level: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Trials with a measurement, those that failed, and void ones.
    pub measured: usize,
    /// Trials in which the service failed.
    pub failed: usize,
    /// Void trials.
    pub void: usize,
    /// It cannot be told from the best.
    pub may_be_best: bool,
    /// No better cell costs as little; always false without prices.
    pub is_on_front: bool,
    /// A cell that costs no more is better for certain.
    pub is_beaten: bool,
}

/// What the trials of a matrix show.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixResult {
    /// The main metric, by which cells are judged; `None` when nothing was measured.
    pub metric: Option<String>,
    /// Whether more of it is better.
    pub is_higher_better: bool,
    /// Effects on the main metric, then on those beside it.
    pub effects: Vec<MetricEffects>,
    /// By cell.
    pub cells: Vec<CellResult>,
    /// Reference trials that count, and the trend that they show.
    pub references: usize,
    /// `None` with too few of them.
    pub drift: Option<DriftTrend>,
    /// How the main metric grows with a factor.
    pub laws: Vec<FactorLaw>,
    /// How it scales over them, plain.
    pub scales: Vec<FactorScale>,
    /// Meters of each cell.
    pub meters: Vec<CellMeters>,
    /// The same as the market study computes them.
    pub study: Vec<StudyMeters>,
    /// Settings against results.
    pub correlations: Correlations,
}

impl MatrixResult {
    /// Of these trials; the first hundred thousand count.
    pub fn of(input: &MatrixTrials) -> Self {
        let trials: Vec<ExperimentTrial> = input
            .trials
            .iter()
            .take(TRIALS_MAX)
            .map(|(_, trial)| trial.clone())
            .collect();
        let names = measured_names(&trials);
        let mut result = Self {
            metric: main_metric(&names),
            is_higher_better: true,
            effects: Vec::new(),
            cells: counts(input),
            references: 0,
            drift: None,
            laws: Vec::new(),
            scales: Vec::new(),
            meters: scalability::meters(input),
            study: study::study(input),
            correlations: correlations::correlations(input, &names),
        };
        let Some(metric) = result.metric.clone() else {
            return result;
        };
        let criteria = criteria_of(&metric, input.seed);
        result.is_higher_better = criteria.direction == Direction::HigherIsBetter;
        let drift = Drift::of(&trials, &metric, criteria.scale);
        (result.references, result.drift) = (drift.references(), drift.trend());
        let levels: Vec<usize> = input
            .factors
            .iter()
            .map(|factor| factor.levels.len())
            .collect();
        let matrix = Matrix::of(&trials, &metric, &levels, criteria);
        result.judge_cells(input, &matrix);
        result.laws = laws::laws(input, &matrix, &metric);
        result.scales = result.laws.iter().map(scalability::scale).collect();
        result.effects.push(MetricEffects {
            metric: metric.clone(),
            main: matrix.main_effects(),
            interactions: matrix.interactions(),
        });
        let beside = BESIDE
            .iter()
            .filter(|name| **name != metric && names.contains(**name));
        for name in beside {
            let matrix = Matrix::of(&trials, name, &levels, criteria_of(name, input.seed));
            result.effects.push(MetricEffects {
                metric: (*name).to_owned(),
                main: matrix.main_effects(),
                interactions: Vec::new(),
            });
        }
        result
    }

    fn judge_cells(&mut self, input: &MatrixTrials, matrix: &Matrix) {
        if input.cells.len() > CELLS_MAX {
            return;
        }
        let Some(fit) = CellFit::of(matrix) else {
            return;
        };
        let index_of = |levels: &[usize]| input.cells.iter().position(|cell| cell == levels);
        for score in fit.scores() {
            if let Some(index) = index_of(score.cell()) {
                self.cells[index].level = Some(fit.level(score));
                self.cells[index].interval = Some(fit.interval(score, CONFIDENCE));
            }
        }
        for score in fit.best(CONFIDENCE) {
            if let Some(index) = index_of(score.cell()) {
                self.cells[index].may_be_best = true;
            }
        }
        let price = |levels: &[usize]| {
            let prices = input.prices.as_ref()?;
            prices.get(index_of(levels)?).copied()
        };
        for score in fit.dominated(|levels| price(levels).unwrap_or(0.0), CONFIDENCE) {
            if let Some(index) = index_of(score.cell()) {
                // A cell cannot be both: the corrections of the two tests differ.
                self.cells[index].is_beaten = !self.cells[index].may_be_best;
            }
        }
        if input.prices.is_none() {
            return;
        }
        let mut cheapest = f64::INFINITY;
        // The best first: a cell is on the front when no better one costs as little.
        for score in fit.scores() {
            let (Some(index), Some(price)) = (index_of(score.cell()), price(score.cell())) else {
                continue;
            };
            if price < cheapest {
                cheapest = price;
                self.cells[index].is_on_front = true;
            }
        }
    }
}

/// The metric by which cells are judged: the load line; of fixed loads the p95, at the highest of several.
pub fn main_metric(names: &BTreeSet<String>) -> Option<String> {
    for name in [metrics::LOAD_LINE, metrics::P95] {
        if names.contains(name) {
            return Some(name.to_owned());
        }
    }
    let of_load = |name: &&String| {
        plimsoll_model::labels::metric(name) == metrics::P95
            && plimsoll_model::labels::label(name, "step").is_none()
            && plimsoll_model::labels::label(name, "load").is_some()
    };
    let load = |name: &&String| {
        let load = plimsoll_model::labels::label(name, "load").unwrap_or_default();
        let number = load.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
    };
    let loads = names.iter().filter(of_load);
    let highest = loads.max_by(|a, b| f64::total_cmp(&load(a), &load(b)));
    highest.cloned().or_else(|| {
        names
            .contains(metrics::THROUGHPUT)
            .then(|| metrics::THROUGHPUT.to_owned())
    })
}

/// How a metric is judged.
pub fn criteria_of(metric: &str, seed: Seed) -> Criteria {
    match metrics::definition(metric) {
        Some(definition) => Criteria::standard(definition.direction, definition.scale, seed),
        None => Criteria::standard(Direction::HigherIsBetter, Scale::Ratio, seed),
    }
}

/// Names of metrics that some trial has.
pub fn measured_names(trials: &[ExperimentTrial]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for trial in trials {
        if let TrialOutcome::Measured(metrics) = trial.outcome() {
            for name in metrics.keys() {
                if !names.contains(name) {
                    names.insert(name.clone());
                }
            }
        }
    }
    names
}

fn counts(input: &MatrixTrials) -> Vec<CellResult> {
    let mut cells = vec![CellResult::default(); input.cells.len()];
    for (cell, trial) in &input.trials {
        let Some(result) = cells.get_mut(*cell).filter(|_| !trial.is_reference()) else {
            continue;
        };
        match trial.outcome() {
            TrialOutcome::Measured(_) => result.measured += 1,
            TrialOutcome::Failed => result.failed += 1,
            TrialOutcome::Void => result.void += 1,
        }
    }
    cells
}
