//! Detects when a request rate leaves its usual range. Pure.
//!
//! The usual range is the median of the recent counts plus and minus a number of robust standard deviations (1.4826
//! times the median absolute deviation), computed on logarithms: traffic doubles and halves, it does not add. Two
//! consecutive counts outside raise the alert, two inside clear it. A change that persists becomes usual.

use std::collections::VecDeque;

/// Consecutive counts that raise or clear an alert.
const IN_A_ROW: u32 = 2;
/// Counts needed before anything is called unusual.
const LEAST: usize = 5;
/// Minimum half width of the range: a third more, a quarter less.
const HALF_WIDTH_MIN: f64 = 0.3;
/// Factor from the median absolute deviation to a standard deviation of a normal distribution.
const ROBUST: f64 = 1.4826;

/// State of a watched rate.
#[derive(Debug, Default)]
pub(crate) struct Detector {
    counts: VecDeque<f64>,
    outside: u32,
    inside: u32,
    is_alarmed: bool,
}

/// The usual range, counts of one period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usual {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Change caused by a count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AlertChange {
    Raised(Usual),
    Ended(Usual),
}

/// Settings of a detector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sensitivity {
    pub(crate) history: usize,
    pub(crate) factor: f64,
    /// Counts up to this are never too many.
    pub(crate) least: f64,
}

impl Detector {
    pub(crate) fn is_alarmed(&self) -> bool {
        self.is_alarmed
    }

    /// Counts that the usual range is computed from.
    pub(crate) fn history(&self) -> u64 {
        self.counts.len() as u64
    }

    /// Evaluates the next count.
    pub(crate) fn count(&mut self, count: u64, set: Sensitivity) -> Option<AlertChange> {
        let usual = (self.counts.len() >= LEAST).then(|| self.usual(set));
        let count = count as f64;
        self.counts.push_back(count.ln_1p());
        if self.counts.len() > set.history {
            self.counts.pop_front();
        }
        let usual = usual?;
        let is_usual = (usual.low..=usual.high).contains(&count);
        if is_usual {
            self.inside += 1;
            self.outside = 0;
        } else {
            self.outside += 1;
            self.inside = 0;
        }
        if !self.is_alarmed && self.outside >= IN_A_ROW {
            self.is_alarmed = true;
            return Some(AlertChange::Raised(usual));
        }
        if self.is_alarmed && self.inside >= IN_A_ROW {
            self.is_alarmed = false;
            return Some(AlertChange::Ended(usual));
        }
        None
    }

    fn usual(&self, set: Sensitivity) -> Usual {
        let mut sorted: Vec<f64> = self.counts.iter().copied().collect();
        let middle = median(&mut sorted);
        let mut deviations: Vec<f64> = sorted.iter().map(|count| (count - middle).abs()).collect();
        let deviation = ROBUST * median(&mut deviations);
        // Counts vary by their square root even when nothing changes.
        let root = 1.0 / middle.exp().max(1.0).sqrt();
        let half = (set.factor * deviation.max(root)).max(HALF_WIDTH_MIN);
        Usual {
            low: ((middle - half).exp_m1() - 1.0).max(0.0),
            high: (middle + half).exp_m1().max(set.least),
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 {
        values[half]
    } else {
        f64::midpoint(values[half - 1], values[half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: Sensitivity = Sensitivity {
        history: 60,
        factor: 4.0,
        least: 60.0,
    };

    /// Number of changes of each kind, and the counts at which they occur.
    fn changes(counts: impl IntoIterator<Item = u64>) -> Vec<(usize, bool)> {
        let mut detector = Detector::default();
        let observed = counts.into_iter().enumerate().filter_map(|(at, count)| {
            let change = detector.count(count, SET)?;
            Some((at, matches!(change, AlertChange::Raised(_))))
        });
        observed.collect()
    }

    /// Counts around `mean` that vary as those of independent arrivals do.
    fn noisy(mean: f64, len: u64, seed: u64) -> Vec<u64> {
        let mut random = seed;
        let mut unit = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        let draw = |_| {
            let sum: f64 = (0..12).map(|_| unit()).sum::<f64>() - 6.0;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small and positive"
            )]
            let count = (mean + sum * mean.sqrt()).round().max(0.0) as u64;
            count
        };
        (0..len).map(draw).collect()
    }

    #[test]
    fn steady_traffic_is_silent() {
        for (mean, seed) in [(0.5, 1), (30.0, 2), (600.0, 3), (60_000.0, 4)] {
            assert_eq!(changes(noisy(mean, 2000, seed)), [], "mean {mean}");
        }
        // A day's swing: fourfold over six hours and back.
        let day = (0..1440_u32).map(|minute| {
            let angle = f64::from(minute) / 720.0 * std::f64::consts::PI;
            noisy(1000.0 * 2.0_f64.powf(angle.sin()), 1, minute.into())[0]
        });
        assert_eq!(changes(day), []);
    }

    #[test]
    fn a_surge_and_a_collapse_are_told_once_and_end() {
        for (usual, unusual) in [(600, 3000), (600, 60), (100_000, 0), (30, 400)] {
            let mut counts = noisy(f64::from(usual), 60, 7);
            counts.extend(noisy(f64::from(unusual), 10, 8));
            counts.extend(noisy(f64::from(usual), 20, 9));
            assert_eq!(
                changes(counts),
                [(61, true), (71, false)],
                "{usual} to {unusual}"
            );
        }
    }

    #[test]
    fn one_odd_count_is_none_and_few_are_never_too_many() {
        let mut counts = noisy(600.0, 30, 1);
        counts.push(5000);
        counts.extend(noisy(600.0, 30, 2));
        assert_eq!(changes(counts), []);
        assert_eq!(changes([0, 0, 0, 0, 0, 0, 50, 55, 58, 0, 0]), []);
        assert_eq!(changes([0, 0, 0, 0, 0, 0, 80, 80]), [(7, true)]);
    }

    #[test]
    fn what_lasts_becomes_usual() {
        let mut counts = noisy(600.0, 60, 3);
        counts.extend(noisy(3000.0, 120, 4));
        let found = changes(counts);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].0 < 60 + 60, "{found:?}");
    }
}
