//! The moment that a publisher wrote into a message.

/// The moments that are understood lie between these, s since 1970: September 2001 and November 2286.
const SECONDS: std::ops::Range<f64> = 1e9..1e10;

/// Microseconds since 1970 of a timestamp in seconds, milliseconds, microseconds or nanoseconds: whichever puts it
/// between 2001 and 2286. `None` if none does: the number is not a timestamp.
pub fn unix_us(timestamp: f64) -> Option<f64> {
    [1.0, 1e3, 1e6, 1e9]
        .into_iter()
        .find(|unit| SECONDS.contains(&(timestamp / unit)))
        .map(|unit| timestamp / unit * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_told_by_the_magnitude() {
        let moment_us = 1_763_800_000_123_456.0;
        for timestamp in [
            1_763_800_000.123_456,
            1_763_800_000_123.456,
            moment_us,
            moment_us * 1e3,
        ] {
            let read = unix_us(timestamp).unwrap();
            assert!((read - moment_us).abs() < 1.0, "{timestamp}: {read}");
        }
        assert_eq!(unix_us(1_763_800_000.0), Some(1_763_800_000e6));
        for none in [
            0.0,
            -1e9,
            999_999_999.0,
            1e11,
            1e20,
            f64::NAN,
            f64::INFINITY,
        ] {
            assert_eq!(unix_us(none), None, "{none}");
        }
    }
}
