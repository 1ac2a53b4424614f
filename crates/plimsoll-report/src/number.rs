//! Numbers in readable form: three significant digits, a unit, thousands separators.

use std::time::Duration;

use plimsoll_model::plan::LoadUnit;

/// A count with thousands separators: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun, in the plural unless it is one: `1 run`, `12 runs`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// A number of users: `1 user`, `1,200 users`.
pub fn users(number: u64) -> String {
    match number {
        1 => "1 user".to_owned(),
        _ => format!("{} users", count(number)),
    }
}

/// A number with about three significant digits: `1,234`, `99.5`, `0.052`, `0`.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    if size >= 99.95 {
        let whole = count(whole(size));
        return if value < 0.0 {
            format!("-{whole}")
        } else {
            whole
        };
    }
    let text = match size {
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.995 => format!("{value:.2}"),
        size if size >= 0.000_5 => format!("{value:.3}"),
        _ => return "0".to_owned(),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An amount of money: as [`short`], but a small amount is not written as 0: `0.000082`.
pub fn money(value: f64) -> String {
    if !(1e-12..0.000_5).contains(&value.abs()) {
        return short(value);
    }
    let decimals = (1..14).find(|decimals| value.abs() * 10_f64.powi(*decimals) >= 9.95);
    let decimals = usize::try_from(decimals.unwrap_or(13)).unwrap_or(13);
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').to_owned()
}

/// A load in its unit: `1,234 req/s`, `500 users`, `12.5 sessions/s`.
pub fn load(value: f64, unit: LoadUnit) -> String {
    let symbol = match unit {
        LoadUnit::Users if (value - 1.0).abs() < 0.005 => "user",
        unit => unit.symbol(),
    };
    format!("{} {symbol}", short(value))
}

/// A rate: `1,234 req/s`.
pub fn rate(per_second: f64) -> String {
    format!("{} req/s", short(per_second))
}

/// A duration in a readable unit: `850 µs`, `12.3 ms`, `1.25 s`, `2 min 5 s`.
pub fn micros(us: u64) -> String {
    let value = us as f64;
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..999_500 => format!("{} ms", short(value / 1e3)),
        999_500..100_000_000 => format!("{} s", short(value / 1e6)),
        _ => seconds(us / 1_000_000),
    }
}

/// The same, of a fraction of microseconds that is not negative.
pub fn micros_of(us: f64) -> String {
    micros(whole(us))
}

/// The same, of a duration.
pub fn duration(duration: Duration) -> String {
    micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// The whole number next to a value that is shown and not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a float beyond u64 saturates"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A duration in whole seconds: `45 s`, `2 min 5 s`, `1 h 3 min`.
pub fn seconds(seconds: u64) -> String {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    match (seconds, minutes, rest) {
        (0..60, ..) => format!("{seconds} s"),
        (60..3600, _, 0) => format!("{minutes} min"),
        (60..3600, ..) => format!("{minutes} min {rest} s"),
        _ if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// A share of 1 in per cent: `12.3 %`. A tiny value is not written as 0.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.000_01 {
        return "< 0.001 %".to_owned();
    }
    if share < 1.0 && share > 0.999_5 {
        return "> 99.9 %".to_owned();
    }
    format!("{} %", short(share * 100.0))
}

/// Bytes in binary units: `512 B`, `4.5 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// Microseconds as milliseconds.
pub fn millis(us: u64) -> f64 {
    us as f64 / 1e3
}

/// Millionths as a score.
pub(crate) fn score(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

/// A sample in its unit, as named in OpenTelemetry.
pub fn reading(value: f64, unit: &str) -> String {
    match unit {
        _ if !value.is_finite() => "–".to_owned(),
        "1" => percent(value),
        "By" if value >= 0.0 => bytes(whole(value)),
        "s" if value >= 0.0 => micros_of(value * 1e6),
        "ms" if value >= 0.0 => micros_of(value * 1e3),
        "us" if value >= 0.0 => micros_of(value),
        _ => {
            // `{connection}` is a counted thing: its name follows the number.
            let counted = unit
                .strip_prefix('{')
                .and_then(|unit| unit.strip_suffix('}'));
            let plural = if counted.is_some() && short(value) != "1" {
                "s"
            } else {
                ""
            };
            let text = format!("{} {}{plural}", short(value), counted.unwrap_or(unit));
            text.trim_end().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_thousands_apart() {
        let texts = [0.0, 0.000_1, 0.052, 1.0, 9.996, 12.34, 99.96, 1234.5, 1e7].map(short);
        assert_eq!(
            texts,
            [
                "0",
                "0",
                "0.052",
                "1",
                "10",
                "12.3",
                "100",
                "1,235",
                "10,000,000"
            ]
        );
        assert_eq!(short(-1500.0), "-1,500");
        assert_eq!(short(f64::INFINITY), "–");
    }

    #[test]
    fn a_load_has_its_unit() {
        assert_eq!(load(1234.0, LoadUnit::RequestsPerSecond), "1,234 req/s");
        assert_eq!(load(1.0, LoadUnit::Users), "1 user");
        assert_eq!(load(12.5, LoadUnit::SessionsPerSecond), "12.5 sessions/s");
    }

    #[test]
    fn durations_change_their_unit() {
        let texts = [
            0,
            850,
            12_345,
            999_499,
            999_500,
            1_250_000,
            125_000_000,
            3_780_000_000,
        ]
        .map(micros);
        assert_eq!(
            texts,
            [
                "0 µs",
                "850 µs",
                "12.3 ms",
                "999 ms",
                "1 s",
                "1.25 s",
                "2 min 5 s",
                "1 h 3 min"
            ]
        );
    }

    #[test]
    fn a_share_that_is_not_all_or_nothing_does_not_look_like_it() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.000_000_1), "< 0.001 %");
        assert_eq!(percent(0.999_9), "> 99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.1234), "12.3 %");
    }

    #[test]
    fn readings_speak_their_unit() {
        assert_eq!(reading(0.5, "1"), "50 %");
        assert_eq!(reading(1_572_864.0, "By"), "1.5 MiB");
        assert_eq!(reading(0.012, "s"), "12 ms");
        assert_eq!(reading(128.0, "{connection}"), "128 connections");
        assert_eq!(reading(128.0, ""), "128");
    }
}
