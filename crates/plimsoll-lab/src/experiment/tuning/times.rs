//! How long trials of a search take: those so far, and further ones by those of the same setting.

use std::time::Duration;

use crate::experiment::trial::{TrialRecord, TrialRole};

/// Trials so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrialTimes<'r> {
    records: &'r [TrialRecord],
}

impl<'r> TrialTimes<'r> {
    pub(super) fn of(records: &'r [TrialRecord]) -> Self {
        Self { records }
    }

    /// Time of all trials so far. That between a kill and the start that goes on is not counted.
    pub(super) fn taken(self) -> Duration {
        let lasted = self.records.iter().map(TrialRecord::lasted_ms);
        Duration::from_millis(lasted.sum())
    }

    /// Whether a setting was tried.
    pub(super) fn has_trials(self) -> bool {
        !self.records.iter().all(is_limit)
    }

    /// Mean time of the trials of a cell, or of all where it has none: a service that carries more is loaded for longer until
    /// it fails. 0 where there are none at all.
    pub(super) fn of_trial(self, cell: usize) -> Duration {
        let own = self.mean(|record| !is_limit(record) && record.trial.cell == cell);
        own.or_else(|| self.mean(|record| !is_limit(record)))
            .unwrap_or_default()
    }

    /// Mean time of the searches of a load line; 0 where there are none.
    pub(super) fn of_limit(self) -> Duration {
        self.mean(is_limit).unwrap_or_default()
    }

    /// Longest time of a search of a load line; 0 where there are none.
    pub(super) fn longest_limit(self) -> Duration {
        let limits = self.records.iter().filter(|record| is_limit(record));
        Duration::from_millis(limits.map(TrialRecord::lasted_ms).max().unwrap_or(0))
    }

    fn mean(self, is_meant: impl Fn(&TrialRecord) -> bool) -> Option<Duration> {
        let meant = self.records.iter().filter(|record| is_meant(record));
        let (count, sum_ms) = meant.fold((0_u64, 0_u64), |(count, sum_ms), record| {
            (count + 1, sum_ms + record.lasted_ms())
        });
        sum_ms.checked_div(count).map(Duration::from_millis)
    }
}

fn is_limit(record: &TrialRecord) -> bool {
    record.trial.role == TrialRole::Limit
}
