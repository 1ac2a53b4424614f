//! Counts of times at a resolution of a five-hundredth, in one array.

/// Bits of a value that its bucket keeps: 512 buckets for each power of two.
const KEPT_BITS: u32 = 9;
const KEPT: u64 = 1 << KEPT_BITS;
/// Buckets of all times: those below 512 ns each, and 512 for each power of two above.
const BUCKETS: usize = ((64 - KEPT_BITS as usize) + 1) << KEPT_BITS;

/// Counts of times in ns; a time is known to a thousandth around the middle of its bucket.
#[derive(Clone, Debug)]
pub(crate) struct TimeHistogram {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u128,
}

impl TimeHistogram {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            count: 0,
            sum_ns: 0,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
    }

    /// Forgets all times.
    pub(crate) fn reset(&mut self) {
        self.counts.fill(0);
        self.count = 0;
        self.sum_ns = 0;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The mean, ns, not rounded to buckets; `None` without times.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The time, ns, that a share `quantile` of all times does not exceed; `None` without times.
    pub(crate) fn quantile_ns(&self, quantile: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank lies within 1..=count"
        )]
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut below = 0;
        for (index, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(middle_ns(index));
            }
        }
        None
    }
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the index of a bucket is below 2^15"
)]
fn bucket(ns: u64) -> usize {
    if ns < KEPT {
        return ns as usize;
    }
    let shift = ns.ilog2() - KEPT_BITS;
    let kept = (ns >> shift) - KEPT;
    (((u64::from(shift) + 1) << KEPT_BITS) + kept) as usize
}

/// The middle of a bucket.
fn middle_ns(index: usize) -> f64 {
    let index = index as u64;
    if index < KEPT {
        return index as f64;
    }
    let width = ((index >> KEPT_BITS) - 1) as f64;
    let width = width.exp2();
    ((KEPT + index % KEPT) as f64 + 0.5) * width - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_a_bucket_around_it() {
        let mut last = 0;
        for power in 0..64_u32 {
            for offset in [0, 1, 3] {
                let ns = (1_u64 << power) + offset * ((1_u64 << power) / 4);
                let index = bucket(ns);
                assert!(index < BUCKETS, "{ns}");
                assert!(index >= last, "{ns}");
                last = index;
                let error = (middle_ns(index) - ns as f64).abs() / ns as f64;
                assert!(error <= 1.0 / 1000.0, "{ns}: {error}");
            }
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_and_means_are_those_of_the_times() {
        let mut histogram = TimeHistogram::new();
        assert_eq!(
            (histogram.mean_ns(), histogram.quantile_ns(0.5)),
            (None, None)
        );
        for ns in 1..=100_000 {
            histogram.record(ns);
        }
        assert_eq!(histogram.mean_ns(), Some(50_000.5));
        for quantile in [0.5, 0.95, 0.99] {
            let found = histogram.quantile_ns(quantile).unwrap();
            assert!(
                (found / (quantile * 1e5) - 1.0).abs() < 0.001_1,
                "{quantile}: {found}"
            );
        }
        histogram.reset();
        assert_eq!(histogram.count(), 0);
        assert_eq!(histogram.quantile_ns(0.99), None);
    }
}
