//! Does a series go up or down, and by how much: Mann–Kendall and Theil–Sen.

use super::exact::{normal_cdf, normal_quantile};
use super::order::{median, quantile_in_place};
use super::slopes;

/// Points up to which all slopes are listed: two million of them. A day has 86,400 seconds, and thirty gigabytes of slopes.
const LISTED_MAX: usize = 2000;

/// Result of a Mann–Kendall test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Pairs that ascend minus pairs that descend.
    pub s: i64,
    /// Two-sided p-value (normal approximation with continuity correction).
    pub p: f64,
}

/// Mann–Kendall test of independent values, corrected for ties (Kendall 1975): the variance of S is
/// (n(n−1)(2n+5) − Σ t(t−1)(2t+5)) / 18 over groups of t equal values.
pub fn mann_kendall(values: &[f64]) -> MannKendall {
    let s = kendall_s(values);
    MannKendall {
        s,
        p: p_value(s, kendall_variance(values)),
    }
}

/// Mann–Kendall test of a series whose neighbours are alike (Yue and Wang, Water Resources Management 18, 2004): the
/// variance of S grows by n/n*, n* the effective sample size of a first-order autoregression (Bayley and Hammersley
/// 1946), n/n* = 1 + 2 Σ_{k=1..n−1} (1 − k/n) ρᵏ. ρ is the lag-one autocorrelation of the detrended ranks, its bias
/// in short series taken back by (1 + 4ρ)/n. The correction never makes the test more sensitive.
pub fn mann_kendall_correlated(values: &[f64]) -> MannKendall {
    let s = kendall_s(values);
    let factor = correlation_factor(values).max(1.0);
    MannKendall {
        s,
        p: p_value(s, kendall_variance(values) * factor),
    }
}

fn kendall_s(values: &[f64]) -> i64 {
    let mut s = 0;
    for (index, earlier) in values.iter().enumerate() {
        for later in &values[index + 1..] {
            s += match later.partial_cmp(earlier) {
                Some(std::cmp::Ordering::Greater) => 1,
                Some(std::cmp::Ordering::Less) => -1,
                _ => 0,
            };
        }
    }
    s
}

fn kendall_variance(values: &[f64]) -> f64 {
    let weight = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|a, b| a.total_cmp(b).is_eq())
        .map(|group| weight(group.len() as f64))
        .sum();
    (weight(values.len() as f64) - ties) / 18.0
}

fn p_value(s: i64, variance: f64) -> f64 {
    if s == 0 || variance <= 0.0 {
        return 1.0;
    }
    let z = (s.unsigned_abs() - 1) as f64 / variance.sqrt();
    2.0 * normal_cdf(-z)
}

/// How much autocorrelation of the ranks inflates the variance of S.
fn correlation_factor(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 4 {
        return 1.0;
    }
    let slope = theil_sen(values).map_or(0.0, |line| line.slope);
    let detrended: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(index, value)| value - slope * index as f64)
        .collect();
    let count = n as f64;
    let found = autocorrelation(&ranks(&detrended), 1);
    let correlation = (found + (1.0 + 4.0 * found) / count).clamp(0.0, 0.95);
    let mut power = 1.0;
    let sum: f64 = (1..n)
        .map(|lag| {
            power *= correlation;
            (1.0 - lag as f64 / count) * power
        })
        .sum();
    1.0 + 2.0 * sum
}

/// Ranks with ties sharing their mean rank.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for group in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let shared = from as f64 + f64::midpoint(group.len() as f64, 1.0);
        for &index in group {
            ranks[index] = shared;
        }
        from += group.len();
    }
    ranks
}

/// Autocorrelation of `values` at `lag`; 0 for a constant series.
pub fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if lag >= n || total <= 0.0 {
        return 0.0;
    }
    let shared: f64 = values
        .iter()
        .zip(&values[lag..])
        .map(|(a, b)| (a - mean) * (b - mean))
        .sum();
    shared / total
}

/// A line through points that outliers do not move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TheilSen {
    /// Median of the slopes of all pairs.
    pub slope: f64,
    /// Lower end of the 95 % confidence interval of the slope (Sen 1968).
    pub slope_low: f64,
    /// Upper end.
    pub slope_high: f64,
    /// Median of y − slope · x.
    pub intercept: f64,
}

/// Theil–Sen line of values at positions 0, 1, 2, …; `None` below two values.
pub fn theil_sen(values: &[f64]) -> Option<TheilSen> {
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .map(|(index, &value)| (index as f64, value))
        .collect();
    theil_sen_points(&points)
}

