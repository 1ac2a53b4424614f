//! The availability of a service from run files, access logs and readings of `watch`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use plimsoll_analysis::availability::{
    AvailabilityCounter, RequestCounter, ServedRequest, TooManySlots, WatchedService,
};
use plimsoll_analysis::summary;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::run_log::{self, LoadedReadings, RunLogError};
use plimsoll_logs::LogEntry;
use plimsoll_model::objective::Objective;
use plimsoll_model::run::Run;
use plimsoll_report::availability::{AvailabilityObject, AvailabilityReport};

use crate::arguments::ReportArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::log::progress::ReadProgress;
use crate::log::reading::LogReading;
use crate::log::{formatted, merge};
use crate::screen::{Screen, eprint, print};
use crate::signals;

/// Length of a slot, s: of runs a second; of what users send a minute, in which even a small site has requests.
const SLOT_OF_RUNS_S: i64 = 1;
const SLOT_OF_USERS_S: i64 = 60;
/// Statuses by which a client is told to come again: the service did not serve it.
const REFUSED: [u16; 2] = [408, 429];

/// The availability that a single run shows; `None` of a search, which breaks the service on purpose, and without requests.
pub(crate) fn of_run(run: &Run, objective: Option<&Objective>) -> Option<AvailabilityObject> {
    let began_s = unix_s(&run.header.started_at)?;
    if summary::is_search(run) {
        return None;
    }
    let objective = objective.or(run.header.plan.objective.as_ref());
    let mut counter = AvailabilityCounter::new(SLOT_OF_RUNS_S, objective);
    counter.add_run(run, began_s).ok()?;
    counter.finish().as_ref().map(AvailabilityObject::of)
}

fn unix_s(moment: &str) -> Option<i64> {
    let moment: jiff::Timestamp = moment.parse().ok()?;
    Some(moment.as_second())
}

/// Files sorted by what they are.
struct SortedFiles {
    runs: Vec<(PathBuf, Run)>,
    logs: Vec<PathBuf>,
    watched: Vec<(PathBuf, LoadedReadings)>,
}

/// Prints the availability over several runs, logs and readings.
pub(crate) fn report(arguments: &ReportArguments, screen: Screen) -> Result<Exit, CliError> {
    if arguments.html.is_some() || arguments.junit.is_some() {
        return Err(
            CliError::usage("--html and --junit render a single run").remedy("give one run file")
        );
    }
    let files = sort(&arguments.files)?;
    let of_run = files
        .runs
        .iter()
        .find_map(|(_, run)| run.header.plan.objective.clone());
    let objective = arguments.objective.clone().or(of_run);
    let slot_s = if files.logs.is_empty() && files.watched.is_empty() {
        SLOT_OF_RUNS_S
    } else {
        SLOT_OF_USERS_S
    };
    let mut counter = AvailabilityCounter::new(slot_s, objective.as_ref());
    for (path, run) in &files.runs {
        add_run(&mut counter, path, run)?;
    }
    let has_bound = objective.as_ref().is_some_and(|it| !it.latency.is_empty());
    for (path, readings) in &files.watched {
        add_watched(&mut counter, path, readings, has_bound)?;
    }
    let (unreadable, is_damaged) = read_logs(&mut counter, &files.logs, arguments)?;
    let names = arguments
        .files
        .iter()
        .map(|path| path.display().to_string());
    let names: Vec<String> = names.collect();
    let Some(availability) = counter.finish() else {
        let text = format!("{}: there is no request", names.join(", "));
        return Err(CliError::usage(text).remedy(
            "give runs, access logs or files of `plimsoll watch --out` that have requests",
        ));
    };
    present(
        names,
        unreadable,
        objective.as_ref(),
        &AvailabilityObject::of(&availability),
        arguments,
        screen,
    );
    Ok(if is_damaged { Exit::Usage } else { Exit::Met })
}

fn present(
    files: Vec<String>,
    unreadable: u64,
    objective: Option<&Objective>,
    availability: &AvailabilityObject,
    arguments: &ReportArguments,
    screen: Screen,
) {
    if arguments.json {
        let object = AvailabilityReport {
            format_version: AvailabilityReport::FORMAT_VERSION.to_owned(),
            files,
            unreadable,
            objective: objective.map(ToString::to_string),
            availability: availability.clone(),
        };
        print(&object.json());
    } else {
        print(&availability.lines(screen.colours_data()));
    }
}

