//! Loads at known dates.

use std::time::Duration;

use super::{REPLICAS_MAX, required};
use crate::document::Shape::Text;
use crate::document::{
    DocumentNode, DocumentReader, MapFields, SettingsMap as _, count, number, rate_above_zero,
    settings, time, time_or_zero,
};
use crate::sentence::{DemandSentence, sentence};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
/// How long a load lasts of which only the rate is known.
const LASTING: Duration = Duration::from_mins(10);
/// Largest rate that people make, 1/s.
const RATE_MAX: f64 = 1e7;

const AT_VALID: &str = "a date and time such as 2026-12-01T09:00:00+02:00, or a time of every day such as 09:00 or \
     09:00+02:00 (UTC without an offset)";
const PEOPLE_VALID: &str = "12,000 people log in within 3 minutes, 3,000 users who pause ten seconds, or 200 requests a second";

settings! {
    /// A load at a known date; one of `rate`, `people` and `replicas`.
    struct ScheduleSettings, SCHEDULE "schedule" {
        /// When it begins: a date and time (`2026-12-01T09:00:00+02:00`), or a time of every day (`09:00`, `09:00+02:00`);
        /// UTC without an offset. Required.
        "at": Text;
        /// Its rate.
        rate: Option<f64> = None, "rate": rate_above_zero("a rate such as 800/s");
        /// The same in words: `12,000 people log in within 3 minutes`.
        "people": Text;
        /// Requests that each of the people sends.
        requests: f64 = 1.0, "requests": number();
        /// Or the number of replicas.
        replicas: Option<u32> = None, "replicas": count(1..=REPLICAS_MAX);
        /// How long it lasts. Default: the time within which the people come, else 10m.
        lasting: Option<Duration> = None, "for": time().within(SECOND, DAY, "1s to 24h");
        /// How much earlier than the start time of a replica it is prepared.
        margin: Duration = Duration::from_secs(30), "margin": time_or_zero().within(Duration::ZERO, HOUR, "0 to 1h");
    }
}

/// When a load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleMoment {
    /// Seconds since 1970.
    Date(i64),
    /// Every day at this second of the day, in UTC.
    Daily(u32),
}

/// A load at a known date.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledLoad {
    /// When it begins.
    pub at: ScheduleMoment,
    /// Its rate, 1/s; `None` where `replicas` has the number.
    pub rate: Option<f64>,
    /// The number of replicas, where it is given.
    pub replicas: Option<u32>,
    /// How long it lasts.
    pub lasting: Duration,
    /// How much earlier than the start time of a replica it is prepared.
    pub margin: Duration,
    /// The date as it is written.
    pub written: String,
}

/// Reads an item of `schedule:`.
pub(super) fn scheduled(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<ScheduledLoad> {
    let fields = reader.fields(node, &SCHEDULE)?;
    let settings = ScheduleSettings::read(reader, &fields);
    let at = required(reader, &fields, "at", "09:00").and_then(|node| {
        let text = reader.word(node, AT_VALID)?;
        let moment = moment(&text);
        if moment.is_none() {
            reader.report(node, format!("`{text}` is not a moment"), AT_VALID);
        }
        moment.map(|moment| (moment, text))
    });
    reader.exactly_one(&fields, &["rate", "people", "replicas"])?;
    let people = people(reader, &fields, settings.requests);
    if fields.get("people").is_some() && people.is_none() {
        return None;
    }
    let (at, written) = at?;
    let (people_rate, within) = people.unzip();
    Some(ScheduledLoad {
        at,
        rate: settings.rate.or(people_rate),
        replicas: settings.replicas,
        lasting: settings.lasting.or(within.flatten()).unwrap_or(LASTING),
        margin: settings.margin,
        written,
    })
}

/// The rate of people, and within which time they come, where the words have one.
fn people(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    requests: f64,
) -> Option<(f64, Option<Duration>)> {
    let node = fields.get("people")?;
    let (rate, within) = match reader.value(node, PEOPLE_VALID, sentence)? {
        DemandSentence::Arrivals { count, within, .. } => {
            (count * requests / within.as_secs_f64(), Some(within))
        }
        DemandSentence::Requests { count, within } => (count / within.as_secs_f64(), None),
        DemandSentence::Users {
            count,
            pause: Some(pause),
            ..
        } if !pause.is_zero() => (f64::from(count) * requests / pause.as_secs_f64(), None),
        _ => {
            reader.report(node, "the words have no rate", PEOPLE_VALID);
            return None;
        }
    };
    if rate > 0.0 && rate <= RATE_MAX {
        return Some((rate, within.filter(|within| *within <= DAY)));
    }
    let valid = "above 0/s, up to 10000000/s; other numbers of people or `requests`";
    reader.report(node, "the rate is out of range", valid);
    None
}

/// Reads a date with a time, or a time of the day; UTC without an offset. `None` for anything else.
pub fn moment(text: &str) -> Option<ScheduleMoment> {
    if let Some((date, time)) = text.split_once(['T', 't', ' ']) {
        let mut numbers = date.split('-').map(digits);
        let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let is_date = numbers.next().is_none()
            && (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day);
        let (second, offset_s) = clock(time)?;
        return is_date.then(|| {
            let days = days_since_1970(year, month, day);
            ScheduleMoment::Date(days * 86_400 + second - offset_s)
        });
    }
    let (second, offset_s) = clock(text)?;
    let utc = (second - offset_s).rem_euclid(86_400);
    u32::try_from(utc).ok().map(ScheduleMoment::Daily)
}

/// Second of the day, and the offset from UTC in seconds.
fn clock(text: &str) -> Option<(i64, i64)> {
    let text = text.trim();
    let (time, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, "Z"),
    };
    let offset_s = match offset.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let (hours, minutes) = offset[1..].split_once(':')?;
            let (hours, minutes) = (digits(hours)?, digits(minutes)?);
            let seconds = hours * 3600 + minutes * 60;
            if hours > 14 || minutes > 59 {
                return None;
            }
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    let mut numbers = time.split(':').map(digits);
    let (hour, minute) = (numbers.next()??, numbers.next()??);
    let second = match numbers.next() {
        Some(second) => second?,
        None => 0,
    };
    let is_time = numbers.next().is_none() && hour < 24 && minute < 60 && second < 60;
    is_time.then_some((hour * 3600 + minute * 60 + second, offset_s))
}

/// One to four digits.
fn digits(text: &str) -> Option<i64> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the years and months before, and of this month.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let leap_days = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_or_times_of_the_day() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", ScheduleMoment::Date(0)),
            ("2026-12-01T09:00:00Z", ScheduleMoment::Date(1_796_115_600)),
            (
                "2026-12-01T11:00+02:00",
                ScheduleMoment::Date(1_796_115_600),
            ),
            ("2024-02-29T12:00:00Z", ScheduleMoment::Date(1_709_208_000)),
            ("09:00", ScheduleMoment::Daily(32_400)),
            ("01:00+02:00", ScheduleMoment::Daily(82_800)),
            ("23:30-01:00", ScheduleMoment::Daily(1_800)),
        ] {
            assert_eq!(moment(text), Some(expected), "{text}");
        }
        for wrong in [
            "",
            "9",
            "24:00",
            "09:60",
            "2026-02-29T09:00Z",
            "2026-13-01T09:00Z",
            "09:00+15:00",
            "09:00+2",
            "09:00:00:00",
            "-1:00",
            "noon",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
