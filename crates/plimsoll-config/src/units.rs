//! Durations as `800ms`, rates as `300/s`, sizes as `64MiB`, bandwidths as `100Mbit/s`, shares as `1%`.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::Problem;

const DURATION_UNITS: [(&str, f64); 6] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];
const SIZE_UNITS: [(&str, f64); 9] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("KiB", 1024.0),
    ("MB", 1e6),
    ("MiB", 1024.0 * 1024.0),
    ("GB", 1e9),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
    ("TB", 1e12),
    ("TiB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
];

const DURATION_VALID: &str = "a number with ns, us, ms, s, m or h, such as 800ms, 10s or 1.5m";
const RATE_VALID: &str = "a number per second, minute or hour, such as 300/s or 20/m";
const SIZE_VALID: &str = "a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 64MiB";
const BANDWIDTH_VALID: &str = "a number with kbit/s, Mbit/s, Gbit/s, or a size per second such as MB/s; 10kbit/s to 100Gbit/s, such as \
     100Mbit/s";

/// Bytes per second of a bandwidth of one.
const BANDWIDTH_UNITS: [(&str, f64); 10] = [
    ("bit/s", 0.125),
    ("kbit/s", 125.0),
    ("Mbit/s", 125e3),
    ("Gbit/s", 125e6),
    ("kB/s", 1e3),
    ("KiB/s", 1024.0),
    ("MB/s", 1e6),
    ("MiB/s", 1024.0 * 1024.0),
    ("GB/s", 1e9),
    ("GiB/s", 1024.0 * 1024.0 * 1024.0),
];

/// Maximum duration: a year.
pub const DURATION_MAX: Duration = Duration::from_hours(8760);
/// Maximum rate, 1/s.
pub const RATE_MAX: f64 = 10_000_000.0;
/// Valid bandwidths, bytes per second: 10 kbit/s to 100 Gbit/s.
pub const BANDWIDTHS: RangeInclusive<f64> = 1_250.0..=12.5e9;

/// A number at the start of `text` and the byte after it.
fn number(text: &str, valid: &str) -> Result<(f64, usize), Problem> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let digits = text[..end].replace('_', "");
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, end)),
        _ => {
            let message = if text.is_empty() {
                "the value is empty"
            } else {
                "not a number"
            };
            let span = 0..end.max(text.chars().next().map_or(0, char::len_utf8));
            Err(Problem::new(text, span, message, valid))
        }
    }
}

fn with_unit(text: &str, units: &[(&str, f64)], valid: &str) -> Result<f64, Problem> {
    let (value, end) = number(text, valid)?;
    let unit = text[end..].trim_start();
    let start = text.len() - unit.len();
    if let Some(&(_, factor)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok(value * factor);
    }
    let message = if unit.is_empty() {
        "the unit is missing"
    } else {
        "unknown unit"
    };
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    let problem = Problem::new(text, start..text.len(), message, valid);
    Err(if unit.is_empty() {
        problem
    } else {
        problem.with_nearest(&names)
    })
}

