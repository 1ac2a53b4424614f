//! Several candidates in an order: the geometric mean of their ratios to the baseline.
//!
//! The order does not depend on the baseline (Fleming and Wallace, Communications of the ACM 29, 1986). Metrics of a share
//! (errors) have no ratio and are not in the mean; a candidate whose ratio is zero has failed, and no mean.

use super::super::effect::Direction;
use super::super::metrics::{CPU_PER_REQUEST, MEMORY};
use super::super::trial::Scale;
use super::{ComparedMetric, Comparison, ComparisonVerdict};

/// The place of a candidate, or of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedSide {
    /// Index of the candidate; `None` for the baseline.
    pub candidate: Option<usize>,
    /// Geometric mean of its ratios, higher is better; 1 for the baseline.
    pub score: f64,
    /// Mean interval of these ratios on logarithms, as if their errors went together, which is the widest case; `None` where
    /// a metric has no interval.
    pub interval: Option<(f64, f64)>,
    /// The metric with the lowest ratio, and that ratio, higher is better; `None` for the baseline.
    pub lowest: Option<(&'static str, f64)>,
}

/// The baseline and the candidates that can be compared, the best first. Only metrics that all of these have are used.
pub fn ranked(comparisons: &[Comparison]) -> Vec<RankedSide> {
    let is_ranked = |comparison: &Comparison| {
        comparison.verdict() != ComparisonVerdict::Incomparable && comparison.void().is_empty()
    };
    let members: Vec<(usize, &Comparison)> = comparisons
        .iter()
        .enumerate()
        .filter(|(_, comparison)| is_ranked(comparison))
        .collect();
    let Some((_, first)) = members.first() else {
        return Vec::new();
    };
    let is_shared = |name: &str| {
        members.iter().all(|(_, comparison)| {
            comparison
                .metric(name)
                .is_some_and(|metric| ratio(metric).is_some())
        })
    };
    let names: Vec<&'static str> = first
        .metrics()
        .iter()
        .map(|metric| metric.name)
        .filter(|name| is_axis(first, name) && is_shared(name))
        .collect();
    let mut sides = vec![RankedSide {
        candidate: None,
        score: 1.0,
        interval: Some((1.0, 1.0)),
        lowest: None,
    }];
    if !names.is_empty() {
        sides.extend(
            members
                .iter()
                .map(|(index, comparison)| side(*index, comparison, &names)),
        );
    }
    sides.sort_by(|a, b| b.score.total_cmp(&a.score));
    sides
}

/// Searches are ranked by their line alone: they measured the rest each at its own.
fn is_axis(comparison: &Comparison, name: &str) -> bool {
    let line = super::super::metrics::LOAD_LINE;
    if comparison.metric(line).is_some() {
        return name == line;
    }
    // What a service costs is for its price to weigh.
    name != CPU_PER_REQUEST && name != MEMORY
}

/// The ratio of a metric, above 1 where the candidate is better.
fn ratio(metric: &ComparedMetric) -> Option<f64> {
    oriented(metric, metric.estimate?)
}

fn oriented(metric: &ComparedMetric, value: f64) -> Option<f64> {
    match (metric.definition.scale, metric.definition.direction) {
        (Scale::Difference, _) => None,
        (Scale::Ratio, Direction::HigherIsBetter) => Some(value),
        (Scale::Ratio, Direction::LowerIsBetter) => Some(1.0 / value),
    }
}

fn side(index: usize, comparison: &Comparison, names: &[&'static str]) -> RankedSide {
    let metrics: Vec<&ComparedMetric> = names
        .iter()
        .filter_map(|name| comparison.metric(name))
        .collect();
    let ratios = metrics
        .iter()
        .filter_map(|metric| Some((metric.name, ratio(metric)?)));
    let lowest = ratios.clone().min_by(|a, b| a.1.total_cmp(&b.1));
    let mean = |values: &[f64]| {
        let logs: f64 = values.iter().map(|value| value.ln()).sum();
        (logs / values.len() as f64).exp()
    };
    let values: Vec<f64> = ratios.map(|(_, ratio)| ratio).collect();
    let bounds: Option<Vec<(f64, f64)>> = metrics
        .iter()
        .map(|metric| {
            let (first, second) = (
                oriented(metric, metric.low?)?,
                oriented(metric, metric.high?)?,
            );
            Some((first.min(second), first.max(second)))
        })
        .collect();
    let interval = bounds.map(|bounds| {
        let (low, high): (Vec<f64>, Vec<f64>) = bounds.into_iter().unzip();
        (mean(&low), mean(&high))
    });
    RankedSide {
        candidate: Some(index),
        score: mean(&values),
        interval,
        lowest,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;

    use super::super::super::metrics::tests::{exponential, run_of};
    use super::super::{RunsCriteria, compare_runs};
    use super::*;

    #[test]
    fn the_order_does_not_depend_on_the_baseline() {
        let runs = [10.0, 14.0, 8.0].map(|mean_ms| run_of(40, 1, exponential(mean_ms)));
        let order = |baseline: usize| {
            let others: Vec<usize> = (0..3).filter(|&index| index != baseline).collect();
            let criteria = RunsCriteria {
                replicates: 100,
                ..RunsCriteria::standard(Seed(1))
            };
            let comparisons: Vec<Comparison> = others
                .iter()
                .map(|&index| compare_runs(&runs[baseline], &runs[index], criteria))
                .collect();
            ranked(&comparisons)
                .into_iter()
                .map(|side| side.candidate.map_or(baseline, |index| others[index]))
                .collect::<Vec<_>>()
        };
        assert_eq!(order(0), [2, 0, 1]);
        assert_eq!(order(1), [2, 0, 1]);
    }

    #[test]
    fn the_score_is_the_geometric_mean_over_the_metrics() {
        let before = run_of(40, 1, |_, _| 10.0);
        let after = run_of(40, 1, |_, _| 20.0);
        let criteria = RunsCriteria {
            replicates: 100,
            ..RunsCriteria::standard(Seed(1))
        };
        let ranks = ranked(&[compare_runs(&before, &after, criteria)]);
        assert_eq!(ranks[0].candidate, None);
        // Throughput 1, and three quantiles a half.
        let law = 0.5_f64.powf(0.75);
        assert!((ranks[1].score / law - 1.0).abs() < 2e-3, "{ranks:?}");
        let (name, lowest) = ranks[1].lowest.unwrap();
        assert!(name.starts_with('p') && (lowest - 0.5).abs() < 1e-3);
        let (low, high) = ranks[1].interval.unwrap();
        assert!(low <= ranks[1].score * 1.001 && ranks[1].score <= high * 1.001);
    }

    #[test]
    fn nothing_comparable_has_no_order() {
        assert_eq!(ranked(&[]), []);
    }
}
