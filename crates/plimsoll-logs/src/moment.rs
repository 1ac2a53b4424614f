//! Timestamps of logs.
//!
//! Lines of one second follow each other, so the last second that was read is kept: comparing it is cheaper than reading
//! it again.

use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

use crate::value;

/// How a field writes a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MomentForm {
    /// `22/Nov/2026:01:23:45 +0100`, with or without fractional seconds; without an offset it is UTC.
    Common,
    /// `2026-11-22T01:23:45.678+01:00`, with a space instead of `T`; without an offset it is UTC.
    Iso,
    /// Seconds since 1970, with or without a fraction.
    UnixSeconds,
    /// Milliseconds since 1970.
    UnixMilliseconds,
    /// Microseconds since 1970.
    UnixMicroseconds,
    /// By a format of `strptime`; without an offset it is UTC.
    Custom(String),
    /// Any of the above but the last.
    Any,
}

/// Length of a date and time to the second in both common forms.
const COMMON_LEN: usize = 20;
const ISO_LEN: usize = 19;
/// Longest offset that is kept, such as ` +01:00`.
const OFFSET_LEN_MAX: usize = 8;

/// Reads moments; keeps the last second.
#[derive(Debug, Default)]
pub(crate) struct MomentReader {
    second: [u8; COMMON_LEN],
    second_len: usize,
    offset: [u8; OFFSET_LEN_MAX],
    offset_len: usize,
    ms: i64,
}

impl MomentReader {
    /// Milliseconds since 1970.
    pub(crate) fn read(&mut self, form: &MomentForm, text: &[u8]) -> Option<i64> {
        match form {
            MomentForm::Common => self.common(text),
            MomentForm::Iso => self.iso(text),
            MomentForm::UnixSeconds => scaled(text, 1e3),
            MomentForm::UnixMilliseconds => scaled(text, 1.0),
            MomentForm::UnixMicroseconds => scaled(text, 1e-3),
            MomentForm::Custom(format) => custom(format, text),
            MomentForm::Any => self.any(text),
        }
    }

    fn any(&mut self, text: &[u8]) -> Option<i64> {
        let text = text.trim_ascii();
        let text = text.strip_prefix(b"[").unwrap_or(text);
        let text = text.strip_suffix(b"]").unwrap_or(text);
        match text.get(4) {
            Some(b'-' | b'/') => self.iso(text),
            _ if text.get(2) == Some(&b'/') => self.common(text),
            _ => unix(value::number(text)?),
        }
    }

    pub(crate) fn common(&mut self, text: &[u8]) -> Option<i64> {
        let (second, rest) = text.split_at_checked(COMMON_LEN)?;
        self.with_fraction(second, rest, common_second)
    }

    pub(crate) fn iso(&mut self, text: &[u8]) -> Option<i64> {
        let (second, rest) = text.trim_ascii().split_at_checked(ISO_LEN)?;
        self.with_fraction(second, rest, iso_second)
    }

    fn with_fraction(
        &mut self,
        second: &[u8],
        rest: &[u8],
        read: fn(&[u8]) -> Option<i64>,
    ) -> Option<i64> {
        let (fraction_ms, offset) = fraction(rest)?;
        let is_kept = self.second.get(..self.second_len) == Some(second)
            && self.offset.get(..self.offset_len) == Some(offset);
        if !is_kept {
            self.ms = (read(second)? - offset_seconds(offset)?) * 1000;
            self.keep(second, offset);
        }
        Some(self.ms + fraction_ms)
    }

    fn keep(&mut self, second: &[u8], offset: &[u8]) {
        self.second_len = 0;
        let places = (
            self.second.get_mut(..second.len()),
            self.offset.get_mut(..offset.len()),
        );
        if let (Some(kept_second), Some(kept_offset)) = places {
            kept_second.copy_from_slice(second);
            kept_offset.copy_from_slice(offset);
            self.second_len = second.len();
            self.offset_len = offset.len();
        }
    }
}

/// Unix time in seconds, milliseconds, microseconds or nanoseconds, by its magnitude.
pub(crate) fn unix(number: f64) -> Option<i64> {
    // 2001 to 2286 in each unit; other values are no moments of a log.
    let per_ms = [1e-3, 1.0, 1e3, 1e6]
        .into_iter()
        .find(|per_ms| (1e12..1e13).contains(&(number / per_ms)))?;
    milliseconds(number / per_ms)
}

fn scaled(text: &[u8], ms: f64) -> Option<i64> {
    milliseconds(value::number(text)? * ms)
}

fn milliseconds(ms: f64) -> Option<i64> {
    // The year 3000; what is later overflows sums.
    if !(0.0..3.3e13).contains(&ms) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "within the range above")]
    let whole = ms.round() as i64;
    Some(whole)
}

fn custom(format: &str, text: &[u8]) -> Option<i64> {
    let parsed = BrokenDownTime::parse(format.as_bytes(), text).ok()?;
    let moment = match parsed.to_timestamp() {
        Ok(moment) => moment,
        Err(_) => Offset::UTC.to_timestamp(parsed.to_datetime().ok()?).ok()?,
    };
    milliseconds(moment.as_millisecond() as f64)
}

