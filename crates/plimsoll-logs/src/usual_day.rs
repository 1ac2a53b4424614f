//! The demand of a day of a log that is like the one to come: its busiest minute.

use std::collections::BTreeMap;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// Minutes of a quiet night at the ends of a log, which has no line in them.
const QUIET: i64 = 60;

/// Which days of a log count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayChoice {
    /// Day of the week from Monday, 0 to 6; `None` for any.
    pub weekday: Option<u8>,
    /// The busiest of them; otherwise the median.
    pub is_busiest: bool,
    /// The hour that begins at this minute of the day; `None` for the whole day.
    pub at: Option<u16>,
}

/// The busiest minute of the chosen days.
#[derive(Clone, Debug, PartialEq)]
pub struct DayDemand {
    /// Requests per second in it.
    pub rate: f64,
    /// The days, in order, each with requests per second of its busiest minute.
    pub days: Vec<(Date, f64)>,
    /// Whether the log holds only a part of each of them.
    pub are_partial: bool,
}

/// The demand of the chosen days: in each its busiest minute, and of these the median or the highest. `minutes` has the
/// requests by minutes since 1970. Days that the log holds as a whole go before those that it holds in part. `None` when it has
/// none of the days.
pub fn demand(
    minutes: &BTreeMap<i64, u64>,
    zone: &TimeZone,
    choice: &DayChoice,
) -> Option<DayDemand> {
    let (first, last) = (minutes.keys().next()?, minutes.keys().next_back()?);
    let mut days = BTreeMap::<Date, u64>::new();
    for (minute, requests) in minutes {
        let at = Timestamp::from_second(minute.checked_mul(60)?).ok()?;
        let local = at.to_zoned(zone.clone());
        let of_day = u16::try_from(local.hour()).ok()? * 60 + u16::try_from(local.minute()).ok()?;
        if choice.accepts(local.weekday()) && choice.is_within(of_day) {
            let most = days.entry(local.date()).or_default();
            *most = (*most).max(*requests);
        }
    }
    let (whole, partial): (Vec<_>, Vec<_>) = days
        .into_iter()
        .map(|(date, most)| (date, most as f64 / 60.0))
        .partition(|(date, _)| choice.is_covered(*date, zone, (*first, *last)));
    let are_partial = whole.is_empty();
    let days = if are_partial { partial } else { whole };
    let mut rates: Vec<f64> = days.iter().map(|(_, rate)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    let highest = *rates.last()?;
    let middle = rates.len() / 2;
    let rate = match (choice.is_busiest, rates.len() % 2) {
        (true, _) => highest,
        (false, 1) => rates[middle],
        (false, _) => f64::midpoint(rates[middle - 1], rates[middle]),
    };
    Some(DayDemand {
        rate,
        days,
        are_partial,
    })
}

impl DayChoice {
    fn accepts(self, weekday: Weekday) -> bool {
        let number = u8::try_from(weekday.to_monday_zero_offset()).ok();
        self.weekday.is_none() || self.weekday == number
    }

    fn is_within(self, minute: u16) -> bool {
        self.at
            .is_none_or(|at| (at..at.saturating_add(60)).contains(&minute))
    }

    /// Whether the log reaches over the day, or over its hour.
    fn is_covered(self, date: Date, zone: &TimeZone, (first, last): (i64, i64)) -> bool {
        let minute = |minutes: u16| {
            let midnight = date.at(0, 0, 0, 0).to_zoned(zone.clone()).ok()?;
            let moment = midnight.checked_add(i64::from(minutes).minutes()).ok()?;
            Some(moment.timestamp().as_second().div_euclid(60))
        };
        let (from, to) = match self.at {
            Some(at) => (minute(at), minute(at.saturating_add(60))),
            None => (minute(0), minute(24 * 60)),
        };
        from.zip(to)
            .is_some_and(|(from, to)| first <= from + QUIET && to <= last + QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minute of a moment in UTC.
    fn minute(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second() / 60
    }

    /// A log of four weeks from Sunday, 1 November 2026: a request a minute, and on Mondays at 9:15 the given ones.
    fn log(mondays: &[u64]) -> BTreeMap<i64, u64> {
        let start = minute("2026-11-01T00:00:00Z");
        let mut minutes: BTreeMap<i64, u64> =
            (0..28 * 1440).map(|offset| (start + offset, 60)).collect();
        for (week, requests) in (0_i64..).zip(mondays) {
            minutes.insert(start + (1 + 7 * week) * 1440 + 9 * 60 + 15, *requests);
        }
        minutes
    }

    fn choice(weekday: Option<u8>, is_busiest: bool, at: Option<u16>) -> DayChoice {
        DayChoice {
            weekday,
            is_busiest,
            at,
        }
    }

    fn rate(minutes: &BTreeMap<i64, u64>, choice: DayChoice) -> f64 {
        demand(minutes, &TimeZone::UTC, &choice).unwrap().rate
    }

    #[test]
    fn a_usual_day_is_the_median_of_its_kind() {
        let minutes = log(&[600, 1200, 60_000, 900]);
        let monday = Some(0);
        // 10, 20, 1000 and 15 requests per second: the median is between 15 and 20.
        assert!((rate(&minutes, choice(monday, false, None)) - 17.5).abs() < 1e-9);
        assert!((rate(&minutes, choice(monday, false, Some(540))) - 17.5).abs() < 1e-9);
        assert!((rate(&minutes, choice(monday, true, None)) - 1000.0).abs() < 1e-9);
        assert!((rate(&minutes, choice(monday, false, Some(600))) - 1.0).abs() < 1e-9);
        assert!((rate(&minutes, choice(Some(1), true, None)) - 1.0).abs() < 1e-9);
        assert!((rate(&minutes, choice(None, true, None)) - 1000.0).abs() < 1e-9);
        assert_eq!(
            demand(&BTreeMap::new(), &TimeZone::UTC, &choice(None, false, None)),
            None
        );
    }

    #[test]
    fn whole_days_go_before_those_that_are_cut_off() {
        let mut minutes = log(&[600, 1200]);
        // The log ends on the second Monday at 9:30.
        let end = minute("2026-11-09T09:30:00Z");
        minutes.retain(|at, _| *at <= end);
        let monday = demand(&minutes, &TimeZone::UTC, &choice(Some(0), false, None)).unwrap();
        assert_eq!((monday.days.len(), monday.are_partial), (1, false));
        minutes.retain(|at, _| {
            *at >= minute("2026-11-02T08:00:00Z") && *at <= minute("2026-11-02T10:00:00Z")
        });
        let monday = demand(&minutes, &TimeZone::UTC, &choice(Some(0), false, None)).unwrap();
        assert!(monday.are_partial && (monday.rate - 10.0).abs() < 1e-9);
    }

    #[test]
    fn days_are_those_of_the_zone() {
        let minutes = log(&[600]);
        let zone = TimeZone::fixed(jiff::tz::offset(10));
        // 9:15 in UTC is 19:15 there.
        let at = |hour: u16| choice(Some(0), true, Some(hour * 60));
        assert!((demand(&minutes, &zone, &at(19)).unwrap().rate - 10.0).abs() < 1e-9);
        assert!((demand(&minutes, &zone, &at(9)).unwrap().rate - 1.0).abs() < 1e-9);
    }
}
