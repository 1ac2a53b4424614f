//! Tests of location by ranks, exact and with ties: Wilcoxon's signed ranks for pairs, Mann and Whitney's for two
//! samples, and Holm's correction for several tests.
//!
//! Sources: Wilcoxon, Biometrics Bulletin 1, 1945; Mann and Whitney, Annals of Mathematical Statistics 18, 1947;
//! Hodges and Lehmann, ibid. 34, 1963; the intervals by inversion of the tests: Hollander and Wolfe, Nonparametric
//! Statistical Methods, 1973; Holm, Scandinavian Journal of Statistics 6, 1979.

use super::exact::normal_cdf;
use super::order::median;
use super::trend::ranks;

/// Values up to which the distribution is counted out; beyond it is normal to three digits.
const EXACT_MAX: usize = 60;
/// Values of a sample that are used: pairs of values are formed, so memory grows with the square.
const VALUES_MAX: usize = 1000;

/// A shift of location: its estimate, a confidence interval, and the two-sided p-value of no shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Estimate of Hodges and Lehmann.
    pub estimate: f64,
    /// Lower end of the interval; −∞ when there are too few values for the confidence.
    pub low: f64,
    /// Upper end; ∞ when there are too few values.
    pub high: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// The shift of pair `differences` from zero (Wilcoxon's signed ranks). The estimate is the median of the Walsh
/// averages (dᵢ + dⱼ)/2, i ≤ j; the interval are the averages of ranks k and M + 1 − k, k the largest with
/// 2 P(W ≤ k − 1) ≤ α. Pairs without a difference do not enter the p-value. `None` without pairs.
///
/// # Panics
/// When there are more than a thousand pairs, or a value is not finite.
pub fn signed_rank(differences: &[f64], confidence: f64) -> Option<Shift> {
    check(differences);
    let mut averages: Vec<f64> = Vec::new();
    for (index, first) in differences.iter().enumerate() {
        averages.extend(
            differences[index..]
                .iter()
                .map(|second| f64::midpoint(*first, *second)),
        );
    }
    let alpha = 1.0 - confidence;
    let cut = if differences.len() <= EXACT_MAX {
        let weights: Vec<usize> = (1..=differences.len()).collect();
        cut_of(&subset_sums(&weights), alpha)
    } else {
        let n = differences.len() as f64;
        let (mean, variance) = signed_rank_moments(n);
        normal_cut(mean, variance, alpha)
    };
    shift_of(averages, cut, signed_rank_p(differences))
}

/// The shift of `sample` from `baseline` (Mann and Whitney). The estimate is the median of the differences of all
/// pairs; the interval are the differences of ranks k and nm + 1 − k. `None` when either is empty.
///
/// # Panics
/// When there are more than a thousand values on a side, or a value is not finite.
pub fn two_samples(baseline: &[f64], sample: &[f64], confidence: f64) -> Option<Shift> {
    check(baseline);
    check(sample);
    let differences: Vec<f64> = sample
        .iter()
        .flat_map(|value| baseline.iter().map(move |base| value - base))
        .collect();
    let (n, m) = (sample.len(), baseline.len());
    let alpha = 1.0 - confidence;
    let cut = if n + m <= EXACT_MAX {
        let weights: Vec<usize> = (1..=n + m).collect();
        let sums = subset_sums_of_size(&weights, n);
        // U = R − n(n+1)/2 begins at zero.
        cut_of(&sums[(n * (n + 1) / 2).min(sums.len())..], alpha)
    } else {
        let product = n as f64 * m as f64;
        normal_cut(
            product / 2.0,
            product * ((n + m) as f64 + 1.0) / 12.0,
            alpha,
        )
    };
    shift_of(differences, cut, two_samples_p(baseline, sample))
}

/// P-values adjusted for being several (Holm 1979), in the order given: the k-th smallest of m times m − k + 1, never
/// below a smaller p-value's.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        let factor = (p_values.len() - rank) as f64;
        highest = highest.max(p_values[index] * factor).min(1.0);
        adjusted[index] = highest;
    }
    adjusted
}

fn check(values: &[f64]) {
    assert!(values.len() <= VALUES_MAX, "{} values", values.len());
    assert!(
        values.iter().all(|value| value.is_finite()),
        "a value is not finite"
    );
}

