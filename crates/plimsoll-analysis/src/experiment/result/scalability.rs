//! Meters of scalability over the cells of a matrix, relative to a reference cell, and the plain forms over a factor.
//!
//! All axes are ratios to the reference in which higher is better, and areas are the mean over all orders of the axes. So
//! meters depend neither on units nor on an order; but they still count correlated axes twice, and they grow with the
//! square. The rank is by the geometric mean, which does not.

use std::collections::BTreeMap;

use super::super::cost::productivity;
use super::super::meters::{
    Axis, capacity, normalised_mean, polygon_mean, scalability, scale_range,
};
use super::super::metrics;
use super::super::trial::TrialOutcome;
use super::{FactorLaw, MatrixTrials};

/// The meters of a cell. Those of the reference cell are areas of polygons with sides of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellMeters {
    /// Computing resource allocation, CRAM: the price as a ratio.
    pub allocated: Option<f64>,
    /// Computing resource utilisation, CRUM: the polygon of CPU, memory and price.
    pub used: Option<f64>,
    /// Performance, SPM: the polygon of throughput, p95 and the share of good answers.
    pub performance: Option<f64>,
    /// Load, SLM: the load line, or the throughput, as a ratio.
    pub load: Option<f64>,
    /// Capacity, SCM: the polygon of load, performance and allocated resources.
    pub capacity: Option<f64>,
    /// Effective capacity, SEC: the same with used resources.
    pub effective_capacity: Option<f64>,
    /// Productivity F by Jogalekar and Woodside: throughput, by the value of an answer, by the price per second.
    pub productivity: Option<f64>,
    /// Weighted geometric mean of all axes against the reference, by which cells are ranked.
    pub mean: Option<f64>,
    /// The worst of these axes.
    pub worst_axis: Option<f64>,
}

/// Effective scalability over a factor with numbers, plain.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorScale {
    /// Index of the factor.
    pub factor: usize,
    /// Level and metric per level unit: the effective capacity, plain.
    pub capacity: Vec<(f64, f64)>,
    /// From, to, and the effective scalability of the step; 1 is linear.
    pub steps: Vec<(f64, f64, f64)>,
    /// The levels over which every step scales by at least 0.8.
    pub range: Option<(f64, f64)>,
}

/// Geometric means of the metrics of a cell.
pub(super) type Means = BTreeMap<&'static str, f64>;

/// Names of the axes of the ranking.
pub const WEIGHTED: [&str; 6] = ["load", "response", "good", "cpu", "memory", "price"];

const NAMES: [&str; 10] = [
    metrics::LOAD_LINE,
    metrics::THROUGHPUT,
    metrics::REQUESTS,
    metrics::MEAN,
    metrics::P50,
    metrics::P95,
    metrics::ERRORS,
    metrics::CPU,
    metrics::MEMORY,
    metrics::DISK,
];

/// The meters of all cells against the first that was measured.
pub(super) fn meters(input: &MatrixTrials) -> Vec<CellMeters> {
    let means: Vec<Option<Means>> = (0..input.cells.len())
        .map(|cell| means(input, cell))
        .collect();
    let Some(reference) = means.iter().position(Option::is_some) else {
        return vec![CellMeters::default(); input.cells.len()];
    };
    let price = |cell: usize| input.prices.as_ref()?.get(cell).copied();
    let of_cell = |(cell, found): (usize, &Option<Means>)| {
        let (Some(found), Some(base)) = (found, &means[reference]) else {
            return CellMeters::default();
        };
        meters_of((found, price(cell)), (base, price(reference)), input)
    };
    means.iter().enumerate().map(of_cell).collect()
}

