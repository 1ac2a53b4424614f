//! Two single runs side by side.
//!
//! One run on each side knows its own variation and not that between runs, so each interval here holds the variation
//! within the runs. What has one value a run (memory) has no interval, and is undecided.

use std::collections::BTreeSet;

use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;

use super::comparability::differences;
use super::{
    ComparedMetric, ComparedStep, Comparison, Evidence, MetricEffect, MetricWeight, PlanDifference,
    criteria_of, lines, with_verdicts,
};
use crate::experiment::effect::{Criteria, Direction, Effect, EffectVerdict};
use crate::experiment::metrics::{
    BATCHES_MIN, CPU_PER_REQUEST, ERRORS, MEMORY, P50, P95, P99, RunBatches, RunMetrics, StepKey,
    THROUGHPUT, Validity, definition,
};
use crate::experiment::trial::Scale;
use crate::stats::bca;
use crate::summary::is_search;

/// Metrics that are compared, and what each may decide at one load. Throughput, typical and slow answers, and errors are
/// what users get; the 99th percentile is too noisy to be the same within a few per cent, and decides only if it differs.
pub(super) const METRICS: [(&str, MetricWeight); 7] = [
    (THROUGHPUT, MetricWeight::Main),
    (P50, MetricWeight::Main),
    (P95, MetricWeight::Main),
    (P99, MetricWeight::Difference),
    (ERRORS, MetricWeight::Main),
    (CPU_PER_REQUEST, MetricWeight::Reported),
    (MEMORY, MetricWeight::Reported),
];

/// Metrics of steps.
pub(super) const STEP_METRICS: [&str; 4] = [P50, P95, P99, ERRORS];

/// Replicates of a bootstrap of a step: there may be hundreds of them.
const STEP_REPLICATES: usize = 1000;

/// How two runs are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunsCriteria {
    /// A difference that does not matter: 0.03 is 3 %.
    pub margin: f64,
    /// Whether the machines may be of different classes.
    pub is_across_machines: bool,
    /// Replicates of each bootstrap.
    pub replicates: usize,
    /// Seed of the bootstraps.
    pub seed: Seed,
}

impl RunsCriteria {
    /// A margin of 3 %, machines of one class.
    pub fn standard(seed: Seed) -> Self {
        Self {
            margin: 0.03,
            is_across_machines: false,
            replicates: bca::REPLICATES,
            seed,
        }
    }
}

/// Compares `candidate` with `baseline`.
pub fn compare_runs(baseline: &Run, candidate: &Run, criteria: RunsCriteria) -> Comparison {
    let differences = differences(baseline, candidate);
    let is_allowed =
        |difference: &PlanDifference| criteria.is_across_machines && difference.is_of_machine();
    if !differences.iter().all(is_allowed) {
        return Comparison::incomparable(differences, criteria.margin);
    }
    let sides = [baseline, candidate].map(RunSide::of);
    let void: Vec<String> = [("baseline", &sides[0]), ("candidate", &sides[1])]
        .into_iter()
        .flat_map(|(name, side)| side.void(name))
        .collect();
    let comparison = compared(baseline, candidate, &sides, criteria).with_differences(differences);
    if void.is_empty() {
        comparison
    } else {
        comparison.made_void(void)
    }
}

/// A run of a comparison with all that is compared of it.
struct RunSide {
    metrics: RunMetrics,
    batches: RunBatches,
}

impl RunSide {
    fn of(run: &Run) -> Self {
        Self {
            metrics: RunMetrics::of(run),
            batches: RunBatches::of(run),
        }
    }

    /// Why nothing may be concluded from it. A service that answers with errors alone is a result; one that was never
    /// reached may be a wrong address.
    fn void(&self, name: &str) -> Vec<String> {
        match self.metrics.validity() {
            Validity::Void(reasons) => reasons
                .iter()
                .map(|reason| format!("{name}: {reason}"))
                .collect(),
            Validity::Unreachable => vec![format!("{name}: nothing ever connected")],
            Validity::Valid | Validity::Failed(_) => Vec::new(),
        }
    }
}

