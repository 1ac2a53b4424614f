//! What a search has learned so far, shared by its phases.

use std::time::Duration;

use plimsoll_model::load_line::Remark;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::{FailReason, TrialVerdict};

use super::alone::Alone;
use super::ceiling::{Ceiling, CeilingCheck, share_left};
use super::evidence::{Evidence, Theft, is_calm};
use super::parameters::SearchParameters;
use super::posterior::Posterior;
use super::users::Stayed;
use crate::verdict::early::may_stop_early;

/// Seconds that a trial costs beside its own: closing, judging, the drain of a healthy target.
const OVERHEAD_S: u64 = 2;
/// Judged seconds of a self-test.
const SELF_TEST_S: u32 = 2;
/// Assumed upper bound of a user's requests per second before one was measured.
const HOPED_PER_USER: f64 = 1.0;
/// The anchors' rate as a share of the line.
const ANCHOR_SHARE: f64 = 0.6;

/// What is known.
#[derive(Debug)]
pub(super) struct SearchState {
    pub(super) parameters: SearchParameters,
    pub(super) elapsed: Duration,
    /// Time in which users came, all trials together; `elapsed` is without it.
    came_in: Duration,
    pub(super) ceiling: Ceiling,
    /// One client alone: mean response time in seconds, the objective's quantile in µs, share of errors.
    pub(super) alone: Option<Alone>,
    /// Robust variation of equal trials, when it makes the machine noisy.
    pub(super) noisy: Option<f64>,
    pub(super) evidence: Vec<Evidence>,
    /// (rate, busy share of the target's CPU), for the utilisation law.
    pub(super) utilisation: Vec<(f64, f64)>,
    pub(super) remarks: Vec<Remark>,
    pub(super) posterior: Option<Posterior>,
    /// Judged seconds of a full trial, once the bracket knows the rate.
    pub(super) measure_s: u32,
    /// Seconds of warm-up of a full trial.
    pub(super) warmup_s: u32,
    /// Trials with CPU steal.
    theft: Theft,
    /// Rates at and above are void for the generator.
    pub(super) void_from: f64,
    /// In flight at the last anchor, per unit of its rate.
    pub(super) anchor: Option<(f64, f64)>,
    /// Users who may return to the next trial.
    pub(super) stayed: Stayed,
}

impl SearchState {
    pub(super) fn new(parameters: SearchParameters) -> Self {
        Self {
            measure_s: parameters.measure_s,
            warmup_s: parameters.warmup_s,
            parameters,
            elapsed: Duration::ZERO,
            came_in: Duration::ZERO,
            ceiling: Ceiling::default(),
            alone: None,
            noisy: None,
            evidence: Vec::new(),
            utilisation: Vec::new(),
            remarks: Vec::new(),
            posterior: None,
            theft: Theft::default(),
            void_from: f64::INFINITY,
            anchor: None,
            stayed: Stayed::default(),
        }
    }

    /// A trial of `kind` at `rate` with the ramp and warm-up of the parameters.
    pub(super) fn spec(&self, kind: TrialKind, rate: f64, measure_s: u32) -> TrialSpec {
        let (unit, per_unit) = if kind == TrialKind::SelfTest {
            (LoadUnit::RequestsPerSecond, 1.0)
        } else {
            (self.parameters.unit(), self.per_unit())
        };
        TrialSpec {
            kind,
            rate: rounded(rate, unit),
            unit,
            per_unit,
            ramp_s: self.parameters.ramp_s,
            warmup_s: self.warmup_s,
            measure_s,
            stop_early: may_stop_early(kind),
            in_flight_cap: self.parameters.in_flight_cap,
        }
    }

    /// Width at which the refinement may stop, wider on a noisy machine.
    pub(super) fn width(&self) -> f64 {
        self.parameters.width * if self.noisy.is_some() { 1.5 } else { 1.0 }
    }

