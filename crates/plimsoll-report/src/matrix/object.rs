//! The objects of `plimsoll matrix --json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_analysis::experiment::matrix::{Contrast, ContrastEffect};
use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::trial::Scale;
use schemars::JsonSchema;
use serde::Serialize;

use super::meters_object::{MetersObject, meters};
use super::{MatrixReport, TrialResult};
use crate::cost::CostObject;
use crate::pretty;

/// The output of `plimsoll matrix --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll matrix --json")]
pub struct MatrixObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Name of the experiment.
    pub name: String,
    /// Its begin, RFC 3339.
    pub started_at: String,
    /// `complete`, `budget_spent` or `interrupted`.
    pub state: &'static str,
    /// Seed of the order.
    pub seed: u64,
    /// Trials by their outcome.
    pub trials: TrialCounts,
    /// Time of all trials together, s.
    pub seconds: f64,
    /// What the trials cost; null without prices.
    pub spent: Option<SpentObject>,
    /// What was forecast after the first block; null before its end.
    pub forecast: Option<BlockForecastObject>,
    /// The axes.
    pub axes: Vec<AxisObject>,
    /// The metric by which cells are judged; null when nothing was measured.
    pub metric: Option<String>,
    /// Whether more of it is better.
    pub is_higher_better: bool,
    /// Unit of the load line.
    pub load_unit: String,
    /// Unit of prices; null without prices.
    pub price_unit: Option<String>,
    /// All cells, in the order of the design.
    pub cells: Vec<CellObject>,
    /// Main effects, first those on the metric.
    pub effects: Vec<EffectObject>,
    /// Interactions of pairs of factors, on the metric.
    pub interactions: Vec<EffectObject>,
    /// How the metric grows with a factor.
    pub laws: Vec<LawObject>,
    /// How the metric scales over a factor, plain.
    pub scales: Vec<ScaleObject>,
    /// Meters of each cell, relative to the first that was measured; areas are the mean over all orders of the axes.
    pub meters: Vec<MetersObject>,
    /// ESS of the market study over all cells: the range of SPM over the range of SEC; null with fewer than two cells.
    pub study_ess: Option<f64>,
    /// ESR of the study: the range of SEC.
    pub study_esr: Option<f64>,
    /// Settings against results.
    pub correlations: Vec<CorrelationObject>,
    /// What the largest correlation would be by noise alone, with 95 %.
    pub correlation_noise: f64,
    /// Drift of the machine by the reference trials; null with fewer than four.
    pub drift: Option<DriftObject>,
    /// Files that were written.
    pub files: MatrixFiles,
}

/// Trials by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialCounts {
    /// All of them, reference trials included.
    pub total: u64,
    /// Trials with a measurement.
    pub measured: u64,
    /// Trials in which the service failed.
    pub failed: u64,
    /// Void trials.
    pub void: u64,
    /// Reference trials.
    pub reference: u64,
}

/// What trials cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpentObject {
    /// The price of the resources that the service held, of its requests and of its traffic.
    pub price: f64,
    /// Its currency.
    pub currency: String,
}

/// What was forecast after the first block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlockForecastObject {
    /// Time of all trials, s.
    pub seconds: f64,
    /// What they cost; null without prices.
    pub price: Option<f64>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AxisObject {
    /// Its name.
    pub name: String,
    /// Its levels that occur.
    pub levels: Vec<String>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the JSON, independent of the others"
)]
pub struct CellObject {
    /// Its index.
    pub cell: usize,
    /// Its level on each axis that is varied.
    pub levels: BTreeMap<String, String>,
    /// The metric, without the differences of blocks; null when it was never measured.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Its price.
    pub price: Option<f64>,
    /// What its load line costs, with the interval of the line; null without prices or a line.
    pub cost: Option<CostObject>,
    /// Trials with a measurement.
    pub measured: usize,
    /// Trials in which the service failed.
    pub failed: usize,
    /// Void trials.
    pub void: usize,
    /// It cannot be told from the best.
    pub may_be_best: bool,
    /// No better cell costs as little.
    pub is_on_front: bool,
    /// A cell that costs no more is better for certain: not worth it.
    pub is_beaten: bool,
    /// A race has dropped it.
    pub is_dropped: bool,
}

/// A main effect, or an interaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EffectObject {
    /// The metric.
    pub metric: String,
    /// The factor: an axis, or axes that move together.
    pub factor: String,
    /// Level compared with.
    pub from: String,
    /// Level compared.
    pub to: String,
    /// The second factor of an interaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_factor: Option<String>,
    /// Its levels, from and to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_levels: Option<(String, String)>,
    /// `ratio` or `difference`.
    pub scale: &'static str,
    /// The size.
    pub estimate: f64,
    /// Lower end of its 95 % interval; null with too few trials.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// `better`, `worse`, `same`, `undecided` or `too_few`.
    pub verdict: &'static str,
    /// Pairs of trials.
    pub pairs: usize,
}

