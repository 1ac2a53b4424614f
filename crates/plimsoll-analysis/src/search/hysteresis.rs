//! The line approached from above: is a load that holds from below also held after more?

use plimsoll_model::load_line::{LoadLine, Remark};
use plimsoll_model::trial::{Trial, TrialKind};

use super::PhaseAction;
use super::state::SearchState;

/// Once from above: a trial at the upper edge, then at once one at the lower.
#[derive(Debug)]
pub(super) struct Hysteresis {
    line: LoadLine,
    done: u32,
}

impl Hysteresis {
    pub(super) fn new(line: LoadLine) -> Self {
        Self { line, done: 0 }
    }

    pub(super) fn next(&self, known: &SearchState) -> PhaseAction {
        let rate = match self.done {
            0 => self.line.high.min(known.reachable()),
            1 => self.line.verified,
            _ => return PhaseAction::Approached(self.line.clone()),
        };
        PhaseAction::Trial(known.spec(TrialKind::Hysteresis, rate, known.measure_s))
    }

    pub(super) fn record(&mut self, known: &mut SearchState, trial: &Trial) {
        self.done += 1;
        if self.done < 2 {
            return;
        }
        let from_above = trial.verdict.is_pass();
        // From below the rate was confirmed: most fresh trials passed.
        if !from_above {
            known.remarks.push(Remark::Hysteresis {
                rate: trial.spec.rate,
                from_below: true,
                from_above,
            });
        }
    }

    /// Approaches that never became valid are ignored.
    pub(super) fn skip(&mut self) {
        self.done = 2;
    }

    pub(super) fn line(&self) -> &LoadLine {
        &self.line
    }

    /// Whether the next trial must follow at once: no recovery in between.
    pub(super) fn is_descending(&self) -> bool {
        self.done == 1
    }
}
