//! The true load line: the highest Poisson rate at which a quantile of the response time is below a bound.
//!
//! Computed by a simulation of the queue in virtual time (Kiefer and Wolfowitz 1955: an arrival takes the server
//! that becomes free first), long enough that its own error is far below the tolerated 5 %. M/M/1 has a closed form, used
//! by its test.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

/// Arrivals of one simulation.
const ARRIVAL_COUNT: usize = 400_000;
/// Halvings of the interval in which the line lies.
const STEP_COUNT: u32 = 14;
const SEED: u64 = 7;

/// A queueing law that the origin obeys.
#[derive(Clone, Copy)]
pub(super) struct QueueLaw {
    pub(super) name: &'static str,
    servers: u32,
    is_exponential: bool,
    mean_us: u32,
}

impl QueueLaw {
    pub(super) const ALL: [Self; 4] = [
        Self {
            name: "M/M/1",
            servers: 1,
            is_exponential: true,
            mean_us: 5_000,
        },
        Self {
            name: "M/M/2",
            servers: 2,
            is_exponential: true,
            mean_us: 10_000,
        },
        Self {
            name: "M/D/1",
            servers: 1,
            is_exponential: false,
            mean_us: 5_000,
        },
        Self {
            name: "M/D/2",
            servers: 2,
            is_exponential: false,
            mean_us: 10_000,
        },
    ];

    pub(super) fn origin_arguments(&self, seed: u64) -> Vec<String> {
        let law = if self.is_exponential {
            "exponential"
        } else {
            "deterministic"
        };
        let line = format!(
            "--law {law} --servers {} --mean-us {} --seed {seed}",
            self.servers, self.mean_us
        );
        line.split(' ').map(ToOwned::to_owned).collect()
    }

    /// The highest rate, per second, at which `share` of the responses take at most `bound_s` seconds.
    pub(super) fn load_line(&self, share: f64, bound_s: f64) -> f64 {
        let capacity = f64::from(self.servers) * 1e6 / f64::from(self.mean_us);
        let (mut low, mut high) = (0.0, capacity);
        for _ in 0..STEP_COUNT {
            let rate = f64::midpoint(low, high);
            if self.share_within(rate, bound_s) >= share {
                low = rate;
            } else {
                high = rate;
            }
        }
        f64::midpoint(low, high)
    }

    /// The share of responses within `bound_s` seconds at `rate` per second; the same dice at every rate.
    fn share_within(&self, rate: f64, bound_s: f64) -> f64 {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut unit = || -(1.0 - dice.random::<f64>()).ln();
        let mean_s = f64::from(self.mean_us) / 1e6;
        let mut free_at = vec![0.0_f64; self.servers as usize];
        let mut now = 0.0;
        let mut within = 0_u32;
        for _ in 0..ARRIVAL_COUNT {
            now += unit() / rate;
            // Drawn in any case, so that the arrivals of all laws are the same.
            let drawn = unit();
            let service = if self.is_exponential {
                mean_s * drawn
            } else {
                mean_s
            };
            let earliest = free_at
                .iter_mut()
                .min_by(|a, b| a.total_cmp(b))
                .expect("there is at least one server");
            *earliest = earliest.max(now) + service;
            within += u32::from(*earliest - now <= bound_s);
        }
        f64::from(within) / ARRIVAL_COUNT as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1: the response time is exponential with rate μ − λ, so the line is μ − ln 20 / τ at p95.
    #[test]
    fn the_simulation_agrees_with_the_closed_form() {
        let law = QueueLaw::ALL[0];
        let exact = 200.0 - 20_f64.ln() / 0.05;
        let simulated = law.load_line(0.95, 0.05);
        assert!(
            (simulated / exact - 1.0).abs() < 0.01,
            "{simulated} against {exact}"
        );
    }

    /// Less variable service carries more; one fast server more than two of half its speed only when service counts.
    #[test]
    fn the_laws_are_in_their_order() {
        let [mm1, mm2, md1, md2] = QueueLaw::ALL.map(|law| law.load_line(0.95, 0.05));
        assert!(
            md1 > mm1 && md2 > mm2 && mm1 > mm2,
            "{mm1} {mm2} {md1} {md2}"
        );
        assert!(md1 < 200.0 && md2 < 200.0);
    }
}
