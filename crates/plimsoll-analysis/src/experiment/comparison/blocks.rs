//! Two sides by blocks of interleaved trials: what a block has in common cancels, and the intervals hold the variation
//! between trials.
//!
//! A service that fails in the trials of one side is a result too: failures are counted on both sides and compared by
//! Fisher's exact test.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::labels;

use super::runs::{METRICS, STEP_METRICS};
use super::{
    ComparedMetric, ComparedStep, Comparison, ComparisonVerdict, Evidence, MetricEffect,
    MetricWeight, criteria_of, with_verdicts,
};
use crate::experiment::block_pairs::BlockPairs;
use crate::experiment::effect::{Criteria, EffectVerdict};
use crate::experiment::metrics::{LOAD_LINE, StepKey, definition, step_metric};
use crate::experiment::trial::{ExperimentTrial, TrialOutcome};
use crate::stats::contingency::fisher_greater;

/// Trials of a whole block: A B B A or B A A B.
pub const TRIALS_PER_BLOCK: usize = 4;
/// Level of the baseline, and of the candidate.
pub const BASELINE: [usize; 1] = [0];
/// Level of the candidate.
pub const CANDIDATE: [usize; 1] = [1];

/// The result of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockComparison {
    comparison: Comparison,
    valid: usize,
    void: usize,
    failed: (usize, usize),
}

impl BlockComparison {
    /// The metrics and the verdict.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// Whole blocks that count.
    pub fn valid(&self) -> usize {
        self.valid
    }

    /// Whole blocks with a void trial.
    pub fn void(&self) -> usize {
        self.void
    }

    /// Trials of the baseline and the candidate in which the service failed.
    pub fn failed(&self) -> (usize, usize) {
        self.failed
    }

    /// Whether there is an answer, so that further blocks are not needed.
    pub fn is_decided(&self) -> bool {
        self.comparison.verdict() != ComparisonVerdict::Undecided
    }
}

/// Compares the whole blocks among `trials`: baseline and candidate have the levels [`BASELINE`] and [`CANDIDATE`]. By load
/// lines where the trials measured any, else by what users get at the load of the trials.
pub fn compare_blocks(trials: &[ExperimentTrial], criteria: Criteria) -> BlockComparison {
    let whole = whole_blocks(trials);
    let is_void = |trial: &&ExperimentTrial| *trial.outcome() == TrialOutcome::Void;
    let void: BTreeSet<u32> = whole
        .iter()
        .filter(is_void)
        .map(ExperimentTrial::block)
        .collect();
    let blocks: BTreeSet<u32> = whole.iter().map(ExperimentTrial::block).collect();
    let failed = failures(&whole);
    let failed_blocks = whole
        .iter()
        .filter(|trial| *trial.outcome() == TrialOutcome::Failed)
        .map(ExperimentTrial::block)
        .filter(|block| !void.contains(block))
        .collect::<BTreeSet<u32>>();
    let (metrics, steps) = compared(&whole, criteria);
    let mut comparison = Comparison::of_metrics(metrics, steps, criteria.margin);
    if fails_more(&whole, [&CANDIDATE, &BASELINE], criteria.error) {
        comparison = comparison.with_verdict(ComparisonVerdict::Worse);
    } else if fails_more(&whole, [&BASELINE, &CANDIDATE], criteria.error) {
        comparison = comparison.with_verdict(ComparisonVerdict::Better);
    }
    if 3 * void.len() > blocks.len() {
        let reason = format!(
            "{} of {} blocks have a trial that is void; at most a third may",
            void.len(),
            blocks.len()
        );
        comparison = comparison.made_void(vec![reason]);
    }
    BlockComparison {
        comparison,
        valid: blocks.len() - void.len() - failed_blocks.len(),
        void: void.len(),
        failed,
    }
}

/// The metrics, and those of steps. Where there are steps, both share the error: either may decide.
fn compared(
    whole: &[ExperimentTrial],
    criteria: Criteria,
) -> (Vec<ComparedMetric>, Vec<ComparedStep>) {
    if names(whole).contains(LOAD_LINE) {
        // Over a load that rises until the service fails the others describe the overload.
        let reported = METRICS.map(|(name, _)| (name, MetricWeight::Reported));
        let all = [(LOAD_LINE, MetricWeight::Main)]
            .into_iter()
            .chain(reported);
        return (metrics(whole, all, criteria), Vec::new());
    }
    let has_steps = names(whole).into_iter().any(|name| step_of(name).is_some());
    let criteria = Criteria {
        error: criteria.error / if has_steps { 2.0 } else { 1.0 },
        ..criteria
    };
    (
        metrics(whole, METRICS.into_iter(), criteria),
        steps(whole, criteria),
    )
}

