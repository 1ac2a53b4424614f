//! Numbers of JavaScript.

/// The largest whole number that a double has exactly.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A number as JavaScript writes it.
pub(super) fn shown(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let size = number.abs();
    if (1e-6..1e21).contains(&size) {
        return format!("{number}");
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
        _ => text,
    }
}

/// The number that a text is.
pub(super) fn parsed(text: &str) -> f64 {
    let text = text.trim();
    if text.is_empty() {
        return 0.0;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).map_or(f64::NAN, f64::from);
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    if !text.chars().all(is_number) {
        return f64::NAN;
    }
    text.parse().unwrap_or(f64::NAN)
}

/// The number at the beginning of a text, as `parseInt` and `parseFloat` read it.
pub(super) fn leading(text: &str, may_have_fraction: bool) -> f64 {
    let text = text.trim_start();
    let mut end = usize::from(text.starts_with(['-', '+']));
    let mut has_point = false;
    for (at, c) in text.char_indices().skip(end) {
        if c == '.' && may_have_fraction && !has_point {
            has_point = true;
        } else if !c.is_ascii_digit() {
            break;
        }
        end = at + 1;
    }
    text[..end].parse().unwrap_or(f64::NAN)
}

/// A whole number, if it is one.
pub(super) fn whole(number: f64) -> Option<i64> {
    if number.fract() != 0.0 || number.abs() > WHOLE_MAX {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and within what a double has exactly"
    )]
    let whole = number as i64;
    Some(whole)
}

/// A number from 0 as an index.
pub(super) fn index(number: f64) -> Option<usize> {
    whole(number).and_then(|number| usize::try_from(number).ok())
}

/// A count as a number.
pub(super) fn of(count: usize) -> f64 {
    count as f64
}

/// The 32 bits on which bitwise operators work.
pub(super) fn bits(number: f64) -> i32 {
    let Some(number) = whole(number.trunc()) else {
        return 0;
    };
    let low = u32::try_from(number.rem_euclid(1 << 32)).unwrap_or(0);
    low.cast_signed()
}

/// Whether two numbers are the same.
pub(super) fn same(left: f64, right: f64) -> bool {
    left.partial_cmp(&right) == Some(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_does() {
        for (number, text) in [
            (1.0, "1"),
            (-0.5, "-0.5"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1_700_000_000_000.0, "1700000000000"),
        ] {
            assert_eq!(shown(number), text);
        }
    }

    #[test]
    fn numbers_are_read_as_javascript_does() {
        assert!(same(parsed(" 12 "), 12.0));
        assert!(same(parsed(""), 0.0));
        assert!(parsed("12a").is_nan());
        assert!(same(leading("12.5px", false), 12.0));
        assert!(same(leading("12.5px", true), 12.5));
        assert!(leading("px", true).is_nan());
        assert_eq!(bits(-1.0), -1);
        assert_eq!(bits(4_294_967_295.0), -1);
    }
}
