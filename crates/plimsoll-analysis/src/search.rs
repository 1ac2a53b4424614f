//! The search for the load line: a state machine that requests trials and records their verdicts.
//!
//! It reads no clock and runs no trial; the laboratory runs them on a real target, the tests on a simulated queue.
//! Phases, in order: the generator's self-test, a single client, equal trials (A/A), the bracket by doubling, the
//! Bayesian refinement, fresh trials at the lower edge, and, when thorough, the approach from above. In addition,
//! recovery follows every failure, and anchors detect drift.

mod alone;
mod bracket;
mod ceiling;
mod confirm;
mod evidence;
pub mod gate;
mod guard;
mod hysteresis;
pub mod parameters;
pub mod posterior;
mod prologue;
mod refine;
mod soak;
mod state;
mod statement;
pub mod users;
mod voids;

pub use gate::{CiGate, GateStep};
pub use parameters::SearchParameters;
pub use statement::statement;

use std::time::Duration;

use plimsoll_model::load_line::{Estimate, LoadLine, NoLine, Remark, SearchResult};
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::VoidReason;

use bracket::Bracket;
use confirm::Confirm;
use guard::Guard;
use hysteresis::Hysteresis;
use prologue::{Noise, SelfTest, Single};
use refine::Refine;
use soak::Soak;
use state::{SearchState, cost};
use users::Stayed;
use voids::{Again, Voids};

/// The next action of the search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// Carry this trial out, judge it, and record it.
    Trial(TrialSpec),
    /// The search is over.
    Done(SearchResult),
}

/// Where the search stands, for the live line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchStage {
    /// One word.
    pub name: &'static str,
    /// Its activity, as text.
    pub text: String,
}

#[derive(Debug)]
enum SearchPhase {
    SelfTest(SelfTest),
    Single(Single),
    Noise(Noise),
    Bracket(Bracket),
    Refine(Refine),
    Confirm(Confirm),
    Hysteresis(Box<Hysteresis>),
    Soak(Box<Soak>),
}

/// The next action of a phase.
#[derive(Debug)]
enum PhaseAction {
    /// A trial.
    Trial(TrialSpec),
    /// To hand over.
    Enter(SearchPhase),
    /// A confirmed line; it may still be approached from above.
    Line(LoadLine),
    /// A line that needs no further approach; it may still be soaked.
    Approached(LoadLine),
    /// The search ends with this line.
    Over(LoadLine),
    /// The search ends without a line.
    End(NoLine),
}

/// The search.
#[derive(Debug)]
pub struct Search {
    seed: Seed,
    known: SearchState,
    phase: SearchPhase,
    guard: Guard,
    voids: Voids,
    /// A trial before the phase's next action: a repetition or a recovery.
    inserted: Option<TrialSpec>,
    current: Option<SearchStep>,
    ending: Option<Result<LoadLine, NoLine>>,
}

impl Search {
    /// A search without trials. The `seed` is the run's; [`Search::seed`] derives each trial's from it.
    pub fn new(parameters: SearchParameters, seed: Seed) -> Self {
        Self {
            seed,
            known: SearchState::new(parameters),
            phase: SearchPhase::SelfTest(SelfTest),
            guard: Guard::default(),
            voids: Voids::default(),
            inserted: None,
            current: None,
            ending: None,
        }
    }

    /// What to do next; the same until a trial is recorded.
    pub fn next_step(&mut self) -> SearchStep {
        if let Some(step) = &self.current {
            return step.clone();
        }
        let step = match self.decide() {
            Ok(spec) => SearchStep::Trial(self.known.carried_out(spec)),
            Err(line) => SearchStep::Done(SearchResult {
                line,
                remarks: self.known.all_remarks(),
            }),
        };
        self.current = Some(step.clone());
        step
    }

