//! Is the line at least this high? A sequential test instead of a search.

use std::time::Duration;

use plimsoll_model::load_line::GateResult;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::VoidReason;

use super::SearchStage;
use super::ceiling::CeilingCheck;
use super::guard::Guard;
use super::parameters::SearchParameters;
use super::state::{SearchState, self_test};
use super::users::Stayed;
use super::voids::{Again, Voids};
use crate::stats::sequential::{Decision, Sprt};

/// Trials after which the gate is undecided.
const TRIALS_MAX: u32 = 12;

/// The next action of the gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateStep {
    /// Carry this trial out, judge it, and record it.
    Trial(TrialSpec),
    /// The gate is decided, or undecided after all its trials or time.
    Done(GateResult),
    /// Trials stayed void: nothing is known.
    Void(VoidReason),
}

/// A CI gate: trials at one rate, H₀ they pass with probability 0.5, H₁ 0.9, both errors 5 %.
#[derive(Debug)]
pub struct CiGate {
    rate: f64,
    known: SearchState,
    guard: Guard,
    voids: Voids,
    test: Sprt,
    inserted: Option<TrialSpec>,
    current: Option<GateStep>,
    lost: bool,
    void: Option<VoidReason>,
}

impl CiGate {
    /// A gate at `rate` requests per second.
    pub fn new(rate: f64, parameters: SearchParameters) -> Self {
        let mut known = SearchState::new(parameters);
        known.measure_s = known.measure_s_at(rate, known.parameters.measure_s);
        Self {
            rate,
            known,
            guard: Guard::default(),
            voids: Voids::default(),
            test: Sprt::default(),
            inserted: None,
            current: None,
            lost: false,
            void: None,
        }
    }

    /// Records the users who stay between trials and may return to the next.
    pub fn users_stayed(&mut self, stayed: Stayed) {
        self.known.stayed = stayed;
    }

    /// Of the equal hosts that carry the load, only so many are left; see [`super::Search::lose_hosts`].
    pub fn lose_hosts(&mut self, left: u32, before: u32) {
        self.known.lose_hosts(left, before);
    }

    /// What to do next; the same until a trial is recorded.
    pub fn next_step(&mut self) -> GateStep {
        if let Some(step) = &self.current {
            return step.clone();
        }
        let step = self.decide();
        self.current = Some(step.clone());
        step
    }

    fn decide(&mut self) -> GateStep {
        if let Some(reason) = self.void.clone() {
            return GateStep::Void(reason);
        }
        if let Some(spec) = self.inserted.take().filter(|spec| self.known.fits(spec)) {
            return GateStep::Trial(self.known.carried_out(spec));
        }
        if self.test.decision() != Decision::Continue || self.test.trials >= TRIALS_MAX || self.lost
        {
            return GateStep::Done(self.result());
        }
        let spec = match self.known.reach(self.rate) {
            CeilingCheck::Proven => self.trial(),
            CeilingCheck::SelfTest(rate) => self_test(&self.known, rate),
            CeilingCheck::Beyond => {
                return GateStep::Void(VoidReason::SelfTest {
                    reached: self.known.ceiling.reached,
                    needed: 2.0 * self.known.hoped(self.rate),
                });
            }
        };
        if self.known.fits(&spec) {
            GateStep::Trial(self.known.carried_out(spec))
        } else {
            GateStep::Done(self.result())
        }
    }

    fn trial(&self) -> TrialSpec {
        let mut spec = self
            .known
            .spec(TrialKind::Gate, self.rate, self.known.measure_s);
        // The requested rate, to the last digit.
        spec.rate = self.rate;
        if self.test.trials == 0 {
            spec.warmup_s += self.known.parameters.first_warmup_s;
        }
        spec
    }

    fn result(&self) -> GateResult {
        let accepted = match self.test.decision() {
            Decision::Accept => Some(true),
            Decision::Reject => Some(false),
            // A target that does not recover from this rate does not carry it.
            Decision::Continue if self.lost => Some(false),
            Decision::Continue => None,
        };
        GateResult {
            rate: self.rate,
            accepted,
            trials: self.test.trials,
            passes: self.test.passes,
            log_likelihood_ratio: self.test.log_ratio,
        }
    }

    /// Records a trial; `elapsed` is the time since the gate began, drain included.
    pub fn record(&mut self, trial: &Trial, elapsed: Duration) {
        self.known.passed(&trial.spec, elapsed);
        self.current = None;
        if trial.spec.kind == TrialKind::SelfTest {
            self.known.ceiling.record(trial);
            return;
        }
        match self.voids.again(trial, &self.known) {
            Again::Valid => {}
            Again::Repeat(spec) => {
                self.inserted = Some(spec);
                return;
            }
            Again::Enough(reason) => {
                if trial.spec.kind == TrialKind::Gate {
                    self.void = Some(reason);
                }
                return;
            }
        }
        if trial.spec.kind == TrialKind::Recovery {
            match self.guard.recovered(&mut self.known, trial) {
                Ok(spec) => self.inserted = spec,
                Err(_) => self.lost = true,
            }
            return;
        }
        self.known.learn(trial);
        self.test.record(trial.verdict.is_pass());
        if trial.verdict.is_fail() {
            self.inserted = self.guard.after_failure(&self.known, trial);
        }
    }

    /// Requests in flight that are normal at low load, for [`crate::verdict::TrialFacts`].
    pub fn anchor_in_flight(&self) -> f64 {
        self.known.anchor_in_flight()
    }

    /// The stage of the gate.
    pub fn stage(&self) -> SearchStage {
        SearchStage {
            name: "gate",
            text: format!(
                "{} of {} trials at {} passed",
                self.test.passes,
                self.test.trials,
                self.known.text(self.rate)
            ),
        }
    }

    /// About how long the gate still takes.
    pub fn remaining(&self) -> Duration {
        let left = self.known.budget().saturating_sub(self.known.elapsed);
        let trials = 6_u32.saturating_sub(self.test.trials).max(1);
        (super::state::cost(&self.trial()) * trials).min(left)
    }
}