fn sort(paths: &[PathBuf]) -> Result<SortedFiles, CliError> {
    let mut files = SortedFiles {
        runs: Vec::new(),
        logs: Vec::new(),
        watched: Vec::new(),
    };
    for path in paths {
        if path.as_os_str() == "-" {
            files.logs.push(path.clone());
            continue;
        }
        match run_log::read(path) {
            Ok(reading) => {
                if let Some(reason) = &reading.cut {
                    eprint(&format!("note: {}: {reason}", path.display()));
                }
                files.runs.push((path.clone(), reading.run));
            }
            Err(RunLogError::WithoutLoad { .. }) => {
                let readings = run_log::read_readings(path)?;
                if let Some(reason) = &readings.cut {
                    eprint(&format!("note: {}: {reason}", path.display()));
                }
                files.watched.push((path.clone(), readings));
            }
            Err(RunLogError::NotARunLog { .. }) if is_log(path) => files.logs.push(path.clone()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(files)
}

/// Whether a file that is no run may be a log: it can be read again, and is not named as a run.
pub(crate) fn is_log(path: &Path) -> bool {
    let is_named_run = path.extension().is_some_and(|ending| ending == "run");
    path.as_os_str() == "-" || (!is_named_run && path.is_file())
}

fn add_run(counter: &mut AvailabilityCounter, path: &Path, run: &Run) -> Result<(), CliError> {
    let name = path.display();
    if summary::is_search(run) {
        let text = format!("{name} is a search, which breaks the service on purpose");
        return Err(CliError::usage(text).remedy("give runs of `plimsoll run`"));
    }
    let began_s = moment_of(path, &run.header.started_at)?;
    counter
        .add_run(run, began_s)
        .map_err(|TooManySlots| too_many_slots())
}

fn moment_of(path: &Path, started_at: &str) -> Result<i64, CliError> {
    unix_s(started_at).ok_or_else(|| {
        let name = path.display();
        CliError::usage(format!("{name}: `{started_at}` is not a date and time"))
            .remedy("give the file as plimsoll wrote it")
    })
}

/// Adds readings of `watch`; a note names what they show. `has_bound` is whether the objective bounds response times.
fn add_watched(
    counter: &mut AvailabilityCounter,
    path: &Path,
    readings: &LoadedReadings,
    has_bound: bool,
) -> Result<(), CliError> {
    let name = path.display();
    let began_s = moment_of(path, &readings.started_at)?;
    let watched = WatchedService::of(&readings.readings);
    if watched.is_empty() {
        let text = format!("{name} shows neither whether the service listens nor its requests");
        return Err(CliError::usage(text).remedy(
            "give `plimsoll watch` the URL of a service on its own machine, or an edge, HAProxy, or nginx with its access log",
        ));
    }
    let shown = match watched.counter {
        None => "whether the service listens; no component counts its requests",
        Some(RequestCounter::Edge) => "requests counted by the edge",
        Some(RequestCounter::Haproxy) => "requests counted by HAProxy",
        Some(RequestCounter::Nginx) => "requests counted by nginx and its access log",
    };
    let late = if has_bound && watched.counter.is_some() {
        "; it has no response times, so late answers count as good"
    } else {
        ""
    };
    eprint(&format!("note: {name}: {shown}{late}"));
    for second in watched.seconds {
        counter
            .add_watched(second, began_s)
            .map_err(|TooManySlots| too_many_slots())?;
    }
    Ok(())
}

fn too_many_slots() -> CliError {
    CliError::usage("the files are too far apart in time to be judged minute by minute")
        .remedy("give runs of twelve days, or logs of two years, at most")
}

/// Adds the requests of logs; the unreadable lines, and whether a file is damaged.
fn read_logs(
    counter: &mut AvailabilityCounter,
    paths: &[PathBuf],
    arguments: &ReportArguments,
) -> Result<(u64, bool), CliError> {
    if paths.is_empty() {
        return Ok((0, false));
    }
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let logs = formatted::in_order(paths, None)?;
    let mut added = Ok(());
    let take = |entry: &LogEntry<'_>| {
        if added.is_ok() {
            added = counter.add_request(request(entry));
        }
    };
    let mut reading = LogReading::new(take, ReadProgress::start(arguments.json));
    merge::read(logs, &stop, &mut reading)?;
    reading.report();
    let (unreadable, is_damaged) = (reading.unreadable(), reading.is_damaged());
    added.map_err(|TooManySlots| too_many_slots())?;
    Ok((unreadable, is_damaged))
}

fn request(entry: &LogEntry<'_>) -> ServedRequest {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and at most a day"
    )]
    let response_us = entry
        .lasted_ms
        .map(|ms| (ms.clamp(0.0, 86_400_000.0) * 1e3) as u64);
    let status = entry.status;
    ServedRequest {
        ended_s: entry.ended_ms().div_euclid(1_000),
        // What the client asked wrongly is answered rightly: a 404 is.
        is_good: (100..500).contains(&status) && !REFUSED.contains(&status),
        response_us,
        client: entry.address.as_ref().map(|address| {
            let mut hasher = DefaultHasher::new();
            address.hash(&mut hasher);
            hasher.finish()
        }),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_logs::{Format, LogReader};

    use super::*;

    fn is_good(status: u16) -> bool {
        let line = format!(
            "198.51.100.7 - - [26/Nov/2026:10:00:00 +0000] \"GET /x HTTP/1.1\" {status} 5 \"-\" \"-\""
        );
        let mut reader = LogReader::new(Format::parse("nginx").unwrap());
        let entry = reader.read(line.as_bytes()).unwrap().unwrap();
        request(&entry).is_good
    }

    #[test]
    fn a_rightful_404_is_a_success_and_a_refusal_is_not() {
        for good in [200, 204, 301, 304, 401, 403, 404, 410] {
            assert!(is_good(good), "{good}");
        }
        for bad in [408, 429, 500, 502, 503, 504] {
            assert!(!is_good(bad), "{bad}");
        }
    }
}
