//! The date of a cookie's `Expires`, as browsers read it (RFC 6265, 5.1.1).
//!
//! Servers write dates in more forms than any list of formats holds. The algorithm takes a date apart into tokens and
//! looks for a time, a day, a month and a year, in any order; weekday, zone and all else do not matter.

use cookie::time::{Date, Month};

/// First letters of the months' names.
const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// First year that is accepted.
const YEAR_MIN: i32 = 1601;

/// Unix time of a cookie date, seconds, negative before 1970; `None` when it is none.
pub(super) fn parse(date: &[u8]) -> Option<i64> {
    let mut found = DateParts::default();
    for token in date.split(|&byte| is_delimiter(byte)) {
        found.take(token);
    }
    found.unix_time()
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The parts found so far; the first token of each kind counts.
#[derive(Default)]
struct DateParts {
    /// Hour, minute, second.
    time: Option<[u8; 3]>,
    day: Option<u8>,
    month: Option<Month>,
    year: Option<i32>,
}

impl DateParts {
    fn take(&mut self, token: &[u8]) {
        if self.time.is_none()
            && let Some(time) = time(token)
        {
            self.time = Some(time);
        } else if self.day.is_none()
            && let Some(day) = digits(token, 1..=2)
        {
            self.day = u8::try_from(day).ok();
        } else if self.month.is_none()
            && let Some(month) = month(token)
        {
            self.month = Some(month);
        } else if self.year.is_none()
            && let Some(year) = digits(token, 2..=4)
        {
            self.year = Some(year);
        }
    }

    fn unix_time(&self) -> Option<i64> {
        let [hour, minute, second] = self.time?;
        let year = match self.year? {
            year @ 70..=99 => year + 1900,
            year @ 0..=69 => year + 2000,
            year => year,
        };
        if year < YEAR_MIN {
            return None;
        }
        let date = Date::from_calendar_date(year, self.month?, self.day?).ok()?;
        let moment = date.with_hms(hour, minute, second).ok()?;
        Some(moment.assume_utc().unix_timestamp())
    }
}

/// `1*2DIGIT ":" 1*2DIGIT ":" 1*2DIGIT ( non-digit *OCTET )`
fn time(token: &[u8]) -> Option<[u8; 3]> {
    let mut fields = token.splitn(3, |&byte| byte == b':');
    let mut whole = || {
        let field = fields.next()?;
        let is_whole = field.iter().all(u8::is_ascii_digit);
        is_whole.then(|| digits(field, 1..=2)).flatten()
    };
    let (hour, minute) = (whole()?, whole()?);
    let second = digits(fields.next()?, 1..=2)?;
    let field = |number: i32| u8::try_from(number).ok();
    Some([field(hour)?, field(minute)?, field(second)?])
}

/// The month whose name begins as the token does, in any case.
fn month(token: &[u8]) -> Option<Month> {
    let start = token.get(..3)?;
    let index = MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(start))?;
    Month::try_from(u8::try_from(index + 1).ok()?).ok()
}

/// The number at the start of a token when it has so many digits, and no digit follows.
fn digits(token: &[u8], count: std::ops::RangeInclusive<usize>) -> Option<i32> {
    let end = token
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(token.len());
    if !count.contains(&end) {
        return None;
    }
    std::str::from_utf8(&token[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dates, and the Unix time of each by the RFC; the tests against curl and Chromium read it too.
    const DATES: &str = include_str!("../../tests/it/cookie-dates.txt");

    #[test]
    fn dates_are_read_as_the_rfc_says() {
        let mut count = 0;
        for line in DATES.lines().filter(|line| !line.starts_with('#')) {
            let mut columns = line.split('|').map(str::trim);
            let (date, expected) = (columns.next().unwrap(), columns.next().unwrap());
            let expected = (expected != "-").then(|| expected.parse::<i64>().unwrap());
            assert_eq!(parse(date.as_bytes()), expected, "{date}");
            count += 1;
        }
        assert!(count >= 40, "{count} dates");
    }

    #[test]
    fn bytes_that_are_no_text_make_no_date() {
        assert_eq!(parse(b"\xff\x00\x7f"), None);
        assert_eq!(
            parse(b"01 Jan 1970\xa000:00:00"),
            None,
            "not a delimiter of the grammar"
        );
        assert_eq!(parse(&vec![b'1'; 100_000]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_date_panics(date in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
            let _ = parse(&date);
        }
    }
}
