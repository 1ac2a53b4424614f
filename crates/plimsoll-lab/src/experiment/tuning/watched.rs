//! Trials beside a process that puts everything back when this one is gone.

use crate::experiment::trial::{Conduct, PlannedTrial, TrialError, TrialRecord};
use crate::service::deadman::DeadMan;

/// Trials of which a dead-man process knows.
#[derive(Debug)]
pub struct WatchedTrials<C> {
    /// The trials.
    pub trials: C,
    /// The process.
    pub dead_man: DeadMan,
}

impl<C: Conduct> Conduct for WatchedTrials<C> {
    fn trial(
        &mut self,
        trial: &PlannedTrial,
        records: &[TrialRecord],
    ) -> Result<TrialRecord, TrialError> {
        self.dead_man.beat();
        let result = self.trials.trial(trial, records);
        self.dead_man.beat();
        result
    }
}
