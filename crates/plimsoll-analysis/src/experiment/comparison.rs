//! A baseline and a candidate side by side: a verdict, and for each metric the change with its interval.
//!
//! Where the interval comes from is part of the result ([`Evidence`]): blocks of interleaved trials hold the variation
//! between trials; two single runs hold that within each run alone.

pub mod blocks;
pub mod comparability;
mod lines;
pub mod ranking;
mod runs;
pub mod usual_rules;

#[cfg(test)]
mod tests;

use super::effect::{Criteria, Effect, EffectVerdict, verdicts};
use super::metrics::{MetricDefinition, StepKey};
use super::trial::Scale;

pub use comparability::PlanDifference;
pub(super) use lines::log_ratio;
pub use runs::{RunsCriteria, compare_runs};

/// A share of errors that does not matter, 0 to 1.
pub const ERRORS_MARGIN: f64 = 0.001;

/// The conclusion of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonVerdict {
    /// Better in at least one metric by more than the margin, worse in none.
    Better,
    /// Worse in at least one metric by more than the margin.
    Worse,
    /// No difference larger than the margin.
    Same,
    /// The data holds both.
    Undecided,
    /// The two did not measure the same thing.
    Incomparable,
}

impl ComparisonVerdict {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Undecided => "undecided",
            Self::Incomparable => "incomparable",
        }
    }
}

/// What the interval of a metric is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The intervals that two searches give for their lines.
    Lines,
    /// Batches of seconds of one run on each side.
    Batches {
        /// Batches of the baseline and of the candidate.
        counts: (usize, usize),
        /// Length of each, seconds.
        seconds: (u32, u32),
    },
    /// Blocks of interleaved trials.
    Blocks(usize),
    /// One value on each side: there is no interval.
    SingleValues,
}

/// What a metric may decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricWeight {
    /// Its difference decides, and so does its absence.
    Main,
    /// Its difference decides; the rest may be the same without it.
    Difference,
    /// Nothing.
    Reported,
}

/// A metric of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedMetric {
    /// Its name, without labels.
    pub name: &'static str,
    /// How it is read and compared.
    pub definition: MetricDefinition,
    /// Value of the baseline; `None` where it was not measured.
    pub baseline: Option<f64>,
    /// Value of the candidate.
    pub candidate: Option<f64>,
    /// Candidate over baseline, or their difference, by the scale; `None` where either has no value.
    pub estimate: Option<f64>,
    /// Lower end of its 95 % interval; `None` where there is none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether estimate and interval are of the mean, because a part of the values changed and their median did not.
    pub is_of_mean: bool,
    /// The conclusion about it.
    pub verdict: EffectVerdict,
    /// What the interval is made of.
    pub evidence: Evidence,
    /// What it may decide.
    pub weight: MetricWeight,
}

/// The metrics of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedStep {
    /// Journey and label.
    pub key: StepKey,
    /// Its metrics.
    pub metrics: Vec<ComparedMetric>,
}

impl ComparedStep {
    /// Metrics by their steps; neighbours of one step belong together.
    fn gathered(owners: Vec<StepKey>, metrics: Vec<ComparedMetric>) -> Vec<Self> {
        let mut steps: Vec<Self> = Vec::new();
        for (key, metric) in owners.into_iter().zip(metrics) {
            match steps.last_mut().filter(|step| step.key == key) {
                Some(step) => step.metrics.push(metric),
                None => steps.push(Self {
                    key,
                    metrics: vec![metric],
                }),
            }
        }
        steps
    }
}

/// A candidate compared with a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    verdict: ComparisonVerdict,
    differences: Vec<PlanDifference>,
    void: Vec<String>,
    metrics: Vec<ComparedMetric>,
    steps: Vec<ComparedStep>,
    margin: f64,
}

impl Comparison {
    /// The result of metrics that were compared.
    pub fn of_metrics(metrics: Vec<ComparedMetric>, steps: Vec<ComparedStep>, margin: f64) -> Self {
        Self {
            verdict: conclude(&metrics, &steps),
            differences: Vec::new(),
            void: Vec::new(),
            metrics,
            steps,
            margin,
        }
    }

    /// A comparison of what cannot be compared.
    pub(crate) fn incomparable(differences: Vec<PlanDifference>, margin: f64) -> Self {
        Self {
            verdict: ComparisonVerdict::Incomparable,
            differences,
            ..Self::of_metrics(Vec::new(), Vec::new(), margin)
        }
    }

    /// The same, of which nothing may be concluded for these reasons.
    #[must_use]
    pub fn made_void(self, reasons: Vec<String>) -> Self {
        Self {
            verdict: ComparisonVerdict::Undecided,
            void: reasons,
            ..self
        }
    }

    /// The same with another verdict, for a reason that is no metric.
    #[must_use]
    pub(crate) fn with_verdict(self, verdict: ComparisonVerdict) -> Self {
        Self { verdict, ..self }
    }

