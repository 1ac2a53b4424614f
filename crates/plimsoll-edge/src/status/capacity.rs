//! How many requests a second the servers of a pool carry at most, as far as the edge knows it.
//!
//! It is measured, never extrapolated: the rate of good responses in seconds in which all slots of the pool were taken
//! and requests waited. By Little's law that is the limit of requests in flight divided by the time that one takes at that
//! limit. Response times below the limit say nothing about those at the limit, so without such seconds nothing is known.

use std::collections::{BTreeMap, VecDeque};

/// How long a measured second counts, s.
const KEPT_S: f64 = 3600.0;
/// Seconds kept for each pool.
const SECONDS_MAX: usize = 120;
/// Seconds that an estimate needs.
const SECONDS_MIN: usize = 10;
/// Pools followed.
const POOLS_MAX: usize = 64;
/// By how much the limit may have changed since, as a share.
const LIMIT_DRIFT: f64 = 0.1;

/// A pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PoolLoad {
    /// Good responses per second.
    pub(super) carried: f64,
    /// Servers that get requests.
    pub(super) servers_in: usize,
    /// Their limit of requests in flight.
    pub(super) limit: u64,
    /// Whether all slots were taken all the time, and more requests waited or were turned away.
    pub(super) is_saturated: bool,
}

/// Saturated seconds of all pools.
#[derive(Debug, Default)]
pub(super) struct Capacities {
    pools: BTreeMap<String, VecDeque<(f64, PoolLoad)>>,
}

impl Capacities {
    /// Takes in a second of a pool; `at` in seconds.
    pub(super) fn observe(&mut self, at: f64, pool: &str, load: PoolLoad) {
        if !load.is_saturated {
            return;
        }
        if !self.pools.contains_key(pool) && self.pools.len() >= POOLS_MAX {
            return;
        }
        let seconds = self.pools.entry(pool.to_owned()).or_default();
        seconds.push_back((at, load));
        if seconds.len() > SECONDS_MAX {
            seconds.pop_front();
        }
    }

    /// Requests per second that a pool carries at most, with the servers and limits that it has now.
    pub(super) fn estimate(&self, at: f64, pool: &str, now: PoolLoad) -> Option<f64> {
        let limit = now.limit as f64;
        let comparable = |load: &PoolLoad| {
            load.servers_in == now.servers_in
                && (load.limit as f64 - limit).abs() <= limit * LIMIT_DRIFT
        };
        let seconds = self.pools.get(pool)?.iter();
        let mut rates: Vec<f64> = seconds
            .filter(|(then, load)| at - then <= KEPT_S && comparable(load))
            .map(|(_, load)| load.carried)
            .collect();
        if rates.len() < SECONDS_MIN {
            return None;
        }
        rates.sort_by(f64::total_cmp);
        Some(rates[rates.len() / 2]).filter(|rate| *rate > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_saturated_seconds_with_the_same_servers_and_limit_count() {
        let full = |carried| PoolLoad {
            carried,
            servers_in: 2,
            limit: 40,
            is_saturated: true,
        };
        let mut capacities = Capacities::default();
        for at in 0..9 {
            capacities.observe(f64::from(at), "app", full(1_000.0));
            // Much is carried while nobody waits; that is no capacity.
            let easy = PoolLoad {
                is_saturated: false,
                ..full(5_000.0)
            };
            capacities.observe(f64::from(at), "app", easy);
        }
        let now = PoolLoad {
            is_saturated: false,
            ..full(300.0)
        };
        assert_eq!(capacities.estimate(9.0, "app", now), None, "nine seconds");
        capacities.observe(9.0, "app", full(1_100.0));
        assert_eq!(capacities.estimate(10.0, "app", now), Some(1_000.0));
        assert_eq!(capacities.estimate(10.0, "other", now), None);
        let fewer = PoolLoad {
            servers_in: 1,
            ..now
        };
        assert_eq!(capacities.estimate(10.0, "app", fewer), None);
        let higher = PoolLoad { limit: 45, ..now };
        assert_eq!(capacities.estimate(10.0, "app", higher), None);
        assert_eq!(capacities.estimate(3_602.0, "app", now), None, "too old");
    }

    #[test]
    fn it_is_the_limit_divided_by_the_time_at_the_limit() {
        // 8 slots, 10 ms each: 800 req/s by Little's law, with noise of single seconds.
        let mut capacities = Capacities::default();
        let load = |carried| PoolLoad {
            carried,
            servers_in: 1,
            limit: 8,
            is_saturated: true,
        };
        for at in 0..60 {
            let noise = f64::from((at * 37) % 21 - 10);
            capacities.observe(f64::from(at), "app", load(800.0 + noise));
        }
        let rate = capacities.estimate(60.0, "app", load(0.0)).unwrap();
        assert!((798.0..=802.0).contains(&rate), "{rate}");
    }
}
