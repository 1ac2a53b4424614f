//! Loads with the noise of independent arrivals.

use plimsoll_model::seed::Seed;
use plimsoll_scale::ScaleTrace;
use rand::RngExt as _;

/// A rate by second, with noise.
pub(crate) fn noisy(len: u32, seed: u64, rate: impl Fn(f64) -> f64) -> ScaleTrace {
    let rates: Vec<f64> = (0..len).map(|second| rate(f64::from(second))).collect();
    with_noise(&rates, seed)
}

/// Rates whose variance is their mean.
pub(crate) fn with_noise(rates: &[f64], seed: u64) -> ScaleTrace {
    let mut random = Seed(seed).generator();
    let rates = rates.iter().map(|mean| {
        // Twelve uniform values have a variance of one.
        let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
        mean.sqrt().mul_add(sum - 6.0, *mean).max(0.0)
    });
    ScaleTrace::of_rates(rates.collect()).unwrap()
}
