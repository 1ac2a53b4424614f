//! Distributions of a duration: the think times of users, the round trips of links.

use std::time::Duration;

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Multiples of the mean at which an exponential duration is cut.
const MEANS_MAX: f64 = 10.0;

/// How a duration is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DurationDistribution {
    /// Always the same.
    Fixed(Duration),
    /// Anything between two, all equally likely.
    Uniform(Duration, Duration),
    /// Exponential with this mean, cut at ten means.
    Exponential(Duration),
    /// Normal with mean and standard deviation, never below 0.
    Normal(Duration, Duration),
    /// Log-normal with median and standard deviation of the logarithm.
    LogNormal(Duration, f64),
}

impl DurationDistribution {
    /// One duration, ns.
    pub fn draw_ns(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        match *self {
            Self::Fixed(length) => nanoseconds(length),
            Self::Uniform(from, to) => {
                let (from, to) = (nanoseconds(from), nanoseconds(to));
                random.random_range(from.min(to)..=to.max(from))
            }
            Self::Exponential(mean) => {
                // 1 − u lies in (0, 1], so the logarithm is finite.
                let means = -(1.0 - random.random::<f64>()).ln();
                in_nanoseconds(mean.as_secs_f64() * means.min(MEANS_MAX))
            }
            Self::Normal(mean, deviation) => in_nanoseconds(
                deviation
                    .as_secs_f64()
                    .mul_add(standard_normal(random), mean.as_secs_f64()),
            ),
            Self::LogNormal(median, sigma) => {
                in_nanoseconds(median.as_secs_f64() * (sigma * standard_normal(random)).exp())
            }
        }
    }

    /// The mean, s. What the normal law loses below 0 and the exponential beyond ten means is left out.
    pub fn mean_s(&self) -> f64 {
        let seconds = |duration: Duration| duration.as_secs_f64();
        match *self {
            Self::Fixed(length) => seconds(length),
            Self::Uniform(from, to) => f64::midpoint(seconds(from), seconds(to)),
            Self::Exponential(mean) | Self::Normal(mean, _) => seconds(mean),
            Self::LogNormal(median, sigma) => seconds(median) * (sigma * sigma / 2.0).exp(),
        }
    }
}

/// A standard normal value, by Box and Muller.
pub fn standard_normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and a duration beyond 584 years is as good as that"
)]
fn in_nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    const COUNT: u32 = 40_000;

    /// Mean and standard deviation in seconds, and what lies above `bound`, as a share.
    fn moments(distribution: DurationDistribution, bound: f64) -> (f64, f64, f64) {
        let mut random = Seed(11).generator();
        let drawn: Vec<f64> = (0..COUNT)
            .map(|_| distribution.draw_ns(&mut random) as f64 / 1e9)
            .collect();
        let count = f64::from(COUNT);
        let mean = drawn.iter().sum::<f64>() / count;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let above = drawn.iter().filter(|&&x| x > bound).count() as f64 / count;
        (mean, variance.sqrt(), above)
    }

    #[track_caller]
    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!(
            (found - expected).abs() < tolerance,
            "{found}, not {expected}"
        );
    }

    #[test]
    fn durations_have_the_moments_of_their_laws() {
        let s = Duration::from_secs;
        let (mean, deviation, _) = moments(DurationDistribution::Fixed(s(2)), 2.0);
        close(mean, 2.0, 1e-9);
        close(deviation, 0.0, 1e-9);
        let (mean, deviation, above) = moments(DurationDistribution::Uniform(s(1), s(3)), 2.5);
        close(mean, 2.0, 0.01);
        close(deviation, 2.0 / 12_f64.sqrt(), 0.01);
        close(above, 0.25, 0.01);
        let (mean, deviation, above) = moments(DurationDistribution::Exponential(s(2)), 2.0);
        close(mean, 2.0, 0.05);
        close(deviation, 2.0, 0.05);
        close(above, (-1_f64).exp(), 0.01);
        let (mean, deviation, above) = moments(DurationDistribution::Normal(s(10), s(2)), 12.0);
        close(mean, 10.0, 0.05);
        close(deviation, 2.0, 0.05);
        close(above, 0.1587, 0.01);
        let (mean, _, above) = moments(DurationDistribution::LogNormal(s(2), 0.5), 2.0);
        close(mean, 2.0 * 0.125_f64.exp(), 0.03);
        close(above, 0.5, 0.01);
    }

    #[test]
    fn durations_have_bounds() {
        let mut random = Seed(1).generator();
        let wide = DurationDistribution::Normal(Duration::ZERO, Duration::from_secs(1));
        let zeros = (0..1000).filter(|_| wide.draw_ns(&mut random) == 0).count();
        assert!((400..600).contains(&zeros), "{zeros} of 1000 are cut at 0");
        let exponential = DurationDistribution::Exponential(Duration::from_secs(1));
        let longest = (0..100_000).map(|_| exponential.draw_ns(&mut random));
        assert!(longest.max().unwrap() <= 10_000_000_000);
    }

    #[test]
    fn durations_have_their_means() {
        let second = Duration::from_secs(1);
        let mean_s = |distribution: DurationDistribution| distribution.mean_s();
        close(
            mean_s(DurationDistribution::Uniform(second, 3 * second)),
            2.0,
            1e-9,
        );
        close(mean_s(DurationDistribution::Exponential(second)), 1.0, 1e-9);
        close(
            mean_s(DurationDistribution::LogNormal(second, 0.5)),
            0.125_f64.exp(),
            1e-9,
        );
    }
}
