//! Bootstrap interval of any statistic, corrected for bias and acceleration (`BCa`: Efron, Journal of the American
//! Statistical Association 82, 1987; Efron and Tibshirani, An Introduction to the Bootstrap, 1993, 14.3).
//!
//! Several samples are resampled each within itself. The acceleration is that of the influence values
//! U = (n − 1)(θ̄ − θ₍ᵢ₎) of the jackknife: a = Σ U³/n³ / (6 (Σ U²/n²)^{3/2}), n the size of the value's sample.

use plimsoll_model::seed::Seed;
use rand::RngExt as _;

use super::exact::{normal_cdf, normal_quantile};
use super::order::quantile;

/// Replicates of a published interval.
pub const REPLICATES: usize = 10_000;
/// Replicates at most.
const REPLICATES_MAX: usize = 100_000;

/// Interval (low, high) of `statistic` of `samples`. `None` when a sample is empty.
///
/// # Panics
/// When `confidence` is not between 0 and 1, or there are no or too many replicates.
pub fn interval(
    samples: &[&[f64]],
    statistic: impl Fn(&[Vec<f64>]) -> f64,
    confidence: f64,
    replicates: usize,
    seed: Seed,
) -> Option<(f64, f64)> {
    assert!(
        confidence > 0.0 && confidence < 1.0,
        "confidence {confidence}"
    );
    assert!(
        (1..=REPLICATES_MAX).contains(&replicates),
        "{replicates} replicates"
    );
    if samples.is_empty() || samples.iter().any(|sample| sample.is_empty()) {
        return None;
    }
    let whole: Vec<Vec<f64>> = samples.iter().map(|sample| sample.to_vec()).collect();
    let estimate = statistic(&whole);
    let mut drawn = whole.clone();
    let mut random = seed.generator();
    let mut values = Vec::with_capacity(replicates);
    for _ in 0..replicates {
        for (into, sample) in drawn.iter_mut().zip(samples) {
            into.fill_with(|| sample[random.random_range(0..sample.len())]);
        }
        values.push(statistic(&drawn));
    }
    let bias = bias(&values, estimate);
    let acceleration = acceleration(&whole, &statistic);
    let level = |tail: f64| {
        let shifted = bias + normal_quantile(tail);
        // Beyond the pole of the correction the level is that of its end.
        normal_cdf(bias + shifted / (1.0 - acceleration * shifted).max(0.05))
    };
    let tail = (1.0 - confidence) / 2.0;
    Some((
        quantile(&values, level(tail))?,
        quantile(&values, level(1.0 - tail))?,
    ))
}

/// z₀: the normal quantile of the share of replicates below the estimate, ties halved, kept off 0 and 1.
fn bias(values: &[f64], estimate: f64) -> f64 {
    // Replicates of equal values differ by rounding.
    let near = 1e-12 * estimate.abs().max(1e-300);
    let below: f64 = values
        .iter()
        .map(|value| match value - estimate {
            distance if distance < -near => 1.0,
            distance if distance <= near => 0.5,
            _ => 0.0,
        })
        .sum();
    let count = values.len() as f64;
    normal_quantile(((below + 0.5) / (count + 1.0)).clamp(1e-6, 1.0 - 1e-6))
}

fn acceleration(samples: &[Vec<f64>], statistic: &impl Fn(&[Vec<f64>]) -> f64) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    for (index, sample) in samples.iter().enumerate() {
        let size = sample.len();
        if size < 2 {
            continue;
        }
        let mut reduced = samples.to_vec();
        let without: Vec<f64> = (0..size)
            .map(|left_out| {
                let mut rest = sample.clone();
                rest.remove(left_out);
                reduced[index] = rest;
                statistic(&reduced)
            })
            .collect();
        let n = size as f64;
        let mean = without.iter().sum::<f64>() / n;
        for value in without {
            let influence = (n - 1.0) * (mean - value) / n;
            cubes += influence.powi(3);
            squares += influence.powi(2);
        }
    }
    if squares <= 0.0 {
        return 0.0;
    }
    // One value far from all others makes it so large that the corrected level has no meaning.
    (cubes / (6.0 * squares.powf(1.5))).clamp(-0.2, 0.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(samples: &[Vec<f64>]) -> f64 {
        samples[0].iter().sum::<f64>() / samples[0].len() as f64
    }

    #[test]
    fn covers_the_mean_of_a_skewed_law_as_often_as_it_claims() {
        let covered = (0..300)
            .filter(|&seed| {
                let mut random = Seed(seed).generator();
                // Exponential with mean 1.
                let values: Vec<f64> = (0..25)
                    .map(|_| -(1.0 - random.random::<f64>()).ln())
                    .collect();
                let (low, high) = interval(&[&values], mean, 0.9, 500, Seed(seed)).unwrap();
                (low..=high).contains(&1.0)
            })
            .count();
        // 90 % of 300, a small sample of a skewed law loses a few.
        assert!((246..=289).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn acceleration_of_the_mean_is_a_sixth_of_the_skewness() {
        // Of 0, 0, 0, 4: deviations −1, −1, −1, 3; Σ³ = 24, Σ² = 12.
        let found = acceleration(&[vec![0.0, 0.0, 0.0, 4.0]], &mean);
        let expected = 24.0 / (6.0 * 12.0_f64.powf(1.5));
        assert!((found - expected).abs() < 1e-9, "{found}, {expected}");
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let (low, high) = interval(&[&[2.0; 8]], mean, 0.95, 100, Seed(1)).unwrap();
        assert!((low - 2.0).abs() < 1e-12 && (high - 2.0).abs() < 1e-12);
        assert_eq!(interval(&[&[]], mean, 0.95, 100, Seed(1)), None);
    }

    #[test]
    fn a_seed_repeats_the_interval() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        let of = |seed| interval(&[&values], mean, 0.95, 200, Seed(seed));
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }
}
