//! So many of so many, and medians of counts that may be infinite.

use std::fmt;

use plimsoll_harness::page::percent;

/// So many of so many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proportion {
    count: usize,
    all: usize,
}

impl Proportion {
    /// Of how many of these it holds.
    pub(super) fn of<T>(all: impl Iterator<Item = T>, holds: impl Fn(T) -> bool) -> Self {
        let mut proportion = Self { count: 0, all: 0 };
        for item in all {
            proportion.count += usize::from(holds(item));
            proportion.all += 1;
        }
        proportion
    }

    /// 0 without any.
    pub(super) fn share(self) -> f64 {
        self.count as f64 / self.all.max(1) as f64
    }
}

impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, all) = (self.count, self.all);
        write!(f, "{count} of {all} ({})", percent(self.share()))
    }
}

/// The lower of the two in the middle where their number is even; infinite without values.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::INFINITY)
}