fn meters_of(
    (found, price): (&Means, Option<f64>),
    (base, base_price): (&Means, Option<f64>),
    input: &MatrixTrials,
) -> CellMeters {
    let axis = |name: &str, is_higher_better: bool| {
        let axis = Axis {
            value: *found.get(name)?,
            reference: *base.get(name)?,
            is_higher_better,
            weight: 1.0,
        };
        axis.ratio().is_finite().then_some(axis)
    };
    let good = |means: &Means| means.get(metrics::ERRORS).map(|errors| 1.0 - errors);
    let good = good(found).zip(good(base)).map(|(value, reference)| Axis {
        value,
        reference,
        is_higher_better: true,
        weight: 1.0,
    });
    let price_axis = price
        .zip(base_price)
        .filter(|(price, base)| *price > 0.0 && *base > 0.0)
        .map(|(value, reference)| Axis {
            value,
            reference,
            is_higher_better: false,
            weight: 1.0,
        });
    let load = axis(metrics::LOAD_LINE, true).or_else(|| axis(metrics::THROUGHPUT, true));
    let response = axis(metrics::P95, false);
    let (cpu, memory) = (axis(metrics::CPU, false), axis(metrics::MEMORY, false));
    let polygon = |axes: [Option<Axis>; 3]| {
        let ratios: Option<Vec<f64>> = axes
            .iter()
            .map(|axis| Some(axis.as_ref()?.ratio()))
            .collect();
        polygon_mean(&ratios?)
    };
    // How much is used, not how little: resources are the size of the polygon.
    let size = |axis: Option<Axis>| axis.map(|axis| axis.value / axis.reference);
    let used = [size(cpu), size(memory), size(price_axis)];
    let used: Option<Vec<f64>> = used.into_iter().collect();
    let used = used.and_then(|sizes| polygon_mean(&sizes));
    let performance = polygon([axis(metrics::THROUGHPUT, true), response, good]);
    let load_ratio = load.map(|axis| axis.ratio());
    let allocated = size(price_axis);
    let whole = |resources: Option<f64>| Some(capacity(load_ratio?, performance?, resources?));
    let weighable = [load, response, good, cpu, memory, price_axis];
    let weighted = WEIGHTED
        .into_iter()
        .zip(weighable)
        .filter_map(|(name, axis)| {
            let weight = input.weights.get(name).copied().unwrap_or(1.0);
            Some(Axis { weight, ..axis? })
        });
    let ranked: Vec<Axis> = weighted.filter(|axis| axis.weight > 0.0).collect();
    CellMeters {
        allocated,
        used,
        performance,
        load: load_ratio,
        capacity: whole(allocated),
        effective_capacity: whole(used),
        productivity: value_of(found, price, input.objective_s),
        mean: normalised_mean(&ranked),
        worst_axis: ranked.iter().map(Axis::ratio).min_by(f64::total_cmp),
    }
}

/// Productivity: the price is per hour.
fn value_of(found: &Means, price: Option<f64>, objective_s: Option<f64>) -> Option<f64> {
    let throughput = *found.get(metrics::THROUGHPUT)?;
    let response_s = *found.get(metrics::P95)? / 1000.0;
    productivity(throughput, response_s, objective_s?, price? / 3600.0)
}

/// Mean of the logarithms of each metric; of shares that may be zero, the plain mean.
pub(super) fn means(input: &MatrixTrials, cell: usize) -> Option<Means> {
    let mut sums: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
    let trials = input.trials.iter();
    for (_, trial) in trials.filter(|(of, trial)| *of == cell && !trial.is_reference()) {
        let TrialOutcome::Measured(values) = trial.outcome() else {
            continue;
        };
        for name in NAMES {
            let Some(value) = values.get(name) else {
                continue;
            };
            let value = if is_share(name) { *value } else { value.ln() };
            if value.is_finite() {
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + value, sum.1 + 1.0);
            }
        }
    }
    let means: Means = sums
        .into_iter()
        .map(|(name, (sum, count))| {
            let mean = sum / count;
            let mean = if is_share(name) { mean } else { mean.exp() };
            (name, mean)
        })
        .collect();
    (!means.is_empty()).then_some(means)
}

fn is_share(name: &str) -> bool {
    [metrics::ERRORS, metrics::DISK].contains(&name)
}

/// The plain forms over the points of a law.
pub(super) fn scale(law: &FactorLaw) -> FactorScale {
    let mut levels: Vec<f64> = law.points.iter().map(|point| point.0).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let line = |level: f64| {
        let at_level = law
            .points
            .iter()
            .filter(|point| point.0.total_cmp(&level).is_eq());
        let logarithms: Vec<f64> = at_level.map(|point| point.1.ln()).collect();
        (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
    };
    let points: Vec<(f64, f64)> = levels.iter().map(|&level| (line(level), level)).collect();
    let steps = points.windows(2).filter_map(|pair| {
        let step = scalability(pair[0], pair[1])?;
        Some((pair[0].1, pair[1].1, step))
    });
    FactorScale {
        factor: law.factor,
        capacity: points
            .iter()
            .map(|(line, level)| (*level, line / level))
            .collect(),
        steps: steps.collect(),
        range: scale_range(&points),
    }
}
