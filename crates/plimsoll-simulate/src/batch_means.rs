//! How well a mean of dependent values is known: means of batches that grow.
//!
//! Response times of neighbouring requests depend on each other, so their own spread would make a mean look too sure. The means
//! of long batches hardly do. At most 64 batches are kept: when there are so many, neighbours are joined, and batches are twice
//! as long from then on.

use crate::result::MeanInterval;

/// Most batches; then neighbours are joined.
const BATCHES_MAX: usize = 64;
/// Fewest batches for an interval.
const BATCHES_MIN: usize = 24;
/// Values of a batch in the beginning.
const FIRST_LEN: u64 = 32;
/// Quantile of the normal distribution for 97 %. The interval is to hold in 95 of 100 seeds, and whoever stops at the first
/// moment at which it is narrow enough has intervals that hold less often than their level.
const Z: f64 = 2.170_1;
/// Highest correlation of neighbours that is corrected; above it, batches are far too short.
const CORRELATION_MAX: f64 = 0.9;

/// Means of batches of values.
#[derive(Clone, Debug)]
pub(crate) struct BatchMeans {
    means: Vec<f64>,
    len: u64,
    sum: f64,
    count: u64,
}

impl BatchMeans {
    pub(crate) fn new() -> Self {
        Self {
            means: Vec::with_capacity(BATCHES_MAX),
            len: FIRST_LEN,
            sum: 0.0,
            count: 0,
        }
    }

    /// Adds a value.
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        if self.count == self.len {
            self.close();
        }
    }

    fn close(&mut self) {
        self.means.push(self.sum / self.len as f64);
        self.sum = 0.0;
        self.count = 0;
        if self.means.len() == BATCHES_MAX {
            for index in 0..BATCHES_MAX / 2 {
                self.means[index] = f64::midpoint(self.means[2 * index], self.means[2 * index + 1]);
            }
            self.means.truncate(BATCHES_MAX / 2);
            self.len *= 2;
        }
    }

    /// Forgets all values.
    pub(crate) fn reset(&mut self) {
        self.means.clear();
        self.len = FIRST_LEN;
        self.sum = 0.0;
        self.count = 0;
    }

    /// The mean of all whole batches with the half of its interval; `None` with too few batches.
    pub(crate) fn interval(&self) -> Option<MeanInterval> {
        let count = self.means.len();
        if count < BATCHES_MIN {
            return None;
        }
        let mean = self.means.iter().sum::<f64>() / count as f64;
        let squares: f64 = self.means.iter().map(|value| (value - mean).powi(2)).sum();
        let neighbours = self.means.windows(2);
        let products: f64 = neighbours
            .map(|pair| (pair[0] - mean) * (pair[1] - mean))
            .sum();
        let variance = squares / (count - 1) as f64;
        let correlation = if squares > 0.0 {
            (products / squares).clamp(0.0, CORRELATION_MAX)
        } else {
            0.0
        };
        // The variance of a mean whose values depend on their neighbours (autoregressive of order 1).
        let inflation = (1.0 + correlation) / (1.0 - correlation);
        let half = student((count - 1) as f64) * (variance * inflation / count as f64).sqrt();
        Some(MeanInterval { mean, half })
    }
}

/// Quantile of Student's distribution that belongs to [`Z`], by the series of Fisher and Cornish.
fn student(freedom: f64) -> f64 {
    let first = (Z.powi(3) + Z) / 4.0;
    let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    Z + first / freedom + second / (freedom * freedom)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use rand::RngExt as _;

    use super::*;

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        // t at 0.985 with 30 degrees of freedom.
        assert!((student(30.0) - 2.278).abs() < 0.01, "{}", student(30.0));
        assert!((student(1e9) - Z).abs() < 1e-6);
    }

    #[test]
    fn few_values_have_no_interval() {
        let mut means = BatchMeans::new();
        for _ in 0..FIRST_LEN * 24 - 1 {
            means.add(1.0);
        }
        assert!(means.interval().is_none());
        means.add(1.0);
        let interval = means.interval().unwrap();
        assert!((interval.mean - 1.0).abs() < 1e-12 && interval.half < 1e-12);
        means.reset();
        assert!(means.interval().is_none());
    }

    #[test]
    fn intervals_hold_for_values_that_depend_on_each_other() {
        // x' = 0.9·x + noise has the mean 0; a naive interval would be a quarter as wide as it must be.
        let held = (0..200_u64).filter(|seed| {
            let mut random = Seed(*seed).generator();
            let mut means = BatchMeans::new();
            let mut value = 0.0;
            for _ in 0..50_000 {
                value = 0.9 * value + random.random::<f64>() - 0.5;
                means.add(value);
            }
            let interval = means.interval().unwrap();
            interval.mean.abs() <= interval.half
        });
        let held = held.count();
        // Of 200 intervals of 95 %, fewer than 180 hold in a thousandth of all cases.
        assert!(held >= 182, "{held}");
    }
}
