//! The effect of a change: its size with an interval, and a decision with a margin.
//!
//! Pairs: the estimate of Hodges and Lehmann with Wilcoxon's signed ranks; two samples without pairs: with Mann and
//! Whitney's test. The interval is the wider of the exact one of the test and the `BCa` bootstrap of the median, so it never
//! contradicts the test, and covers at six pairs, where the bootstrap alone is too narrow.
//!
//! A change may also show in a part of the trials only, which a median hides: seven of ten answers a hundred times slower
//! leave a rank interval that holds zero. So the mean is estimated as well, with a `BCa` interval; it decides only if the
//! rank test shows a difference at all, so a second look costs no false alarms.

use plimsoll_model::seed::Seed;

use super::trial::Scale;
use crate::stats::bca;
use crate::stats::exact::{normal_quantile, student_quantile};
use crate::stats::order::median;
use crate::stats::ranks::{self, Shift};

/// Values that a bootstrap draws: with many values fewer replicates suffice, and no matrix takes minutes.
const DRAWS_MAX: usize = 2_000_000;
/// Replicates that are always made.
const REPLICATES_MIN: usize = 1000;

/// Which direction of a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Throughput, load lines.
    HigherIsBetter,
    /// Response times, errors, cost.
    LowerIsBetter,
}

/// How a decision is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criteria {
    /// Which direction is good.
    pub direction: Direction,
    /// How values are compared.
    pub scale: Scale,
    /// A difference that does not matter: 0.03 is 3 %.
    pub margin: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Chance of a false alarm that the test may spend at this look at the data: it rejects at this p-value.
    pub error: f64,
    /// Replicates of the bootstrap.
    pub replicates: usize,
    /// Seed of the bootstrap.
    pub seed: Seed,
}

impl Criteria {
    /// Intervals of 95 %, a margin of 3 %, a single look.
    pub fn standard(direction: Direction, scale: Scale, seed: Seed) -> Self {
        Self {
            direction,
            scale,
            margin: 0.03,
            confidence: 0.95,
            error: 0.05,
            replicates: bca::REPLICATES,
            seed,
        }
    }
}

/// The conclusion about an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectVerdict {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// No difference larger than the margin.
    Same,
    /// The interval holds both: more trials are needed.
    Undecided,
    /// Too few trials for any interval of this confidence.
    TooFew,
}

/// An interval on the scale of the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn is_above(self, margin: f64) -> bool {
        self.low > margin
    }

    fn is_below(self, margin: f64) -> bool {
        self.high < -margin
    }

    fn is_within(self, margin: f64) -> bool {
        self.low >= -margin && self.high <= margin
    }
}

/// The effect of a change on a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Pairs, or values of the smaller sample.
    trials: usize,
    estimate: f64,
    typical: Interval,
    mean_estimate: f64,
    mean: Interval,
    p: f64,
    criteria: Criteria,
}

impl Effect {
    /// From differences of pairs, candidate minus baseline, on the scale of the arithmetic. `None` without pairs.
    ///
    /// # Panics
    /// When there are more than a thousand pairs, or a value is not finite.
    pub fn of_pairs(differences: &[f64], criteria: Criteria) -> Option<Self> {
        let shift = ranks::signed_rank(differences, criteria.confidence)?;
        let samples = [differences];
        let middle = |drawn: &[Vec<f64>]| median(&drawn[0]).unwrap_or(0.0);
        let mean = |drawn: &[Vec<f64>]| mean_of(&drawn[0]);
        Self::of(differences.len(), shift, &samples, middle, mean, criteria)
    }

    /// From two samples without pairs, on the scale of the arithmetic. `None` when either is empty.
    ///
    /// # Panics
    /// When there are more than a thousand values on a side, or a value is not finite.
    pub fn of_samples(baseline: &[f64], candidate: &[f64], criteria: Criteria) -> Option<Self> {
        let shift = ranks::two_samples(baseline, candidate, criteria.confidence)?;
        let samples = [baseline, candidate];
        let middle = |drawn: &[Vec<f64>]| {
            median(&drawn[1]).unwrap_or(0.0) - median(&drawn[0]).unwrap_or(0.0)
        };
        let mean = |drawn: &[Vec<f64>]| mean_of(&drawn[1]) - mean_of(&drawn[0]);
        let trials = baseline.len().min(candidate.len());
        Self::of(trials, shift, &samples, middle, mean, criteria)
    }

