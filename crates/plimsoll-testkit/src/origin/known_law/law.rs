//! The law itself: the departure of an arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use plimsoll_model::seed::Seed;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Service;
use crate::origin::clock::{Nanos, nanos};

/// First come, first served, by c equal servers.
pub(super) struct ServiceLaw {
    /// When each server is free again; the earliest on top.
    free_at: BinaryHeap<Reverse<Nanos>>,
    service: Service,
    generator: Xoshiro256PlusPlus,
    /// Requests so far.
    count: u32,
}

impl ServiceLaw {
    pub(super) fn new(servers: NonZeroU32, service: Service, seed: Seed) -> Self {
        Self {
            free_at: (0..servers.get()).map(|_| Reverse(0)).collect(),
            service,
            generator: seed.generator(),
            count: 0,
        }
    }

    /// Departure of the request that arrives at `now`: max(arrival, earliest free server) + service time.
    pub(super) fn departure(&mut self, now: Nanos) -> Nanos {
        let service = self.service_time();
        let mut earliest = self
            .free_at
            .peek_mut()
            .expect("there is at least one server");
        let departure = now.max(earliest.0).saturating_add(service);
        earliest.0 = departure;
        departure
    }

    /// All servers stall for `pause` from `now` on; work in progress continues afterwards.
    pub(super) fn pause(&mut self, now: Nanos, pause: Nanos) {
        self.free_at = self
            .free_at
            .drain()
            .map(|Reverse(at)| Reverse(at.max(now).saturating_add(pause)))
            .collect();
    }

    fn service_time(&mut self) -> Nanos {
        self.count = self.count.saturating_add(1);
        match self.service {
            Service::Deterministic(time) => nanos(time),
            Service::Exponential(mean) => {
                // 1 − u lies in (0, 1], so the logarithm is finite.
                let unit = -(1.0 - self.generator.random::<f64>()).ln();
                nanos(mean.mul_f64(unit))
            }
            Service::Growing(step) => nanos(step.saturating_mul(self.count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn law(servers: u32, service: Service) -> ServiceLaw {
        ServiceLaw::new(NonZeroU32::new(servers).unwrap(), service, Seed(7))
    }

    #[test]
    fn one_server_serves_in_order() {
        let mut law = law(1, Service::Deterministic(Duration::from_nanos(10)));
        assert_eq!([0, 1, 30].map(|at| law.departure(at)), [10, 20, 40]);
    }

    #[test]
    fn two_servers_share_one_queue() {
        let mut law = law(2, Service::Deterministic(Duration::from_nanos(10)));
        assert_eq!([0, 1, 2, 3].map(|at| law.departure(at)), [10, 11, 20, 21]);
    }

    #[test]
    fn a_growing_service_takes_a_step_longer_each_time() {
        let mut law = law(2, Service::Growing(Duration::from_nanos(10)));
        assert_eq!([0, 0, 100].map(|at| law.departure(at)), [10, 20, 130]);
    }

    #[test]
    fn a_pause_shifts_what_is_under_way() {
        let mut law = law(1, Service::Deterministic(Duration::from_nanos(10)));
        law.departure(0);
        law.pause(5, 100);
        assert_eq!(law.departure(6), 120);
    }

    /// The mean of n exponential times lies within 4 standard errors of the mean asked for, and so does their
    /// standard deviation, which equals the mean.
    #[test]
    fn exponential_service_has_its_mean_and_deviation() {
        let mut law = law(1, Service::Exponential(Duration::from_millis(1)));
        let n = 100_000;
        let times: Vec<f64> = (0..n)
            .map(|_| law.service_time() as f64 / 1_000.0)
            .collect();
        let mean = times.iter().sum::<f64>() / f64::from(n);
        let deviation =
            (times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / f64::from(n)).sqrt();
        assert!((mean - 1_000.0).abs() < 13.0, "seed 7: mean {mean}");
        assert!(
            (deviation - 1_000.0).abs() < 26.0,
            "seed 7: deviation {deviation}"
        );
    }
}
