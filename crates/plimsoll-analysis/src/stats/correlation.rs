//! Correlation by ranks (Spearman, American Journal of Psychology 15, 1904).

use super::exact::{normal_quantile, student_p};
use super::trend::ranks;

/// A correlation of ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spearman {
    /// −1 to 1; ties share their mean rank.
    pub rho: f64,
    /// Two-sided p-value by Student's t with n − 2 degrees.
    pub p: f64,
}

/// The correlation of `first` with `second`; `None` with fewer than four pairs, or when either is constant.
///
/// # Panics
/// When there are not as many of both.
pub fn spearman(first: &[f64], second: &[f64]) -> Option<Spearman> {
    assert_eq!(first.len(), second.len(), "pairs");
    if first.len() < 4 {
        return None;
    }
    let (a, b) = (ranks(first), ranks(second));
    let centre = f64::midpoint(first.len() as f64, 1.0);
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - centre) * (b - centre))
            .sum()
    };
    let squares = product(&a, &a) * product(&b, &b);
    if squares <= 0.0 {
        return None;
    }
    let rho = (product(&a, &b) / squares.sqrt()).clamp(-1.0, 1.0);
    let freedom = first.len() as f64 - 2.0;
    let rest = 1.0 - rho * rho;
    let p = if rest <= 0.0 {
        0.0
    } else {
        student_p(freedom, rho * (freedom / rest).sqrt())?
    };
    Some(Spearman { rho, p })
}

/// The correlation that noise alone reaches with this `confidence` in the largest of `count` correlations of `pairs`
/// pairs: the standard deviation is 1/√(n − 1), the confidence shared by all (Bonferroni).
pub fn noise_bound(pairs: usize, count: usize, confidence: f64) -> f64 {
    let tail = (1.0 - confidence) / (2.0 * count.max(1) as f64);
    let deviation = 1.0 / (pairs.saturating_sub(1).max(1) as f64).sqrt();
    (-normal_quantile(tail) * deviation).min(1.0)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;
    use rand::RngExt as _;

    use super::*;

    #[test]
    fn intelligence_and_television_of_the_encyclopaedias() {
        let iq = [
            106.0, 100.0, 86.0, 101.0, 99.0, 103.0, 97.0, 113.0, 112.0, 110.0,
        ];
        let hours = [7.0, 27.0, 2.0, 50.0, 28.0, 29.0, 20.0, 12.0, 6.0, 17.0];
        let found = spearman(&iq, &hours).unwrap();
        assert!((found.rho + 29.0 / 165.0).abs() < 1e-12, "{found:?}");
        assert!((found.p - 0.627_188).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn any_monotone_law_is_one() {
        let first: Vec<f64> = (1..20).map(f64::from).collect();
        let second: Vec<f64> = first.iter().map(|value| -value.powi(3)).collect();
        let found = spearman(&first, &second).unwrap();
        assert!((found.rho + 1.0).abs() < 1e-12 && found.p < 1e-12);
        assert_eq!(spearman(&first, &[1.0; 19]), None);
    }

    #[test]
    fn noise_stays_below_its_bound() {
        let bound = noise_bound(30, 10, 0.95);
        let alarms = (0..200)
            .filter(|&seed| {
                let mut random = Seed(seed).generator();
                let mut draw = || -> Vec<f64> { (0..30).map(|_| random.random()).collect() };
                (0..10).any(|_| spearman(&draw(), &draw()).unwrap().rho.abs() > bound)
            })
            .count();
        // 5 % of 200 and three standard deviations.
        assert!(alarms <= 19, "{alarms} of 200");
    }
}