fn shift_of(mut values: Vec<f64>, cut: usize, p: f64) -> Option<Shift> {
    values.sort_by(f64::total_cmp);
    let estimate = median(&values)?;
    let (low, high) = match cut.checked_sub(1) {
        Some(index) if 2 * index < values.len() => (values[index], values[values.len() - cut]),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    Some(Shift {
        estimate,
        low,
        high,
        p,
    })
}

/// The largest k with 2 P(statistic ≤ k − 1) ≤ α; zero when there is none.
fn cut_of(chances: &[f64], alpha: f64) -> usize {
    let mut below = 0.0;
    chances
        .iter()
        .take_while(|chance| {
            below += **chance;
            // 2/2⁶ may be a hair above 1 − 0.96875.
            2.0 * below <= alpha * (1.0 + 1e-9)
        })
        .count()
}

fn normal_cut(mean: f64, variance: f64, alpha: f64) -> usize {
    let reach = -super::exact::normal_quantile(alpha / 2.0) * variance.sqrt();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and at most half of a million"
    )]
    let cut = (mean - reach).max(0.0).floor() as usize;
    cut
}

fn signed_rank_moments(n: f64) -> (f64, f64) {
    (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0)
}

fn signed_rank_p(differences: &[f64]) -> f64 {
    let changed: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| *difference != 0.0)
        .collect();
    let sizes: Vec<f64> = changed.iter().map(|difference| difference.abs()).collect();
    let weights = doubled(&ranks(&sizes));
    let positive: usize = changed
        .iter()
        .zip(&weights)
        .filter(|(difference, _)| **difference > 0.0)
        .map(|(_, weight)| weight)
        .sum();
    if changed.len() <= EXACT_MAX {
        return two_sided(&subset_sums(&weights), positive);
    }
    // Ranks are doubled, so the moments of their sum are 2 and 4 times those of the table; ties enter by their ranks.
    let mean = weights.iter().sum::<usize>() as f64 / 2.0;
    let variance: f64 = weights.iter().map(|weight| (*weight as f64).powi(2)).sum();
    normal_p(positive as f64, mean, variance / 4.0)
}

fn two_samples_p(baseline: &[f64], sample: &[f64]) -> f64 {
    let pooled: Vec<f64> = sample.iter().chain(baseline).copied().collect();
    let weights = doubled(&ranks(&pooled));
    let sum: usize = weights[..sample.len()].iter().sum();
    if pooled.len() <= EXACT_MAX {
        return two_sided(&subset_sums_of_size(&weights, sample.len()), sum);
    }
    let (n, m) = (sample.len() as f64, baseline.len() as f64);
    let all = n + m;
    let centre = weights.iter().sum::<usize>() as f64 / all;
    let squares: f64 = weights
        .iter()
        .map(|weight| (*weight as f64 - centre).powi(2))
        .sum();
    // Variance of the sum of n of all without replacement.
    let variance = n * m / (all * (all - 1.0)) * squares;
    normal_p(sum as f64, n * centre, variance)
}

/// Mean ranks times two are whole.
fn doubled(ranks: &[f64]) -> Vec<usize> {
    let whole = |rank: &f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "2 to twice the number of values"
        )]
        let whole = (2.0 * rank).round() as usize;
        whole
    };
    ranks.iter().map(whole).collect()
}

/// Two-sided: twice the smaller tail, the observation included in both.
fn two_sided(chances: &[f64], observed: usize) -> f64 {
    let low: f64 = chances.iter().take(observed + 1).sum();
    let high: f64 = chances.iter().skip(observed).sum();
    (2.0 * low.min(high)).min(1.0)
}

/// By the normal distribution, with a correction for continuity of a doubled rank.
fn normal_p(observed: f64, mean: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((observed - mean).abs() - 1.0).max(0.0);
    (2.0 * normal_cdf(-distance / variance.sqrt())).min(1.0)
}

/// Chance of each sum of a random subset of `weights`, each in or out with equal chance.
fn subset_sums(weights: &[usize]) -> Vec<f64> {
    let total: usize = weights.iter().sum();
    let mut chances = vec![0.0; total + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for &weight in weights {
        reached += weight;
        for sum in (0..=reached).rev() {
            let with = if sum >= weight {
                chances[sum - weight]
            } else {
                0.0
            };
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    chances
}

/// Chance of each sum of a random subset of `size` of the `weights`, all subsets of this size alike.
fn subset_sums_of_size(weights: &[usize], size: usize) -> Vec<f64> {
    let total: usize = weights.iter().sum();
    let width = total + 1;
    let mut counts = vec![0.0_f64; (size + 1) * width];
    counts[0] = 1.0;
    for &weight in weights {
        for taken in (1..=size).rev() {
            for sum in (weight..=total).rev() {
                counts[taken * width + sum] += counts[(taken - 1) * width + sum - weight];
            }
        }
    }
    let row = &counts[size * width..];
    let all: f64 = row.iter().sum();
    row.iter().map(|count| count / all.max(1.0)).collect()
}

#[cfg(test)]
mod tests;
