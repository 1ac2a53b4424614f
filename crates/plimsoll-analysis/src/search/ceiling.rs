//! How much the generator itself can offer, from self-tests against a server that does nothing.

use plimsoll_model::trial::Trial;

/// The generator must offer this many times the rate it is used at.
const MARGIN: f64 = 2.0;
/// Margin of a self-test above the next rate, so that few are needed.
const AHEAD: f64 = 8.0;
/// Rate below which a self-test is not worth its time, 1/s.
const RATE_MIN: f64 = 4000.0;
/// Self-tests at one rate before it counts as out of reach.
const TRIES: u32 = 2;

/// What the self-tests showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceiling {
    /// Highest rate of a self-test that passed, 1/s.
    proven: f64,
    /// Lowest rate of a self-test that did not, 1/s.
    refused: f64,
    /// Rate that the generator reached there, 1/s.
    pub(super) reached: f64,
    tries: u32,
}

/// Whether a rate may be offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CeilingCheck {
    /// Twice the rate was proven.
    Proven,
    /// A self-test at this rate must decide.
    SelfTest(f64),
    /// Twice the rate is out of reach.
    Beyond,
}

/// Share of equal hosts that are left, above 0.
pub(super) fn share_left(left: u32, before: u32) -> f64 {
    f64::from(left.max(1)) / f64::from(before.max(1))
}

impl Default for Ceiling {
    fn default() -> Self {
        Self {
            proven: 0.0,
            refused: f64::INFINITY,
            reached: 0.0,
            tries: 0,
        }
    }
}

impl Ceiling {
    /// Whether `rate` may be offered.
    pub(super) fn reach(&self, rate: f64) -> CeilingCheck {
        let needed = MARGIN * rate;
        let ahead = (AHEAD * rate).max(RATE_MIN);
        if self.proven >= needed {
            CeilingCheck::Proven
        } else if ahead < self.refused {
            CeilingCheck::SelfTest(ahead)
        } else if 1.05 * needed < self.refused {
            CeilingCheck::SelfTest(1.05 * needed)
        } else {
            CeilingCheck::Beyond
        }
    }

    /// Highest rate that may be offered so far, 1/s.
    pub(super) fn rate(&self) -> f64 {
        self.proven / MARGIN
    }

    /// Of the equal hosts that carry the load, only so many are left. Each tests itself, so that what was shown holds for its
    /// share.
    pub(super) fn shrink(&mut self, left: u32, before: u32) {
        let share = share_left(left, before);
        self.proven *= share;
        self.refused *= share;
        self.reached *= share;
        self.tries = 0;
    }

    /// Takes a self-test in.
    pub(super) fn record(&mut self, trial: &Trial) {
        let rate = trial.spec.rate;
        if trial.verdict.is_pass() {
            self.proven = self.proven.max(rate);
            self.tries = 0;
            return;
        }
        self.tries += 1;
        if self.tries >= TRIES {
            self.tries = 0;
            self.refused = self.refused.min(rate);
            self.reached = trial.throughput;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_left_have_shown_their_share() {
        let mut ceiling = Ceiling {
            proven: 9_000.0,
            refused: 30_000.0,
            reached: 27_000.0,
            tries: 1,
        };
        assert_eq!(ceiling.reach(4_000.0), CeilingCheck::Proven);
        ceiling.shrink(1, 2);
        assert!((ceiling.rate() - 2_250.0).abs() < 1e-9);
        assert_eq!(ceiling.reach(2_250.0), CeilingCheck::Proven);
        let again = CeilingCheck::SelfTest(1.05 * 6_000.0);
        assert_eq!(ceiling.reach(3_000.0), again);
        assert_eq!(ceiling.reach(10_000.0), CeilingCheck::Beyond);
        let mut fresh = Ceiling::default();
        fresh.shrink(1, 2);
        assert_eq!(fresh.reach(100.0), CeilingCheck::SelfTest(4_000.0));
    }
}