    /// Records a finished trial; `elapsed` is the time since the search began, the trial's drain included.
    pub fn record(&mut self, trial: &Trial, elapsed: Duration) {
        self.known.passed(&trial.spec, elapsed);
        self.current = None;
        if trial.spec.kind == TrialKind::SelfTest {
            self.known.ceiling.record(trial);
            return;
        }
        match self.voids.again(trial, &self.known) {
            Again::Valid => self.record_valid(trial),
            Again::Repeat(spec) => self.inserted = Some(spec),
            Again::Enough(reason) => self.record_void(trial, reason),
        }
    }

    /// The share of the target's CPU that was busy at a load, in the unit of the search: lets the bracket jump ahead,
    /// and the anchors detect a change of the cost per request. Call it before the trial at that rate is recorded.
    pub fn record_utilisation(&mut self, rate: f64, busy_share: f64) {
        self.known.utilisation.push((rate, busy_share));
    }

    /// Records the users who stay between trials and may return to the next.
    pub fn users_stayed(&mut self, stayed: Stayed) {
        self.known.stayed = stayed;
    }

    /// Adds a remark beside the line, such as a leak.
    pub fn remark(&mut self, remark: Remark) {
        self.known.remarks.push(remark);
    }

    /// Ends the search because nothing ever connected.
    pub fn unreachable(&mut self) -> SearchResult {
        self.end(Err(NoLine::Unreachable))
    }

    /// Ends the search on the user's wish, with what the trials so far show: a line that was confirmed already stays one.
    pub fn interrupt(&mut self) -> SearchResult {
        let line = self.confirmed().ok_or_else(|| self.interrupted());
        if line.is_ok() {
            let text = format!("interrupted in the {} phase", self.stage().name);
            self.known.remarks.push(Remark::Note { text });
        }
        self.end(line)
    }

    /// Ends the search because no further trial can be carried out, with a line that was confirmed already.
    pub fn give_up(&mut self, reason: VoidReason) -> SearchResult {
        let text = format!("ended in the {} phase: {reason}", self.stage().name);
        let line = self.confirmed().ok_or_else(|| self.void(reason));
        if line.is_ok() {
            self.known.remarks.push(Remark::Note { text });
        }
        self.end(line)
    }

    /// Of the equal hosts that carry the load, only so many are left, which carry the next trials as a whole. What each of
    /// them can offer is what it showed in self-tests. Call it before the trial in which the others were lost is recorded.
    pub fn lose_hosts(&mut self, left: u32, before: u32) {
        self.known.lose_hosts(left, before);
    }

    fn end(&mut self, line: Result<LoadLine, NoLine>) -> SearchResult {
        self.ending = Some(line.clone());
        self.current = None;
        SearchResult {
            line,
            remarks: self.known.all_remarks(),
        }
    }

    /// The seed of the arrivals of trial `index`.
    pub fn seed(&self, index: u32) -> Seed {
        self.seed.derive(u64::from(index))
    }

    /// Requests in flight that are normal at low load, for [`crate::verdict::TrialFacts`].
    pub fn anchor_in_flight(&self) -> f64 {
        self.known.anchor_in_flight()
    }

    /// The 90 % interval so far (low, median, high), in the unit of the search, once there is one.
    pub fn interval(&self) -> Option<(f64, f64, f64)> {
        self.known
            .posterior
            .as_ref()
            .map(posterior::Posterior::interval)
    }

