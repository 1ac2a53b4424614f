//! The values of a timer or a histogram in one second.

/// Values kept of one second, from which its quantiles are taken.
const KEPT_MAX: usize = 1024;

/// Number, sum and maximum are those of all values; a quantile is that of evenly spaced ones if there were many.
#[derive(Debug)]
pub(super) struct TimerValues {
    /// Number of events: a value counts as many as its sample rate stands for.
    count: f64,
    sum: f64,
    max: f64,
    /// Values with their counts.
    kept: Vec<(f64, f64)>,
    /// One of so many values is kept.
    stride: u64,
    received: u64,
}

impl Default for TimerValues {
    fn default() -> Self {
        Self {
            count: 0.0,
            sum: 0.0,
            max: f64::NEG_INFINITY,
            kept: Vec::new(),
            stride: 1,
            received: 0,
        }
    }
}

impl TimerValues {
    /// Adds a value that stands for so many events.
    pub(super) fn add(&mut self, value: f64, count: f64) {
        self.count += count;
        self.sum += value * count;
        self.max = self.max.max(value);
        if self.received.is_multiple_of(self.stride) {
            self.kept.push((value, count));
        }
        self.received += 1;
        if self.kept.len() == KEPT_MAX {
            // Every other one stays, and of those that follow as many.
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// Number of events.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// Arithmetic mean; `None` without values.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }

    /// Largest value; `None` without values.
    pub(super) fn max(&self) -> Option<f64> {
        (self.count > 0.0).then_some(self.max)
    }

    /// Smallest kept value with at least this share of the events at or below it; `None` without values.
    pub(super) fn quantile(&mut self, quantile: f64) -> Option<f64> {
        self.kept.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let whole: f64 = self.kept.iter().map(|(_, count)| count).sum();
        let mut below = 0.0;
        let found = self.kept.iter().find(|(_, count)| {
            below += count;
            below >= quantile * whole
        });
        // Rounding may leave the last one a little below.
        found.or(self.kept.last()).map(|(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: Option<f64>, right: f64, tolerance: f64) {
        let value = value.unwrap();
        assert!((value - right).abs() <= tolerance, "{value}, not {right}");
    }

    #[test]
    fn a_few_values_are_exact() {
        let mut times = TimerValues::default();
        assert_eq!(
            (times.mean(), times.max(), times.quantile(0.95)),
            (None, None, None)
        );
        for value in (1..=100).rev() {
            times.add(f64::from(value), 1.0);
        }
        near(Some(times.count()), 100.0, 0.0);
        near(times.mean(), 50.5, 1e-9);
        near(times.max(), 100.0, 0.0);
        near(times.quantile(0.95), 95.0, 0.0);
        near(times.quantile(1.0), 100.0, 0.0);
    }

    #[test]
    fn a_sampled_value_counts_as_often_as_it_happened() {
        let mut times = TimerValues::default();
        times.add(10.0, 9.0);
        times.add(110.0, 1.0);
        near(Some(times.count()), 10.0, 0.0);
        near(times.mean(), 20.0, 1e-9);
        near(times.quantile(0.9), 10.0, 0.0);
        near(times.quantile(0.95), 110.0, 0.0);
    }

    #[test]
    fn many_values_take_bounded_room() {
        let mut times = TimerValues::default();
        for value in 0..100_000 {
            times.add(f64::from(value % 1000), 1.0);
        }
        assert!(times.kept.len() < KEPT_MAX);
        near(Some(times.count()), 100_000.0, 0.0);
        near(times.mean(), 499.5, 1e-6);
        near(times.max(), 999.0, 0.0);
        near(times.quantile(0.95), 950.0, 40.0);
    }
}