/// How the metric grows with a factor: the Universal Scalability Law.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LawObject {
    /// The factor.
    pub factor: String,
    /// Serialized share, σ.
    pub contention: f64,
    /// Its 90 % interval.
    pub contention_interval: Option<(f64, f64)>,
    /// Cost per pair, κ.
    pub coherency: f64,
    /// Its 90 % interval.
    pub coherency_interval: Option<(f64, f64)>,
    /// The level beyond which more is less; null where more is always more.
    pub peak: Option<f64>,
}

/// How the metric scales over a factor, plain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ScaleObject {
    /// The factor.
    pub factor: String,
    /// SEC, plain: level, and metric by level unit.
    pub sec: Vec<(f64, f64)>,
    /// ESS, plain: level from, level to, and the scalability of the step; 1 is linear.
    pub ess: Vec<(f64, f64, f64)>,
    /// ESR, plain: the levels over which every step scales by at least 0.8.
    pub esr: Option<(f64, f64)>,
}

/// A setting against a metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CorrelationObject {
    /// The factor.
    pub factor: String,
    /// The metric.
    pub metric: String,
    /// Spearman's correlation.
    pub rho: f64,
    /// Its p-value.
    pub p: f64,
}

/// Drift of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DriftObject {
    /// From the first to the last reference trial, as a ratio or a difference.
    pub change: f64,
    /// The p-value of no trend.
    pub p: f64,
    /// Reference trials that count.
    pub references: usize,
}

/// Files that were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MatrixFiles {
    /// The trials as CSV.
    pub csv: Option<PathBuf>,
    /// The trials as Parquet.
    pub parquet: Option<PathBuf>,
    /// The page.
    pub report: Option<PathBuf>,
    /// The log of the experiment.
    pub log: Option<PathBuf>,
}

/// The output of `plimsoll matrix --dry-run --json`, and what is printed before the start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll matrix --dry-run --json")]
pub struct ForecastObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Name of the experiment.
    pub name: String,
    /// The axes.
    pub axes: Vec<AxisObject>,
    /// Its cells for people, in the order of the design.
    pub cells: Vec<String>,
    /// Trials of each cell.
    pub trials_per_cell: u32,
    /// All trials, reference trials included.
    pub trials: u64,
    /// Trials that the log has already.
    pub trials_done: u64,
    /// Time of all trials, s: the longest without the start of services; as soon as the log has trials, by theirs.
    pub seconds: f64,
    /// Budget of `--within`, s.
    pub within_s: Option<f64>,
    /// The seed, where it is known.
    pub seed: Option<u64>,
    /// Unit of the price of cells; null without prices.
    pub price_unit: Option<String>,
    /// What the experiment costs; null without prices.
    pub price: Option<ForecastPriceObject>,
}

/// What an experiment is expected to cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ForecastPriceObject {
    /// The price of all trials: at most, or by those of the log.
    pub value: f64,
    /// Its currency.
    pub currency: String,
    /// What the trials of the log cost.
    pub spent: f64,
    /// Whether what requests and traffic cost comes on top, as nothing is known of them yet.
    pub is_without_traffic: bool,
}

