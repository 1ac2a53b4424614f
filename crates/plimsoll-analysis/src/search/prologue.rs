//! Before the search: the generator's self-test, a single client, and the noise of the machine.

use plimsoll_model::load_line::{NoLine, Remark};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::VoidReason;

use super::alone::{Alone, missed_at_once};
use super::bracket::Bracket;
use super::ceiling::CeilingCheck;
use super::state::{SearchState, self_test};
use super::{PhaseAction, SearchPhase};
use crate::stats::order::{median, robust_variation};

/// Judged seconds of the first trial with one client.
const SINGLE_S: u32 = 3;
/// Longest first trial with users, who may take minutes for their journey.
const SINGLE_S_MAX: u32 = 30;
/// Assumed rate when none is given, 1/s.
const HOPED: f64 = 100.0;
/// Variation of equal trials that makes a machine noisy.
const NOISY: f64 = 0.05;
/// The first rate as a share of the throughput of one client in a closed loop.
const FIRST_SHARE: f64 = 0.25;

/// Phase 0a: the generator against a server that does nothing.
#[derive(Debug)]
pub(super) struct SelfTest;

impl SelfTest {
    pub(super) fn next(known: &SearchState) -> PhaseAction {
        let hoped = known
            .parameters
            .first_rate
            .map_or(HOPED, |rate| known.hoped(rate));
        match known.ceiling.reach(hoped) {
            CeilingCheck::Proven => PhaseAction::Enter(SearchPhase::Single(Single::default())),
            CeilingCheck::SelfTest(rate) => PhaseAction::Trial(self_test(known, rate)),
            CeilingCheck::Beyond => PhaseAction::End(NoLine::Void {
                reason: VoidReason::SelfTest {
                    reached: known.ceiling.reached,
                    needed: 2.0 * hoped,
                },
                void_trials: 0,
            }),
        }
    }
}

/// Phase 0c: one client in a closed loop gives R₀.
#[derive(Debug, Default)]
pub(super) struct Single {
    misses: u32,
}

impl Single {
    pub(super) fn next(&self, known: &SearchState) -> PhaseAction {
        if let Some(alone) = known.alone {
            if self.misses >= 2 {
                return PhaseAction::End(missed_at_once(alone));
            }
            if self.misses == 0 {
                return PhaseAction::Enter(SearchPhase::Noise(Noise::default()));
            }
        }
        // The second trial is longer: a miss must not be chance.
        let first_s = known.at_least_s(SINGLE_S, 0.0).min(SINGLE_S_MAX);
        let measure_s = if self.misses == 0 {
            first_s
        } else {
            3 * first_s
        };
        let warmup_s = if self.misses == 0 {
            known.parameters.first_warmup_s
        } else {
            0
        };
        PhaseAction::Trial(TrialSpec {
            rate: 0.0,
            ramp_s: 0,
            warmup_s,
            ..known.spec(TrialKind::Single, 0.0, measure_s)
        })
    }

    pub(super) fn record(&mut self, known: &mut SearchState, trial: &Trial) {
        let requests = (trial.requests as f64).max(1.0);
        known.alone = Some(Alone {
            mean_s: trial.response_us.mean / 1e6,
            objective_us: trial.objective_us,
            errors: trial.errors as f64 / requests,
        });
        if trial.verdict.is_fail() {
            self.misses += 1;
        } else {
            self.misses = 0;
        }
    }
}

/// Phase 0b: equal trials at a low rate (A/A).
#[derive(Debug, Default)]
pub(super) struct Noise {
    medians: Vec<f64>,
    /// Standard error that sampling alone gives each median, as a share of it.
    sampling: Vec<f64>,
    /// Trials that never became valid.
    skipped: u32,
}

impl Noise {
    pub(super) fn next(&self, known: &mut SearchState) -> PhaseAction {
        let (trials, measure_s) = known.parameters.noise;
        let done = u32::try_from(self.medians.len()).unwrap_or(u32::MAX);
        let rate = first_rate(known);
        if done + self.skipped >= trials {
            self.conclude(known);
            return PhaseAction::Enter(SearchPhase::Bracket(Bracket::new(rate)));
        }
        let mut spec = known.spec(TrialKind::Noise, rate, known.at_least_s(measure_s, rate));
        spec.ramp_s = spec.ramp_s.min(1);
        if done > 0 {
            // The load goes on at the same rate: nothing to warm up.
            (spec.ramp_s, spec.warmup_s) = (0, 1);
        }
        PhaseAction::Trial(spec)
    }

    pub(super) fn record(&mut self, trial: &Trial) {
        let percentiles = trial.response_us;
        if trial.requests == 0 || percentiles.p50 == 0 {
            self.skipped += 1;
            return;
        }
        let middle = percentiles.p50 as f64;
        // The standard error of a median is 1/(2·f·√n). The density f at the median is taken from the distance to
        // the p90, which for an exponential makes 1.57/√n of the true 1/(ln 2·√n) = 1.44/√n.
        let spread = (percentiles.p90 - percentiles.p50) as f64 / middle;
        self.medians.push(middle);
        self.sampling
            .push(0.98 * spread / (trial.requests as f64).sqrt());
    }

    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    /// The machine is noisy when medians differ by more than 5 % beyond what their sample sizes explain.
    fn conclude(&self, known: &mut SearchState) {
        let Some(variation) = robust_variation(&self.medians) else {
            return;
        };
        let sampling = median(&self.sampling).unwrap_or(0.0);
        let beyond = (variation.powi(2) - sampling.powi(2)).max(0.0).sqrt();
        if beyond > NOISY {
            known.noisy = Some(variation);
            known.remarks.push(Remark::NoisyMachine { variation });
        }
    }
}

/// Load of the first bracket trial.
fn first_rate(known: &SearchState) -> f64 {
    let parameters = &known.parameters;
    let alone = known
        .alone
        .filter(|alone| alone.mean_s > 0.0)
        .map_or(HOPED, |alone| FIRST_SHARE / alone.mean_s);
    // Both are in requests per second.
    let alone = alone / known.per_unit();
    let least = parameters.rate_min() / known.per_unit();
    // Users are whole: one who does not think is all that a client in a closed loop offers.
    let whole = match parameters.unit() {
        LoadUnit::Users => 1.0,
        LoadUnit::RequestsPerSecond | LoadUnit::SessionsPerSecond => 0.0,
    };
    let rate = parameters.first_rate.unwrap_or(alone).max(least).max(whole);
    let most = known
        .reachable()
        .min(parameters.rate_max.unwrap_or(f64::INFINITY));
    rate.min(most)
}