    /// Most requests per second of one unit of the load.
    pub(super) fn per_unit(&self) -> f64 {
        self.parameters.population.map_or(1.0, |population| {
            population.requests_per_unit(self.alone_s())
        })
    }

    /// Mean response time of one client alone, s; 0 while it is not known.
    fn alone_s(&self) -> f64 {
        self.alone.map_or(0.0, |alone| alone.mean_s)
    }

    /// Judged seconds at `rate`, and for users at least as many of their iterations as the parameters require: a shorter
    /// trial would weight some steps more than others. At most an hour.
    pub(super) fn at_least_s(&self, seconds: u32, rate: f64) -> u32 {
        let Some(population) = self.parameters.population else {
            return seconds;
        };
        let least = self.parameters.iterations * population.measured_s(rate, self.alone_s());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and an hour"
        )]
        let least = least.ceil().clamp(0.0, 3600.0) as u32;
        seconds.max(least)
    }

    /// Judged seconds that give the objective enough requests at `rate`; never below `base_s`.
    pub(super) fn measure_s_at(&self, rate: f64, base_s: u32) -> u32 {
        let base_s = self.at_least_s(base_s, rate);
        self.parameters.measure_s_at(rate * self.per_unit(), base_s)
    }

    /// The same for a full trial.
    pub(super) fn full_measure_s(&self, rate: f64, base_s: u32) -> u32 {
        let base_s = self.at_least_s(base_s, rate);
        self.parameters
            .full_measure_s(rate * self.per_unit(), base_s)
    }

    /// Requests per second of a load. A user's rate is unknown before one was measured: the response time bounds it.
    pub(super) fn hoped(&self, rate: f64) -> f64 {
        let is_unmeasured = self.alone.is_none() && self.parameters.unit() == LoadUnit::Users;
        let most = if is_unmeasured {
            HOPED_PER_USER
        } else {
            f64::INFINITY
        };
        rate * self.per_unit().min(most)
    }

    /// Of the equal hosts that carry the load, only so many are left: what is known of the target stays, what the generator
    /// can offer shrinks.
    pub(super) fn lose_hosts(&mut self, left: u32, before: u32) {
        self.ceiling.shrink(left, before);
        self.void_from *= share_left(left, before);
    }

    /// Whether the generator can offer a load.
    pub(super) fn reach(&self, rate: f64) -> CeilingCheck {
        self.ceiling.reach(self.hoped(rate))
    }

    /// Highest load that the generator may offer so far.
    pub(super) fn reachable(&self) -> f64 {
        self.ceiling.rate() / self.per_unit()
    }

    /// A load as the live line has it: `412/s`, `412 users`.
    pub(super) fn text(&self, rate: f64) -> String {
        let number = super::statement::rate(rate);
        match self.parameters.unit() {
            LoadUnit::RequestsPerSecond => format!("{number}/s"),
            unit => format!("{number} {}", unit.symbol()),
        }
    }

    /// The trial as it is run: users who do not stay from the last one arrive at their pace, whatever ramp was
    /// requested, and sessions need the length of one of them until their number is steady.
    pub(super) fn carried_out(&self, mut spec: TrialSpec) -> TrialSpec {
        let Some(population) = self.parameters.population else {
            return spec;
        };
        if matches!(spec.kind, TrialKind::SelfTest | TrialKind::Single) {
            return spec;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive time; a float saturates"
        )]
        let seconds = |seconds: f64| seconds.ceil().clamp(0.0, 3600.0) as u32;
        match spec.unit {
            LoadUnit::Users => {
                let ramp_s = self.stayed.ramp_s(spec.rate, &population, self.alone_s());
                spec.ramp_s = spec.ramp_s.max(seconds(ramp_s));
            }
            LoadUnit::SessionsPerSecond => {
                let session = seconds(population.iteration_s(self.alone_s()));
                spec.warmup_s = spec.warmup_s.max(session);
            }
            LoadUnit::RequestsPerSecond => {}
        }
        spec
    }

    /// Records that a trial ended at `elapsed`. The arrival time of users does not count against the budget.
    pub(super) fn passed(&mut self, spec: &TrialSpec, elapsed: Duration) {
        if self.parameters.population.is_some() && spec.kind != TrialKind::SelfTest {
            let ramp = spec.ramp_s.saturating_sub(self.parameters.ramp_s);
            let warmup = spec.warmup_s.saturating_sub(self.warmup_s);
            self.came_in += Duration::from_secs(u64::from(ramp + warmup));
        }
        self.elapsed = elapsed.saturating_sub(self.came_in);
    }

    /// Time of the whole search: its budget, and as much more as its trials must be longer than usual.
    pub(super) fn budget(&self) -> Duration {
        let usual = self.parameters.measure_s.max(1);
        let longer = f64::from(self.at_least_s(usual, 0.0)) / f64::from(usual);
        self.parameters.budget.mul_f64(longer)
    }

    /// Whether a trial ends within the budget.
    pub(super) fn fits(&self, spec: &TrialSpec) -> bool {
        self.elapsed + cost(spec) <= self.budget()
    }

    /// Takes a valid verdict in.
    pub(super) fn learn(&mut self, trial: &Trial) {
        if !trial.spec.kind.counts_for_line() {
            return;
        }
        self.theft.observe(trial);
        let allowed = self.allowed(trial.spec.rate, trial.spec.measure_s);
        let evidence = Evidence::of(trial, allowed, self.ratio(trial));
        self.evidence.push(evidence);
        let observation = evidence.observation(self.measure_s);
        if let Some(posterior) = &mut self.posterior {
            posterior.observe(observation);
        }
    }

    /// Remarks beside the line.
    pub(super) fn all_remarks(&self) -> Vec<Remark> {
        let mut remarks = self.remarks.clone();
        remarks.extend(self.theft.remark());
        remarks
    }

    /// Bad requests that the objective allows in a trial, as planned.
    pub(super) fn allowed(&self, rate: f64, measure_s: u32) -> f64 {
        let offered = rate * self.per_unit() * f64::from(measure_s);
        let strictest = self.parameters.objective.strictest();
        strictest
            .map_or(1.0, |bound| bound.bad_allowed(offered))
            .max(0.5)
    }

    /// How far a trial was from its latency bound; `None` when something else decided, or more than one bound is
    /// there and the strictest may not be the one that binds.
    fn ratio(&self, trial: &Trial) -> Option<f64> {
        let [bound] = self.parameters.objective.latency.as_slice() else {
            return None;
        };
        if self.parameters.has_thresholds {
            return None;
        }
        if trial.verdict.is_fail() && !is_calm(trial) {
            return None;
        }
        let ratio = trial.bad as f64 / bound.bad_allowed(trial.requests as f64);
        let stopped = trial.measured.1 - trial.measured.0 < trial.spec.measure_s;
        match trial.verdict {
            TrialVerdict::Pass => Some(ratio),
            TrialVerdict::Fail {
                reason: FailReason::Latency,
            } if !stopped => Some(ratio),
            // These stop early only when they are far beyond it.
            TrialVerdict::Fail {
                reason: FailReason::Latency,
            } if matches!(trial.spec.kind, TrialKind::Bracket | TrialKind::Refine) => {
                Some(f64::INFINITY)
            }
            _ => None,
        }
    }

    /// Opens the posterior over the bracket's range, with all verdicts so far.
    pub(super) fn open_posterior(&mut self, passed: f64, failed: f64) {
        let allowed = self.allowed((passed * failed).sqrt(), self.measure_s);
        let mut posterior = Posterior::new(passed, failed, allowed);
        for &evidence in &self.evidence {
            posterior.observe(evidence.observation(self.measure_s));
        }
        self.posterior = Some(posterior);
    }

    /// Whether the search can do without this trial: a lower rate passed, or the line lies lower.
    pub(super) fn may_go_lower(&self, spec: &TrialSpec) -> bool {
        match (spec.kind, &self.posterior) {
            (TrialKind::Bracket, _) => self.highest_passed().is_some(),
            (TrialKind::Refine, Some(posterior)) => spec.rate > posterior.quantile(0.5),
            _ => false,
        }
    }

    /// A trial stays void: nothing is tried from its rate on. `false` when that would leave out the line.
    pub(super) fn lower_void(&mut self, spec: &TrialSpec) -> bool {
        let lower = self.may_go_lower(spec);
        if lower {
            self.void_from = self.void_from.min(spec.rate);
        }
        lower
    }

    /// Lowest rate that failed above every rate that passed, 1/s; infinite when there is none.
    pub(super) fn failed_above_passes(&self) -> f64 {
        let highest = self.highest_passed().unwrap_or(0.0);
        self.evidence
            .iter()
            .filter(|evidence| evidence.failed && evidence.rate > highest)
            .map(|evidence| evidence.rate)
            .fold(f64::INFINITY, f64::min)
    }

    /// Highest rate that passed and was not contradicted by a failure at or below it, 1/s.
    pub(super) fn highest_passed(&self) -> Option<f64> {
        let passed = self.evidence.iter().filter(|evidence| !evidence.failed);
        passed.map(|evidence| evidence.rate).max_by(f64::total_cmp)
    }

    /// A low rate at which a healthy target is calm: 0.6 of the line as far as it is known.
    pub(super) fn anchor_rate(&self) -> Option<f64> {
        let line = self
            .posterior
            .as_ref()
            .map(|posterior| posterior.quantile(0.5));
        let lowest_failed = || {
            let failed = self.evidence.iter().filter(|evidence| evidence.failed);
            failed
                .map(|evidence| evidence.rate / 4.0)
                .min_by(f64::total_cmp)
        };
        line.or_else(|| self.highest_passed())
            .or_else(lowest_failed)
            .map(|rate| ANCHOR_SHARE * rate)
    }

    /// Requests in flight that are normal at the anchor's rate, from the nearest measured load at or above it, else
    /// from one client alone by Little's law.
    pub(super) fn anchor_in_flight(&self) -> f64 {
        let Some(rate) = self.anchor_rate() else {
            return 0.0;
        };
        if let Some((anchor_rate, in_flight)) = self.anchor {
            return in_flight * (rate / anchor_rate).max(1.0);
        }
        let near = self
            .evidence
            .iter()
            .filter(|evidence| !evidence.failed && evidence.rate >= rate)
            .min_by(|a, b| a.rate.total_cmp(&b.rate));
        let alone = rate * self.per_unit() * self.alone_s();
        near.map_or(alone, |evidence| evidence.in_flight_mean.max(alone))
    }
}

/// Specification of a self-test at `rate`.
pub(super) fn self_test(known: &SearchState, rate: f64) -> TrialSpec {
    TrialSpec {
        ramp_s: 1,
        warmup_s: 0,
        ..known.spec(TrialKind::SelfTest, rate, SELF_TEST_S)
    }
}

/// The load line as the posterior has it: low, median and high, 1/s or users.
pub(super) fn interval(known: &SearchState) -> (f64, f64, f64) {
    known
        .posterior
        .as_ref()
        .expect("the bracket opens the posterior before the refinement")
        .interval()
}

/// Wall time of a trial with its overhead.
pub(super) fn cost(spec: &TrialSpec) -> Duration {
    Duration::from_secs(u64::from(spec.offered_s()) + OVERHEAD_S)
}

/// Four digits: enough for a rate, and readable. Users are whole.
pub(super) fn rounded(rate: f64, unit: LoadUnit) -> f64 {
    if rate <= 0.0 {
        return 0.0;
    }
    if unit == LoadUnit::Users {
        return rate.round().max(1.0);
    }
    let unit = 10_f64.powf(rate.log10().floor() - 3.0);
    (rate / unit).round() * unit
}
