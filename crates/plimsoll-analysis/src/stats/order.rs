//! Order statistics: medians, spread that outliers do not move, and the ranks that enclose a quantile.

/// Median of `values`; `None` when there are none. NaN sorts last.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996).
pub fn quantile(values: &[f64], quantile: f64) -> Option<f64> {
    quantile_in_place(&mut values.to_vec(), quantile)
}

/// The same where the order of `values` may be lost: without a copy of them.
pub(super) fn quantile_in_place(values: &mut [f64], quantile: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let position = quantile.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to the last index"
    )]
    let below = position.floor() as usize;
    let (_, &mut at, later) = values.select_nth_unstable_by(below, f64::total_cmp);
    let next = later.iter().copied().min_by(f64::total_cmp).unwrap_or(at);
    Some(at + (position - below as f64) * (next - at))
}

/// Median of the absolute deviations from the median.
pub fn median_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations)
}

/// Robust coefficient of variation, 1.4826 · MAD / median (1.4826 makes the MAD of a normal distribution its
/// standard deviation); `None` without values or with a median of zero.
pub fn robust_variation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviation = median_deviation(values)?;
    (centre != 0.0).then(|| 1.4826 * deviation / centre.abs())
}

/// Ranks (1-based) of the order statistics that enclose the `quantile` of `count` independent observations with
/// the two-sided confidence of `z` standard normal deviations: l = ⌊nq − z√(nq(1−q))⌋, u = ⌈nq + z√(nq(1−q))⌉ + 1,
/// kept within 1..=count. Requests of one run are not independent: this is too narrow for them.
pub fn quantile_ranks(count: u64, quantile: f64, z: f64) -> (u64, u64) {
    let n = count as f64;
    let reach = z * (n * quantile * (1.0 - quantile)).sqrt();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a saturating cast is then kept within 1..=count"
    )]
    let (low, high) = (
        (n * quantile - reach).floor() as u64,
        (n * quantile + reach).ceil() as u64 + 1,
    );
    (low.clamp(1, count.max(1)), high.clamp(1, count.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_order_statistics() {
        let values = [4.0, 1.0, 3.0, 2.0, 10.0];
        for (share, expected) in [(0.0, 1.0), (0.5, 3.0), (0.6, 3.4), (0.9, 7.6), (1.0, 10.0)] {
            let found = quantile(&values, share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn ranks_of_the_published_vector() {
        assert_eq!(quantile_ranks(10_000, 0.99, 1.96), (9880, 9921));
    }

    #[test]
    fn ranks_stay_within_the_sample() {
        assert_eq!(quantile_ranks(5, 0.99, 1.96), (4, 5));
    }

    #[test]
    fn one_outlier_does_not_move_the_spread() {
        let variation = robust_variation(&[10.0, 10.1, 9.9, 10.2, 500.0]).unwrap();
        // Median 10.1, absolute deviations 0.1, 0, 0.2, 0.1, 489.9: their median is 0.1.
        assert!(
            (variation - 1.4826 * 0.1 / 10.1).abs() < 1e-9,
            "{variation}"
        );
        assert_eq!(robust_variation(&[]), None);
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[4.0, 1.0], 1.0), Some(4.0));
    }
}