/// Theil–Sen line of (x, y) points; pairs with equal x are left out. `None` without two different x.
pub fn theil_sen_points(points: &[(f64, f64)]) -> Option<TheilSen> {
    let heights: Vec<f64> = points.iter().map(|&(_, y)| y).collect();
    // The interval takes the slopes whose ranks lie C = z·√Var(S) apart around the middle of the N slopes.
    let reach = normal_quantile(0.975) * kendall_variance(&heights).max(0.0).sqrt();
    let shares = |count: f64| {
        let share = (reach / count).min(1.0) / 2.0;
        [0.5, 0.5 - share, 0.5 + share]
    };
    let is_ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let [slope, slope_low, slope_high] = if points.len() > LISTED_MAX && is_ascending {
        shares(slopes::count(points.len())).map(|share| slopes::quantile(points, share))
    } else {
        let mut slopes = listed_slopes(points);
        if slopes.is_empty() {
            return None;
        }
        let shares = shares(slopes.len() as f64);
        shares.map(|share| quantile_in_place(&mut slopes, share).unwrap_or(0.0))
    };
    let residuals: Vec<f64> = points.iter().map(|&(x, y)| y - slope * x).collect();
    Some(TheilSen {
        slope,
        slope_low,
        slope_high,
        intercept: median(&residuals)?,
    })
}

fn listed_slopes(points: &[(f64, f64)]) -> Vec<f64> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (index, &(x, y)) in points.iter().enumerate() {
        for &(later_x, later_y) in &points[index + 1..] {
            if later_x.total_cmp(&x).is_ne() {
                slopes.push((later_y - y) / (later_x - x));
            }
        }
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::seed::Seed;
    use plimsoll_testkit::normal::standard_normal;

    #[test]
    fn ties_reduce_the_variance() {
        let values = [10.0, 22.0, 21.0, 30.0, 22.0, 30.0, 40.0, 40.0];
        // 23 pairs ascend, 2 descend. n = 8: 8·7·21 = 1176; three pairs of ties: 3 · 2·1·9 = 54; (1176 − 54)/18 = 62.33.
        assert!((kendall_variance(&values) - 1122.0 / 18.0).abs() < 1e-9);
        let test = mann_kendall(&values);
        assert_eq!(test.s, 21);
        assert!((test.p - 2.0 * normal_cdf(-20.0 / (1122.0_f64 / 18.0).sqrt())).abs() < 1e-12);
    }

    #[test]
    fn the_smallest_significant_ascent() {
        assert!(mann_kendall(&[1.0, 2.0, 3.0, 4.0]).p > 0.05);
        assert!(mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0]).p < 0.05);
        assert!((mann_kendall(&[3.0; 9]).p - 1.0).abs() < 1e-12);
    }

    #[test]
    fn slope_survives_outliers() {
        let mut values: Vec<f64> = (0..20).map(|index| 5.0 + 2.0 * f64::from(index)).collect();
        values[3] = 900.0;
        values[17] = -300.0;
        let line = theil_sen(&values).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-9, "{line:?}");
        assert!(line.slope_low <= 2.0 && line.slope_high >= 2.0, "{line:?}");
        assert!((line.intercept - 5.0).abs() < 1e-9);
    }

    #[test]
    fn long_series_have_the_line_that_lists_of_slopes_give() {
        let mut random = Seed(3).generator();
        let values: Vec<f64> = (0..=LISTED_MAX)
            .map(|index| 7.0 - 0.01 * index as f64 + standard_normal(&mut random))
            .collect();
        let line = theil_sen(&values).unwrap();
        let points: Vec<(f64, f64)> = (0..).map(f64::from).zip(values.iter().copied()).collect();
        let mut listed = listed_slopes(&points);
        let slope = quantile_in_place(&mut listed, 0.5).unwrap();
        assert!((line.slope / slope - 1.0).abs() < 1e-5, "{line:?} {slope}");
        assert!(
            line.slope_low < -0.01 && line.slope_high > -0.01,
            "{line:?}"
        );
        let width = line.slope_high - line.slope_low;
        assert!(width > 0.0 && width < 1e-3, "{line:?}");
    }

    #[test]
    fn sens_interval_covers_the_slope_as_often_as_it_says() {
        let covered = (0..400)
            .filter(|&seed| {
                let mut random = Seed(seed).generator();
                let values: Vec<f64> = (0..30)
                    .map(|index| 0.3 * f64::from(index) + standard_normal(&mut random))
                    .collect();
                let line = theil_sen(&values).unwrap();
                (line.slope_low..=line.slope_high).contains(&0.3)
            })
            .count();
        // 95 % of 400 with three standard deviations of room.
        assert!((367..=393).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn correlated_series_raise_no_false_alarm() {
        let (mut plain, mut corrected) = (0, 0);
        for seed in 0..400 {
            let mut random = Seed(seed).generator();
            let mut value = 0.0;
            let values: Vec<f64> = (0..40)
                .map(|_| {
                    value = 0.7 * value + standard_normal(&mut random);
                    value
                })
                .collect();
            plain += i32::from(mann_kendall(&values).p < 0.05);
            corrected += i32::from(mann_kendall_correlated(&values).p < 0.05);
        }
        assert!(
            plain > 80,
            "the plain test is fooled, else no correction were needed: {plain}"
        );
        assert!(
            corrected < plain / 2,
            "corrected {corrected}, plain {plain}"
        );
    }
}
