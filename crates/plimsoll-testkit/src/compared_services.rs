//! Trials of two services with a known service time, on a machine that is disturbed now and then, in virtual time.

use plimsoll_model::seed::Seed;
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::normal::standard_normal;
use crate::queue::times_of_a_trial;

/// Service time of the baseline, ms.
const SERVICE_MS: f64 = 5.0;
/// Standard deviation of the service time between trials, as a share.
const SPREAD: f64 = 0.01;
/// Share of blocks in which something else takes a core.
const BURNING_SHARE: f64 = 0.25;
/// What it makes of the service time.
const BURNING_FACTOR: f64 = 1.2;
/// For how many trials.
const BURNING_TRIALS: u32 = 4;
/// Share of trials that are void.
const VOID_SHARE: f64 = 0.01;
/// Label of the seeds of arrivals, with the block.
const ARRIVALS: u64 = 1000;

/// A service of 5 ms, and one of 5 ms times a factor. Each trial varies by 1 %; in a quarter of the blocks something else
/// takes a core from a trial on, for as long as a block, and a trial in a hundred is void.
#[derive(Clone, Debug)]
pub struct ComparedServices {
    factor: f64,
    seed: Seed,
    random: Xoshiro256PlusPlus,
    arrivals: Seed,
    /// Position in the block from which on a core is taken.
    burns_from: Option<u32>,
    burning: u32,
}

impl ComparedServices {
    /// Services of which the second takes `factor` times as long.
    pub fn new(factor: f64, seed: Seed) -> Self {
        Self {
            factor,
            seed,
            random: seed.derive(3).generator(),
            arrivals: seed,
            burns_from: None,
            burning: 0,
        }
    }

    /// Begins a block: all of its trials have the same arrivals.
    pub fn begin_block(&mut self, block: u32) {
        let is_burning = self.random.random::<f64>() < BURNING_SHARE;
        self.burns_from = is_burning.then(|| self.random.random_range(0..4_u32));
        self.arrivals = self.seed.derive(ARRIVALS + u64::from(block));
    }

    /// The response times of the next trial of the block in milliseconds, ascending; `None` for a void trial.
    pub fn trial(&mut self, position: u32, is_second: bool) -> Option<Vec<f64>> {
        if self.burns_from == Some(position) {
            self.burning = BURNING_TRIALS;
        }
        let burner = if self.burning > 0 {
            BURNING_FACTOR
        } else {
            1.0
        };
        self.burning = self.burning.saturating_sub(1);
        let level = if is_second { self.factor } else { 1.0 };
        let noise = (SPREAD * standard_normal(&mut self.random)).exp();
        let is_void = self.random.random::<f64>() < VOID_SHARE;
        (!is_void).then(|| times_of_a_trial(self.arrivals, SERVICE_MS * level * burner * noise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_those_of_the_services() {
        let (mut burnt, mut void, mut ratios) = (0_u32, 0_u32, Vec::new());
        for seed in 0..100 {
            let mut services = ComparedServices::new(1.5, Seed(seed));
            for block in 0..10 {
                services.begin_block(block);
                let fastest = |times: Option<Vec<f64>>| times.map(|times| times[0]);
                let (first, second) = (services.trial(0, false), services.trial(1, true));
                void += u32::from(first.is_none()) + u32::from(second.is_none());
                // Nobody waits before the fastest request: it takes the service time.
                let (Some(first), Some(second)) = (fastest(first), fastest(second)) else {
                    continue;
                };
                burnt += u32::from(first > SERVICE_MS * 1.1);
                ratios.push(second / first);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        assert!((median - 1.5).abs() < 0.01, "{median}");
        // A quarter of the blocks is disturbed, from its first to its last trial or the next block.
        assert!((100..350).contains(&burnt), "{burnt} of 1000");
        assert!((8..40).contains(&void), "{void} of 2000");
    }
}
