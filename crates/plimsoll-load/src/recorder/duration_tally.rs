//! Durations that are counted rarely enough for a sparse histogram.

use plimsoll_model::histogram::Histogram;

/// Durations of one step. There may be a thousand steps: a dense histogram for each would take gigabytes.
#[derive(Debug, Default)]
pub(super) struct DurationTally {
    /// Not yet counted, µs.
    recent: Vec<u64>,
    counted: Histogram,
}

/// Durations kept before they are counted together; sorting so many takes some microseconds.
const RECENT_MAX: usize = 512;

impl DurationTally {
    #[inline]
    pub(super) fn add(&mut self, duration_us: u64) {
        self.recent.push(duration_us);
        if self.recent.len() >= RECENT_MAX {
            self.count();
        }
    }

    fn count(&mut self) {
        self.recent.sort_unstable();
        let mut sorted = Histogram::new();
        for duration_us in self.recent.drain(..) {
            sorted.record(duration_us, 1);
        }
        self.counted.merge(&sorted);
    }

    pub(super) fn take(&mut self) -> Histogram {
        if !self.recent.is_empty() {
            self.count();
        }
        std::mem::take(&mut self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_as_a_histogram_does() {
        let (mut tally, mut expected) = (DurationTally::default(), Histogram::new());
        for number in 0..3000_u64 {
            let duration_us = number * 7919 % 100_003;
            tally.add(duration_us);
            expected.record(duration_us, 1);
        }
        assert_eq!(tally.take(), expected);
        assert!(tally.take().is_empty());
    }
}
