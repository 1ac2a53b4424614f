//! Phase 3: fresh trials at the lower edge, and the line that they make.

use plimsoll_model::load_line::{Estimate, LoadLine, NoLine, Remark};
use plimsoll_model::trial::{Trial, TrialKind};

use super::PhaseAction;
use super::state::{SearchState, cost, interval};
use super::statement::rate as in_words;
use crate::stats::exact::clopper_pearson_low;

/// Rounds at most.
const ROUNDS_MAX: u32 = 4;
/// A new lower edge lies at least this far below one that was not confirmed.
const LOWER: f64 = 0.98;
/// Probability of a pass that a verified rate should have by the posterior: at first, and in the last round.
const PASS_TARGET: f64 = 0.78;
const PASS_TARGET_LAST: f64 = 0.9;
/// After fewer full trials than this the posterior knows its lower end badly: the only round is made a whole width of the
/// interval below the median.
const TRIALS_FEW: usize = 8;
/// Trials with which a round may end when the time runs out.
const TRIALS_MIN: u32 = 2;
/// No printed interval reaches less far from its median: the rate that a trial really offers scatters, and the
/// posterior's picture of a queue is not finer than this.
const RESOLUTION: f64 = 0.02;
/// Trials within this share above a rate count as trials at it.
const NEAR: f64 = 0.02;

/// One round of fresh trials at a rate.
#[derive(Debug)]
pub(super) struct Confirm {
    rate: f64,
    passes: u32,
    trials: u32,
    round: u32,
}

impl Confirm {
    /// Fresh trials at the lower end of the interval, or lower where single trials scatter so much that they
    /// would often fail there: a rate is worth printing as verified only when it mostly holds.
    pub(super) fn new(known: &SearchState) -> Self {
        let first = Self::at(known, PASS_TARGET);
        // The only round there is time for must not be wasted.
        if first.is_last_in_time(known) {
            let only = Self::at(known, PASS_TARGET_LAST);
            let (low, median, high) = interval(known);
            let full = known.evidence.iter();
            let full = full.filter(|evidence| evidence.measure_s >= known.parameters.measure_s);
            let most = if full.count() < TRIALS_FEW {
                median * low / high
            } else {
                low
            };
            return Self {
                rate: only.rate.min(most),
                ..only
            };
        }
        first
    }

    fn at(known: &SearchState, wanted: f64) -> Self {
        let (low, median, _) = interval(known);
        let allowed = known.allowed(median, known.measure_s);
        let posterior = known.posterior.as_ref();
        let rate = posterior.map_or(low, |posterior| posterior.passing_rate(allowed, wanted));
        Self {
            rate: rate.min(low),
            passes: 0,
            trials: 0,
            round: 1,
        }
    }

    pub(super) fn next(&mut self, known: &mut SearchState) -> PhaseAction {
        let (trials, passes) = known.parameters.confirm;
        if self.trials >= trials && self.passes >= passes {
            return PhaseAction::Line(self.line(known));
        }
        if self.trials - self.passes > trials - passes {
            if self.round >= ROUNDS_MAX {
                return PhaseAction::End(self.not_confirmed(known));
            }
            let next = Self::at(known, PASS_TARGET_LAST);
            let lower = next.rate.min(self.lower(known));
            known.remarks.push(Remark::Note {
                text: format!(
                    "at {} {} only {} of {} fresh trials passed: the lower edge was moved to {}",
                    in_words(self.rate),
                    known.parameters.unit().symbol(),
                    self.passes,
                    self.trials,
                    in_words(lower)
                ),
            });
            *self = Self {
                rate: lower,
                round: self.round + 1,
                ..next
            };
        }
        PhaseAction::Trial(known.spec(TrialKind::Confirm, self.rate, known.measure_s))
    }

    /// Whether there is no time for another round after one at this rate.
    fn is_last_in_time(&self, known: &SearchState) -> bool {
        let trial = cost(&known.spec(TrialKind::Confirm, self.rate, known.measure_s));
        known.elapsed + 2 * known.parameters.confirm.0 * trial > known.budget()
    }

    /// Where to try again, at most. After a round without a pass, and in the last round within the time, trials vary
    /// more than the posterior assumes: the step is a whole width of the interval.
    fn lower(&self, known: &SearchState) -> f64 {
        let (low, _, high) = interval(known);
        if self.passes == 0 || self.is_last_in_time(known) {
            self.rate * LOWER.min(low / high)
        } else {
            self.rate * LOWER
        }
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        self.rate = trial.spec.rate;
        self.trials += 1;
        self.passes += u32::from(trial.verdict.is_pass());
    }

    /// The time ran out: what was confirmed so far is a line when three of four passed, with its own k of n.
    pub(super) fn out_of_time(&self, known: &mut SearchState) -> Result<LoadLine, NoLine> {
        let mostly = 4 * self.passes >= 3 * self.trials;
        if self.trials >= TRIALS_MIN && mostly {
            known.remarks.push(Remark::Note {
                text: format!("the time ran out after {} fresh trials", self.trials),
            });
            return Ok(self.line(known));
        }
        if self.trials > self.passes {
            return Err(self.not_confirmed(known));
        }
        let Estimate { low, median, high } = self.estimate(known);
        Err(NoLine::GaveUp {
            low,
            median,
            high,
            because: "the time ran out before the lower edge was confirmed".to_owned(),
        })
    }

    /// What is known of the line before it is confirmed: the interval reaches down to the fresh trials, which may fail where most
    /// should pass.
    pub(super) fn estimate(&self, known: &SearchState) -> Estimate {
        let (low, median, high) = interval(known);
        Estimate {
            low: low.min(self.rate),
            median,
            high,
        }
    }

    fn not_confirmed(&self, known: &SearchState) -> NoLine {
        NoLine::NotConfirmed {
            rate: self.rate,
            passes: self.passes,
            trials: self.trials,
            estimate: Some(self.estimate(known)),
        }
    }

    /// The printed lower end is never above the rate that was verified.
    fn line(&self, known: &SearchState) -> LoadLine {
        let (low, median, high) = interval(known);
        LoadLine {
            unit: known.parameters.unit(),
            median: median.max(self.rate),
            low: low.min(self.rate).min(median * (1.0 - RESOLUTION)),
            high: high.max(self.rate).max(median * (1.0 + RESOLUTION)),
            verified: self.rate,
            confirmed_trials: self.trials,
            confirmed_passes: self.passes,
            pass_probability_low: clopper_pearson_low(self.passes, self.trials, 0.95),
            broken: broken(known, median),
            trial_s: known.measure_s,
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }
}

/// The lowest rate from the line on at which a trial failed, with all trials at about that rate.
fn broken(known: &SearchState, line: f64) -> Option<(f64, u32, u32)> {
    // The load that a trial with steal stands for was never offered.
    let offered = || known.evidence.iter().filter(|evidence| evidence.calm);
    let failed = offered().filter(|evidence| evidence.failed && evidence.rate >= line);
    let rate = failed
        .map(|evidence| evidence.rate)
        .min_by(f64::total_cmp)?;
    let near: Vec<bool> = offered()
        .filter(|evidence| (rate..=rate * (1.0 + NEAR)).contains(&evidence.rate))
        .map(|evidence| evidence.failed)
        .collect();
    let count = |failed: usize| u32::try_from(failed).unwrap_or(u32::MAX);
    Some((
        rate,
        count(near.iter().filter(|&&failed| failed).count()),
        count(near.len()),
    ))
}
