//! How long trials of a search take: those so far, and what is still to come by those.

use std::time::Duration;

use crate::experiment::trial::{TrialRecord, TrialRole};

/// New settings of a block of the search, ...
const BLOCK_SETTINGS: u32 = 4;
/// ... and of the smallest that is worth a trial of the default.
const BLOCK_SETTINGS_MIN: usize = 2;
/// Trials of the block that takes back what hardly matters, beside that of the default.
const REVERSION_TRIALS: u32 = 4;
/// Time of a trial of what a further block may find, in that of the best so far.
const SLOWER: u32 = 2;

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

    /// Time of a further trial of a cell, by its trials so far: a service that carries more may be loaded for longer until it
    /// fails. Of a cell that has none, that of a new setting. 0 where there are no trials at all.
    pub(super) fn of_trial(self, cell: usize) -> Duration {
        let own = self.mean(
            |record| !is_limit(record) && record.trial.cell == cell,
            with_single_load_ms,
        );
        own.unwrap_or_else(|| self.of_new())
    }

    /// Time of a trial of a new setting: the mean of those so far, or of all trials where only the default has any. 0 where
    /// there are none at all.
    fn of_new(self) -> Duration {
        let others = self.mean(
            |record| record.trial.role == TrialRole::Cell,
            TrialRecord::lasted_ms,
        );
        let all = || self.mean(|record| !is_limit(record), TrialRecord::lasted_ms);
        others.or_else(all).unwrap_or_default()
    }

    /// Mean time of the searches of a load line; 0 where there are none.
    pub(super) fn of_limit(self) -> Duration {
        self.mean(is_limit, TrialRecord::lasted_ms)
            .unwrap_or_default()
    }

    /// Longest time of a search of a load line; 0 where there are none.
    fn longest_limit(self) -> Duration {
        let limits = self.records.iter().filter(|record| is_limit(record));
        Duration::from_millis(limits.map(TrialRecord::lasted_ms).max().unwrap_or(0))
    }

    /// Mean of the times, ms, of the trials that are meant.
    fn mean(
        self,
        is_meant: impl Fn(&TrialRecord) -> bool,
        time_ms: impl Fn(&TrialRecord) -> u64,
    ) -> Option<Duration> {
        let meant = self.records.iter().filter(|record| is_meant(record));
        let (count, sum_ms) = meant.fold((0_u64, 0_u64), |(count, sum_ms), record| {
            (count + 1, sum_ms + time_ms(record))
        });
        sum_ms.checked_div(count).map(Duration::from_millis)
    }
}

/// What the rest of a search takes, by the trials so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RestTimes {
    /// A trial of the default.
    standing: Duration,
    /// A trial of a new setting.
    new: Duration,
    /// The block that takes back what hardly matters.
    reversion: Duration,
    /// The pairs, and the load line of what is adopted.
    confirmation: Duration,
    /// The pairs alone, if a trial of what a further block finds takes longer than those of the best so far.
    pairs_of_slower: Duration,
}

impl RestTimes {
    /// Of a search whose best so far is the cell `best`, and whose confirmation takes so many pairs.
    pub(super) fn of(times: TrialTimes<'_>, default: usize, best: usize, pairs: u32) -> Self {
        let (standing, candidate) = (times.of_trial(default), times.of_trial(best));
        // Settings that come late are near the best.
        let new = times.of_new().max(candidate);
        let with_standing =
            |other: Duration, count: u32| standing.saturating_add(other.saturating_mul(count));
        let pair = with_standing(candidate, 1);
        Self {
            standing,
            new,
            reversion: with_standing(candidate, REVERSION_TRIALS),
            confirmation: pair
                .saturating_mul(pairs)
                .saturating_add(times.longest_limit()),
            pairs_of_slower: with_standing(candidate, SLOWER).saturating_mul(pairs),
        }
    }

    /// Further blocks of new settings for which there is time beside the confirmation. A search that `is_climbing` has more to
    /// expect of a further block than of changes that go back, and keeps no time for these.
    pub(super) fn blocks_within(self, left: Duration, is_climbing: bool) -> usize {
        let kept = if is_climbing {
            self.kept_while_climbing()
        } else {
            self.confirmation.saturating_add(self.reversion)
        };
        let settings = self.new.saturating_mul(BLOCK_SETTINGS);
        let block = self.standing.saturating_add(settings);
        count(left.saturating_sub(kept), block)
    }

    /// New settings of a smaller block for which there is time while the search climbs; `None` for hardly any.
    pub(super) fn smaller_block_within(self, left: Duration) -> Option<usize> {
        let kept = self.kept_while_climbing().saturating_add(self.standing);
        let settings = count(left.saturating_sub(kept), self.new);
        (settings >= BLOCK_SETTINGS_MIN).then_some(settings)
    }

    fn kept_while_climbing(self) -> Duration {
        self.confirmation.max(self.pairs_of_slower)
    }

    /// Whether there is time to take back what hardly matters beside the confirmation.
    pub(super) fn has_reversion_within(self, left: Duration) -> bool {
        self.confirmation.saturating_add(self.reversion) <= left
    }
}

