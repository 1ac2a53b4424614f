//! Distributions of times and sizes.

use hdrhistogram::{Counter, Histogram};

use super::kind::RequestKind;
use super::summary::Distribution;

/// Longest time that is told apart: a day, µs. Longer ones count as that.
const TIME_MAX_US: u64 = 86_400_000_000;
/// Largest size that is told apart, bytes.
const SIZE_MAX: u64 = 1 << 40;
/// Significant digits: a relative error below 0.1 %.
const DIGITS: u8 = 3;
/// The same for each hour, where memory counts: below 1 %.
const DIGITS_OF_HOUR: u8 = 2;

/// Times in milliseconds as a log has them, recorded as whole microseconds.
#[derive(Clone, Debug)]
pub(super) struct Times(Histogram<u64>);

/// Sizes in bytes.
#[derive(Clone, Debug)]
pub(super) struct Sizes(Histogram<u64>);

fn histogram<C: Counter>(max: u64, digits: u8) -> Histogram<C> {
    Histogram::new_with_bounds(1, max, digits).expect("the bounds are constants and valid")
}

pub(super) fn histogram_of_hour() -> Histogram<u32> {
    histogram(TIME_MAX_US, DIGITS_OF_HOUR)
}

/// Whole microseconds of a time; `None` if it is no time.
pub(super) fn micros(ms: f64) -> Option<u64> {
    (ms.is_finite() && ms >= 0.0).then(|| super::whole(ms * 1e3).min(TIME_MAX_US))
}

impl Times {
    pub(super) fn new() -> Self {
        Self(histogram(TIME_MAX_US, DIGITS))
    }

    /// Records a time, if there is one.
    pub(super) fn record(&mut self, ms: Option<f64>) {
        if let Some(us) = ms.and_then(micros) {
            self.0.saturating_record(us);
        }
    }

    pub(super) fn record_us(&mut self, us: u64) {
        self.0.saturating_record(us);
    }

    fn add(&mut self, other: &Self) {
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok(), "both have the same bounds");
    }

    /// In milliseconds; `None` without any.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        distribution(&self.0, 1e3)
    }
}

impl Sizes {
    pub(super) fn new() -> Self {
        Self(histogram(SIZE_MAX, DIGITS))
    }

    pub(super) fn record(&mut self, bytes: u64) {
        self.0.saturating_record(bytes);
    }

    pub(super) fn distribution(&self) -> Option<Distribution> {
        distribution(&self.0, 1.0)
    }

    /// Of several together.
    pub(super) fn together(several: &[Self]) -> Option<Distribution> {
        let mut all = Self::new();
        for sizes in several {
            let added = all.0.add(&sizes.0);
            debug_assert!(added.is_ok(), "all have the same bounds");
        }
        all.distribution()
    }
}

/// Percentiles of a histogram in units of which one has `scale`.
pub(super) fn distribution<C: Counter>(
    histogram: &Histogram<C>,
    scale: f64,
) -> Option<Distribution> {
    let at = |quantile| histogram.value_at_quantile(quantile).min(histogram.max()) as f64 / scale;
    (!histogram.is_empty()).then(|| Distribution {
        count: histogram.len(),
        mean: histogram.mean() / scale,
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        max: histogram.max() as f64 / scale,
    })
}

/// Response times by kind.
#[derive(Debug)]
pub(super) struct TimesByKind([Times; RequestKind::ALL.len()]);

impl TimesByKind {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Times::new()))
    }

    pub(super) fn record_us(&mut self, kind: RequestKind, us: u64) {
        self.0[kind as usize].record_us(us);
    }

    pub(super) fn of(&self, kind: RequestKind) -> Option<Distribution> {
        self.0[kind as usize].distribution()
    }

    /// Of all kinds together.
    pub(super) fn all(&self) -> Option<Distribution> {
        let mut all = Times::new();
        for times in &self.0 {
            all.add(times);
        }
        all.distribution()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn percentiles_are_the_exact_ones_within_a_thousandth(
            mut times in prop::collection::vec(0.001_f64..200_000.0, 1..400),
        ) {
            let mut by_kind = TimesByKind::new();
            for (index, ms) in times.iter().enumerate() {
                let kind = RequestKind::ALL[index % 5];
                by_kind.record_us(kind, micros(*ms).unwrap());
            }
            times.sort_by(f64::total_cmp);
            let all = by_kind.all().unwrap();
            for (quantile, value) in [(0.5, all.p50), (0.95, all.p95), (0.99, all.p99), (1.0, all.max)] {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
                let index = ((times.len() as f64 * quantile).ceil() as usize).max(1) - 1;
                let exact = times[index];
                prop_assert!((value - exact).abs() <= exact * 0.001 + 0.001, "{value} {exact}");
            }
            prop_assert_eq!(all.count, times.len() as u64);
        }
    }

    #[test]
    fn what_is_no_time_is_not_recorded() {
        let mut times = Times::new();
        for ms in [None, Some(-1.0), Some(f64::NAN), Some(f64::INFINITY)] {
            times.record(ms);
        }
        assert_eq!(times.distribution(), None);
        times.record(Some(1e300));
        assert_eq!(times.distribution().unwrap().count, 1);
    }
}