    fn decide(&mut self) -> Result<TrialSpec, Result<LoadLine, NoLine>> {
        // Every phase hands over at most once, so a handful of rounds always ends.
        for _ in 0..16 {
            if let Some(ending) = self.ending.clone() {
                return Err(ending);
            }
            if let Some(spec) = self.inserted.take() {
                if self.known.fits(&spec) {
                    return Ok(spec);
                }
                self.ending = Some(self.out_of_time());
                continue;
            }
            match self.next_action() {
                PhaseAction::Trial(spec) if self.known.fits(&spec) => return Ok(spec),
                PhaseAction::Trial(_) => self.ending = Some(self.out_of_time()),
                PhaseAction::Enter(phase) => self.phase = phase,
                PhaseAction::Line(line) if self.known.parameters.hysteresis => {
                    self.phase = SearchPhase::Hysteresis(Box::new(Hysteresis::new(line)));
                }
                PhaseAction::Line(line) | PhaseAction::Approached(line)
                    if self.known.parameters.soak_s > 0 =>
                {
                    self.phase = SearchPhase::Soak(Box::new(Soak::new(line)));
                }
                PhaseAction::Line(line)
                | PhaseAction::Approached(line)
                | PhaseAction::Over(line) => {
                    self.ending = Some(Ok(line));
                }
                PhaseAction::End(reason) => self.ending = Some(Err(self.counted(reason))),
            }
        }
        unreachable!("a phase handed over without end");
    }

    fn next_action(&mut self) -> PhaseAction {
        let known = &mut self.known;
        match &mut self.phase {
            SearchPhase::SelfTest(_) => SelfTest::next(known),
            SearchPhase::Single(single) => single.next(known),
            SearchPhase::Noise(noise) => noise.next(known),
            SearchPhase::Bracket(bracket) => bracket.next(known),
            SearchPhase::Refine(refine) => refine.next(known),
            SearchPhase::Confirm(confirm) => confirm.next(known),
            SearchPhase::Hysteresis(hysteresis) => hysteresis.next(known),
            SearchPhase::Soak(soak) => soak.next(known),
        }
    }

    fn record_valid(&mut self, trial: &Trial) {
        self.known.learn(trial);
        let known = &mut self.known;
        match trial.spec.kind {
            TrialKind::Anchor => {
                self.guard.anchored(known, trial);
                return;
            }
            TrialKind::Recovery => {
                match self.guard.recovered(known, trial) {
                    Ok(spec) => self.inserted = spec,
                    Err(reason) => self.ending = Some(Err(reason)),
                }
                return;
            }
            _ => {}
        }
        match &mut self.phase {
            SearchPhase::SelfTest(_) => {}
            SearchPhase::Single(single) => single.record(known, trial),
            SearchPhase::Noise(noise) => noise.record(trial),
            SearchPhase::Bracket(bracket) => bracket.record(known, trial),
            SearchPhase::Refine(refine) => refine.record(trial),
            SearchPhase::Confirm(confirm) => confirm.record(trial),
            SearchPhase::Hysteresis(hysteresis) => hysteresis.record(known, trial),
            SearchPhase::Soak(soak) => soak.record(known, trial),
        }
        let descending = matches!(&self.phase, SearchPhase::Hysteresis(hysteresis) if hysteresis.is_descending());
        if trial.verdict.is_fail() && trial.spec.kind.counts_for_line() && !descending {
            self.inserted = self.guard.after_failure(&self.known, trial);
        }
    }

    /// A trial that stays void: trials beside the search are left out, a bracket tries lower, all else ends.
    fn record_void(&mut self, trial: &Trial, reason: VoidReason) {
        match (&mut self.phase, trial.spec.kind) {
            (_, TrialKind::Anchor | TrialKind::Recovery) => {}
            (SearchPhase::Noise(noise), _) => noise.skip(),
            (SearchPhase::Hysteresis(hysteresis), _) => hysteresis.skip(),
            (SearchPhase::Soak(soak), _) => soak.skip(&mut self.known),
            (SearchPhase::Bracket(bracket), _) => {
                if let Err(reason) = bracket.lower(&mut self.known, reason) {
                    self.ending = Some(Err(self.void(reason)));
                }
            }
            (SearchPhase::Refine(_), TrialKind::Refine) if self.known.lower_void(&trial.spec) => {}
            _ => self.ending = Some(Err(self.void(reason))),
        }
    }

    fn void(&self, reason: VoidReason) -> NoLine {
        NoLine::Void {
            reason,
            void_trials: self.voids.total,
        }
    }