    fn of(
        trials: usize,
        shift: Shift,
        samples: &[&[f64]],
        middle: impl Fn(&[Vec<f64>]) -> f64,
        mean: impl Fn(&[Vec<f64>]) -> f64,
        criteria: Criteria,
    ) -> Option<Self> {
        let confidence = criteria.confidence;
        let values: usize = samples.iter().map(|sample| sample.len()).sum();
        let replicates = criteria
            .replicates
            .min((DRAWS_MAX / values.max(1)).max(REPLICATES_MIN));
        let (middle_low, middle_high) = bca::interval(
            samples,
            middle,
            confidence,
            replicates,
            criteria.seed.derive(0),
        )?;
        let whole: Vec<Vec<f64>> = samples.iter().map(|sample| sample.to_vec()).collect();
        let centre = mean(&whole);
        let (low, high) = bca::interval(
            samples,
            mean,
            confidence,
            replicates,
            criteria.seed.derive(1),
        )?;
        let wider = small_sample_factor(trials, confidence);
        Some(Self {
            trials,
            estimate: shift.estimate,
            typical: Interval {
                low: shift.low.min(middle_low),
                high: shift.high.max(middle_high),
            },
            mean_estimate: centre,
            mean: Interval {
                low: centre - wider * (centre - low),
                high: centre + wider * (high - centre),
            },
            p: shift.p,
            criteria,
        })
    }

    /// The estimate: a ratio or a difference.
    pub fn estimate(&self) -> f64 {
        self.criteria.scale.backward(self.estimate)
    }

    /// Lower end of its interval: 0 or −∞ with too few trials.
    pub fn low(&self) -> f64 {
        self.criteria.scale.backward(self.typical.low)
    }

    /// Upper end of its interval: ∞ with too few trials.
    pub fn high(&self) -> f64 {
        self.criteria.scale.backward(self.typical.high)
    }

    /// Estimate and interval (low, high) of the mean effect: a ratio or a difference. A change of a part of the trials
    /// moves it, and not the estimate above.
    pub fn mean(&self) -> (f64, f64, f64) {
        let scale = self.criteria.scale;
        (
            scale.backward(self.mean_estimate),
            scale.backward(self.mean.low),
            scale.backward(self.mean.high),
        )
    }

    /// Whether the interval of the estimate alone, without that of the mean, is beyond the margin.
    pub fn is_beyond_margin(&self) -> bool {
        let margin = self.criteria.scale.margin(self.criteria.margin);
        self.typical.is_above(margin) || self.typical.is_below(margin)
    }

    /// Two-sided p-value of no difference.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// Pairs, or values of the smaller sample.
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// The decision when this metric is the only one.
    pub fn verdict(&self) -> EffectVerdict {
        self.verdict_at(self.p)
    }

    /// The decision with a p-value adjusted for several metrics.
    fn verdict_at(&self, p: f64) -> EffectVerdict {
        let margin = self.criteria.scale.margin(self.criteria.margin);
        if self.typical.low.is_infinite() || self.typical.high.is_infinite() {
            return EffectVerdict::TooFew;
        }
        let is_shown = p <= self.criteria.error * (1.0 + 1e-9);
        let above =
            self.typical.is_above(margin) || (self.mean.is_above(margin) && self.estimate > 0.0);
        let below =
            self.typical.is_below(margin) || (self.mean.is_below(margin) && self.estimate < 0.0);
        let is_higher_better = self.criteria.direction == Direction::HigherIsBetter;
        match (above && is_shown, below && is_shown) {
            (true, false) if is_higher_better => EffectVerdict::Better,
            (false, true) if !is_higher_better => EffectVerdict::Better,
            (true, false) | (false, true) => EffectVerdict::Worse,
            _ if self.typical.is_within(margin) && self.mean.is_within(margin) => {
                EffectVerdict::Same
            }
            _ => EffectVerdict::Undecided,
        }
    }
}

/// By how much a bootstrap of the mean is too narrow in a small sample: its variance is of n, not n − 1, degrees, and its
/// tails are normal, not Student's (Hesterberg, The American Statistician 69, 2015, the expanded interval).
fn small_sample_factor(trials: usize, confidence: f64) -> f64 {
    let n = trials as f64;
    let normal = normal_quantile(f64::midpoint(1.0, confidence));
    student_quantile(n - 1.0, confidence)
        .map_or(1.0, |student| student / normal * (n / (n - 1.0)).sqrt())
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The decisions about several metrics of the same trials, their p-values adjusted by Holm.
pub fn verdicts(effects: &[Effect]) -> Vec<EffectVerdict> {
    let p_values: Vec<f64> = effects.iter().map(Effect::p).collect();
    effects
        .iter()
        .zip(ranks::holm(&p_values))
        .map(|(effect, p)| effect.verdict_at(p))
        .collect()
}

#[cfg(test)]
mod tests;
