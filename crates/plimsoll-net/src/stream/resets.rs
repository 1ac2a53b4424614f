//! Budget of streams that a client may reset before they are answered. Pure.
//!
//! A reset stream costs its sender two small frames, and the edge a request to a server. Browsers reset some whenever a
//! page is left; an attacker resets all of them, or provokes the edge into resetting them by protocol violations. Both
//! draw on one budget, which answered streams and time refill.

use std::cell::Cell;

use crate::clock::Nanoseconds;

/// Burst: more than the concurrent streams of a connection, so that leaving a page never exhausts it.
pub(super) const RESETS_MAX: u32 = 200;
/// Refill time of one reset.
const REFILL_NS: Nanoseconds = 500_000_000;

/// The remaining budget.
#[derive(Debug)]
pub(super) struct ResetBudget {
    left: Cell<u32>,
    /// Up to when time has been counted.
    counted: Cell<Nanoseconds>,
}

impl ResetBudget {
    pub(super) fn new(now: Nanoseconds) -> Self {
        Self {
            left: Cell::new(RESETS_MAX),
            counted: Cell::new(now),
        }
    }

    /// A stream was answered completely.
    pub(super) fn refill(&self, count: u32) {
        self.left
            .set(self.left.get().saturating_add(count).min(RESETS_MAX));
    }

    /// A stream was reset before its response.
    pub(super) fn take(&self, now: Nanoseconds) {
        let steps = now.saturating_sub(self.counted.get()) / REFILL_NS;
        self.counted.set(self.counted.get() + steps * REFILL_NS);
        self.refill(u32::try_from(steps).unwrap_or(RESETS_MAX));
        self.left.set(self.left.get().saturating_sub(1));
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_without_answers_use_the_budget_up() {
        let budget = ResetBudget::new(0);
        for _ in 1..RESETS_MAX {
            budget.take(0);
            assert!(!budget.is_exhausted());
        }
        budget.take(0);
        assert!(budget.is_exhausted());
    }

    #[test]
    fn answers_and_time_fill_it_again() {
        let budget = ResetBudget::new(7);
        for _ in 0..10 * RESETS_MAX {
            budget.take(7);
            budget.refill(1);
        }
        assert!(!budget.is_exhausted());
        // Two a second may go on forever.
        let mut now = 7;
        for _ in 0..10 * RESETS_MAX {
            now += REFILL_NS;
            budget.take(now);
        }
        assert!(!budget.is_exhausted());
        // A long pause refills no more than the burst.
        now += 1_000_000 * REFILL_NS;
        for _ in 0..RESETS_MAX {
            budget.take(now);
        }
        assert!(budget.is_exhausted());
    }
}
