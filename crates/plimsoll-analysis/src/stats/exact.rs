//! Exact binomial confidence bounds, and quantiles of the laws that intervals are made with.

use statrs::distribution::{Beta, ContinuousCDF as _, Normal, StudentsT};

/// One-sided Clopper–Pearson lower bound: with this `confidence` the chance of a success is at least the result.
/// It is the (1 − confidence) quantile of Beta(k, n − k + 1), and 0 without successes.
///
/// # Panics
/// When there are more successes than trials, or `confidence` is not between 0 and 1.
pub fn clopper_pearson_low(successes: u32, trials: u32, confidence: f64) -> f64 {
    assert!(
        successes <= trials,
        "{successes} successes of {trials} trials"
    );
    assert!(
        confidence > 0.0 && confidence < 1.0,
        "confidence {confidence}"
    );
    if successes == 0 {
        return 0.0;
    }
    let shape = Beta::new(f64::from(successes), f64::from(trials - successes) + 1.0);
    bisect(&shape.expect("both shapes are positive"), 1.0 - confidence)
}

/// The `p` quantile of a beta distribution; its distribution function ascends on [0, 1].
fn bisect(distribution: &Beta, p: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // Each step gains one binary digit; 60 reach the resolution of the type.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if distribution.cdf(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Distribution function of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The `p` quantile of the standard normal distribution.
pub fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// How many standard errors a two-sided interval of this confidence, 0 to 1, reaches on each side; `None` without a degree of
/// freedom.
pub(crate) fn student_quantile(freedom: f64, confidence: f64) -> Option<f64> {
    student_bound(freedom, f64::midpoint(1.0, confidence))
}

/// The same of a one-sided bound: the `confidence` quantile of Student's law.
pub(crate) fn student_bound(freedom: f64, confidence: f64) -> Option<f64> {
    Some(student(freedom)?.inverse_cdf(confidence))
}

/// The chance that a value of Student's law is at least as far from 0 as `t`; `None` without a degree of freedom.
pub(crate) fn student_p(freedom: f64, t: f64) -> Option<f64> {
    Some((2.0 * student(freedom)?.sf(t.abs())).min(1.0))
}

fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_the_published_vectors() {
        let vectors = [
            (5, 5, 0.549),
            (4, 5, 0.343),
            (9, 10, 0.606),
            (10, 10, 0.741),
            (20, 20, 0.861),
            (29, 29, 0.902),
        ];
        for (successes, trials, expected) in vectors {
            let low = clopper_pearson_low(successes, trials, 0.95);
            assert!(
                (low - expected).abs() < 5e-4,
                "{successes}/{trials}: {low}, {expected} expected"
            );
        }
        assert!(clopper_pearson_low(0, 5, 0.95) < 1e-12);
    }

    #[test]
    fn all_passed_has_a_closed_form() {
        // With k = n the bound solves pⁿ = 0.05.
        for trials in [1_u32, 3, 59] {
            let expected = 0.05_f64.powf(1.0 / f64::from(trials));
            assert!((clopper_pearson_low(trials, trials, 0.95) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn normal_tables() {
        assert!((normal_cdf(1.96) - 0.975_002_1).abs() < 1e-6);
        assert!((normal_quantile(0.05) + 1.644_853_6).abs() < 1e-6);
    }
}
