//! Change points of the mean: PELT with squared error and a BIC penalty.

use super::order::{median, median_deviation};

/// Positions at which the mean of `values` changes (each is the first index of a new segment).
///
/// PELT (Killick, Fearnhead, Eckley, JASA 2012) finds the segmentation that minimises Σ cost + penalty per change;
/// cost is the squared error over the noise variance, the penalty 2·ln n (BIC for one mean and one position each).
/// The noise is estimated from the differences of neighbours, which a change of level hardly moves.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let variance = noise_variance(values);
    if n < 4 || variance <= 0.0 {
        return Vec::new();
    }
    let sums = PrefixSums::of(values);
    let penalty = 2.0 * (n as f64).ln();
    let mut best = vec![0.0; n + 1];
    best[0] = -penalty;
    let mut previous = vec![0; n + 1];
    let mut candidates = vec![0];
    for end in 1..=n {
        let cost = |start: usize, best: &[f64]| best[start] + sums.cost(start, end) / variance;
        let (start, lowest) = candidates
            .iter()
            .map(|&start| (start, cost(start, &best)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("the last end is always a candidate");
        best[end] = lowest + penalty;
        previous[end] = start;
        candidates.retain(|&start| cost(start, &best) <= best[end]);
        candidates.push(end);
    }
    let mut changes = Vec::new();
    let mut end = n;
    while previous[end] > 0 {
        end = previous[end];
        changes.push(end);
    }
    changes.reverse();
    changes
}

/// Variance of the noise, from 1.4826 · MAD of the differences of neighbours (which have twice the variance).
fn noise_variance(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (Some(_), Some(deviation)) = (median(&steps), median_deviation(&steps)) else {
        return 0.0;
    };
    (1.4826 * deviation).powi(2) / 2.0
}

/// Prefix sums for the squared error of any stretch in constant time.
struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl PrefixSums {
    fn of(values: &[f64]) -> Self {
        let mut sums = Self {
            values: vec![0.0],
            squares: vec![0.0],
        };
        // Centring first keeps the squares small, so that their difference keeps its digits.
        let centre = median(values).unwrap_or(0.0);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            sum += value - centre;
            square += (value - centre).powi(2);
            sums.values.push(sum);
            sums.squares.push(square);
        }
        sums
    }

    fn cost(&self, start: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[start];
        let square = self.squares[end] - self.squares[start];
        (square - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::seed::Seed;
    use rand::RngExt as _;

    fn steps(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut random = Seed(seed).generator();
        levels
            .iter()
            .flat_map(|&(count, level)| std::iter::repeat_n(level, count))
            .map(|level| level + random.random_range(-1.0..1.0))
            .collect()
    }

    #[test]
    fn levels_are_found_where_they_change() {
        let changes = change_points(&steps(&[(20, 0.0), (15, 10.0), (25, 3.0)], 1));
        assert_eq!(changes, [20, 35]);
    }

    #[test]
    fn a_steady_series_has_none() {
        let false_alarms = (0..200)
            .filter(|&seed| !change_points(&steps(&[(40, 5.0)], seed)).is_empty())
            .count();
        assert!(false_alarms < 40, "{false_alarms} of 200");
    }
}
