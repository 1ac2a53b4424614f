//! A long trial a little below the line: filling disks, leaks and periodic jobs show only then.

use plimsoll_model::load_line::{LoadLine, Remark};
use plimsoll_model::trial::{Trial, TrialKind};

use super::PhaseAction;
use super::state::SearchState;

/// The soak's load as a share of the verified one.
const SHARE: f64 = 0.9;

/// One soak.
#[derive(Debug)]
pub(super) struct Soak {
    line: LoadLine,
    done: bool,
}

impl Soak {
    pub(super) fn new(line: LoadLine) -> Self {
        Self { line, done: false }
    }

    pub(super) fn next(&self, known: &SearchState) -> PhaseAction {
        if self.done {
            return PhaseAction::Over(self.line.clone());
        }
        let rate = SHARE * self.line.verified;
        PhaseAction::Trial(known.spec(TrialKind::Soak, rate, known.parameters.soak_s))
    }

    /// The line stays; the result of the soak is a remark beside it.
    pub(super) fn record(&mut self, known: &mut SearchState, trial: &Trial) {
        self.done = true;
        let load = known.text(trial.spec.rate);
        let minutes = (trial.measured.1 - trial.measured.0) / 60;
        let text = if trial.verdict.is_fail() {
            format!(
                "a soak of {minutes} minutes at {load} failed, more than one minute in ten broke the objective or the \
                 queue grew: do not rely on this line for longer than a trial until the cause is known"
            )
        } else {
            format!("a soak of {minutes} minutes at {load} held the objective")
        };
        known.remarks.push(Remark::Note { text });
    }

    /// A soak that never became valid only adds a remark.
    pub(super) fn skip(&mut self, known: &mut SearchState) {
        self.done = true;
        known.remarks.push(Remark::Note {
            text: "the soak was void: whether the line holds for longer than a trial is unknown"
                .to_owned(),
        });
    }

    pub(super) fn line(&self) -> &LoadLine {
        &self.line
    }
}
