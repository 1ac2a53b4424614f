//! A server with exponential service times, a second at a time.

use plimsoll_model::outcome::Outcome;
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use plimsoll_testkit::normal::standard_normal;
use rand::{Rng, RngExt as _};

/// Time-out of the generator, µs.
const TIMEOUT_US: u64 = 30_000_000;

/// An M/M/1 queue as a fluid above its capacity and by its law below.
pub(super) struct QueueServer {
    capacity: f64,
    backlog: f64,
    random: Box<dyn Rng>,
}

impl QueueServer {
    pub(super) fn new(capacity: f64, seed: Seed) -> Self {
        Self {
            capacity,
            backlog: 0.0,
            random: Box::new(seed.generator()),
        }
    }

    /// Clears its queue, as after a pause.
    pub(super) fn rest(&mut self) {
        self.backlog = 0.0;
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small positive counts"
    )]
    fn poisson(&mut self, mean: f64) -> u64 {
        (mean + mean.sqrt() * standard_normal(&mut self.random))
            .max(0.0)
            .round() as u64
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small positive times"
    )]
    pub(super) fn second(&mut self, second: u32, rate: f64) -> Window {
        let mut window = Window::new(second);
        window.offered = self.poisson(rate);
        window.sent = window.offered;
        let due = window.offered as f64 + self.backlog;
        let answered = due.min(self.capacity).round();
        let waited_s = self.backlog / self.capacity;
        self.backlog = due - answered;
        // Near its capacity the exponential's mean is bounded by the length of a trial.
        let spare = (self.capacity - rate).max(self.capacity * 0.02);
        for _ in 0..answered as u64 {
            let service_s = -(1.0 - self.random.random::<f64>()).ln() / spare;
            let response_us = ((waited_s + service_s) * 1e6) as u64 + 300;
            if response_us >= TIMEOUT_US {
                window.outcomes.add(Outcome::Timeout);
                continue;
            }
            window.outcomes.add(Outcome::Ok);
            *window.status.entry(200).or_default() += 1;
            window.response.record(response_us, 1);
            window
                .service
                .record(((service_s * 1e6) as u64 + 300).min(response_us), 1);
        }
        for _ in 0..window.offered {
            let lag = 20.0 + 15.0 * standard_normal(&mut self.random).abs();
            window.lag.record(lag as u64, 1);
        }
        window.in_flight = (self.backlog + rate / spare) as u64;
        window.in_flight_mean = self.backlog + rate / spare;
        window.connections = window.in_flight.max(8);
        window.bytes_in = window.outcomes.total() * 18_000;
        window.bytes_out = window.sent * 160;
        window.generator.loop_cpu_us = window.offered * 13;
        window.generator.loop_cpu_us_max = window.generator.loop_cpu_us;
        window
    }
}
