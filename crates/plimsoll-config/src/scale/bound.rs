//! Values of signals, in the unit in which people write them.

use crate::document::{DocumentNode, DocumentReader};
use crate::problem::Problem;
use crate::units;

const VALID: &str =
    "a share such as 75%, a rate such as 300/s, a duration such as 500ms, or a number above 0";

/// A value of a signal: a share of 1, a rate per second, seconds, or a plain number. Above zero.
pub(super) fn bound(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<f64> {
    reader.value(node, VALID, parse)
}

fn parse(text: &str) -> Result<f64, Problem> {
    let value = if let Some(percent) = text.trim().strip_suffix('%') {
        percent
            .trim()
            .parse::<f64>()
            .ok()
            .map(|value| value / 100.0)
    } else if text.contains('/') {
        return units::rate_above_zero(text);
    } else if let Ok(plain) = text.trim().parse::<f64>() {
        Some(plain)
    } else {
        return units::duration_above_zero(text).map(|duration| duration.as_secs_f64());
    };
    match value {
        Some(value) if value.is_finite() && value > 0.0 && value <= 1e12 => Ok(value),
        _ => Err(Problem::new(
            text,
            0..text.len(),
            "not a value of a signal",
            VALID,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_their_units() {
        for (text, expected) in [
            ("75%", 0.75),
            ("0.75", 0.75),
            ("300/s", 300.0),
            ("90/m", 1.5),
            ("500ms", 0.5),
            ("20", 20.0),
            ("150 %", 1.5),
        ] {
            let value = parse(text).unwrap();
            assert!((value - expected).abs() < 1e-9, "{text}: {value}");
        }
        for wrong in ["", "0", "-1", "0%", "nan", "inf", "%", "x", "0/s", "0s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
