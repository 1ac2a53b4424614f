//! Cumulative layout shift, as Core Web Vitals count it: how far a page moves what people look at.
//!
//! Shifts that follow one another quickly belong to one session window. The score of a page is that of its worst window, and
//! so does not grow with the time for which the page is open.

/// A gap of this length ends a window, ms.
const GAP_MS: f64 = 1_000.0;
/// A window is shorter than this, ms.
const WINDOW_MS: f64 = 5_000.0;

/// The score of a page by its shifts: the moment of each in ms, ascending, and its own score.
pub(super) fn cumulative(shifts: &[(f64, f64)]) -> f64 {
    let mut worst = 0.0_f64;
    let mut sum = 0.0;
    let (mut began, mut last) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for &(at, score) in shifts {
        if at - last >= GAP_MS || at - began >= WINDOW_MS {
            (sum, began) = (0.0, at);
        }
        last = at;
        sum += score;
        worst = worst.max(sum);
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shifts: &[(f64, f64)], expected: f64) {
        let score = cumulative(shifts);
        assert!((score - expected).abs() < 1e-12, "{score}");
    }

    #[test]
    fn a_page_that_stays_has_no_score() {
        check(&[], 0.0);
    }

    #[test]
    fn shifts_of_a_window_add_up() {
        check(&[(100.0, 0.1), (1_099.0, 0.02), (2_000.0, 0.03)], 0.15);
    }

    #[test]
    fn a_second_without_a_shift_ends_the_window() {
        let shifts = [(0.0, 0.1), (1_000.0, 0.04), (1_999.0, 0.05)];
        check(&shifts, 0.1);
        // The later window may be the worst.
        check(&[&shifts[..], &[(2_500.0, 0.02)]].concat(), 0.11);
    }

    #[test]
    fn a_window_ends_after_five_seconds_also_without_a_gap() {
        let every_half_second = |count: u32| -> Vec<(f64, f64)> {
            let moments = (0..count).map(|nth| 700.0 + 500.0 * f64::from(nth));
            moments.map(|at| (at, 0.01)).collect()
        };
        check(&every_half_second(10), 0.1);
        // The eleventh begins 5,000 ms behind the first: a window of its own.
        check(&every_half_second(11), 0.1);
        check(&every_half_second(20), 0.1);
    }
}
