//! Change points of a series of runs: E-divisive (Matteson and James, Journal of the American Statistical Association
//! 109, 2014) with Student's t in place of permutations, in windows, as Hunter does (Fleming et al., ICPE 2023, arXiv
//! 2301.03034) and its successor Apache Otava (`docs/MATH.md`). It gives Otava's points on the series that Otava is
//! tested with.
//!
//! First pass: in windows that overlap by a half, the split with the highest Q is taken as long as it is significant
//! at a weak level. Second pass: the weakest of these points is dropped until all are significant and large enough.
//! For X = Z[s..τ) of n values and Y = Z[τ..κ) of m:
//! Q(τ, κ) = 2/(m+n) · (Σ|xᵢ − yⱼ| − m/(n−1) · Σ_{i<k}|xᵢ − xₖ| − n/(m−1) · Σ_{j<k}|yⱼ − yₖ|).

use std::ops::Range;

use super::exact;

/// Values of a series that are looked at: the newest.
pub const SERIES_MAX: usize = 10_000;

/// How change points are searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Values in a window; 2 to 500.
    pub window_len: usize,
    /// Highest p-value of a change.
    pub p_max: f64,
    /// Smallest relative change.
    pub magnitude_min: f64,
}

impl Default for Parameters {
    /// Otava's window and p-value; changes below 3 % are not worth a page.
    fn default() -> Self {
        Self {
            window_len: 50,
            p_max: 0.001,
            magnitude_min: 0.03,
        }
    }
}

/// A change of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub index: usize,
    /// Mean from the change before to this.
    pub before: f64,
    /// Mean from this to the next change.
    pub after: f64,
    /// Two-sided p-value of Student's t.
    pub p: f64,
}

impl ChangePoint {
    /// The relative change, seen from the side from which it is larger.
    pub fn magnitude(&self) -> f64 {
        let relative = |from: f64, to: f64| {
            if from == 0.0 {
                0.0
            } else {
                (to / from - 1.0).abs()
            }
        };
        relative(self.before, self.after).max(relative(self.after, self.before))
    }
}

/// The change points of `series`, ascending.
///
/// # Panics
/// When the window has fewer than 2 or more than 500 values, the series is longer than [`SERIES_MAX`], or a value is
/// not finite.
pub fn change_points(series: &[f64], parameters: Parameters) -> Vec<ChangePoint> {
    assert!(
        (2..=500).contains(&parameters.window_len),
        "a window of {}",
        parameters.window_len
    );
    assert!(series.len() <= SERIES_MAX, "{} values", series.len());
    assert!(
        series.iter().all(|value| value.is_finite()),
        "a value is not finite"
    );
    let p_weak = match parameters.p_max {
        strict if strict < 0.05 => strict * 10.0,
        middling if middling < 0.5 => middling * 2.0,
        loose => loose,
    };
    merge(
        series,
        &split(series, parameters.window_len, p_weak),
        parameters,
    )
}

/// First pass: the indices of all weak change points of all windows, ascending.
fn split(series: &[f64], window_len: usize, p_max: f64) -> Vec<usize> {
    let mut indices: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = (start + window_len).min(series.len());
        let points = split_window(&series[start..end], p_max);
        let last = points.last().map_or(0, |last| start + last);
        indices.extend(points.iter().map(|point| start + point));
        // A window begins anew at a change, so that it compares with one level.
        start = last.max(start + window_len / 2);
    }
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Change points of a window, ascending: the split with the highest Q of all stretches, while it is significant.
fn split_window(window: &[f64], p_max: f64) -> Vec<usize> {
    let distances = Distances::of(window);
    let mut points: Vec<usize> = Vec::new();
    loop {
        let stretches = stretches(&points, window.len());
        let mut best: Option<(f64, usize, Range<usize>)> = None;
        for stretch in stretches {
            if let Some((q, index)) = distances.best_split(&stretch)
                && best.as_ref().is_none_or(|best| q > best.0)
            {
                best = Some((q, index, stretch));
            }
        }
        let Some((_, index, stretch)) = best else {
            return points;
        };
        let p = student_p(&window[stretch.start..index], &window[index..stretch.end]);
        if p > p_max {
            return points;
        }
        points.push(index);
        points.sort_unstable();
    }
}

