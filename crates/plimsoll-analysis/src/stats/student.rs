//! The interval of a mean by Student's law: for few values that are spread like a normal law.

use super::exact::student_quantile;
use super::line::mean;

/// Mean and two-sided interval (low, mean, high) at this confidence, 0 to 1; `None` with fewer than two values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, f64, f64)> {
    let centre = mean(values)?;
    let freedom = values.len() as f64 - 1.0;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let error = (squares / freedom / values.len() as f64).sqrt();
    let half = student_quantile(freedom, confidence)? * error;
    Some((centre - half, centre, centre + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // t of 3 degrees of freedom: 3.182446 at 95 %, 12.923979 at 99.9 %.
        let error = (5.0_f64 / 3.0 / 4.0).sqrt();
        for (confidence, quantile) in [(0.95, 3.182_446), (0.999, 12.923_979)] {
            let (low, centre, high) = mean_interval(&[1.0, 2.0, 3.0, 4.0], confidence).unwrap();
            assert!((centre - 2.5).abs() < 1e-12);
            assert!((high - centre - quantile * error).abs() < 1e-5, "{high}");
            assert!((centre - low - quantile * error).abs() < 1e-5, "{low}");
        }
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[], 0.95), None);
    }
}
