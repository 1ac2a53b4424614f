//! HTTP dates (RFC 9110, 5.6.7), in all three forms.
//!
//! Stricter and more lenient than the `httpdate` crate, where a cache must be: names are accepted in any case and a
//! wrong weekday is ignored, since both are common and harmless; a two-digit year is resolved relative to the present,
//! as the standard requires; a leap second is a date. Everything else that breaks the grammar is not a date, and what
//! it dates is stale.

const WEEKDAYS: [&[u8]; 7] = [
    b"monday",
    b"tuesday",
    b"wednesday",
    b"thursday",
    b"friday",
    b"saturday",
    b"sunday",
];

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Seconds in a day.
const DAY: i64 = 86_400;

/// Parses a date; seconds since 1970, negative before. `now`, in the same unit, settles the century of a two-digit
/// year.
pub fn parse(value: &[u8], now: i64) -> Option<i64> {
    let value = value.trim_ascii();
    let comma = value.iter().position(|&byte| byte == b',');
    match comma {
        Some(3) => fixdate(value),
        Some(at) => rfc850(&value[..at], &value[at + 1..], now),
        None => asctime(value),
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn fixdate(value: &[u8]) -> Option<i64> {
    let value: &[u8; 29] = value.try_into().ok()?;
    weekday(&value[..3])?;
    let parted = value[4] == b' ' && value[7] == b' ' && value[11] == b' ' && value[16] == b' ';
    if !parted || !value[25..].eq_ignore_ascii_case(b" gmt") {
        return None;
    }
    let year = digits(&value[12..16])?;
    let day = digits(&value[5..7])?;
    seconds(year, month(&value[8..11])?, day, &value[17..25])
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(name: &[u8], rest: &[u8], now: i64) -> Option<i64> {
    let rest: &[u8; 23] = rest.try_into().ok()?;
    let is_named = WEEKDAYS.iter().any(|day| day.eq_ignore_ascii_case(name));
    let parted = rest[0] == b' ' && rest[3] == b'-' && rest[7] == b'-' && rest[10] == b' ';
    if !is_named || !parted || !rest[19..].eq_ignore_ascii_case(b" gmt") {
        return None;
    }
    let day = digits(&rest[1..3])?;
    let month = month(&rest[4..7])?;
    let in_century = digits(&rest[8..10])?;
    // More than 50 years ahead means the latest past year with these digits.
    let this_year = year_of(now);
    let century = this_year - this_year.rem_euclid(100);
    [100, 0, -100]
        .into_iter()
        .map(|offset| century + offset + in_century)
        .filter_map(|year| Some((year, seconds(year, month, day, &rest[11..19])?)))
        .find(|(year, at)| {
            let since = days(*year, month, day) - days(year - 50, month, day);
            at - since * DAY <= now
        })
        .map(|(_, at)| at)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(value: &[u8]) -> Option<i64> {
    let value: &[u8; 24] = value.try_into().ok()?;
    weekday(&value[..3])?;
    let parted = value[3] == b' ' && value[7] == b' ' && value[10] == b' ' && value[19] == b' ';
    if !parted {
        return None;
    }
    let day = match value[8] {
        b' ' => digits(&value[9..10])?,
        _ => digits(&value[8..10])?,
    };
    seconds(
        digits(&value[20..])?,
        month(&value[4..7])?,
        day,
        &value[11..19],
    )
}

/// Whether these are the first three letters of a weekday.
fn weekday(name: &[u8]) -> Option<()> {
    WEEKDAYS
        .iter()
        .any(|day| day[..3].eq_ignore_ascii_case(name))
        .then_some(())
}

/// The month's number, from 1.
fn month(name: &[u8]) -> Option<i64> {
    (1..)
        .zip(MONTHS)
        .find(|(_, month)| month.eq_ignore_ascii_case(name))
        .map(|(number, _)| number)
}

fn digits(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, &byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Seconds since 1970 of a day and a time such as `08:49:37`.
fn seconds(year: i64, month: i64, day: i64, time: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *time else {
        return None;
    };
    let (hour, minute) = (digits(&[h1, h2])?, digits(&[m1, m2])?);
    let second = digits(&[s1, s2])?;
    // A minute with a leap second has 61.
    if hour > 23 || minute > 59 || second > 60 || day < 1 || day > days_in(year, month) {
        return None;
    }
    Some(days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar. Years are counted from March, so that the leap day is the
/// last of a year; months from March have 153 days in each five.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The year in which a moment lies.
fn year_of(at: i64) -> i64 {
    let day = at.div_euclid(DAY);
    // 146,097 days are 400 years: a guess that is at most one off.
    let guess = 1970 + day * 400 / 146_097;
    let starts = |year| days(year, 1, 1);
    (guess - 1..=guess + 1)
        .rev()
        .find(|&year| starts(year) <= day)
        .unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;

    use super::*;

    /// 2026-11-22 12:00:00 UTC.
    const NOW: i64 = 1_795_348_800;

    #[track_caller]
    fn check(value: &str, expected: Option<i64>) {
        assert_eq!(parse(value.as_bytes(), NOW), expected, "{value}");
    }

    #[test]
    fn the_three_forms_of_the_standard_name_one_moment() {
        // RFC 9110, 5.6.7.
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Wed, 31 Dec 1969 23:59:59 GMT", Some(-1));
        check("Tue, 19 Jan 2038 03:14:08 GMT", Some(1 << 31));
        check("Sat, 31 Dec 2016 23:59:60 GMT", Some(1_483_228_800));
    }

    #[test]
    fn case_and_weekday_are_overlooked() {
        for value in [
            "THU, 18 Aug 2050 02:01:18 GMT",
            "Thu, 18 AUG 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 gMT",
            "Mon, 18 Aug 2050 02:01:18 GMT",
            "Thursday, 18-Aug-50 02:01:18 GMT",
            "Wed Aug 18 02:01:18 2050",
            " Thu, 18 Aug 2050 02:01:18 GMT ",
        ] {
            check(value, Some(2_544_400_878));
        }
    }

    #[test]
    fn what_breaks_the_grammar_is_no_date() {
        for value in [
            "",
            "0",
            "-1",
            "foo",
            "Thu, 18 Aug 2050 02:01:18 UTC",
            "Thu, 18 Aug 2050 02:01:18 AEST",
            "Thu, 18 Aug 2050 02:01:18",
            "Thu, 18 Aug 50 02:01:18 GMT",
            "Thu 18 Aug 2050 02:01:18 GMT",
            "Thu, 18  Aug  2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 32 Aug 2050 02:01:18 GMT",
            "Tue, 29 Feb 2023 02:01:18 GMT",
            "Thu, 18 Aug 2050 24:01:18 GMT",
            "Xyz, 18 Aug 2050 02:01:18 GMT",
            "Thursd, 18-Aug-50 02:01:18 GMT",
            "Thu, 18-Aug-50 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT",
        ] {
            check(value, None);
        }
    }

    #[test]
    fn two_digits_of_a_year_are_at_most_fifty_years_ahead() {
        check("Sunday, 22-Nov-76 11:59:59 GMT", Some(3_373_271_999));
        check("Tuesday, 23-Nov-76 12:00:01 GMT", Some(217_598_401));
        check("Friday, 31-Dec-99 23:59:59 GMT", Some(946_684_799));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Compared with another parser, which is correct for all well-formed dates.
        #[test]
        fn well_formed_dates_are_read_alike(at in 0_u64..253_402_300_799) {
            let date = UNIX_EPOCH + Duration::from_secs(at);
            let written = httpdate::fmt_http_date(date);
            prop_assert_eq!(parse(written.as_bytes(), NOW), Some(at.cast_signed()));
        }

        #[test]
        fn the_year_of_a_moment_is_the_one_it_is_written_with(at in 0_u64..253_402_300_799) {
            let written = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at));
            prop_assert_eq!(year_of(at.cast_signed()).to_string(), written[12..16].trim_start_matches('0'));
        }

        #[test]
        fn whatever_is_read_is_read_without_a_panic(value: Vec<u8>, now in -1_i64 << 40..1 << 40) {
            let _ = parse(&value, now);
        }
    }
}
