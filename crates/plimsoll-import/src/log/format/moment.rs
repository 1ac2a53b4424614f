//! Timestamps of logs.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// `22/Nov/2026:01:23:45 +0100`, with or without fractional seconds; without an offset it is UTC.
pub(super) fn common(text: &str) -> Option<i64> {
    let moment = if text.contains(' ') {
        Timestamp::strptime("%d/%b/%Y:%H:%M:%S%.f %z", text).ok()?
    } else {
        utc(DateTime::strptime("%d/%b/%Y:%H:%M:%S%.f", text).ok()?)?
    };
    Some(moment.as_millisecond())
}

/// `2026-11-22T01:23:45.678+01:00`, with a space instead of `T`, without an offset (UTC).
pub(super) fn iso(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.as_millisecond());
    }
    Some(utc(text.parse().ok()?)?.as_millisecond())
}

fn utc(moment: DateTime) -> Option<Timestamp> {
    Offset::UTC.to_timestamp(moment).ok()
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
