//! Numbers and times in sentences.

use std::time::{Duration, SystemTime};

/// A rate or count: `812`, `1,040`, `3.5`.
pub(super) fn count(value: f64) -> String {
    if value > 0.0 && value < 10.0 && (value - value.round()).abs() > 0.05 {
        return format!("{value:.1}");
    }
    grouped(&format!("{value:.0}"))
}

/// A value of which only its size is known: two digits, three from 1,000 on.
pub(super) fn about(value: f64) -> String {
    let digits: f64 = if value >= 1_000.0 { 3.0 } else { 2.0 };
    let scale = 10f64.powf((value.max(1.0).log10().floor() - digits + 1.0).max(0.0));
    count((value / scale).round() * scale)
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share: `3 %`, `0.4 %`, `less than 0.1 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.1 {
        "less than 0.1 %".to_owned()
    } else if percent < 10.0 && (percent - percent.round()).abs() >= 0.05 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A time from milliseconds: `84 ms`, `1.2 s`.
pub(super) fn time(ms: f64) -> String {
    if ms >= 1_000.0 {
        format!("{:.1} s", ms / 1_000.0)
    } else if ms >= 10.0 {
        format!("{ms:.0} ms")
    } else {
        format!("{ms:.1} ms")
    }
}

/// The moment since when something is so: `14:02 UTC`, with the date when that is more than a day ago.
pub(super) fn since(at: f64, now: f64) -> String {
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(at.max(0.0));
    let text = plimsoll_proxy::telemetry::access_log_entry::rfc3339(moment);
    let (date, rest) = text.split_once('T').unwrap_or((&text, ""));
    let clock = rest.get(..5).unwrap_or(rest);
    if now - at < 86_400.0 {
        format!("{clock} UTC")
    } else {
        format!("{date} {clock} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        let counts = [0.0, 0.4, 3.0, 3.52, 12.4, 812.0, 1_040.4, 1_234_567.0].map(count);
        assert_eq!(
            counts,
            ["0", "0.4", "3", "3.5", "12", "812", "1,040", "1,234,567"]
        );
        let sizes = [7.0, 84.0, 847.0, 1_043.0, 12_345.0].map(about);
        assert_eq!(sizes, ["7", "84", "850", "1,040", "12,300"]);
        let shares = [0.000_1, 0.004, 0.03, 0.031_6, 0.5].map(percent);
        assert_eq!(shares, ["less than 0.1 %", "0.4 %", "3 %", "3.2 %", "50 %"]);
        assert_eq!(
            [0.84, 84.2, 1_234.0].map(time),
            ["0.8 ms", "84 ms", "1.2 s"]
        );
    }

    #[test]
    fn a_moment_has_its_date_when_it_is_long_ago() {
        let at = 1_795_788_120.0; // 2026-11-27 14:02:00
        assert_eq!(since(at, at + 60.0), "14:02 UTC");
        assert_eq!(since(at, at + 90_000.0), "2026-11-27 14:02 UTC");
    }
}
