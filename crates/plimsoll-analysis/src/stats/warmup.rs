//! Where the warm-up of a series ends.

/// Seconds to drop by MSER-5 (White 1997, Spratt 1998): d* = argmin over 0 ≤ d ≤ m/2 of
/// `(m−d)⁻² · Σ_{j>d} (Y_j − Ȳ_d)²`.
///
/// `means` holds one mean per second. The published rule averages five bins of 200 ms; a second's mean weighs
/// requests instead of bins and is otherwise the same batch of one second.
/// The result at the edge, m/2, says that no steady state was found.
pub fn mser(means: &[f64]) -> usize {
    let most = means.len() / 2;
    let mut best = (f64::INFINITY, 0);
    // From the end, so that each value is added once (Welford 1962).
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (dropped, value) in means.iter().enumerate().rev() {
        count += 1.0;
        let deviation = value - mean;
        mean += deviation / count;
        squares += deviation * (value - mean);
        let error = squares / (count * count);
        // Of equal errors the one that drops least.
        if dropped <= most && error <= best.0 {
            best = (error, dropped);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decaying_start_is_cut() {
        let means: Vec<f64> = (0..40)
            .map(|second| {
                let wobble = if second % 2 == 0 { 0.5 } else { -0.5 };
                10.0 + 50.0 * (-f64::from(second) / 2.0).exp() + wobble
            })
            .collect();
        let cut = mser(&means);
        assert!((4..=12).contains(&cut), "{cut}");
    }

    #[test]
    fn a_steady_series_is_kept() {
        let means: Vec<f64> = (0..40)
            .map(|second| if second % 2 == 0 { 9.5 } else { 10.5 })
            .collect();
        assert!(mser(&means) <= 1);
        assert_eq!(mser(&[]), 0);
    }

    #[test]
    fn a_series_that_never_settles_reaches_the_edge() {
        let means: Vec<f64> = (0..40).map(|second| 100.0 - f64::from(second)).collect();
        assert_eq!(mser(&means), 20);
    }
}