    /// Fills in the fields that only the search knows.
    fn counted(&self, reason: NoLine) -> NoLine {
        match reason {
            NoLine::Void { reason, .. } => self.void(reason),
            other => other,
        }
    }

    fn out_of_time(&mut self) -> Result<LoadLine, NoLine> {
        if let SearchPhase::Confirm(confirm) = &self.phase {
            return confirm.out_of_time(&mut self.known);
        }
        if let Some(line) = self.confirmed() {
            return Ok(line);
        }
        let because = format!("the time ran out in the {} phase", self.stage().name);
        let passed = self.known.highest_passed().unwrap_or(0.0);
        let (low, median, high) = self.interval().unwrap_or((passed, passed, f64::MAX));
        Err(NoLine::GaveUp {
            low,
            median,
            high,
            because,
        })
    }

    /// The line of a search that looks at more than the line by now.
    fn confirmed(&self) -> Option<LoadLine> {
        match &self.phase {
            SearchPhase::Hysteresis(hysteresis) => Some(hysteresis.line().clone()),
            SearchPhase::Soak(soak) => Some(soak.line().clone()),
            _ => None,
        }
    }

    fn interrupted(&self) -> NoLine {
        let estimate = match &self.phase {
            SearchPhase::Confirm(confirm) => Some(confirm.estimate(&self.known)),
            _ => self
                .interval()
                .map(|(low, median, high)| Estimate { low, median, high }),
        };
        NoLine::Interrupted {
            estimate,
            highest_passed: self.known.highest_passed(),
        }
    }

    /// The stage of the search.
    pub fn stage(&self) -> SearchStage {
        let (name, text) = match &self.phase {
            SearchPhase::SelfTest(_) => ("self-test", "testing the generator".to_owned()),
            SearchPhase::Single(_) => ("single", "a single client".to_owned()),
            SearchPhase::Noise(_) => (
                "noise",
                "equal trials, to measure the machine's noise".to_owned(),
            ),
            SearchPhase::Bracket(bracket) => (
                "bracket",
                format!("doubling: {}", self.known.text(bracket.rate())),
            ),
            SearchPhase::Refine(refine) => (
                "refine",
                format!("narrowing the interval, {} trials so far", refine.trials()),
            ),
            SearchPhase::Confirm(confirm) => (
                "confirm",
                format!("confirming {}", self.known.text(confirm.rate())),
            ),
            SearchPhase::Hysteresis(_) => ("hysteresis", "approaching from above".to_owned()),
            SearchPhase::Soak(_) => ("soak", "a long trial below the line".to_owned()),
        };
        SearchStage { name, text }
    }

    /// About how long the search still takes; never more than the rest of its budget.
    pub fn remaining(&self) -> Duration {
        let known = &self.known;
        let left = known.budget().saturating_sub(known.elapsed);
        let bracket = cost(&known.spec(TrialKind::Bracket, 1.0, known.parameters.bracket_s)) * 10;
        let full = cost(&known.spec(TrialKind::Refine, 1.0, known.measure_s));
        let confirm = full * known.parameters.confirm.0;
        // About fourteen trials make the interval narrow; half of them fail and cost a recovery.
        let refine =
            |done: u32| (full + Duration::from_secs(4)) * 14_u32.saturating_sub(done).max(2);
        let estimate = match &self.phase {
            SearchPhase::SelfTest(_) | SearchPhase::Single(_) | SearchPhase::Noise(_) => {
                bracket + refine(0) + confirm + Duration::from_secs(30)
            }
            SearchPhase::Bracket(_) => bracket / 2 + refine(0) + confirm,
            SearchPhase::Refine(refinement) => refine(refinement.trials()) + confirm,
            SearchPhase::Confirm(_) => confirm,
            SearchPhase::Hysteresis(_) => full * 2,
            SearchPhase::Soak(_) => Duration::from_secs(u64::from(known.parameters.soak_s)),
        };
        estimate.min(left)
    }
}

#[cfg(test)]
mod tests;
