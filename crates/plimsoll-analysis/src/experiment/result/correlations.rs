//! Settings against results by ranks, with what noise alone would give.

use std::collections::BTreeSet;

use super::super::metrics::{ALL_PREFIX, FAILED_PREFIX};
use super::super::trial::TrialOutcome;
use super::{CONFIDENCE, MatrixTrials};
use crate::stats::correlation::{Spearman, noise_bound, spearman};

/// Metrics of the map at most.
const METRICS_MAX: usize = 40;

/// A setting against a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// Index of the factor.
    pub factor: usize,
    /// The metric.
    pub metric: String,
    /// The correlation, levels in their order.
    pub spearman: Spearman,
}

/// The map of correlations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correlations {
    /// Factor by factor.
    pub all: Vec<Correlation>,
    /// What the largest of them would reach by noise alone, with 95 %.
    pub noise: f64,
}

/// Every factor against every metric of the whole load. Steps and single loads are left out, and the times of failed
/// requests and of all, which repeat those of good ones; so is what fewer than half of the trials measured, whose noise would
/// be that of all.
pub(super) fn correlations(input: &MatrixTrials, names: &BTreeSet<String>) -> Correlations {
    let names: Vec<&String> = names
        .iter()
        .filter(|name| {
            let is_whole = |label| plimsoll_model::labels::label(name, label).is_none();
            let is_plain = !name.starts_with(ALL_PREFIX) && !name.starts_with(FAILED_PREFIX);
            is_plain && is_whole("step") && is_whole("load")
        })
        .take(METRICS_MAX)
        .collect();
    let measured = input.trials.iter().filter(|(_, trial)| {
        matches!(trial.outcome(), TrialOutcome::Measured(_)) && trial.levels().is_some()
    });
    let measured = measured.count();
    let mut found = Correlations::default();
    let mut pairs_min = usize::MAX;
    for factor in 0..input.factors.len() {
        for name in &names {
            let pairs = pairs(input, factor, name);
            if 2 * pairs.len() < measured {
                continue;
            }
            let (levels, values): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            if let Some(spearman) = spearman(&levels, &values) {
                pairs_min = pairs_min.min(levels.len());
                found.all.push(Correlation {
                    factor,
                    metric: (*name).clone(),
                    spearman,
                });
            }
        }
    }
    if !found.all.is_empty() {
        found.noise = noise_bound(pairs_min, found.all.len(), CONFIDENCE);
    }
    found
}

fn pairs(input: &MatrixTrials, factor: usize, metric: &str) -> Vec<(f64, f64)> {
    let numbers = input.factors[factor].numbers.as_ref();
    let trials = input.trials.iter().map(|(_, trial)| trial);
    trials
        .filter_map(|trial| {
            let level = *trial.levels()?.get(factor)?;
            let TrialOutcome::Measured(values) = trial.outcome() else {
                return None;
            };
            let level = match numbers {
                Some(numbers) => *numbers.get(level)?,
                None => level as f64,
            };
            Some((level, *values.get(metric)?))
        })
        .collect()
}
