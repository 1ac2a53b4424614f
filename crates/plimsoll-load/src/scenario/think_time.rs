//! Think times.

use plimsoll_model::journey::ThinkTime;
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::clock::nanoseconds;

/// Multiples of the mean at which an exponential think time is cut.
const MEANS_MAX: f64 = 10.0;

/// One think time, ns.
pub(crate) fn draw(think_time: &ThinkTime, random: &mut Xoshiro256PlusPlus) -> u64 {
    match *think_time {
        ThinkTime::Fixed(length) => nanoseconds(length),
        ThinkTime::Uniform(from, to) => {
            let (from, to) = (nanoseconds(from), nanoseconds(to));
            random.random_range(from.min(to)..=to.max(from))
        }
        ThinkTime::Exponential(mean) => {
            // 1 − u lies in (0, 1], so the logarithm is finite.
            let means = -(1.0 - random.random::<f64>()).ln();
            seconds(mean.as_secs_f64() * means.min(MEANS_MAX))
        }
        ThinkTime::Normal(mean, deviation) => seconds(
            deviation
                .as_secs_f64()
                .mul_add(normal(random), mean.as_secs_f64()),
        ),
        ThinkTime::LogNormal(median, sigma) => {
            seconds(median.as_secs_f64() * (sigma * normal(random)).exp())
        }
    }
}

/// A standard normal value, by Box and Muller.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates, and a pause beyond 584 years is as good as that"
)]
fn seconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::seed::Seed;
    use std::time::Duration;

    const COUNT: u32 = 40_000;

    /// Mean and standard deviation in seconds, and what lies above `bound`, as a share.
    fn moments(think_time: ThinkTime, bound: f64) -> (f64, f64, f64) {
        let mut random = Seed(11).generator();
        let drawn: Vec<f64> = (0..COUNT)
            .map(|_| draw(&think_time, &mut random) as f64 / 1e9)
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
    fn pauses_have_the_moments_of_their_laws() {
        let s = Duration::from_secs;
        let (mean, deviation, _) = moments(ThinkTime::Fixed(s(2)), 2.0);
        close(mean, 2.0, 1e-9);
        close(deviation, 0.0, 1e-9);
        let (mean, deviation, above) = moments(ThinkTime::Uniform(s(1), s(3)), 2.5);
        close(mean, 2.0, 0.01);
        close(deviation, 2.0 / 12_f64.sqrt(), 0.01);
        close(above, 0.25, 0.01);
        let (mean, deviation, above) = moments(ThinkTime::Exponential(s(2)), 2.0);
        close(mean, 2.0, 0.05);
        close(deviation, 2.0, 0.05);
        close(above, (-1_f64).exp(), 0.01);
        let (mean, deviation, above) = moments(ThinkTime::Normal(s(10), s(2)), 12.0);
        close(mean, 10.0, 0.05);
        close(deviation, 2.0, 0.05);
        close(above, 0.1587, 0.01);
        let (mean, _, above) = moments(ThinkTime::LogNormal(s(2), 0.5), 2.0);
        close(mean, 2.0 * 0.125_f64.exp(), 0.03);
        close(above, 0.5, 0.01);
    }

    #[test]
    fn pauses_have_bounds() {
        let mut random = Seed(1).generator();
        let wide = ThinkTime::Normal(Duration::ZERO, Duration::from_secs(1));
        let zeros = (0..1000).filter(|_| draw(&wide, &mut random) == 0).count();
        assert!((400..600).contains(&zeros), "{zeros} of 1000 are cut at 0");
        let longest = (0..100_000)
            .map(|_| draw(&ThinkTime::Exponential(Duration::from_secs(1)), &mut random));
        assert!(longest.max().unwrap() <= 10_000_000_000);
    }
}