/// The stretches between `points`.
fn stretches(points: &[usize], len: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(points.iter().copied());
    let ends = points.iter().copied().chain([len]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Sums of |zᵢ − zⱼ| over any rectangle of (i, j), by prefix sums.
struct Distances {
    sums: Vec<f64>,
    width: usize,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let width = values.len() + 1;
        let mut sums = vec![0.0; width * width];
        for (row, first) in values.iter().enumerate() {
            for (column, second) in values.iter().enumerate() {
                sums[(row + 1) * width + column + 1] = (first - second).abs()
                    + sums[row * width + column + 1]
                    + sums[(row + 1) * width + column]
                    - sums[row * width + column];
            }
        }
        Self { sums, width }
    }

    fn sum(&self, rows: &Range<usize>, columns: &Range<usize>) -> f64 {
        let at = |row: usize, column: usize| self.sums[row * self.width + column];
        at(rows.end, columns.end) - at(rows.start, columns.end) - at(rows.end, columns.start)
            + at(rows.start, columns.start)
    }

    /// The highest Q(τ, κ) of a stretch and its τ; `None` when it cannot be split.
    fn best_split(&self, stretch: &Range<usize>) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        for middle in stretch.start + 1..stretch.end {
            let left = stretch.start..middle;
            for end in middle + 1..=stretch.end {
                let q = self.divergence(&left, &(middle..end));
                if best.is_none_or(|best| q > best.0) {
                    best = Some((q, middle));
                }
            }
        }
        best
    }

    fn divergence(&self, left: &Range<usize>, right: &Range<usize>) -> f64 {
        let (n, m) = (left.len() as f64, right.len() as f64);
        // A rectangle on the diagonal holds every pair twice.
        let within = |stretch: &Range<usize>, weight: f64| match stretch.len() {
            1 => 0.0,
            len => weight / (len as f64 - 1.0) * self.sum(stretch, stretch) / 2.0,
        };
        2.0 / (m + n) * (self.sum(left, right) - within(left, m) - within(right, n))
    }
}

/// Second pass: drops the weakest point until all are strong.
fn merge(series: &[f64], indices: &[usize], parameters: Parameters) -> Vec<ChangePoint> {
    let mut points: Vec<ChangePoint> = (0..indices.len())
        .map(|at| point_of(series, indices, at))
        .collect();
    while let Some(weakest) = weakest(&points, parameters) {
        points.remove(weakest);
        let indices: Vec<usize> = points.iter().map(|point| point.index).collect();
        // The two that follow, as Otava does; the one before keeps its p-value of the first pass.
        for at in weakest..points.len().min(weakest + 2) {
            points[at] = point_of(series, &indices, at);
        }
    }
    // What is reported is of the stretches that remain.
    let indices: Vec<usize> = points.iter().map(|point| point.index).collect();
    (0..indices.len())
        .map(|at| point_of(series, &indices, at))
        .collect()
}

/// The point to drop: the least significant, or, if all are significant, the smallest; `None` when all stay.
fn weakest(points: &[ChangePoint], parameters: Parameters) -> Option<usize> {
    // The first of equals, as `max` of Python.
    let (least, _) = points
        .iter()
        .enumerate()
        .reduce(|best, next| if next.1.p > best.1.p { next } else { best })?;
    if points[least].p >= parameters.p_max {
        return Some(least);
    }
    let (smallest, point) = points
        .iter()
        .enumerate()
        .min_by(|a, b| a.1.magnitude().total_cmp(&b.1.magnitude()))?;
    (point.magnitude() <= parameters.magnitude_min).then_some(smallest)
}

fn point_of(series: &[f64], indices: &[usize], at: usize) -> ChangePoint {
    let index = indices[at];
    let start = at.checked_sub(1).map_or(0, |before| indices[before]);
    let end = indices.get(at + 1).copied().unwrap_or(series.len());
    let (left, right) = (&series[start..index], &series[index..end]);
    ChangePoint {
        index,
        before: mean(left),
        after: mean(right),
        p: student_p(left, right),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Two-sided p-value of Student's t with pooled variance. As in Otava the variances are of n, not of n − 1, degrees.
fn student_p(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (left.len() as f64, right.len() as f64);
    let freedom = n + m - 2.0;
    if freedom <= 0.0 {
        return 1.0;
    }
    let variance = |values: &[f64]| {
        let centre = mean(values);
        let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        squares / values.len() as f64
    };
    let pooled = ((n - 1.0) * variance(left) + (m - 1.0) * variance(right)) / freedom;
    let distance = (mean(left) - mean(right)).abs();
    if pooled <= 0.0 {
        return if distance > 0.0 { 0.0 } else { 1.0 };
    }
    let t = distance / (pooled * (1.0 / n + 1.0 / m)).sqrt();
    // Squares of numbers beyond 10^154 overflow, and the law takes no infinity.
    if !t.is_finite() {
        return 1.0;
    }
    exact::student_p(freedom, t).unwrap_or(1.0)
}

#[cfg(test)]
pub(crate) mod tests;
