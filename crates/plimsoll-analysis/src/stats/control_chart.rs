//! Control chart of single values: individuals and moving range (Shewhart 1931; Wheeler, Understanding Variation, 1993).
//!
//! Limits are X̄ ± 2.66 · mean moving range, or, so that an outlier in the past does not widen them, median ± 3.145 ·
//! median moving range. Signals are three of Western Electric's rules (Statistical Quality Control Handbook, 1956).

use super::order::median;

/// Limits of a chart, three standard deviations from the centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The centre line.
    pub centre: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
}

/// Why a value stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Beyond a limit.
    Outside,
    /// Two of three neighbours beyond two thirds of the way to the same limit.
    TwoOfThree,
    /// The eighth in a row on a side of the centre.
    EightOnASide,
}

/// Limits by means; `None` with fewer than two values.
pub fn limits(values: &[f64]) -> Option<Limits> {
    let ranges = moving_ranges(values);
    if ranges.is_empty() {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Some(around(mean(values), 2.66 * mean(&ranges)))
}

/// Limits by medians; `None` with fewer than two values.
pub fn robust_limits(values: &[f64]) -> Option<Limits> {
    let ranges = moving_ranges(values);
    Some(around(median(values)?, 3.145 * median(&ranges)?))
}

fn around(centre: f64, reach: f64) -> Limits {
    Limits {
        centre,
        low: centre - reach,
        high: centre + reach,
    }
}

fn moving_ranges(values: &[f64]) -> Vec<f64> {
    values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect()
}

/// The signals of `values`, each with the index of the value that completes it.
pub fn signals(values: &[f64], limits: Limits) -> Vec<(usize, Signal)> {
    let reach = limits.high - limits.centre;
    let outside =
        |value: f64, share: f64, side: f64| side * (value - limits.centre) > share * reach;
    let mut signals = Vec::new();
    for (index, &value) in values.iter().enumerate() {
        for side in [1.0, -1.0] {
            let last = |count: usize| &values[(index + 1).saturating_sub(count)..=index];
            let beyond = last(3)
                .iter()
                .filter(|value| outside(**value, 2.0 / 3.0, side))
                .count();
            if outside(value, 1.0, side) {
                signals.push((index, Signal::Outside));
            } else if beyond >= 2 && outside(value, 2.0 / 3.0, side) {
                signals.push((index, Signal::TwoOfThree));
            } else if last(8).len() == 8 && last(8).iter().all(|value| outside(*value, 0.0, side)) {
                signals.push((index, Signal::EightOnASide));
            }
        }
    }
    signals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_worked_example() {
        // Moving ranges 2, 1, 3, 2: mean 2, median 2; values 10, 12, 11, 14, 12: mean 11.8, median 12.
        let values = [10.0, 12.0, 11.0, 14.0, 12.0];
        let plain = limits(&values).unwrap();
        assert!((plain.centre - 11.8).abs() < 1e-12 && (plain.high - 17.12).abs() < 1e-12);
        let robust = robust_limits(&values).unwrap();
        assert!((robust.centre - 12.0).abs() < 1e-12 && (robust.low - 5.71).abs() < 1e-12);
        assert_eq!(limits(&[1.0]), None);
        assert_eq!(robust_limits(&[]), None);
    }

    #[test]
    fn each_rule_has_its_signal() {
        let limits = Limits {
            centre: 0.0,
            low: -3.0,
            high: 3.0,
        };
        assert_eq!(signals(&[0.0, 3.5, 0.0], limits), [(1, Signal::Outside)]);
        assert_eq!(
            signals(&[-2.5, 0.0, -2.5], limits),
            [(2, Signal::TwoOfThree)]
        );
        assert!(signals(&[2.5, 0.0, -2.5], limits).is_empty());
        assert_eq!(signals(&[0.5; 8], limits), [(7, Signal::EightOnASide)]);
        assert!(signals(&[0.5; 7], limits).is_empty());
    }
}