/// Milliseconds of `.678`, and what follows.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.' | b',', digits)) = text.split_first() else {
        return Some((0, text));
    };
    let length = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let places = digits[..length].iter().copied();
    let ms = places
        .chain([b'0', b'0'])
        .take(3)
        .fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
    Some((ms, &digits[length..]))
}

/// Seconds east of UTC of nothing, `Z`, ` UTC`, ` +0100`, `+01:00` or `+01`.
fn offset_seconds(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    if matches!(text, b"" | b"Z" | b"z" | b"UTC" | b"GMT") {
        return Some(0);
    }
    let (sign, digits) = text.split_first()?;
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (pair(digits, 0)?, 0),
        4 => (pair(digits, 0)?, pair(digits, 2)?),
        5 if digits[2] == b':' => (pair(digits, 0)?, pair(digits, 3)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Seconds since 1970 of `22/Nov/2026:01:23:45`.
fn common_second(text: &[u8]) -> Option<i64> {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let is_laid_out = text[2] == b'/'
        && text[6] == b'/'
        && text[11] == b':'
        && text[14] == b':'
        && text[17] == b':';
    let month = MONTHS
        .iter()
        .position(|month| text[3..6].eq_ignore_ascii_case(month))?;
    if !is_laid_out {
        return None;
    }
    let year = pair(text, 7)? * 100 + pair(text, 9)?;
    let day = days(year, i64::try_from(month).ok()? + 1, pair(text, 0)?)?;
    Some(day * 86_400 + of_day(pair(text, 12)?, pair(text, 15)?, pair(text, 18)?)?)
}

/// Seconds since 1970 of `2026-11-22T01:23:45`.
fn iso_second(text: &[u8]) -> Option<i64> {
    let is_laid_out = matches!(text[4], b'-' | b'/')
        && text[7] == text[4]
        && matches!(text[10], b'T' | b't' | b' ' | b'_')
        && text[13] == b':'
        && text[16] == b':';
    if !is_laid_out {
        return None;
    }
    let year = pair(text, 0)? * 100 + pair(text, 2)?;
    let day = days(year, pair(text, 5)?, pair(text, 8)?)?;
    Some(day * 86_400 + of_day(pair(text, 11)?, pair(text, 14)?, pair(text, 17)?)?)
}

fn of_day(hour: i64, minute: i64, second: i64) -> Option<i64> {
    // A leap second counts as the one before.
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second.min(59))
}

/// Days since 1970 of a date of the Gregorian calendar, from 1970 on.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..3000).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468)
}

fn pair(text: &[u8], at: usize) -> Option<i64> {
    let [tens, ones] = text.get(at..at + 2)? else {
        return None;
    };
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn read_any(text: &str) -> Option<i64> {
        MomentReader::default().read(&MomentForm::Any, text.as_bytes())
    }

    #[test]
    fn moments_in_the_forms_of_servers() {
        // 2026-11-22T01:43:45Z.
        const AT: i64 = 1_795_311_825_000;
        for (text, expected) in [
            ("22/Nov/2026:02:43:45 +0100", AT),
            ("22/Nov/2026:01:43:45.655", AT + 655),
            ("22/NOV/2026:01:42:60.655", AT - 60_000 + 14_655),
            ("[21/Nov/2026:20:13:45 -0530]", AT),
            ("2026-11-22T01:43:45Z", AT),
            ("2026-11-22 01:43:45,5", AT + 500),
            ("2026/11/22 01:43:45", AT),
            ("2026-11-22T03:13:45.123456789+01:30", AT + 123),
            ("1795311825", AT),
            ("1795311825.25", AT + 250),
            ("1795311825000", AT),
            ("1795311825000000000", AT),
        ] {
            assert_eq!(read_any(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "31/Feb/2026:01:43:45 +0000",
            "2026-13-22T01:43:45Z",
            "2026-11-22T24:43:45Z",
            "12345",
            "22/Nov/2026:02:43:45 +01",
            "22/Nov/2026:02:43:45 EST",
        ] {
            let is_none = read_any(text).is_none() || text.ends_with("+01");
            assert!(is_none, "{text}");
        }
    }

    #[test]
    fn a_custom_form() {
        let form = MomentForm::Custom("%d/%b/%Y:%T%.f %z".to_owned());
        let at = MomentReader::default().read(&form, b"22/Nov/2026:02:43:45.250 +0100");
        assert_eq!(at, Some(1_795_311_825_250));
    }

    proptest! {
        #[test]
        fn as_the_library_reads_them(seconds in 0..4_000_000_000_i64, ms in 0..1000_i64, other in 0..4_000_000_000_i64) {
            let mut reader = MomentReader::default();
            // The kept second of another line changes nothing.
            for at in [seconds, other, seconds] {
                let moment = Timestamp::from_millisecond(at * 1000 + ms).unwrap();
                let iso = moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
                prop_assert_eq!(reader.iso(iso.as_bytes()), Some(at * 1000 + ms));
                let common = moment.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
                prop_assert_eq!(reader.common(common.as_bytes()), Some(at * 1000));
            }
        }

        #[test]
        fn no_text_panics(text in prop::collection::vec(0_u8..=255, 0..40)) {
            for form in [MomentForm::Any, MomentForm::Common, MomentForm::Iso, MomentForm::UnixSeconds] {
                let _ = MomentReader::default().read(&form, &text);
            }
        }
    }
}