/// `800ms`, `10s`, `1.5m`, `2h`; `0` alone needs no unit. At most a year.
///
/// # Errors
/// When the number or the unit is missing or unknown, or the duration is longer than a year.
pub fn duration(text: &str) -> Result<Duration, Problem> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let seconds = with_unit(text, &DURATION_UNITS, DURATION_VALID)?;
    if seconds > DURATION_MAX.as_secs_f64() {
        let message = "longer than a year";
        return Err(Problem::new(text, 0..text.len(), message, "0 to 8760h"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A duration that is not zero.
///
/// # Errors
/// As [`duration`], and when it is zero.
pub fn duration_above_zero(text: &str) -> Result<Duration, Problem> {
    match duration(text)? {
        Duration::ZERO => Err(Problem::new(
            text,
            0..text.len(),
            "must be above zero",
            "1us to 8760h",
        )),
        lasting => Ok(lasting),
    }
}

/// `300/s`, `20/m`, `100/h`; a bare number is per second. The result is per second.
///
/// # Errors
/// When the number or the unit is unknown, or the rate is above ten million a second.
pub fn rate(text: &str) -> Result<f64, Problem> {
    let (value, end) = number(text, RATE_VALID)?;
    let per_second = match text[end..].replace(' ', "").as_str() {
        "" | "/s" | "/sec" | "/second" => value,
        "/m" | "/min" | "/minute" => value / 60.0,
        "/h" | "/hour" => value / 3600.0,
        _ => {
            let problem = Problem::new(text, end..text.len(), "unknown unit", RATE_VALID);
            return Err(problem.with_nearest(&["/s", "/m", "/h"]));
        }
    };
    if per_second > RATE_MAX {
        let message = "the rate is too high";
        return Err(Problem::new(
            text,
            0..text.len(),
            message,
            "0/s to 10000000/s",
        ));
    }
    Ok(per_second)
}

/// A rate that is not zero.
///
/// # Errors
/// As [`rate`], and when it is zero.
pub fn rate_above_zero(text: &str) -> Result<f64, Problem> {
    let per_second = rate(text)?;
    if per_second <= 0.0 {
        let message = "must be above zero";
        return Err(Problem::new(
            text,
            0..text.len(),
            message,
            "above 0/s, up to 10000000/s",
        ));
    }
    Ok(per_second)
}

/// `64MiB`, `20kB`; a bare number is in bytes.
///
/// # Errors
/// When the number or the unit is unknown.
pub fn size(text: &str) -> Result<u64, Problem> {
    let bytes = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        number(text, SIZE_VALID)?.0
    } else {
        with_unit(text, &SIZE_UNITS, SIZE_VALID)?
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; a float too large becomes the largest size"
    )]
    Ok(bytes as u64)
}

/// `100Mbit/s`, `12.5MB/s`, as bytes per second.
///
/// # Errors
/// When the number or the unit is missing or unknown, or the bandwidth is below 10 kbit/s or above 100 Gbit/s.
pub fn bandwidth(text: &str) -> Result<f64, Problem> {
    let bytes_per_s = with_unit(text, &BANDWIDTH_UNITS, BANDWIDTH_VALID)?;
    if !BANDWIDTHS.contains(&bytes_per_s) {
        let message = "the bandwidth is out of range";
        return Err(Problem::new(text, 0..text.len(), message, BANDWIDTH_VALID));
    }
    Ok(bytes_per_s)
}

/// `1%` or `0.01`, as a share from 0 to 1.
///
/// # Errors
/// When it is not a number or not between 0 and 1 (0 % and 100 %).
pub fn share(text: &str) -> Result<f64, Problem> {
    const VALID: &str = "0% to 100%, or 0 to 1, such as 1% or 0.01";
    let (value, end) = number(text, VALID)?;
    let share = match text[end..].trim() {
        "%" => value / 100.0,
        "" => value,
        _ => {
            return Err(Problem::new(
                text,
                end..text.len(),
                "unexpected text after the number",
                VALID,
            ));
        }
    };
    if share > 1.0 {
        return Err(Problem::new(text, 0..text.len(), "above 100%", VALID));
    }
    Ok(share)
}

/// A duration as a person writes it, in the largest unit of which it is a whole number.
pub fn duration_text(duration: Duration) -> String {
    const UNITS: [(&str, u128); 6] = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1000),
        ("ns", 1),
    ];
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let whole = UNITS.iter().find(|(_, unit)| nanos.is_multiple_of(*unit));
    let (unit, len) = whole.unwrap_or(&("ns", 1));
    format!("{}{unit}", nanos / len)
}

/// A size as a person writes it, in the largest unit of which it is a whole number.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    let whole = UNITS.iter().find(|(_, unit)| bytes.is_multiple_of(*unit));
    match (bytes, whole) {
        (0, _) => "0 bytes".to_owned(),
        (1, _) => "1 byte".to_owned(),
        (_, Some((unit, len))) => format!("{}{unit}", bytes / len),
        (_, None) => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        assert_eq!(duration("800ms"), Ok(Duration::from_millis(800)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10 s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn faults_name_place_and_remedy() {
        let missing = duration("10").unwrap_err();
        assert_eq!(missing.span, 2..2);
        assert!(
            missing.to_string().contains("the unit is missing"),
            "{missing}"
        );
        let unknown = duration("10sek").unwrap_err().to_string();
        assert!(
            unknown.contains("column 3") && unknown.contains("800ms"),
            "{unknown}"
        );
        assert_eq!(size("64Mib").unwrap_err().nearest.as_deref(), Some("MiB"));
        assert!(
            duration("10000h")
                .unwrap_err()
                .to_string()
                .contains("8760h")
        );
    }

    #[test]
    fn rates_are_per_second() {
        assert_eq!(rate("300/s"), Ok(300.0));
        assert_eq!(rate("90/m"), Ok(1.5));
        assert_eq!(rate("12"), Ok(12.0));
        assert!(rate("5/fortnight").is_err());
        assert!(rate_above_zero("0/s").is_err());
    }

    #[test]
    fn sizes_and_shares() {
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("20kB"), Ok(20_000));
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.01"), Ok(0.01));
        assert!(share("150%").is_err());
    }

    #[test]
    fn bandwidths_are_in_bytes() {
        assert_eq!(bandwidth("100Mbit/s"), Ok(12.5e6));
        assert_eq!(bandwidth("1.5 MB/s"), Ok(1.5e6));
        for wrong in ["", "100", "100Mbps", "1kbit/s", "200Gbit/s"] {
            assert!(bandwidth(wrong).is_err(), "{wrong}");
        }
        let near = bandwidth("1mbit/s").unwrap_err().nearest;
        assert_eq!(near.as_deref(), Some("Mbit/s"));
    }

    #[test]
    fn texts_are_as_people_write_them() {
        let times = ["0s", "500ms", "1m", "90s", "24h", "1us", "1500ns"];
        for text in times {
            let read = duration(if text == "0s" { "0" } else { text }).unwrap();
            assert_eq!(duration_text(read), text);
        }
        let sizes = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (128, "128 bytes"),
            (256 << 10, "256KiB"),
            (64 << 30, "64GiB"),
            (2 << 40, "2TiB"),
            (1 << 46, "64TiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(size_text(bytes), text);
            if text.ends_with("iB") {
                assert_eq!(size(text).unwrap(), bytes);
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,12}") {
            let _ = (duration(&text), rate(&text), size(&text), share(&text));
        }
    }
}
