//! Values of the last seconds.

use std::collections::VecDeque;

/// Values by the second at whose end they were measured, of a bounded time.
#[derive(Clone, Debug)]
pub(super) struct PastValues {
    values: VecDeque<(u32, f64)>,
    /// Time that is kept, s.
    keep: u32,
}

impl PastValues {
    pub(super) fn new(keep: u32) -> Self {
        Self {
            values: VecDeque::new(),
            keep: keep.max(1),
        }
    }

    /// Adds a value; another one of the same second is ignored.
    pub(super) fn push(&mut self, second: u32, value: f64) {
        if self.values.back().is_some_and(|(last, _)| *last >= second) {
            return;
        }
        self.values.push_back((second, value));
        while self
            .values
            .front()
            .is_some_and(|(first, _)| first.saturating_add(self.keep) <= second)
        {
            self.values.pop_front();
        }
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The newest value.
    pub(super) fn last(&self) -> Option<f64> {
        self.values.back().map(|(_, value)| *value)
    }

    /// Mean of the newest `span` seconds, as far as there are values.
    pub(super) fn mean(&self, span: u32) -> Option<f64> {
        self.mean_before(0, span)
    }

    /// Mean of `span` seconds that end `skip` seconds before the newest.
    pub(super) fn mean_before(&self, skip: u32, span: u32) -> Option<f64> {
        let newest = self.values.back()?.0;
        let end = newest.checked_sub(skip)?;
        let (mut sum, mut count) = (0.0, 0_u32);
        for &(second, value) in self.values.iter().rev() {
            if second > end {
                continue;
            }
            if second.saturating_add(span) <= end {
                break;
            }
            sum += value;
            count += 1;
        }
        (count > 0).then(|| sum / f64::from(count))
    }

    /// The highest mean of `span` values in a row; of all of them, where there are fewer.
    pub(super) fn mean_max(&self, span: usize) -> Option<f64> {
        let count = span.min(self.values.len());
        if count == 0 {
            return None;
        }
        let mut sum: f64 = self.values.iter().take(count).map(|(_, value)| value).sum();
        let mut best = sum;
        for (entering, leaving) in self.values.iter().skip(count).zip(&self.values) {
            sum += entering.1 - leaving.1;
            best = best.max(sum);
        }
        Some(best / count as f64)
    }

    /// Variance of the values that are older than `skip` seconds; `None` for fewer than ten.
    pub(super) fn variance_before(&self, skip: u32) -> Option<f64> {
        let newest = self.values.back()?.0;
        let end = newest.checked_sub(skip)?;
        let values = self.values.iter().filter(|(second, _)| *second <= end);
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0_u32);
        for (_, value) in values {
            sum += value;
            squares += value * value;
            count += 1;
        }
        if count < 10 {
            return None;
        }
        let mean = sum / f64::from(count);
        Some((squares / f64::from(count) - mean * mean).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(value: Option<f64>, expected: f64) {
        let value = value.unwrap();
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn means_are_of_the_newest_seconds() {
        let mut past = PastValues::new(10);
        assert_eq!(
            (past.mean(3), past.mean_max(3), past.last()),
            (None, None, None)
        );
        for second in 1..=12 {
            past.push(second, f64::from(second));
            past.push(second, 1e9);
        }
        // 3 to 12 are kept.
        close(past.mean(10), 7.5);
        close(past.mean(2), 11.5);
        close(past.mean_before(2, 3), 9.0);
        close(past.mean_max(3), 11.0);
        close(past.mean_max(100), 7.5);
        close(past.variance_before(0), 8.25);
        assert_eq!(past.variance_before(1), None);
        past.push(13, 0.0);
        close(past.mean_max(3), 11.0);
    }
}
