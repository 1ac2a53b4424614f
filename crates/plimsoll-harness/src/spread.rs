//! Several measurements of one thing.

/// Median, smallest and largest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle, or between the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let (min, max) = (*values.first()?, *values.last()?);
        let median = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
        Some(Self { median, min, max })
    }

    /// `2.0 (1.0-9.0)`.
    pub fn show(&self, digits: usize) -> String {
        format!(
            "{:.digits$} ({:.digits$}-{:.digits$})",
            self.median, self.min, self.max
        )
    }
}

/// The value below which a share of the sorted values lies.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank between 0 and the number of values"
    )]
    let index = (rank as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 9.0]).unwrap();
        assert_eq!(spread.show(1), "3.0 (1.0-9.0)");
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn quantiles_are_values_of_the_list() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
