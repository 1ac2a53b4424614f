//! Confidence in a quantile of requests that follow one another: circular block bootstrap over seconds.

use plimsoll_model::histogram::Histogram;
use plimsoll_model::seed::Seed;
use rand::RngExt as _;

/// Replicates of a bootstrap.
pub const REPLICATES: usize = 2000;

/// Length of a block, seconds: max(5, ⌈n^{1/3}⌉), and not longer than the series.
pub fn block_len(seconds: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cube root is small"
    )]
    let root = (seconds as f64).cbrt().ceil() as usize;
    root.max(5).min(seconds.max(1))
}

/// 90 % confidence interval (low, high) of the `quantile` of all requests in `seconds`, µs: histograms of whole
/// blocks of neighbouring seconds are drawn with replacement, merged by adding counts, and their quantile taken
/// (Politis and Romano 1992). `None` without requests.
pub fn quantile_interval(seconds: &[Histogram], quantile: f64, seed: Seed) -> Option<(u64, u64)> {
    let values = replicate_bounds(seconds);
    let total: u64 = seconds.iter().map(Histogram::count).sum();
    if total == 0 {
        return None;
    }
    let counts = CountsBySecond::of(seconds, &values);
    let mut random = seed.generator();
    let block = block_len(seconds.len());
    let mut quantiles: Vec<u64> = (0..REPLICATES)
        .map(|_| {
            let mut merged = vec![0_u64; values.len()];
            let mut drawn = 0;
            while drawn < seconds.len() {
                let start = random.random_range(0..seconds.len());
                for offset in 0..block.min(seconds.len() - drawn) {
                    counts.add_to(&mut merged, (start + offset) % seconds.len());
                }
                drawn += block;
            }
            quantile_of(&values, &merged, quantile)
        })
        .collect();
    quantiles.sort_unstable();
    Some((
        quantiles[REPLICATES / 20],
        quantiles[REPLICATES - 1 - REPLICATES / 20],
    ))
}

/// All bucket values that occur, ascending.
fn replicate_bounds(seconds: &[Histogram]) -> Vec<u64> {
    let mut values: Vec<u64> = seconds
        .iter()
        .flat_map(|histogram| histogram.buckets().iter().map(|bucket| bucket.0))
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Counts of each second by index of the value, so that a replicate is additions only.
struct CountsBySecond(Vec<Vec<(usize, u64)>>);

impl CountsBySecond {
    fn of(seconds: &[Histogram], values: &[u64]) -> Self {
        let index_of = |value: u64| {
            values
                .binary_search(&value)
                .expect("every bucket is listed")
        };
        let rows = seconds.iter().map(|histogram| {
            let buckets = histogram.buckets().iter();
            buckets
                .map(|&(value, count)| (index_of(value), count))
                .collect()
        });
        Self(rows.collect())
    }

    fn add_to(&self, merged: &mut [u64], second: usize) {
        for &(index, count) in &self.0[second] {
            merged[index] += count;
        }
    }
}

/// Quantile of merged counts; the highest value for a replicate that drew only empty seconds.
fn quantile_of(values: &[u64], counts: &[u64], quantile: f64) -> u64 {
    let total: u64 = counts.iter().sum();
    let rank = (quantile * total as f64).ceil();
    let mut cumulative = 0;
    for (value, count) in values.iter().zip(counts) {
        cumulative += count;
        if cumulative as f64 >= rank && cumulative > 0 {
            return *value;
        }
    }
    values.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_with_the_cube_root() {
        assert_eq!(block_len(20), 5);
        assert_eq!(block_len(1000), 10);
        assert_eq!(block_len(3), 3);
    }

    #[test]
    fn interval_is_wide_when_seconds_differ_and_narrow_when_not() {
        let seconds = |level: fn(u64) -> u64| -> Vec<Histogram> {
            (0..30)
                .map(|second| {
                    let mut histogram = Histogram::new();
                    for request in 0..100 {
                        histogram.record(level(second) + request, 1);
                    }
                    histogram
                })
                .collect()
        };
        let even = quantile_interval(&seconds(|_| 1000), 0.95, Seed(1)).unwrap();
        assert!(even.1 - even.0 <= 2, "{even:?}");
        let uneven = seconds(|second| if second / 5 == 3 { 9000 } else { 1000 });
        let (low, high) = quantile_interval(&uneven, 0.95, Seed(1)).unwrap();
        assert!(low < 1200 && high > 9000, "{low} {high}");
        assert_eq!(quantile_interval(&[Histogram::new()], 0.5, Seed(1)), None);
    }
}
