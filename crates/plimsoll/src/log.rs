//! `plimsoll log`: the day of a log.

mod cpu;
pub(crate) mod formatted;
mod lines;
pub(crate) mod merge;
pub(crate) mod progress;
pub(crate) mod reading;
mod source;

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_lab::output;
use plimsoll_lab::progress::StopFlag;
use plimsoll_logs::day::summary::DaySummary;
use plimsoll_logs::day::{Day, DayOptions};
use plimsoll_logs::{Format, LogEntry};
use plimsoll_report::log_page::{self, LogObject};

use self::formatted::FormattedLog;
use self::progress::ReadProgress;
use self::reading::LogReading;
use crate::arguments::DayArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::{Screen, eprint, print};
use crate::signals;

/// Largest database of countries, bytes.
const COUNTRIES_LEN_MAX: u64 = 256 << 20;
/// Names of the files in the folder of `--out`.
const PAGE: &str = "log.html";
const OBJECT: &str = "log.json";

/// Reads the logs and prints their day.
pub(crate) fn log(arguments: &DayArguments, screen: Screen) -> Result<Exit, CliError> {
    let wanted = arguments.format.as_deref().map(format).transpose()?;
    // Before the logs, which may take minutes.
    let cpu = cpu::read_all(&arguments.cpu)?;
    let mut day = day(arguments)?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let logs = formatted::in_order(&arguments.files, wanted.as_ref())?;
    for log in &logs {
        report_format(log);
    }
    let (files, formats) = (formatted::names(&logs), formatted::formats(&logs));
    let mut reading = LogReading::new(
        |entry: &LogEntry<'_>| day.take(entry),
        ReadProgress::start(arguments.quiet),
    );
    merge::read(logs, &stop, &mut reading)?;
    reading.report();
    let (is_damaged, lines, unreadable) =
        (reading.is_damaged(), reading.lines(), reading.unreadable());
    let Some(day) = day.finish() else {
        return Err(formatted::nothing_readable(&files, lines, &formats));
    };
    let cpu = (!arguments.cpu.is_empty()).then(|| cpu::beside(cpu, &requests_by_minute(&day)));
    let object = LogObject {
        format_version: LogObject::FORMAT_VERSION.to_owned(),
        files,
        lines,
        unreadable,
        format: formats,
        interrupted: stop.is_raised(),
        day,
        cpu,
    };
    present(&object, arguments, screen)?;
    Ok(match (stop.is_raised(), is_damaged) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Usage,
        (false, false) => Exit::Met,
    })
}

fn format(text: &str) -> Result<Format, CliError> {
    Format::parse(text).map_err(|error| CliError::usage(format!("--format: {}", chain(&error))))
}

fn day(arguments: &DayArguments) -> Result<Day, CliError> {
    let lifetime = arguments.cache_lifetime;
    let mut cache_sizes = arguments.cache_sizes.clone();
    cache_sizes.sort_unstable();
    cache_sizes.dedup();
    let options = DayOptions {
        countries: arguments.countries.as_deref().map(countries).transpose()?,
        cache_sizes,
        cache_lifetime_s: lifetime
            .map(|time| u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX)),
    };
    Day::new(options).map_err(|error| {
        let path = arguments.countries.as_deref().unwrap_or(Path::new(""));
        CliError::usage(format!("{}: {}", path.display(), chain(&error)))
            .remedy("valid: a country database of MaxMind or DB-IP, such as GeoLite2-Country.mmdb")
    })
}

fn countries(path: &Path) -> Result<Vec<u8>, CliError> {
    source::whole(path, COUNTRIES_LEN_MAX)
}

/// Names the format with what speaks for it, so that a wrong guess is noticed.
fn report_format(log: &FormattedLog) {
    let (name, detected) = (log.name(), log.detected());
    eprint(&format!(
        "{name}: format {}: {}",
        detected.format.name(),
        detected.evidence
    ));
    for warning in &detected.warnings {
        eprint(&format!("warning: {name}: {warning}"));
    }
}

/// Requests by minute since 1970.
fn requests_by_minute(day: &DaySummary) -> BTreeMap<i64, u64> {
    let minutes = day.requests_by_minute.iter().filter_map(|minute| {
        let at: jiff::Timestamp = minute.at.parse().ok()?;
        Some((at.as_second().div_euclid(60), minute.requests))
    });
    minutes.collect()
}

fn present(object: &LogObject, arguments: &DayArguments, screen: Screen) -> Result<(), CliError> {
    if let Some(folder) = &arguments.out {
        for (name, content) in [(PAGE, log_page::render(object)), (OBJECT, object.json())] {
            let path = folder.join(name);
            output::write_whole(&path, content.as_bytes()).map_err(|error| {
                CliError::usage(format!("cannot write {}: {error}", path.display()))
            })?;
            eprint(&format!("wrote {}", path.display()));
        }
    }
    if arguments.json {
        print(&object.json());
    } else {
        print(&log_page::summary(object, screen.colours_data()));
    }
    Ok(())
}
