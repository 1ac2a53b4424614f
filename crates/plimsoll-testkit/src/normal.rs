//! Noise of a normal distribution.

use rand::{Rng, RngExt as _};

/// A standard normal value, near enough for noise: the sum of twelve uniform ones, less six (Irwin–Hall).
pub fn standard_normal(random: &mut impl Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;

    use super::*;

    #[test]
    fn its_mean_is_zero_and_its_variance_one() {
        let mut random = Seed(1).generator();
        let values: Vec<f64> = (0..10_000).map(|_| standard_normal(&mut random)).collect();
        let mean = values.iter().sum::<f64>() / 10_000.0;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / 9_999.0;
        // Five standard errors each.
        assert!(mean.abs() < 0.05, "{mean}");
        assert!((variance - 1.0).abs() < 0.07, "{variance}");
    }
}
