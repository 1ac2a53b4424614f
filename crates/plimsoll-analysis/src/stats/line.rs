//! A straight line through points, and where it reaches a height.

use super::exact::student_quantile;

/// y = intercept + slope · x by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegressionLine {
    /// y at x = 0.
    pub intercept: f64,
    /// Increase of y for each x.
    pub slope: f64,
    /// Standard error of the slope.
    pub slope_error: f64,
    /// Standard deviation of what the line does not explain, n − 2 degrees of freedom.
    residual: f64,
    mean_x: f64,
    /// Σ (x − mean x)².
    spread_x: f64,
    count: f64,
}

/// The mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The line through points; `None` for fewer than three, or where all have one x.
pub fn line_through(points: &[(f64, f64)]) -> Option<RegressionLine> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let coordinate = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    let mean_x = mean(&coordinate(|point| point.0))?;
    let mean_y = mean(&coordinate(|point| point.1))?;
    let spread_x: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    if spread_x <= 0.0 {
        return None;
    }
    let both: f64 = points
        .iter()
        .map(|point| (point.0 - mean_x) * (point.1 - mean_y))
        .sum();
    let slope = both / spread_x;
    let intercept = mean_y - slope * mean_x;
    let left: f64 = points
        .iter()
        .map(|point| (point.1 - intercept - slope * point.0).powi(2))
        .sum();
    let residual = (left / (count - 2.0)).sqrt();
    Some(RegressionLine {
        intercept,
        slope,
        slope_error: residual / spread_x.sqrt(),
        residual,
        mean_x,
        spread_x,
        count,
    })
}

impl RegressionLine {
    /// Its height at x.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Where a line that ascends reaches a height, with its two-sided interval of this `confidence` by the delta method:
    /// the standard error of x is (s / slope) · √(1/n + (x − mean x)² / Σ (x − mean x)²), with Student's t of n − 2
    /// degrees of freedom. `None` for a line that does not ascend.
    ///
    /// # Panics
    /// When `confidence` is not between 0 and 1.
    pub fn reaches(&self, height: f64, confidence: f64) -> Option<(f64, f64, f64)> {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "confidence {confidence}"
        );
        if self.slope <= 0.0 {
            return None;
        }
        let x = (height - self.intercept) / self.slope;
        let leverage = (x - self.mean_x).powi(2) / self.spread_x;
        let error = self.residual / self.slope * (1.0 / self.count + leverage).sqrt();
        let half = student_quantile(self.count - 2.0, confidence)? * error;
        Some((x - half, x, x + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_noise_is_found() {
        let points = [(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)];
        let line = line_through(&points).unwrap();
        assert!((line.intercept - 1.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9);
        let (low, x, high) = line.reaches(21.0, 0.9).unwrap();
        assert!((x - 10.0).abs() < 1e-6 && (high - low).abs() < 1e-6);
    }

    /// Anscombe's first quartet: the published fit is y = 3.00 + 0.500 x with a standard error of the slope of 0.118.
    #[test]
    fn anscombes_first() {
        let points = [
            (10.0, 8.04),
            (8.0, 6.95),
            (13.0, 7.58),
            (9.0, 8.81),
            (11.0, 8.33),
            (14.0, 9.96),
            (6.0, 7.24),
            (4.0, 4.26),
            (12.0, 10.84),
            (7.0, 4.82),
            (5.0, 5.68),
        ];
        let line = line_through(&points).unwrap();
        assert!((line.intercept - 3.0001).abs() < 1e-3, "{line:?}");
        assert!((line.slope - 0.5001).abs() < 1e-3, "{line:?}");
        assert!((line.slope_error - 0.1179).abs() < 1e-3, "{line:?}");
        let (low, x, high) = line.reaches(9.0, 0.9).unwrap();
        assert!(low < x && x < high && (x - 12.0).abs() < 0.01);
    }

    #[test]
    fn no_line() {
        assert_eq!(line_through(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(line_through(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        let falling = line_through(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]).unwrap();
        assert_eq!(falling.reaches(9.0, 0.9), None);
    }
}