impl ForecastObject {
    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

impl MatrixObject {
    /// Version of the objects.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// The object of a matrix.
    pub fn of(report: &MatrixReport<'_>, files: MatrixFiles) -> Self {
        let result = report.result;
        let effects = result.effects.iter().flat_map(|found| {
            let of_metric = |effect| effect_object(report, &found.metric, effect);
            found.main.iter().map(of_metric).collect::<Vec<_>>()
        });
        let main = result.effects.first();
        let interactions = main.map_or_else(Vec::new, |found| {
            let of_metric = |effect| effect_object(report, &found.metric, effect);
            found.interactions.iter().map(of_metric).collect()
        });
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            name: report.name.to_owned(),
            started_at: report.started_at.to_owned(),
            state: report.state.name(),
            seed: report.seed,
            trials: counts(report),
            seconds: report.seconds(),
            spent: report.spent.clone(),
            forecast: report.forecast,
            axes: axes(&report.axes, &report.cells),
            metric: result.metric.clone(),
            is_higher_better: result.is_higher_better,
            load_unit: report.load_unit.to_owned(),
            price_unit: report.price_unit.map(str::to_owned),
            cells: (0..report.cells.len())
                .map(|cell| cell_object(report, cell))
                .collect(),
            effects: effects.collect(),
            interactions,
            laws: laws(report),
            scales: scales(report),
            meters: meters(report),
            study_ess: result.study_ranges().scalability,
            study_esr: result.study_ranges().range,
            correlations: correlations(report),
            correlation_noise: result.correlations.noise,
            drift: result.drift.map(|drift| DriftObject {
                change: drift.change,
                p: drift.p,
                references: result.references,
            }),
            files,
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

/// The JSON schema of [`MatrixObject`].
pub fn schema() -> String {
    pretty::schema::<MatrixObject>()
}

/// The JSON schema of [`ForecastObject`].
pub fn forecast_schema() -> String {
    pretty::schema::<ForecastObject>()
}

/// The axes, each with its levels that occur in cells.
pub(super) fn axes(names: &[String], cells: &[Vec<Option<String>>]) -> Vec<AxisObject> {
    let axis = |(index, name): (usize, &String)| {
        let mut levels: Vec<String> = Vec::new();
        for level in cells.iter().filter_map(|cell| cell.get(index)?.as_ref()) {
            if !levels.contains(level) {
                levels.push(level.clone());
            }
        }
        AxisObject {
            name: name.clone(),
            levels,
        }
    };
    names.iter().enumerate().map(axis).collect()
}

/// Trials by their outcome.
pub(super) fn counts(report: &MatrixReport<'_>) -> TrialCounts {
    let mut counts = TrialCounts::default();
    for trial in report.trials {
        counts.total += 1;
        counts.reference += u64::from(trial.is_reference);
        match trial.result {
            TrialResult::Measured(_) => counts.measured += 1,
            TrialResult::Failed(_) => counts.failed += 1,
            TrialResult::Void(_) => counts.void += 1,
        }
    }
    counts
}

fn cell_object(report: &MatrixReport<'_>, cell: usize) -> CellObject {
    let result = report.result.cells.get(cell).cloned().unwrap_or_default();
    let pairs = report.axes.iter().zip(&report.cells[cell]);
    let levels = pairs.filter_map(|(axis, level)| Some((axis.clone(), level.clone()?)));
    CellObject {
        cell,
        levels: levels.collect(),
        value: result.level,
        low: result.interval.map(|interval| interval.0),
        high: result.interval.map(|interval| interval.1),
        price: report
            .input
            .prices
            .as_ref()
            .and_then(|prices| prices.get(cell).copied()),
        cost: report.cost(cell),
        measured: result.measured,
        failed: result.failed,
        void: result.void,
        may_be_best: result.may_be_best,
        is_on_front: result.is_on_front,
        is_beaten: result.is_beaten,
        is_dropped: report.dropped.contains(&cell),
    }
}

fn effect_object(report: &MatrixReport<'_>, metric: &str, found: &ContrastEffect) -> EffectObject {
    let factors = &report.input.factors;
    let level = |factor: usize, level: usize| factors[factor].levels[level].clone();
    let (factor, levels, second) = match found.contrast {
        Contrast::Main { axis, from, to } => (axis, (from, to), None),
        Contrast::Interaction {
            first,
            first_levels,
            second,
            second_levels,
        } => (first, first_levels, Some((second, second_levels))),
    };
    let scale = metrics::definition(metric).map(|definition| definition.scale);
    let finite = |value: f64| value.is_finite().then_some(value);
    EffectObject {
        metric: metric.to_owned(),
        factor: factors[factor].name.clone(),
        from: level(factor, levels.0),
        to: level(factor, levels.1),
        second_factor: second.map(|(second, _)| factors[second].name.clone()),
        second_levels: second
            .map(|(second, levels)| (level(second, levels.0), level(second, levels.1))),
        scale: match scale {
            Some(Scale::Difference) => "difference",
            Some(Scale::Ratio) | None => "ratio",
        },
        estimate: found.effect.estimate(),
        low: finite(found.effect.low()),
        high: finite(found.effect.high()),
        verdict: verdict_name(found.verdict),
        pairs: found.effect.trials(),
    }
}

/// The word of a verdict.
pub(super) fn verdict_name(verdict: EffectVerdict) -> &'static str {
    match verdict {
        EffectVerdict::Better => "better",
        EffectVerdict::Worse => "worse",
        EffectVerdict::Same => "same",
        EffectVerdict::Undecided => "undecided",
        EffectVerdict::TooFew => "too_few",
    }
}

fn laws(report: &MatrixReport<'_>) -> Vec<LawObject> {
    let laws = report.result.laws.iter();
    laws.map(|law| LawObject {
        factor: report.input.factors[law.factor].name.clone(),
        contention: law.law.contention,
        contention_interval: law.contention,
        coherency: law.law.coherency,
        coherency_interval: law.coherency,
        peak: law.law.peak(),
    })
    .collect()
}

fn scales(report: &MatrixReport<'_>) -> Vec<ScaleObject> {
    let scales = report.result.scales.iter();
    scales
        .map(|scale| ScaleObject {
            factor: report.input.factors[scale.factor].name.clone(),
            sec: scale.capacity.clone(),
            ess: scale.steps.clone(),
            esr: scale.range,
        })
        .collect()
}

fn correlations(report: &MatrixReport<'_>) -> Vec<CorrelationObject> {
    let all = report.result.correlations.all.iter();
    all.map(|found| CorrelationObject {
        factor: report.input.factors[found.factor].name.clone(),
        metric: found.metric.clone(),
        rho: found.spearman.rho,
        p: found.spearman.p,
    })
    .collect()
}
