//! Durations since the start of a run: in exponential buckets (native histograms of Prometheus, exponential histograms of
//! OpenTelemetry) and in the classic buckets of Prometheus' text.

use std::collections::BTreeMap;

use plimsoll_model::histogram::Histogram;

/// Each power of two has 2⁴ buckets: a value is known to 2.2 %.
pub(crate) const SCHEMA: i32 = 4;

/// Upper bounds of the classic buckets, microseconds.
pub(crate) const BOUNDS_US: [u64; 18] = [
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
];

/// Durations since the start of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exponential {
    /// Count by index: bucket `i` holds `(b^(i-1), b^i]` seconds, where `b` is 2 to the power of 2^-[`SCHEMA`].
    pub(crate) buckets: BTreeMap<i32, u64>,
    /// Durations of 0.
    pub(crate) zero: u64,
    pub(crate) count: u64,
    pub(crate) sum_s: f64,
    /// Durations up to each of [`BOUNDS_US`].
    pub(crate) up_to: [u64; BOUNDS_US.len()],
}

impl Exponential {
    /// Adds the durations of a second.
    pub(crate) fn add(&mut self, second: &Histogram) {
        for &(top_us, count) in second.buckets() {
            match index(top_us) {
                Some(index) => *self.buckets.entry(index).or_default() += count,
                None => self.zero += count,
            }
        }
        self.count += second.count();
        self.sum_s += second.mean().unwrap_or(0.0) * second.count() as f64 / 1e6;
        for (up_to, bound) in self.up_to.iter_mut().zip(BOUNDS_US) {
            *up_to += second.count() - second.count_above(bound);
        }
    }

    /// Runs of buckets without a gap: the index of the first, and the counts.
    pub(crate) fn spans(&self) -> Vec<(i32, Vec<u64>)> {
        let mut spans: Vec<(i32, Vec<u64>)> = Vec::new();
        let mut next = None;
        for (&index, &count) in &self.buckets {
            match spans.last_mut() {
                Some((_, counts)) if next == Some(index) => counts.push(count),
                _ => spans.push((index, vec![count])),
            }
            next = Some(index + 1);
        }
        spans
    }
}

/// Index of the bucket of a duration; `None` for 0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the logarithm of any u64 in 16ths is below 1024"
)]
pub(crate) fn index(us: u64) -> Option<i32> {
    if us == 0 {
        return None;
    }
    let seconds = us as f64 / 1e6;
    Some((seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value in the middle of a bucket, seconds.
    fn middle_s(index: i32) -> f64 {
        ((f64::from(index) - 0.5) / f64::from(1 << SCHEMA)).exp2()
    }

    #[test]
    fn a_bucket_ends_at_its_bound() {
        for (us, expected) in [
            (1_000_000, 0),
            (1_000_001, 1),
            (2_000_000, 16),
            (500_000, -16),
        ] {
            assert_eq!(index(us), Some(expected), "{us}");
        }
        assert_eq!(index(0), None);
        for us in [1, 999, 123_456, 7_000_000_000] {
            let middle = middle_s(index(us).unwrap()) * 1e6;
            let off = (middle / us as f64 - 1.0).abs();
            assert!(off < 0.023, "{us}: {middle}");
        }
    }

    #[test]
    fn seconds_add_up() {
        let mut second = Histogram::new();
        for (us, count) in [(0, 1), (900, 2), (1_000, 3), (300_000, 4)] {
            second.record(us, count);
        }
        let mut total = Exponential::default();
        total.add(&second);
        total.add(&second);
        assert_eq!((total.count, total.zero), (20, 2));
        assert_eq!(total.buckets.values().sum::<u64>(), 18);
        let right = 2.0 * (2.0 * 900.0 + 3.0 * 1_000.0 + 4.0 * 300_000.0) / 1e6;
        assert!((total.sum_s / right - 1.0).abs() < 1e-3, "{}", total.sum_s);
        assert_eq!(total.up_to[..3], [2, 2, 12]);
        assert_eq!(total.up_to[17], 20);
        assert_eq!(
            total.spans().iter().map(|span| span.1.len()).sum::<usize>(),
            3
        );
    }
}
