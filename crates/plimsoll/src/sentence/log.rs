//! A multiple of what a log holds, as a rate.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use plimsoll_config::sentence::LogDemand;
use plimsoll_lab::progress::StopFlag;
use plimsoll_logs::LogEntry;
use plimsoll_logs::usual_day::{self, DayChoice, DayDemand};
use plimsoll_report::number::short;

use crate::explain::CliError;
use crate::log::progress::ReadProgress;
use crate::log::reading::LogReading;
use crate::log::{formatted, merge};
use crate::signals;

/// Minutes that are kept: two years.
const MINUTES_MAX: usize = 2 * 366 * 1440;
/// Days that are named.
const DAYS_SHOWN_MAX: usize = 5;

/// Requests per second, and how they came about.
pub(super) fn rate(demand: &LogDemand) -> Result<(f64, String), CliError> {
    let minutes = minutes(&demand.file)?;
    let zone = TimeZone::system();
    let choice = DayChoice {
        weekday: demand.day.weekday,
        is_busiest: demand.day.is_busiest,
        at: demand.at,
    };
    let found = usual_day::demand(&minutes, &zone, &choice).ok_or_else(|| {
        CliError::usage(format!("{} has no requests of {}", demand.file, demand.day)).remedy(
            "name another day, such as `a usual day`, or a log that reaches over it; `plimsoll log FILE` shows its days",
        )
    })?;
    let rate = demand.factor * found.rate;
    let zone = zone.iana_name().unwrap_or("the zone of this machine");
    Ok((rate, text(demand, &found, rate, zone)))
}

fn text(demand: &LogDemand, found: &DayDemand, rate: f64, zone: &str) -> String {
    let hour = demand.at.map_or_else(String::new, |at| {
        let end = (at + 60) % (24 * 60);
        format!(
            " from {:02}:{:02} to {:02}:{:02} ({zone})",
            at / 60,
            at % 60,
            end / 60,
            end % 60
        )
    });
    let days: Vec<String> = found
        .days
        .iter()
        .take(DAYS_SHOWN_MAX)
        .map(|(date, rate)| format!("{date} {}", short(*rate)))
        .collect();
    let more = match found.days.len().saturating_sub(DAYS_SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let partial = if found.are_partial {
        ", which the log holds in part only"
    } else {
        ""
    };
    format!(
        "{} × {} req/s = {} req/s: the busiest minute{hour} of {} in {} ({}{more}{partial}); all requests of the log count, \
         whatever they ask for",
        short(demand.factor),
        short(found.rate),
        short(rate),
        demand.day,
        demand.file,
        days.join(", ")
    )
}

/// Requests of a log by minutes since 1970.
fn minutes(file: &str) -> Result<BTreeMap<i64, u64>, CliError> {
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let logs = formatted::in_order(&[PathBuf::from(file)], None)?;
    let mut minutes = BTreeMap::<i64, u64>::new();
    let take = |entry: &LogEntry<'_>| {
        let minute = entry.began_ms().div_euclid(60_000);
        if minutes.len() < MINUTES_MAX || minutes.contains_key(&minute) {
            *minutes.entry(minute).or_default() += 1;
        }
    };
    let mut reading = LogReading::new(take, ReadProgress::start(false));
    merge::read(logs, &stop, &mut reading)?;
    reading.report();
    Ok(minutes)
}
