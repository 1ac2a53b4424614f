//! Tables of counts: is a thing more frequent here than there, by more than chance?

use statrs::distribution::{ChiSquared, ContinuousCDF as _};
use statrs::function::factorial::ln_binomial;

/// Terms of the tail below this share of the first change nothing.
const NEGLIGIBLE: f64 = 1e-18;

/// Fisher's exact test, one-sided: of `all` things `marked` carry a mark; `drawn` of all were drawn and `hits` of these
/// carry it. The chance of as many or more by luck: P(X ≥ hits), X hypergeometric.
///
/// # Panics
/// When the counts do not fit one another.
pub fn fisher_greater(hits: u64, drawn: u64, marked: u64, all: u64) -> f64 {
    assert!(
        hits <= drawn && hits <= marked && drawn <= all && marked <= all,
        "{hits} of {drawn} drawn, {marked} of {all} marked"
    );
    let most = drawn.min(marked);
    // Below this many there cannot be.
    let fewest = (drawn + marked).saturating_sub(all);
    if hits <= fewest {
        return 1.0;
    }
    let whole = ln_binomial(all, drawn);
    let first = ln_binomial(marked, hits) + ln_binomial(all - marked, drawn - hits) - whole;
    // Each term follows from the one before: P(k+1)/P(k) = (marked−k)(drawn−k) / ((k+1)(all−marked−drawn+k+1)).
    let (mut term, mut sum) = (1.0_f64, 1.0_f64);
    for count in hits..most {
        let next = count + 1;
        let others = (all + next).saturating_sub(marked + drawn) as f64;
        term *= (marked - count) as f64 * (drawn - count) as f64 / (next as f64 * others);
        sum += term;
        if term < NEGLIGIBLE * sum {
            break;
        }
    }
    (first.exp() * sum).min(1.0)
}

/// Pearson's test of homogeneity: `parts` of `wholes` are marked; the probability that shares differ at least as much
/// when all have one share. `None` with fewer than two groups, or when none or all carry it.
///
/// # Panics
/// When there are not as many parts as wholes.
pub fn chi_square_homogeneity(counts: &[u64], wholes: &[u64]) -> Option<f64> {
    assert_eq!(counts.len(), wholes.len(), "a part for each whole");
    let groups: Vec<(f64, f64)> = counts
        .iter()
        .zip(wholes)
        .filter(|(_, whole)| **whole > 0)
        .map(|(&count, &whole)| (count as f64, whole as f64))
        .collect();
    let total: f64 = groups.iter().map(|group| group.0).sum();
    let whole: f64 = groups.iter().map(|group| group.1).sum();
    let share = total / whole.max(1.0);
    if groups.len() < 2 || share <= 0.0 || share >= 1.0 {
        return None;
    }
    let statistic: f64 = groups
        .iter()
        .map(|(count, whole)| {
            let expected = share * whole;
            (count - expected).powi(2) / (expected * (1.0 - share))
        })
        .sum();
    let freedom = groups.len() as f64 - 1.0;
    Some(ChiSquared::new(freedom).ok()?.sf(statistic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fisher_of_published_tables() {
        // Fisher's tea: all four right has a chance of 1/70, three of four or more 17/70.
        for (hits, drawn, marked, all, p) in [
            (4, 4, 4, 8, 1.0 / 70.0),
            (3, 4, 4, 8, 17.0 / 70.0),
            (0, 4, 4, 8, 1.0),
            // Studying of men and women, the example of the encyclopaedias: 0.001379728.
            (11, 14, 12, 24, 0.001_379_728),
            (9, 10, 12, 24, 0.001_379_728),
        ] {
            let found = fisher_greater(hits, drawn, marked, all);
            assert!((found - p).abs() < 1e-8, "{hits}/{drawn}: {found}, not {p}");
        }
    }

    #[test]
    fn fisher_of_many() {
        // As expected: about one half. Far beyond: nothing, and quick.
        let usual = fisher_greater(1000, 10_000, 100_000, 1_000_000);
        assert!((0.4..0.6).contains(&usual), "{usual}");
        assert!(fisher_greater(9000, 10_000, 100_000, 1_000_000) < 1e-300);
        assert!((fisher_greater(5, 10, 10, 10) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn chi_square_of_a_textbook() {
        // 2 × 2 without correction: 10 of 30 against 20 of 30 is χ² = 6.667, p = 0.0098.
        let p = chi_square_homogeneity(&[10, 20], &[30, 30]).unwrap();
        assert!((p - 0.009_823).abs() < 1e-4, "{p}");
        assert_eq!(chi_square_homogeneity(&[0, 0], &[30, 30]), None);
        assert_eq!(chi_square_homogeneity(&[1], &[30]), None);
        assert_eq!(chi_square_homogeneity(&[1, 0], &[30, 0]), None);
    }
}
