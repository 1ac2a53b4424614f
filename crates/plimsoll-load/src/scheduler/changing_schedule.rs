//! Arrivals of a schedule whose rate may change while it is carried out.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::Duration;

use plimsoll_model::schedule::{LoadPhase, Schedule, Spacing};
use plimsoll_model::seed::Seed;

use crate::load_changes::LoadChange;

/// Label of the schedules of changes among the seeds derived from a trial's.
const CHANGE_LABEL: u64 = 0x6368_616e_6765;

/// A loop's share of a schedule, and of those that replace it from a moment on.
pub(super) struct ChangingSchedule {
    current: Peekable<Schedule>,
    start_ns: u64,
    /// Schedules that follow, each with its start, ascending.
    later: VecDeque<(u64, Peekable<Schedule>)>,
    spacing: Spacing,
    seed: Seed,
    share: (u64, u64),
    changes: u64,
}

impl ChangingSchedule {
    /// Share `(index, count)` of a schedule that starts at `start_ns`.
    pub(super) fn new(
        phases: Vec<LoadPhase>,
        spacing: Spacing,
        seed: Seed,
        start_ns: u64,
        share: (u64, u64),
    ) -> Self {
        Self {
            current: Schedule::part(phases, spacing, seed, share.0, share.1).peekable(),
            start_ns,
            later: VecDeque::new(),
            spacing,
            seed,
            share,
            changes: 0,
        }
    }

    /// When the next arrival is due; `None` after the last.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u64> {
        loop {
            let start_ns = self.start_ns;
            let due = self.current.peek().map(|next| start_ns + next.due_ns);
            let Some((from_ns, _)) = self.later.front() else {
                return due;
            };
            if due.is_some_and(|due| due < *from_ns) {
                return due;
            }
            (self.start_ns, self.current) = self.later.pop_front()?;
        }
    }

    /// Takes the next arrival.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u64> {
        let due = self.peek()?;
        self.current.next();
        Some(due)
    }

    /// From a moment that is not over on, arrivals at another rate up to `end_ns`.
    pub(super) fn change(&mut self, change: LoadChange, end_ns: u64) {
        self.later.retain(|(from_ns, _)| *from_ns < change.from_ns);
        self.changes += 1;
        let rest = Duration::from_nanos(end_ns.saturating_sub(change.from_ns));
        let phases = vec![LoadPhase::constant(change.to, rest)];
        let seed = self.seed.derive(CHANGE_LABEL).derive(self.changes);
        let (index, count) = self.share;
        let schedule = Schedule::part(phases, self.spacing, seed, index, count);
        self.later.push_back((change.from_ns, schedule.peekable()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn shares(rate: f64, spacing: Spacing, count: u64) -> Vec<ChangingSchedule> {
        let phases = vec![LoadPhase::constant(rate, Duration::from_secs(100))];
        let new = |index| {
            ChangingSchedule::new(phases.clone(), spacing, Seed(5), SECOND_NS, (index, count))
        };
        (0..count).map(new).collect()
    }

    /// Arrivals of all shares, counted by the second in which they are due.
    fn counts(shares: Vec<ChangingSchedule>) -> Vec<u64> {
        let mut counts = vec![0; 101];
        for mut share in shares {
            let mut last = 0;
            while let Some(due) = share.next() {
                assert!(due >= last);
                last = due;
                counts[usize::try_from(due / SECOND_NS).unwrap()] += 1;
            }
        }
        counts
    }

    fn to(second: u64, to: f64) -> LoadChange {
        LoadChange {
            from_ns: second * SECOND_NS,
            to,
        }
    }

    #[test]
    fn each_second_has_the_rate_that_holds_in_it() {
        for loops in [1, 3] {
            let mut shares = shares(20.0, Spacing::Even, loops);
            for share in &mut shares {
                // Arrivals were taken, and the next was looked at already.
                while share.peek().unwrap() < 8 * SECOND_NS {
                    share.next();
                }
                for change in [to(30, 40.0), to(50, 10.0), to(50, 4.0), to(90, 60.0)] {
                    share.change(change, 101 * SECOND_NS);
                }
            }
            let counts = counts(shares);
            for (second, expected) in [(8, 20), (29, 20), (30, 40), (49, 40), (50, 4), (89, 4)] {
                assert_eq!(counts[second], expected, "{second} of {loops}");
            }
            assert_eq!((counts[90], counts[100]), (60, 60));
        }
    }

    #[test]
    fn a_rate_that_is_almost_none_can_rise() {
        let mut shares = shares(1e-6, Spacing::Poisson, 2);
        for share in &mut shares {
            assert_eq!(share.peek(), None);
            share.change(to(3, 1_000.0), 101 * SECOND_NS);
        }
        let counts = counts(shares);
        assert_eq!(counts[..3], [0; 3]);
        let total: u64 = counts.iter().sum();
        let expected = 98_000_u64;
        assert!(total.abs_diff(expected) < 4 * 314, "{total}");
    }
}
