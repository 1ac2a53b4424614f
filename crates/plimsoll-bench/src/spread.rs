//! Several measurements of one thing.

/// Median, smallest and largest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` without values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let (min, max) = (*values.first()?, *values.last()?);
        let median = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
        Some(Self { median, min, max })
    }

    /// Of one value of every turn.
    pub(crate) fn over<T>(runs: &[T], value: impl Fn(&T) -> f64) -> Option<Self> {
        Self::of(runs.iter().map(value))
    }

    /// Of ours as parts of theirs in the same round: rounds differ more than what is measured does.
    pub(crate) fn ratio<T>(ours: &[T], theirs: &[T], value: impl Fn(&T) -> f64) -> Option<Self> {
        let pairs = ours.iter().zip(theirs);
        Self::of(pairs.map(|(ours, theirs)| value(ours) / value(theirs)))
    }

    pub(crate) fn show(&self, digits: usize) -> String {
        format!(
            "{:.digits$} ({:.digits$}-{:.digits$})",
            self.median, self.min, self.max
        )
    }
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
    fn ratios_are_taken_within_a_round() {
        let ratio = Spread::ratio(&[5.0, 10.0, 6.0], &[10.0, 20.0, 6.0], |value| *value);
        assert_eq!(ratio.unwrap().show(2), "0.50 (0.50-1.00)");
    }
}