fn metrics(
    whole: &[ExperimentTrial],
    all: impl Iterator<Item = (&'static str, MetricWeight)>,
    criteria: Criteria,
) -> Vec<ComparedMetric> {
    let effects = all.filter_map(|(name, weight)| effect(whole, name, name, weight, criteria));
    with_verdicts(effects.collect())
}

/// Trials of blocks that are whole: an interrupted block is no fair pair.
fn whole_blocks(trials: &[ExperimentTrial]) -> Vec<ExperimentTrial> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for trial in trials {
        *counts.entry(trial.block()).or_default() += 1;
    }
    let is_whole = |trial: &&ExperimentTrial| counts[&trial.block()] >= TRIALS_PER_BLOCK;
    trials.iter().filter(is_whole).cloned().collect()
}

fn failures(trials: &[ExperimentTrial]) -> (usize, usize) {
    (failed(trials, &BASELINE), failed(trials, &CANDIDATE))
}

/// Trials of a side in which the service failed.
fn failed(trials: &[ExperimentTrial], side: &[usize]) -> usize {
    outcomes(trials, side)
        .filter(|outcome| **outcome == TrialOutcome::Failed)
        .count()
}

/// Trials of a side that are not void.
fn counted(trials: &[ExperimentTrial], side: &[usize]) -> usize {
    outcomes(trials, side)
        .filter(|outcome| **outcome != TrialOutcome::Void)
        .count()
}

fn outcomes<'t>(
    trials: &'t [ExperimentTrial],
    side: &'t [usize],
) -> impl Iterator<Item = &'t TrialOutcome> {
    let of_side = trials
        .iter()
        .filter(move |trial| trial.levels() == Some(side));
    of_side.map(ExperimentTrial::outcome)
}

/// Whether a side fails more often than the other, and not by chance. A void trial leaves one side with fewer than the other.
fn fails_more(trials: &[ExperimentTrial], [side, other]: [&[usize]; 2], alpha: f64) -> bool {
    let (hits, others) = (failed(trials, side), failed(trials, other));
    let drawn = counted(trials, side);
    let all = drawn + counted(trials, other);
    let chance = fisher_greater(
        hits as u64,
        drawn as u64,
        (hits + others) as u64,
        all as u64,
    );
    hits > others && chance <= alpha / 2.0
}

fn names(trials: &[ExperimentTrial]) -> BTreeSet<&str> {
    let metrics = trials.iter().filter_map(|trial| match trial.outcome() {
        TrialOutcome::Measured(metrics) => Some(metrics.keys().map(String::as_str)),
        TrialOutcome::Failed | TrialOutcome::Void => None,
    });
    metrics.flatten().collect()
}

/// The effect on the metric that trials measured under the name `measured`; `None` where no trial did.
fn effect(
    trials: &[ExperimentTrial],
    name: &'static str,
    measured: &str,
    weight: MetricWeight,
    criteria: Criteria,
) -> Option<MetricEffect> {
    let definition = definition(name)?;
    let criteria = criteria_of(&definition, criteria);
    let pairs = BlockPairs::of(trials, measured, definition.scale, &BASELINE, &CANDIDATE);
    let centre = |levels: &[usize]| {
        let values: Vec<f64> = trials
            .iter()
            .filter(|trial| trial.levels() == Some(levels))
            .filter_map(|trial| trial.value(measured, definition.scale))
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (!values.is_empty()).then(|| definition.scale.backward(mean))
    };
    let (baseline, candidate) = (centre(&BASELINE), centre(&CANDIDATE));
    baseline.or(candidate)?;
    let metric = ComparedMetric {
        name,
        definition,
        baseline,
        candidate,
        estimate: None,
        low: None,
        high: None,
        is_of_mean: false,
        verdict: EffectVerdict::TooFew,
        evidence: Evidence::Blocks(pairs.valid()),
        weight,
    };
    Some(MetricEffect {
        effect: pairs.effect(criteria),
        metric,
    })
}

fn steps(trials: &[ExperimentTrial], criteria: Criteria) -> Vec<ComparedStep> {
    let keys: BTreeSet<StepKey> = names(trials).into_iter().filter_map(step_of).collect();
    let (mut owners, mut effects) = (Vec::new(), Vec::new());
    for key in &keys {
        for name in STEP_METRICS {
            let measured = step_metric(name, key);
            let effect = effect(trials, name, &measured, MetricWeight::Difference, criteria);
            if let Some(effect) = effect {
                owners.push(key.clone());
                effects.push(effect);
            }
        }
    }
    ComparedStep::gathered(owners, with_verdicts(effects))
}

/// The step of a metric's name; `None` without one, and for those of one load among several.
fn step_of(name: &str) -> Option<StepKey> {
    let has_load = labels::label(name, "load").is_some();
    let journey = labels::label(name, "journey").filter(|_| !has_load)?;
    Some((journey.to_owned(), labels::label(name, "step")?.to_owned()))
}

#[cfg(test)]
mod tests;
