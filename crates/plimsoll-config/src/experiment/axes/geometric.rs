//! Levels of a geometric sequence: `1..16`.

use plimsoll_model::experiment::LEVELS_MAX;

use crate::Problem;

pub(in crate::experiment) const VALID: &str =
    "two ascending numbers above 0, such as 1..16 or 1GiB..16GiB";
/// Smallest ratio of two levels.
pub(super) const FACTOR_MIN: f64 = 1.01;
pub(super) const FACTOR_VALID: &str = "a number from 1.01";

/// The levels from the first to the last number of a range, each `factor` times the one before. The last number is a
/// level only if the sequence meets it.
pub(super) fn levels(text: &str, factor: f64) -> Result<Vec<String>, Problem> {
    let (first, last, unit) = ends(text)?;
    if first <= 0.0 {
        return Err(empty(text));
    }
    // A rounding error must not cost the last level.
    let steps = ((last / first).ln() / factor.ln() + 1e-9).floor();
    if !steps.is_finite() || steps >= LEVELS_MAX as f64 {
        let message = "the range has too many levels";
        let valid = format!("at most {LEVELS_MAX} levels; use a larger `factor`");
        return Err(Problem::new(text, 0..text.len(), message, valid));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "from 0 to LEVELS_MAX by the checks above"
    )]
    let steps = steps as i32;
    let level = |step| format!("{}{unit}", rounded(first * factor.powi(step)));
    let mut levels: Vec<String> = (0..=steps).map(level).collect();
    levels.dedup();
    Ok(levels)
}

/// The two ends of a range, not descending, and their unit.
pub(in crate::experiment) fn ends(text: &str) -> Result<(f64, f64, &str), Problem> {
    let problem = |message: String| Problem::new(text, 0..text.len(), message, VALID);
    let Some((from, to)) = text.split_once("..") else {
        return Err(problem("not a range".to_owned()));
    };
    let not_number = |end: &str| problem(format!("`{}` is not a number", end.trim()));
    let (first, first_unit) = with_unit(from.trim()).ok_or_else(|| not_number(from))?;
    let (last, unit) = with_unit(to.trim()).ok_or_else(|| not_number(to))?;
    if first_unit != unit {
        return Err(problem("the two ends have different units".to_owned()));
    }
    if last < first {
        return Err(empty(text));
    }
    Ok((first, last, unit))
}

fn empty(text: &str) -> Problem {
    Problem::new(text, 0..text.len(), "the range is empty", VALID)
}

/// A whole number as it is; else twelve significant digits, so that 0.1 · 3 is 0.3.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// A number and the unit behind it.
pub(in crate::experiment) fn with_unit(text: &str) -> Option<(f64, &str)> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let unit = &text[end..];
    let is_unit = unit.len() <= 16 && unit.chars().all(|c| c.is_ascii_alphabetic() || c == '/');
    let number: f64 = text[..end].parse().ok()?;
    (is_unit && number.is_finite()).then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn levels_double_up_to_the_last() {
        assert_eq!(levels("1..16", 2.0).unwrap(), ["1", "2", "4", "8", "16"]);
        assert_eq!(levels("1..20", 2.0).unwrap(), ["1", "2", "4", "8", "16"]);
        assert_eq!(levels("3..3", 2.0).unwrap(), ["3"]);
        let powers = levels("1..1000000000000000", 2.0).unwrap();
        assert_eq!(powers[45], "35184372088832");
        assert_eq!(levels("0.1..3", 3.0).unwrap(), ["0.1", "0.3", "0.9", "2.7"]);
        assert_eq!(
            levels("1GiB .. 4GiB", 2.0).unwrap(),
            ["1GiB", "2GiB", "4GiB"]
        );
        assert_eq!(levels("1..1000", 10.0).unwrap(), ["1", "10", "100", "1000"]);
    }

    #[test]
    fn ranges_without_levels_are_refused() {
        let huge = format!("1..{}", "9".repeat(300));
        let infinite = format!("1..{}", "9".repeat(400));
        for (text, message) in [
            ("16", "not a range"),
            ("16..1", "the range is empty"),
            ("0..16", "the range is empty"),
            ("-1..16", "`-1` is not a number"),
            ("1..", "`` is not a number"),
            ("1MiB..1GiB", "the two ends have different units"),
            (huge.as_str(), "the range has too many levels"),
            (infinite.as_str(), "is not a number"),
        ] {
            let problem = levels(text, 1.5).unwrap_err();
            assert!(problem.message.contains(message), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn any_range_is_read_or_refused(text in "[0-9.a-z]{0,24}", factor in 1.01_f64..100.0) {
            if let Ok(levels) = levels(&text, factor) {
                prop_assert!((1..=LEVELS_MAX).contains(&levels.len()));
            }
        }
    }
}
