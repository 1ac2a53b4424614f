//! Replicas with start times and paid periods.

use plimsoll_config::scale::ReplicaConfig;
use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::seed::Seed;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::paid;
use crate::whole::seconds;

/// A replica that is held.
#[derive(Clone, Copy, Debug)]
struct HeldReplica {
    ordered_s: u32,
    ready_s: u32,
}

/// Replicas that are held, and what those before them cost.
#[derive(Debug)]
pub(super) struct ReplicaFleet {
    held: Vec<HeldReplica>,
    start: DurationDistribution,
    random: Xoshiro256PlusPlus,
    paid_s: Option<u32>,
    /// Seconds that are paid for replicas that are gone.
    paid_before_s: u64,
}

impl ReplicaFleet {
    /// So many replicas that are ready. Start times are drawn from `start`; without one, all are that of the replica.
    pub(super) fn new(
        count: u32,
        replica: &ReplicaConfig,
        (start, seed): (Option<DurationDistribution>, Seed),
    ) -> Self {
        let ready = HeldReplica {
            ordered_s: 0,
            ready_s: 0,
        };
        Self {
            held: vec![ready; count as usize],
            start: start.unwrap_or(DurationDistribution::Fixed(replica.start)),
            random: seed.generator(),
            paid_s: replica.paid.map(seconds),
            paid_before_s: 0,
        }
    }

    /// Replicas that answer in a second.
    pub(super) fn ready(&self, second: u32) -> u32 {
        let ready = self.held.iter().filter(|replica| replica.ready_s <= second);
        u32::try_from(ready.count()).unwrap_or(u32::MAX)
    }

    /// Replicas that are held.
    pub(super) fn held(&self) -> u32 {
        u32::try_from(self.held.len()).unwrap_or(u32::MAX)
    }

    /// How long each is paid already, s; empty where they are paid by the second.
    pub(super) fn ages_s(&self, at: u32) -> Vec<u32> {
        if self.paid_s.is_none() {
            return Vec::new();
        }
        self.held
            .iter()
            .map(|replica| at - replica.ordered_s)
            .collect()
    }

    /// Orders or removes replicas, until there are so many. Those go first whose paid period ends first, else those that
    /// are not ready yet, else the newest.
    pub(super) fn set(&mut self, count: u32, at: u32) {
        while self.held() < count {
            let delay = self.start.draw_ns(&mut self.random);
            let delay_s = u32::try_from(delay.div_ceil(1_000_000_000)).unwrap_or(u32::MAX);
            self.held.push(HeldReplica {
                ordered_s: at,
                ready_s: at.saturating_add(delay_s),
            });
        }
        while self.held() > count
            && let Some(place) = self.next_to_go(at)
        {
            let gone = self.held.remove(place);
            self.paid_before_s += self.paid(gone, at);
        }
    }

    fn next_to_go(&self, at: u32) -> Option<usize> {
        let places = self.held.iter().enumerate();
        let first = places.min_by_key(|(_, replica)| {
            let left = self
                .paid_s
                .map(|paid| paid::left_s(at - replica.ordered_s, paid));
            let is_ready = replica.ready_s <= at;
            (left, is_ready, std::cmp::Reverse(replica.ordered_s))
        });
        first.map(|(place, _)| place)
    }

    /// Seconds that a replica is paid for.
    fn paid(&self, replica: HeldReplica, at: u32) -> u64 {
        let held = u64::from(at.saturating_sub(replica.ordered_s));
        match self.paid_s.map(u64::from) {
            Some(paid) => held.div_ceil(paid).max(1) * paid,
            None => held,
        }
    }

    /// Hours that all replicas are paid for until a moment.
    pub(super) fn paid_hours(&self, at: u32) -> f64 {
        let held: u64 = self
            .held
            .iter()
            .map(|replica| self.paid(*replica, at))
            .sum();
        (self.paid_before_s + held) as f64 / 3600.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn fleet(paid: Option<Duration>) -> ReplicaFleet {
        let replica = ReplicaConfig {
            paid,
            ..ReplicaConfig::of_line(80.0)
        };
        ReplicaFleet::new(2, &replica, (None, Seed(1)))
    }

    #[test]
    fn replicas_start_and_are_paid_while_they_do() {
        let mut fleet = fleet(None);
        fleet.set(4, 10);
        assert_eq!((fleet.held(), fleet.ready(49), fleet.ready(50)), (4, 2, 4));
        fleet.set(3, 20);
        assert_eq!(
            (fleet.ready(20), fleet.held()),
            (2, 3),
            "the one that starts goes first"
        );
        // Two for an hour, one for 3,590 s, one for 10 s.
        assert!((fleet.paid_hours(3600) - 3.0).abs() < 1e-9);
        assert!(fleet.ages_s(20).is_empty());
    }

    #[test]
    fn paid_periods_are_paid_as_a_whole() {
        let mut fleet = fleet(Some(Duration::from_hours(1)));
        fleet.set(3, 1800);
        assert_eq!(fleet.ages_s(3500), [3500, 3500, 1700]);
        fleet.set(2, 3500);
        assert_eq!(
            fleet.ages_s(3500),
            [3500, 1700],
            "of the older ones, whose hour ends"
        );
        // An hour that is gone, two hours of the old one, an hour and a half that is two.
        assert!((fleet.paid_hours(7200) - 5.0).abs() < 1e-9);
    }
}