fn compared(
    baseline: &Run,
    candidate: &Run,
    sides: &[RunSide; 2],
    criteria: RunsCriteria,
) -> Comparison {
    let base = Criteria {
        margin: criteria.margin,
        replicates: criteria.replicates,
        ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, criteria.seed)
    };
    let is_of_lines = is_search(baseline) && is_search(candidate);
    let effects = METRICS.iter().filter_map(|&(name, weight)| {
        // Each search measures them at its own line.
        let weight = if is_of_lines {
            MetricWeight::Reported
        } else {
            weight
        };
        let values = sides.each_ref().map(|side| side.metrics.value(name));
        let samples = sides.each_ref().map(|side| side.batches.of_metric(name));
        let batches = sides.each_ref().map(|side| side.batches.seconds());
        metric_effect(name, weight, values, &samples, batches, base)
    });
    let mut metrics = with_verdicts(effects.collect());
    if is_of_lines {
        metrics.insert(0, lines::compared(baseline, candidate, base));
    }
    let steps = if is_of_lines {
        Vec::new()
    } else {
        steps(sides, base)
    };
    Comparison::of_metrics(metrics, steps, criteria.margin)
}

/// The effect on a metric by the batches of both runs; `None` where neither measured it.
fn metric_effect(
    name: &'static str,
    weight: MetricWeight,
    values: [Option<f64>; 2],
    samples: &[Vec<f64>; 2],
    seconds: [u32; 2],
    criteria: Criteria,
) -> Option<MetricEffect> {
    let definition = definition(name)?;
    let [baseline, candidate] = values;
    baseline.or(candidate)?;
    let scale = definition.scale;
    let estimate = match (
        baseline.and_then(|value| scale.forward(value)),
        candidate.and_then(|value| scale.forward(value)),
    ) {
        (Some(before), Some(after)) => Some(scale.backward(after - before)),
        _ => None,
    };
    let forward = |values: &[f64]| -> Option<Vec<f64>> {
        values.iter().map(|&value| scale.forward(value)).collect()
    };
    let [before, after] = samples.each_ref().map(|sample| forward(sample));
    let enough = |sample: &Vec<f64>| sample.len() >= BATCHES_MIN;
    let effect = match (before.filter(enough), after.filter(enough)) {
        (Some(before), Some(after)) => {
            Effect::of_samples(&before, &after, criteria_of(&definition, criteria))
        }
        _ => None,
    };
    let evidence = match effect {
        Some(_) => Evidence::Batches {
            counts: (samples[0].len(), samples[1].len()),
            seconds: (seconds[0], seconds[1]),
        },
        None => Evidence::SingleValues,
    };
    let metric = ComparedMetric {
        name,
        definition,
        baseline,
        candidate,
        estimate,
        low: None,
        high: None,
        is_of_mean: false,
        verdict: EffectVerdict::TooFew,
        evidence,
        weight,
    };
    Some(MetricEffect { metric, effect })
}

/// All steps that either run took, p-values adjusted over all of them.
fn steps(sides: &[RunSide; 2], criteria: Criteria) -> Vec<ComparedStep> {
    let keys: BTreeSet<&StepKey> = sides
        .iter()
        .flat_map(|side| side.metrics.steps().keys())
        .collect();
    let criteria = Criteria {
        replicates: criteria.replicates.min(STEP_REPLICATES),
        ..criteria
    };
    let mut owners = Vec::new();
    let mut effects = Vec::new();
    for key in keys {
        for name in STEP_METRICS {
            let value = |side: &RunSide| side.metrics.steps().get(key)?.get(name).copied();
            let samples = sides.each_ref().map(|side| side.batches.of_step(key, name));
            let effect = metric_effect(
                name,
                MetricWeight::Difference,
                sides.each_ref().map(value),
                &samples,
                sides.each_ref().map(|side| side.batches.seconds()),
                criteria,
            );
            if let Some(effect) = effect {
                owners.push(key.clone());
                effects.push(effect);
            }
        }
    }
    ComparedStep::gathered(owners, with_verdicts(effects))
}
