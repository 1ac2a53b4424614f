//! Numbers of the document: four digits are enough for a picture.

use std::fmt::Write as _;

/// Digits of a value that are kept.
const DIGITS: i32 = 4;

/// Appends a value; `null` for NaN and infinities.
pub(crate) fn write(text: &mut String, value: f32) {
    if !value.is_finite() {
        text.push_str("null");
        return;
    }
    let value = f64::from(value);
    let written = if value.fract().abs() < f64::EPSILON {
        write!(text, "{value:.0}")
    } else {
        write!(text, "{}", rounded(value))
    };
    // Writing to a string does not fail.
    debug_assert!(written.is_ok());
}

/// A value that is not whole, to four digits; whole where it has more in front of the point.
fn rounded(value: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the exponent of a double is below 400"
    )]
    let exponent = value.abs().log10().floor() as i32;
    let places = (DIGITS - 1 - exponent).clamp(0, 12);
    let scale = 10f64.powi(places);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_four_digits() {
        let written = |value: f32| {
            let mut text = String::new();
            write(&mut text, value);
            text
        };
        for (value, expected) in [
            (0.0, "0"),
            (12.0, "12"),
            (123_456.7, "123457"),
            (1.234_56, "1.235"),
            (0.012_345_6, "0.01235"),
            (-0.5, "-0.5"),
            (f32::NAN, "null"),
            (f32::INFINITY, "null"),
        ] {
            assert_eq!(written(value), expected);
        }
    }
}
