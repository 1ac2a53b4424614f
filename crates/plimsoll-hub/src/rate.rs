//! Rate limits, as token buckets.

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Average per second.
    pub per_second: f32,
    /// Burst after a pause.
    pub burst: f32,
}

/// The remaining tokens of a [`Rate`].
#[derive(Clone, Copy, Debug)]
pub struct RateAllowance {
    tokens: f32,
    /// The low bits of the time of the last update, ms.
    at: u32,
}

impl RateAllowance {
    /// A full bucket.
    pub fn full(rate: Rate, now_ms: u64) -> Self {
        Self {
            tokens: rate.burst,
            at: low(now_ms),
        }
    }

    /// Takes a token; whether there was one.
    pub fn take(&mut self, rate: Rate, now_ms: u64) -> bool {
        let is_there = self.is_there(rate, now_ms);
        if is_there {
            self.tokens -= 1.0;
        }
        is_there
    }

    /// Takes the cost of a completed action; the bucket may become negative.
    pub fn charge(&mut self, cost: f32) {
        self.tokens -= cost;
    }

    /// Whether there is a token.
    pub fn is_there(&mut self, rate: Rate, now_ms: u64) -> bool {
        let now = low(now_ms);
        // The low bits wrap after 49 days without an update: the bucket is then fuller than computed, which is
        // harmless.
        let passed = now.wrapping_sub(self.at) as f32 / 1000.0;
        self.at = now;
        self.tokens = (self.tokens + passed * rate.per_second).min(rate.burst);
        self.tokens >= 1.0
    }
}

fn low(now_ms: u64) -> u32 {
    u32::try_from(now_ms & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_is_waited_for() {
        let rate = Rate {
            per_second: 10.0,
            burst: 3.0,
        };
        let mut allowance = RateAllowance::full(rate, 0);
        assert!(allowance.is_there(rate, 0) && allowance.take(rate, 0));
        allowance.charge(7.0);
        assert!(!allowance.take(rate, 500) && !allowance.is_there(rate, 590));
        assert!(allowance.take(rate, 610));
    }

    #[test]
    fn a_burst_then_the_rate() {
        let rate = Rate {
            per_second: 10.0,
            burst: 3.0,
        };
        let start = u64::from(u32::MAX) - 50;
        let mut allowance = RateAllowance::full(rate, start);
        let taken = (0..5).filter(|_| allowance.take(rate, start)).count();
        assert_eq!(taken, 3);
        let taken = (1..=1000)
            .filter(|ms| allowance.take(rate, start + ms))
            .count();
        assert!((9..=10).contains(&taken), "{taken}");
    }
}