    /// The same, with differences that do not prevent it.
    #[must_use]
    pub(crate) fn with_differences(self, differences: Vec<PlanDifference>) -> Self {
        Self {
            differences,
            ..self
        }
    }

    /// The conclusion.
    pub fn verdict(&self) -> ComparisonVerdict {
        self.verdict
    }

    /// What differs in what was measured, and on what.
    pub fn differences(&self) -> &[PlanDifference] {
        &self.differences
    }

    /// Why nothing may be concluded; empty where the data is valid.
    pub fn void(&self) -> &[String] {
        &self.void
    }

    /// The metrics.
    pub fn metrics(&self) -> &[ComparedMetric] {
        &self.metrics
    }

    /// A metric by its name.
    pub fn metric(&self, name: &str) -> Option<&ComparedMetric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The same by step; empty without journeys.
    pub fn steps(&self) -> &[ComparedStep] {
        &self.steps
    }

    /// A difference that does not matter, 0.03 for 3 %.
    pub fn margin(&self) -> f64 {
        self.margin
    }
}

/// A metric before its verdict, which depends on the others.
#[derive(Clone, Copy, Debug)]
pub struct MetricEffect {
    /// The metric without a verdict.
    pub metric: ComparedMetric,
    /// Its effect; `None` where there are no values for one.
    pub effect: Option<Effect>,
}

/// The metrics with their verdicts. P-values of those that decide are adjusted for being several, and those of the others
/// among themselves. A metric that is equal in all pairs can never be significant, and is none of the several (Tarone,
/// Biometrics 46, 1990).
pub fn with_verdicts(effects: Vec<MetricEffect>) -> Vec<ComparedMetric> {
    let decides = |effect: &MetricEffect| effect.metric.weight != MetricWeight::Reported;
    let varies = |effect: &Effect| effect.low() < effect.high();
    let adjusted = |wanted: bool| {
        let members = effects.iter().filter(|effect| decides(effect) == wanted);
        let effects: Vec<Effect> = members.filter_map(|member| member.effect).collect();
        let varying: Vec<Effect> = effects.into_iter().filter(varies).collect();
        verdicts(&varying).into_iter()
    };
    let (mut deciding, mut reported) = (adjusted(true), adjusted(false));
    let mut metrics = Vec::with_capacity(effects.len());
    for member in effects {
        let verdict = member.effect.and_then(|effect| {
            if !varies(&effect) {
                return Some(effect.verdict());
            }
            if decides(&member) {
                deciding.next()
            } else {
                reported.next()
            }
        });
        metrics.push(match (member.effect, verdict) {
            (Some(effect), Some(verdict)) => with_effect(member.metric, &effect, verdict),
            _ => member.metric,
        });
    }
    metrics
}

fn with_effect(metric: ComparedMetric, effect: &Effect, verdict: EffectVerdict) -> ComparedMetric {
    let is_different = matches!(verdict, EffectVerdict::Better | EffectVerdict::Worse);
    let is_of_mean = is_different && !effect.is_beyond_margin();
    let (estimate, low, high) = if is_of_mean {
        effect.mean()
    } else {
        (effect.estimate(), effect.low(), effect.high())
    };
    let is_known = verdict != EffectVerdict::TooFew;
    let bound = |value: f64| (is_known && value.is_finite()).then_some(value);
    ComparedMetric {
        estimate: Some(estimate),
        low: bound(low),
        high: bound(high),
        is_of_mean,
        verdict,
        ..metric
    }
}

/// The criteria of a metric; a share of errors has a margin of its own.
pub fn criteria_of(definition: &MetricDefinition, criteria: Criteria) -> Criteria {
    Criteria {
        direction: definition.direction,
        scale: definition.scale,
        margin: match definition.scale {
            Scale::Ratio => criteria.margin,
            Scale::Difference => ERRORS_MARGIN,
        },
        ..criteria
    }
}

/// What the verdicts of the metrics make of the whole.
fn conclude(metrics: &[ComparedMetric], steps: &[ComparedStep]) -> ComparisonVerdict {
    let of_steps = steps.iter().flat_map(|step| &step.metrics);
    let any = |verdict: EffectVerdict| {
        metrics
            .iter()
            .chain(of_steps.clone())
            .any(|metric| metric.weight != MetricWeight::Reported && metric.verdict == verdict)
    };
    let mut main = metrics
        .iter()
        .filter(|metric| metric.weight == MetricWeight::Main)
        .peekable();
    let is_measured = main.peek().is_some();
    if any(EffectVerdict::Worse) {
        ComparisonVerdict::Worse
    } else if any(EffectVerdict::Better) {
        ComparisonVerdict::Better
    } else if is_measured && main.all(|metric| metric.verdict == EffectVerdict::Same) {
        ComparisonVerdict::Same
    } else {
        ComparisonVerdict::Undecided
    }
}
