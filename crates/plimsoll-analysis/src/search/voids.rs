//! Void trials: repeated a few times, then abandoned.

use plimsoll_model::trial::{Trial, TrialSpec};
use plimsoll_model::verdict::{TrialVerdict, VoidReason};

use super::state::SearchState;
use crate::verdict::only_unsteady;

/// Repetitions of a void trial.
const REPEATS_MAX: u32 = 3;

/// What follows a trial.
#[derive(Debug)]
pub(super) enum Again {
    /// It is valid.
    Valid,
    /// It is to be made again, like this.
    Repeat(TrialSpec),
    /// It stays void, mostly for this reason.
    Enough(VoidReason),
}

/// Void trials so far.
#[derive(Debug, Default)]
pub(super) struct Voids {
    repeats: u32,
    /// The trial at hand was already given twice the time.
    extended: bool,
    /// Void trials of the whole search.
    pub(super) total: u32,
    reasons: Vec<VoidReason>,
}

impl Voids {
    /// Decides whether a trial is made again. One without a steady state gets twice the time first.
    pub(super) fn again(&mut self, trial: &Trial, known: &SearchState) -> Again {
        let TrialVerdict::Void { reasons } = &trial.verdict else {
            (self.repeats, self.extended) = (0, false);
            return Again::Valid;
        };
        self.total += 1;
        self.reasons.extend(reasons.iter().cloned());
        let mut spec = trial.spec;
        if only_unsteady(&trial.verdict) && !self.extended {
            self.extended = true;
            spec.measure_s *= 2;
            if known.fits(&spec) {
                return Again::Repeat(spec);
            }
        }
        self.repeats += 1;
        // Where lower rates are left to try, a starved generator gets fewer repetitions.
        let starved = reasons.iter().any(VoidReason::is_of_generator);
        let repeats_max = if starved && known.may_go_lower(&spec) {
            1
        } else {
            REPEATS_MAX
        };
        if self.repeats <= repeats_max {
            return Again::Repeat(trial.spec);
        }
        (self.repeats, self.extended) = (0, false);
        Again::Enough(self.most_frequent().unwrap_or(VoidReason::Interrupted))
    }

    /// The most frequent kind of reason, with its latest numbers.
    pub(super) fn most_frequent(&self) -> Option<VoidReason> {
        let kind = std::mem::discriminant::<VoidReason>;
        let count = |reason: &VoidReason| {
            let same = self
                .reasons
                .iter()
                .filter(|other| kind(other) == kind(reason));
            same.count()
        };
        self.reasons
            .iter()
            .max_by_key(|reason| count(reason))
            .cloned()
    }
}
