//! Users who give up: how long each waits for a step before it leaves.

use plimsoll_model::distribution::DurationDistribution;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::VirtualUsers;
use crate::due::NEVER;

/// The shortest patience, ns. Whoever leaves is replaced at once: shorter waits would make a loop spin.
const PATIENCE_MIN_NS: u64 = 10_000_000;

/// How long a new user waits for each step, ns; [`NEVER`] where its journey sets no limit, which draws nothing.
pub(super) fn draw_ns(
    gives_up: Option<DurationDistribution>,
    random: &mut Xoshiro256PlusPlus,
) -> u64 {
    gives_up.map_or(NEVER, |patience| {
        patience.draw_ns(random).max(PATIENCE_MIN_NS)
    })
}

impl VirtualUsers {
    /// When a user gives up waiting for what was due at `due`, or for the page that it is loading; [`NEVER`] when it does not,
    /// and while it polls.
    pub(crate) fn gives_up_at(&self, id: u32, due: u64) -> u64 {
        // A long poll is meant to take long.
        let user = self.users.get(id as usize);
        let Some(user) = user.filter(|user| user.poll.is_none()) else {
            return NEVER;
        };
        let since = user.page.as_ref().map_or(due, |page| page.due);
        since.saturating_add(user.patience_ns)
    }

    /// Why a step of a user who gave up has failed.
    pub(crate) fn give_up_reason(&self, id: u32) -> String {
        let patience_ns = self
            .users
            .get(id as usize)
            .map_or(0, |user| user.patience_ns);
        format!(
            "the user gave up after {} ms without a complete response (`gives_up`)",
            patience_ns / 1_000_000
        )
    }

    /// Nothing more of the page that a user is loading is requested.
    pub(crate) fn skip_resources(&mut self, id: u32) {
        if let Some(page) = &mut self.users[id as usize].page {
            page.left.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::seed::Seed;

    use super::*;

    #[test]
    fn patience_has_the_law_of_the_plan_and_a_lower_bound() {
        let mut random = Seed(3).generator();
        let before = random.clone();
        assert_eq!(draw_ns(None, &mut random), NEVER);
        assert_eq!(random, before, "without a limit nothing is drawn");
        let exponential = Some(DurationDistribution::Exponential(Duration::from_secs(1)));
        let drawn: Vec<u64> = (0..10_000)
            .map(|_| draw_ns(exponential, &mut random))
            .collect();
        let longer = drawn.iter().filter(|&&ns| ns > 1_000_000_000).count() as f64;
        assert!(
            (longer / 10_000.0 - (-1_f64).exp()).abs() < 0.02,
            "{longer}"
        );
        assert!(drawn.iter().all(|&ns| ns >= PATIENCE_MIN_NS));
        let hasty = Some(DurationDistribution::Fixed(Duration::from_nanos(1)));
        assert_eq!(draw_ns(hasty, &mut random), PATIENCE_MIN_NS);
    }
}