/// How many parts of this length a time has; of no length, as many as there may be.
fn count(time: Duration, part: Duration) -> usize {
    let parts = time.as_millis().checked_div(part.as_millis());
    parts.map_or(usize::MAX, |parts| {
        usize::try_from(parts).unwrap_or(usize::MAX)
    })
}

/// Time of a trial if a single load had reached the line, as it does once the line is known, ms. Setting up, coming to rest and
/// starting are taken for as long as a load.
fn with_single_load_ms(record: &TrialRecord) -> u64 {
    let loads = u64::try_from(record.runs.len()).unwrap_or(u64::MAX).max(1);
    record.lasted_ms().saturating_mul(2) / loads.saturating_add(1)
}

fn is_limit(record: &TrialRecord) -> bool {
    record.trial.role == TrialRole::Limit
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::seed::Seed;

    use super::*;
    use crate::experiment::trial::{PlannedTrial, RecordedOutcome, TrialTraffic};

    const DEFAULT: usize = 5;
    const BEST: usize = 6_876;

    fn record(cell: usize, role: TrialRole, seconds: u64, loads: usize) -> TrialRecord {
        TrialRecord {
            trial: PlannedTrial {
                index: 0,
                block: 0,
                position: 0,
                cell,
                role,
                seed: Seed(1),
            },
            began_ms: 0,
            ended_ms: seconds * 1_000,
            outcome: RecordedOutcome::Measured(BTreeMap::new()),
            traffic: TrialTraffic::default(),
            runs: vec!["load.run".to_owned(); loads],
            notes: Vec::new(),
        }
    }

    /// The first block of a search on the case study of the tutor, as its log had it.
    fn first_block() -> Vec<TrialRecord> {
        vec![
            record(DEFAULT, TrialRole::Limit, 563, 1),
            record(16_160, TrialRole::Cell, 234, 3),
            record(12_171, TrialRole::Cell, 109, 1),
            record(BEST, TrialRole::Cell, 204, 2),
            record(DEFAULT, TrialRole::Reference, 86, 1),
            record(1_318, TrialRole::Cell, 101, 1),
        ]
    }

    #[test]
    fn a_further_trial_needs_no_further_load() {
        let mut records = first_block();
        let of_trial = |records: &[TrialRecord], cell| TrialTimes::of(records).of_trial(cell);
        // Its next trials took 136, 121, 133 and 128 s.
        assert_eq!(of_trial(&records, BEST), Duration::from_secs(136));
        assert_eq!(of_trial(&records, DEFAULT), Duration::from_secs(86));
        // A new setting, by the mean of the first trials of the others.
        assert_eq!(of_trial(&records, 1), Duration::from_secs(162));
        records.push(record(BEST, TrialRole::Confirm, 120, 1));
        assert_eq!(of_trial(&records, BEST), Duration::from_secs(128));
        assert!(!TrialTimes::of(&records[..1]).has_trials());
        assert_eq!(of_trial(&records[..1], BEST), Duration::ZERO);
    }

    #[test]
    fn time_is_kept_for_the_pairs_and_the_last_search() {
        let records = first_block();
        let rest = RestTimes::of(TrialTimes::of(&records), DEFAULT, BEST, 4);
        let seconds = Duration::from_secs;
        let expected = RestTimes {
            standing: seconds(86),
            new: seconds(162),
            reversion: seconds(86 + 4 * 136),
            confirmation: seconds(4 * (86 + 136) + 563),
            pairs_of_slower: seconds(4 * (86 + 2 * 136)),
        };
        assert_eq!(rest, expected);
        // With the longer first trial of the best for each of its trials, 3,763 s were kept for one block and what follows it.
        let left =
            |minutes: u64| seconds(60 * minutes).saturating_sub(TrialTimes::of(&records).taken());
        assert_eq!(rest.blocks_within(left(90), true), 3);
        assert_eq!(rest.blocks_within(left(90), false), 2);
        // Of 50 minutes nothing is left for one, with trials of that length.
        assert_eq!(rest.blocks_within(left(50), true), 0);
        assert_eq!(rest.smaller_block_within(left(50)), None);
        assert_eq!(rest.smaller_block_within(left(55)), Some(2));
        assert!(!rest.has_reversion_within(left(50)) && rest.has_reversion_within(left(60)));
        // With trials of no time there is no end.
        let rest = RestTimes::of(TrialTimes::of(&[]), DEFAULT, BEST, 4);
        assert_eq!(rest.blocks_within(Duration::ZERO, true), usize::MAX);
    }

    #[test]
    fn what_is_found_late_may_take_twice_as_long() {
        let records = [
            record(DEFAULT, TrialRole::Limit, 50, 1),
            record(DEFAULT, TrialRole::Reference, 50, 1),
            record(BEST, TrialRole::Cell, 50, 1),
        ];
        let rest = RestTimes::of(TrialTimes::of(&records), DEFAULT, BEST, 4);
        // A block of 250 s and four pairs of 150 s, not of 100.
        let blocks = |seconds| rest.blocks_within(Duration::from_secs(seconds), true);
        assert_eq!((blocks(849), blocks(850)), (0, 1));
    }
}
