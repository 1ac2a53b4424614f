//! The load of a replay: a table, an access log, or a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_analysis::summary;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::run_log::{self, RunLogError};
use plimsoll_logs::LogEntry;
use plimsoll_scale::{ScaleTrace, SharedTier, TRACE_LEN_MAX, TRACE_S_MAX, TraceError};

use crate::explain::{CliError, chain};
use crate::log::progress::ReadProgress;
use crate::log::reading::LogReading;
use crate::log::{formatted, merge};
use crate::plan_file;
use crate::screen::eprint;
use crate::signals;

/// Endings of tables: what is wrong with one is said, and it is no log.
const TABLES: [&str; 3] = ["csv", "tsv", "trace"];

/// A load, and what its source knows beside it.
pub(super) struct ReplayLoad {
    pub(super) trace: ScaleTrace,
    /// A limit that a run named, and that all replicas share.
    pub(super) shared: Option<SharedTier>,
    /// Whether a part of a log could not be read.
    pub(super) is_damaged: bool,
}

/// Reads a load, whatever it is.
pub(super) fn read(path: &Path) -> Result<ReplayLoad, CliError> {
    if path.as_os_str() != "-" {
        match run_log::read(path) {
            Ok(reading) => return of_run(path, reading),
            Err(RunLogError::NotARunLog { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        match table(path) {
            Ok(trace) => {
                return Ok(ReplayLoad {
                    trace,
                    shared: None,
                    is_damaged: false,
                });
            }
            Err(error) if is_table(path) => return Err(error),
            // Lines of a log are no rows.
            Err(_) => {}
        }
    }
    of_log(path)
}

fn is_table(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    TABLES.iter().any(|table| ending == *table)
}

fn table(path: &Path) -> Result<ScaleTrace, CliError> {
    let name = path.display();
    let bytes = plan_file::bounded(path, TRACE_LEN_MAX).map_err(|error| {
        CliError::usage(format!("cannot read the trace {name}: {error}"))
            .remedy("valid: a table of at most 64 MiB, an access log, or the file of a run")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CliError::usage(format!("{name} is not UTF-8")).remedy("valid: text in UTF-8")
    })?;
    ScaleTrace::parse(&text).map_err(|error| wrong(path, &error))
}

fn wrong(path: &Path, error: &TraceError) -> CliError {
    CliError::usage(format!("{}: {}", path.display(), chain(error))).remedy(
        "a trace is a table: `second,rate` in its first line, and a row for each moment at which the rate changes",
    )
}

fn of_run(path: &Path, reading: run_log::LoadedRunLog) -> Result<ReplayLoad, CliError> {
    let name = path.display();
    if let Some(reason) = &reading.cut {
        eprint(&format!(
            "note: {name}: {reason}; everything before it is replayed"
        ));
    }
    let run = reading.run;
    if summary::is_search(&run) {
        let message = format!("{name} is a search, whose load is not one of users");
        return Err(CliError::usage(message)
            .remedy("replay a run of `plimsoll run`; the search goes to --from, which takes the load line from it"));
    }
    let began: Option<jiff::Timestamp> = run.header.started_at.parse().ok();
    let trace = ScaleTrace::of_run(&run, began.map(jiff::Timestamp::as_second))
        .map_err(|error| wrong(path, &error))?;
    Ok(ReplayLoad {
        trace,
        shared: SharedTier::of_findings(&run.findings),
        is_damaged: false,
    })
}

/// All requests of a log count, whatever they ask for.
fn of_log(path: &Path) -> Result<ReplayLoad, CliError> {
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let logs = formatted::in_order(&[PathBuf::from(path)], None)?;
    let seconds_max = TRACE_S_MAX as usize;
    let mut seconds = BTreeMap::<i64, u64>::new();
    let take = |entry: &LogEntry<'_>| {
        let second = entry.began_ms().div_euclid(1_000);
        // One beyond the limit is enough to be refused.
        if seconds.len() <= seconds_max || seconds.contains_key(&second) {
            *seconds.entry(second).or_default() += 1;
        }
    };
    let mut reading = LogReading::new(take, ReadProgress::start(false));
    merge::read(logs, &stop, &mut reading)?;
    reading.report();
    let is_damaged = reading.is_damaged();
    let trace = ScaleTrace::of_seconds(&seconds).map_err(|error| {
        let remedy = match error {
            TraceError::TooLong => "cut a week out of it",
            _ => {
                "give an access log that has requests, or a table with the columns second and rate"
            }
        };
        CliError::usage(format!("{}: {}", path.display(), chain(&error))).remedy(remedy)
    })?;
    Ok(ReplayLoad {
        trace,
        shared: None,
        is_damaged,
    })
}
