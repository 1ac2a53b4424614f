//! Phase 1: doubling until the objective breaks, low to high.

use plimsoll_model::load_line::NoLine;
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::trial::{Trial, TrialKind};
use plimsoll_model::verdict::VoidReason;

use super::alone::missed_at_once;
use super::ceiling::CeilingCheck;
use super::evidence::is_plain;
use super::refine::Refine;
use super::state::{SearchState, rounded, self_test};
use super::{PhaseAction, SearchPhase};

/// Share of the saturation forecast by the utilisation law to jump to.
const JUMP: f64 = 0.7;
/// Users beyond this share of the saturation forecast are not tried next.
const BEYOND_SATURATION: f64 = 1.2;
/// Busy share from which the forecast is usable.
const BUSY_MIN: f64 = 0.05;
/// A step between a pass and the next try below this factor is not worth a trial.
const STEP_MIN: f64 = 1.15;
/// The objective is missed at once when it breaks where one client alone would leave the target idle this much.
const IDLE_SHARE: f64 = 0.05;
/// Failures of three trials that end the phase.
const FAILS: u32 = 2;
/// Rate below which nothing is tried, 1/s; users are whole.
const RATE_MIN: f64 = 0.01;
const USERS_MIN: f64 = 0.75;

/// The bracket in the making.
#[derive(Debug)]
pub(super) struct Bracket {
    rate: f64,
    passes: u32,
    fails: u32,
    highest_passed: Option<f64>,
    lowest_failed: Option<f64>,
    /// The reason for which `Known::void_from` was set.
    void: Option<VoidReason>,
}

impl Bracket {
    pub(super) fn new(rate: f64) -> Self {
        Self {
            rate,
            passes: 0,
            fails: 0,
            highest_passed: None,
            lowest_failed: None,
            void: None,
        }
    }

    pub(super) fn next(&mut self, known: &mut SearchState) -> PhaseAction {
        if let Some((passed, failed)) = self.highest_passed.zip(self.lowest_failed) {
            return PhaseAction::Enter(SearchPhase::Refine(Refine::new(known, passed, failed)));
        }
        let unit = known.parameters.unit();
        let least = if unit == LoadUnit::Users {
            USERS_MIN
        } else {
            RATE_MIN
        };
        if self.rate < least {
            return PhaseAction::End(missed(known));
        }
        self.rate = rounded(self.rate, unit);
        if let Some(failed) = self.lowest_failed
            && let Some(alone) = known.alone
            && failed * known.per_unit() * alone.mean_s < IDLE_SHARE
        {
            return PhaseAction::End(missed_at_once(alone));
        }
        if let Some(action) = self.keep_within_reach(known) {
            return action;
        }
        let measure_s = known.measure_s_at(self.rate, known.parameters.bracket_s);
        PhaseAction::Trial(known.spec(TrialKind::Bracket, self.rate, measure_s))
    }

    /// Lowers the rate to what the generator can offer validly, or returns why there is nothing left to try.
    fn keep_within_reach(&mut self, known: &SearchState) -> Option<PhaseAction> {
        let most = known.parameters.rate_max.unwrap_or(f64::INFINITY);
        self.rate = self.rate.min(most);
        match known.reach(self.rate) {
            CeilingCheck::Proven => {}
            CeilingCheck::SelfTest(rate) => {
                return Some(PhaseAction::Trial(self_test(known, rate)));
            }
            CeilingCheck::Beyond => self.rate = known.reachable(),
        }
        let passed = self.highest_passed?;
        if known.void_from.is_finite() {
            self.rate = self.rate.min((passed * known.void_from).sqrt());
        }
        if self.rate / passed >= STEP_MIN || (self.passes + self.fails > 0) {
            return None;
        }
        Some(PhaseAction::End(match self.void.clone() {
            Some(reason) => NoLine::Void {
                reason,
                void_trials: 0,
            },
            None => NoLine::NotReached {
                highest_passed: passed,
            },
        }))
    }

    /// A first failure must repeat, two of three, before it ends the phase; in a short search not when it is plain.
    pub(super) fn record(&mut self, known: &mut SearchState, trial: &Trial) {
        if trial.verdict.is_fail() {
            // The repetition and the recovery after it cost a short search as much as two trials of the refinement, which
            // mends a wrong start.
            let plain = known.parameters.believes_plain_failures && is_plain(trial);
            self.fails += if plain { FAILS } else { 1 };
        } else {
            self.passes += 1;
        }
        let rate = self.rate;
        if self.fails >= FAILS {
            self.lowest_failed = Some(rate);
            self.go_to(rate / 2.0);
        } else if self.fails == 0 || self.passes >= 2 {
            self.highest_passed = Some(rate);
            self.go_to(next_up(known, rate));
        }
    }

    /// The generator or the machine was at fault at this rate again and again: lower rates may still be valid.
    /// Gives the reason back when no rate passed yet.
    pub(super) fn lower(
        &mut self,
        known: &mut SearchState,
        reason: VoidReason,
    ) -> Result<(), VoidReason> {
        if self.highest_passed.is_none() {
            return Err(reason);
        }
        known.void_from = known.void_from.min(self.rate);
        self.void = Some(reason);
        let rate = self.rate;
        self.go_to(rate);
        Ok(())
    }

    fn go_to(&mut self, rate: f64) {
        self.rate = rate;
        (self.passes, self.fails) = (0, 0);
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }
}

fn missed(known: &SearchState) -> NoLine {
    let unknown = NoLine::MissedAtOnce {
        alone_us: None,
        errors: 0.0,
    };
    known.alone.map_or(unknown, missed_at_once)
}

/// The next higher rate: double, or by the utilisation law 0.7 of the rate at which the CPU would be busy all the
/// time, when that is further and was read at this load.
fn next_up(known: &SearchState, rate: f64) -> f64 {
    let double = 2.0 * rate;
    let Some(&(read_at, busy)) = known.utilisation.last() else {
        return double;
    };
    let near = (read_at / rate - 1.0).abs() < 0.5;
    if !near || busy < BUSY_MIN {
        return double;
    }
    let saturation = read_at / busy;
    let next = (JUMP * saturation).max(double);
    if known.parameters.unit() != LoadUnit::Users {
        return next;
    }
    // Users take time to arrive, and more of them beyond saturation yield nothing.
    next.min(BEYOND_SATURATION * saturation)
        .max(STEP_MIN * rate)
}
