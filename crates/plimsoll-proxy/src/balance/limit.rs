//! Adaptive concurrency limit of a server without a configured one: as many requests as keep its latency near that of
//! an idle server.
//!
//! Once per window the median latency is compared with its long-term average. While it stays near, the limit grows by
//! its square root; when it rises, the limit shrinks by the ratio. A response time above the objective shrinks it
//! whatever the ratio, so that the long-term average cannot learn an overload as normal.

use plimsoll_net::clock::Nanoseconds;

/// Shortest window, ns.
const WINDOW_NS: u64 = 250_000_000;
/// Minimum number of responses in a window.
const WINDOW_COUNT: usize = 25;
/// Maximum number of responses kept per window.
const SAMPLES_MAX: usize = 1024;
/// Memory of the long-term average, responses.
const LONG: f64 = 600.0;

/// Bounds of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitBounds {
    pub(crate) start: u32,
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Default for LimitBounds {
    fn default() -> Self {
        Self {
            start: 20,
            min: 2,
            max: 4096,
        }
    }
}

/// A response as the limit evaluates it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitSample {
    /// Time at the server.
    pub service: Nanoseconds,
    /// Time at the edge, queueing included.
    pub(crate) total: Nanoseconds,
    /// Requests in flight when it was sent, itself included.
    pub in_flight: u32,
    /// The server timed out or reported overload.
    pub(crate) overload: bool,
}

/// Adaptive limit.
#[derive(Debug)]
pub(crate) struct Learner {
    bounds: LimitBounds,
    objective: Nanoseconds,
    limit: f64,
    /// Long-term average of the median, ns; 0 before the first.
    base: f64,
    since: Nanoseconds,
    service: Vec<Nanoseconds>,
    total: Vec<Nanoseconds>,
    observed: usize,
    in_flight_max: u32,
    overloads: u32,
}

impl Learner {
    pub(crate) fn new(bounds: LimitBounds, objective: Nanoseconds) -> Self {
        Self {
            bounds,
            objective,
            limit: f64::from(bounds.start),
            base: 0.0,
            since: 0,
            service: Vec::new(),
            total: Vec::new(),
            observed: 0,
            in_flight_max: 0,
            overloads: 0,
        }
    }

    /// Records a response; returns the new limit when a window ends with it.
    pub(crate) fn take(&mut self, now: Nanoseconds, sample: LimitSample) -> Option<u32> {
        if self.observed == 0 {
            self.since = now;
        }
        self.in_flight_max = self.in_flight_max.max(sample.in_flight);
        self.overloads += u32::from(sample.overload);
        // In a busy window the latest responses count.
        let place = self.observed % SAMPLES_MAX;
        self.observed += 1;
        if self.service.len() < SAMPLES_MAX {
            self.service.push(sample.service);
            self.total.push(sample.total);
        } else {
            self.service[place] = sample.service;
            self.total[place] = sample.total;
        }
        if self.observed < WINDOW_COUNT || now.saturating_sub(self.since) < WINDOW_NS {
            return None;
        }
        self.close();
        Some(self.current())
    }

    /// The limit.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between the bounds, which are u32"
    )]
    pub(crate) fn current(&self) -> u32 {
        self.limit.round() as u32
    }

    fn close(&mut self) {
        let median = quantile(&mut self.service, 50);
        let slow = quantile(&mut self.total, 95);
        self.learn(median as f64);
        let ratio = 1.25 * self.base / (median as f64).max(1.0);
        let wanted = if slow > self.objective {
            ratio.clamp(0.5, 0.9) * self.limit
        } else {
            ratio.clamp(0.5, 1.5) * self.limit + self.limit.sqrt()
        };
        let busy = f64::from(self.in_flight_max) >= self.limit / 2.0;
        if self.overloads > 0 {
            self.limit *= 0.9;
        } else if busy {
            // An unused limit gives no evidence for growth.
            self.limit = 0.8 * self.limit + 0.2 * wanted;
        }
        let (min, max) = (f64::from(self.bounds.min), f64::from(self.bounds.max));
        self.limit = self.limit.clamp(min, max);
        self.service.clear();
        self.total.clear();
        self.observed = 0;
        self.in_flight_max = 0;
        self.overloads = 0;
    }

    fn learn(&mut self, median: f64) {
        if self.base == 0.0 {
            self.base = median;
            return;
        }
        let weight = (self.observed as f64 / LONG).min(1.0);
        self.base += (median - self.base) * weight * 0.5;
        if self.base > 2.0 * median {
            self.base *= 0.9;
        }
    }
}

/// A quantile in percent; the order of `values` changes.
fn quantile(values: &mut [Nanoseconds], percent: usize) -> Nanoseconds {
    if values.is_empty() {
        return 0;
    }
    let rank = (values.len() * percent / 100).min(values.len() - 1);
    *values.select_nth_unstable(rank).1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A server with `workers` that serve one request each for `service_ms`, always loaded up to the limit; returns the
    /// limit after `seconds`.
    fn settle(workers: u32, service_ms: u64, objective_ms: u64, seconds: u64) -> (u32, u64) {
        let mut learner = Learner::new(LimitBounds::default(), objective_ms * MS);
        let mut now = 0;
        let mut latency = 0;
        while now < seconds * 1000 * MS {
            let limit = learner.current();
            // Little's law on a busy server: residence time is concurrency over rate.
            latency = service_ms * MS * u64::from(limit.div_ceil(workers));
            let gap = service_ms * MS / u64::from(workers.min(limit));
            now += gap;
            learner.take(
                now,
                LimitSample {
                    service: latency,
                    total: latency,
                    in_flight: limit,
                    overload: false,
                },
            );
        }
        (learner.current(), latency / MS)
    }

    #[test]
    fn a_serial_server_is_held_within_the_objective() {
        let (limit, latency) = settle(1, 10, 500, 120);
        assert!(limit >= 2, "{limit}");
        assert!(latency <= 550, "{latency} ms at a limit of {limit}");
    }

    #[test]
    fn a_wide_server_is_used() {
        let (limit, _) = settle(200, 50, 500, 120);
        assert!(limit >= 200, "{limit}");
    }

    #[test]
    fn overload_shrinks_and_disuse_does_not_grow() {
        let mut learner = Learner::new(LimitBounds::default(), 500 * MS);
        let mut now = 0;
        for overload in [false, true] {
            for _ in 0..1000 {
                now += 10 * MS;
                let sample = LimitSample {
                    service: 10 * MS,
                    total: 10 * MS,
                    in_flight: 2,
                    overload,
                };
                learner.take(now, sample);
            }
            let expected = if overload { 2 } else { 20 };
            assert_eq!(learner.current(), expected);
        }
    }
}
