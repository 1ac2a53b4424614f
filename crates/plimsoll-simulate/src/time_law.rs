//! Distributions of a time, as the engine draws from them: numbers ready, and no cut at ten means.

use std::time::Duration;

use plimsoll_model::distribution::{DurationDistribution, standard_normal};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Longest time that is drawn, ns: a day. Log-normal laws have no end.
const DRAW_NS_MAX: f64 = 86_400e9;

/// A distribution of times, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TimeLaw {
    /// Always the same.
    Fixed(u64),
    /// Anything from the first, as wide as the second.
    Uniform(f64, f64),
    /// By its mean.
    Exponential(f64),
    /// By mean and standard deviation, never below 0.
    Normal(f64, f64),
    /// By the logarithm of its median, and the standard deviation of the logarithm.
    LogNormal(f64, f64),
}

impl TimeLaw {
    pub(crate) fn of(law: &DurationDistribution) -> Self {
        let ns = |duration: Duration| duration.as_secs_f64() * 1e9;
        match *law {
            DurationDistribution::Fixed(time) => Self::Fixed(whole_ns(ns(time))),
            DurationDistribution::Uniform(from, to) => {
                Self::Uniform(ns(from.min(to)), ns(from.abs_diff(to)))
            }
            DurationDistribution::Exponential(mean) => Self::Exponential(ns(mean)),
            DurationDistribution::Normal(mean, deviation) => Self::Normal(ns(mean), ns(deviation)),
            DurationDistribution::LogNormal(median, sigma) => {
                Self::LogNormal(ns(median).ln(), sigma)
            }
        }
    }

    /// One time, ns.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        match *self {
            Self::Fixed(ns) => ns,
            Self::Uniform(from, width) => whole_ns(width.mul_add(random.random::<f64>(), from)),
            Self::Exponential(mean) => whole_ns(exponential(mean, random)),
            Self::Normal(mean, deviation) => {
                whole_ns(deviation.mul_add(standard_normal(random), mean))
            }
            Self::LogNormal(ln_median, sigma) => {
                whole_ns(sigma.mul_add(standard_normal(random), ln_median).exp())
            }
        }
    }
}

/// An exponential value with this mean.
#[inline]
pub(crate) fn exponential(mean: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    // 1 − u lies in (0, 1], so the logarithm is finite.
    -mean * (1.0 - random.random::<f64>()).ln()
}

/// The nearest whole nanosecond, so that short times keep their mean.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a day"
)]
pub(crate) fn whole_ns(ns: f64) -> u64 {
    (ns.clamp(0.0, DRAW_NS_MAX) + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;

    use super::*;

    #[test]
    fn times_have_the_moments_of_their_laws() {
        let ms = Duration::from_millis;
        for (law, deviation_ms) in [
            (DurationDistribution::Fixed(ms(5)), 0.0),
            (DurationDistribution::Uniform(ms(2), ms(8)), 3.0_f64.sqrt()),
            (DurationDistribution::Exponential(ms(5)), 5.0),
            (DurationDistribution::Normal(ms(5), ms(1)), 1.0),
            (
                DurationDistribution::LogNormal(ms(5), 0.5),
                5.0 * 0.125_f64.exp() * (0.25_f64.exp() - 1.0).sqrt(),
            ),
        ] {
            let drawn = TimeLaw::of(&law);
            let mut random = Seed(5).generator();
            let count = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..count {
                let time_ms = drawn.draw(&mut random) as f64 / 1e6;
                sum += time_ms;
                squares += time_ms * time_ms;
            }
            let mean = sum / f64::from(count);
            let deviation = (squares / f64::from(count) - mean * mean).max(0.0).sqrt();
            let expected = law.mean_s() * 1e3;
            // Six standard errors of the mean at most.
            assert!(
                (mean - expected).abs() < 0.07,
                "{law:?}: {mean}, not {expected}"
            );
            assert!(
                (deviation - deviation_ms).abs() < 0.1,
                "{law:?}: {deviation}"
            );
        }
    }

    #[test]
    fn an_exponential_is_not_cut() {
        // Beyond ten means lie e⁻¹⁰ of all, 91 of two million.
        let law = TimeLaw::Exponential(1e6);
        let mut random = Seed(1).generator();
        let beyond = (0..2_000_000)
            .filter(|_| law.draw(&mut random) > 10_000_000)
            .count();
        assert!((50..140).contains(&beyond), "{beyond}");
    }

    #[test]
    fn a_draw_is_a_day_at_most() {
        let law = TimeLaw::LogNormal(80.0, 5.0);
        assert!(law.draw(&mut Seed(1).generator()) <= 86_400_000_000_000);
    }
}
