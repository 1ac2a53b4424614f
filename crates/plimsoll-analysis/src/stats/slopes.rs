//! Quantiles of the slopes between all points of a long series, without a list of them.
//!
//! A pair's slope is at most s when its later point lies no higher than the earlier one once the line of slope s is taken
//! off; a merge sort counts those pairs in n·log n steps. A bisection over s finds the slope of a rank (the slope
//! selection of Cole, Salowe, Steiger and Szemerédi 1989, by plain bisection).

/// How exactly a slope is found, as a share of the range of all slopes.
const PRECISION: f64 = 1e-15;

/// Slopes between `points` points.
pub(super) fn count(points: usize) -> f64 {
    let n = points as f64;
    n * (n - 1.0) / 2.0
}

/// The slope that a share of all slopes does not exceed. The points ascend strictly in x.
pub(super) fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    // Every slope is a weighted mean of those between neighbours.
    let neighbours = points
        .windows(2)
        .map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0));
    let (mut low, mut high) = neighbours.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, slope| {
        (ends.0.min(slope), ends.1.max(slope))
    });
    let rank = (share.clamp(0.0, 1.0) * (count(points.len()) - 1.0)).floor() + 1.0;
    let mut counter = PairCounter::default();
    let precision = PRECISION * (high - low);
    while high - low > precision {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if counter.slopes_at_most(points, middle) as f64 >= rank {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Counts pairs, and keeps its memory from count to count.
#[derive(Default)]
struct PairCounter {
    heights: Vec<f64>,
    merged: Vec<f64>,
}

impl PairCounter {
    /// Pairs whose slope is at most `slope`.
    fn slopes_at_most(&mut self, points: &[(f64, f64)], slope: f64) -> u64 {
        self.heights.clear();
        let heights = points.iter().map(|&(x, y)| y - slope * x);
        self.heights.extend(heights);
        self.merged.clone_from(&self.heights);
        let mut pairs = 0;
        let mut width = 1;
        while width < self.heights.len() {
            for from in (0..self.heights.len()).step_by(2 * width) {
                let to = (from + 2 * width).min(self.heights.len());
                let stretch = &self.heights[from..to];
                let (earlier, later) = stretch.split_at(width.min(stretch.len()));
                pairs += merge(earlier, later, &mut self.merged[from..to]);
            }
            std::mem::swap(&mut self.heights, &mut self.merged);
            width *= 2;
        }
        pairs
    }
}

/// Merges two sorted stretches; returns how often a later value is not above an earlier one.
fn merge(earlier: &[f64], later: &[f64], merged: &mut [f64]) -> u64 {
    let (mut left, mut right, mut pairs) = (0, 0, 0);
    for place in merged {
        let takes_later = match (earlier.get(left), later.get(right)) {
            (Some(earlier), Some(later)) => later <= earlier,
            (None, _) => true,
            (Some(_), None) => false,
        };
        if takes_later {
            pairs += (earlier.len() - left) as u64;
            *place = later[right];
            right += 1;
        } else {
            *place = earlier[left];
            left += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_a_list() {
        let points: Vec<(f64, f64)> = (0..40_u32)
            .map(|index| (f64::from(index), f64::from(index * index % 17)))
            .collect();
        let mut slopes = Vec::new();
        for (index, earlier) in points.iter().enumerate() {
            for later in &points[index + 1..] {
                slopes.push((later.1 - earlier.1) / (later.0 - earlier.0));
            }
        }
        slopes.sort_by(f64::total_cmp);
        assert!((count(40) - slopes.len() as f64).abs() < 1e-9);
        // Ranks where no other slope is equal but for rounding.
        for rank in [0, 1, 100, 389, 390, 700, 779] {
            let share = rank as f64 / 779.0 + 1e-9;
            let found = quantile(&points, share);
            assert!(
                (found - slopes[rank]).abs() < 1e-9,
                "{rank}: {found} {}",
                slopes[rank]
            );
        }
        let flat: Vec<(f64, f64)> = (0..9).map(|x| (f64::from(x), 4.0)).collect();
        assert!(quantile(&flat, 0.5).abs() < 1e-12);
    }
}
