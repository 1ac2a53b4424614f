//! Timestamps of logs.

use jiff::Timestamp;
use jiff::tz::Offset;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// `22/Nov/2026:01:23:45 +0100`, with or without fractional seconds; without an offset it is UTC.
pub(super) fn common(text: &str) -> Option<i64> {
    let (moment, offset) = text.split_once(' ').unwrap_or((text, "+0000"));
    let mut fields = moment.splitn(3, '/');
    let day: i8 = fields.next()?.parse().ok()?;
    let month = fields.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let mut rest = fields.next()?.splitn(4, ':');
    let year: i16 = rest.next()?.parse().ok()?;
    let hour: i8 = rest.next()?.parse().ok()?;
    let minute: i8 = rest.next()?.parse().ok()?;
    let (second, fraction) = split_fraction(rest.next()?);
    let second: i8 = second.parse().ok()?;
    if !(0..24).contains(&hour)
        || !(0..60).contains(&minute)
        || !(0..=60).contains(&second)
        || day < 1
    {
        return None;
    }
    let start = jiff::civil::Date::new(year, i8::try_from(month + 1).ok()?, day).ok()?;
    let day_ms = start
        .to_zoned(jiff::tz::TimeZone::UTC)
        .ok()?
        .timestamp()
        .as_millisecond();
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second)
        - offset_seconds(offset)?;
    Some(day_ms + seconds * 1000 + milliseconds(fraction))
}

/// `2026-11-22T01:23:45.678+01:00`, with a space instead of `T`, without an offset (UTC).
pub(super) fn iso(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.as_millisecond());
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    Offset::UTC
        .to_timestamp(civil)
        .ok()
        .map(Timestamp::as_millisecond)
}

/// Unix time in seconds, milliseconds, microseconds or nanoseconds, by its magnitude.
pub(super) fn unix(number: f64) -> Option<i64> {
    // 2001 to 2286 in each unit; other values are no log timestamps.
    let per_ms = [1e-3, 1.0, 1e3, 1e6]
        .into_iter()
        .find(|per_ms| (1e12..1e13).contains(&(number / per_ms)))?;
    #[expect(clippy::cast_possible_truncation, reason = "within the range above")]
    let ms = (number / per_ms).round() as i64;
    Some(ms)
}

fn split_fraction(text: &str) -> (&str, &str) {
    text.split_once('.').unwrap_or((text, ""))
}

fn milliseconds(fraction: &str) -> i64 {
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    digits.parse().unwrap_or(0)
}

fn offset_seconds(text: &str) -> Option<i64> {
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: i64 = text.get(1..5)?.parse().ok()?;
    Some(sign * (digits / 100 * 3600 + digits % 100 * 60))
}
