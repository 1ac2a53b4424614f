//! The trials of a search, or those that are left.

use std::sync::Arc;

use plimsoll_lab::experiment::block::Blocks as _;
use plimsoll_lab::experiment::log::ExperimentLog;
use plimsoll_lab::experiment::run_experiment;
use plimsoll_lab::experiment::service_trials::{RUNS, ServiceTrials};
use plimsoll_lab::experiment::trial::TrialRecord;
use plimsoll_lab::experiment::tuning::users::{GuardedWatcher, UserGuard};
use plimsoll_lab::experiment::tuning::watched::WatchedTrials;
use plimsoll_lab::experiment::tuning::{TrialRamps, TuneBlocks};
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::{output, service};
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_report::number::seconds;
use plimsoll_report::tune::TunedSource;

use super::files::{self, FileDigests};
use super::loads::TuneLoads;
use super::progress::TuneProgress;
use super::results::{Delivery, SearchResult};
use super::{PreparedTune, apply, dead_man, users};
use crate::arguments::TuneArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::live_line::{LiveLine, TrialLine};
use crate::metrics_export;
use crate::screen::{Screen, eprint};
use crate::signals;

/// How the trials ended.
struct SearchEnd {
    end: ExperimentEnd,
    /// Others use the service.
    users: Option<String>,
}

/// Carries out the search, and delivers what it found.
pub(super) fn search(
    mut prepared: PreparedTune,
    arguments: &TuneArguments,
    screen: Screen,
) -> Result<Exit, CliError> {
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    // What a killed search left is put back before its files are looked at.
    prepared.file.put_back(&prepared.components, &stop)?;
    let files = files::digests(&prepared.file)?;
    let mut log = ExperimentLog::open(&prepared.file.folder, prepared.header(&files)?)?;
    let _page = live::open(arguments.live_page.address, &stop)?;
    let _exports = metrics_export::open(&arguments.export, &prepared.file.folder, "tune");
    live::attach_experiment(&mut log);
    output::create_folder(&prepared.file.folder.join(RUNS))?;
    note_begin(&prepared, &log, arguments.quiet);
    let mut blocks = prepared.blocks(log.header().seed);
    let carried_out = carry_out(&mut prepared, &mut log, &mut blocks, arguments, &stop);
    let undone = !service::has_applied(&prepared.file.folder);
    let (mut end, mut error) = match carried_out {
        Ok(SearchEnd { end, users: None }) => (end, None),
        Ok(SearchEnd {
            users: Some(reason),
            ..
        }) => (
            ExperimentEnd::Interrupted,
            Some(CliError::new(Exit::Void, reason)),
        ),
        // Without a trial there is nothing to show.
        Err(error) if log.records().is_empty() => return Err(error),
        Err(error) => (ExperimentEnd::Interrupted, Some(error)),
    };
    let mut delivery = Delivery {
        undone,
        ..Delivery::default()
    };
    if error.is_none() && end != ExperimentEnd::Interrupted {
        let after = after_search(&mut prepared, &blocks, &log, &files, arguments, &stop);
        match after {
            Ok((further, further_end)) => {
                delivery = further;
                if further_end == ExperimentEnd::Interrupted {
                    end = further_end;
                }
            }
            Err(found) => error = Some(found),
        }
        delivery.undone = !service::has_applied(&prepared.file.folder);
        delivery.source = Some(source(&prepared, files));
    }
    let result = SearchResult::of(&prepared, &blocks, (log.header(), log.records()), end);
    let exit = result.deliver(&delivery, arguments.json, screen)?;
    match error {
        Some(error) => Err(error),
        None => Ok(exit),
    }
}

/// The table of users, and the settings that are made permanent.
fn after_search(
    prepared: &mut PreparedTune,
    blocks: &TuneBlocks,
    log: &ExperimentLog,
    files: &FileDigests,
    arguments: &TuneArguments,
    stop: &StopFlag,
) -> Result<(Delivery, ExperimentEnd), CliError> {
    let mut delivery = Delivery::default();
    let mut end = ExperimentEnd::Complete;
    if let Some(numbers) = &arguments.users {
        let observations = blocks.scores(log.records());
        let run = (stop, arguments.quiet);
        (delivery.users, end) = users::table(prepared, numbers, &observations, log, run)?;
    }
    let outcome = blocks.outcome(log.records());
    let best = outcome.best.filter(|_| outcome.adopt);
    if let Some(best) = best {
        let cell = blocks.cell_of(&best.levels);
        if arguments.apply && end != ExperimentEnd::Interrupted {
            let adopted = apply::adopt(prepared, cell, files, stop)?;
            (delivery.applied, delivery.by_hand) = (adopted.applied, adopted.by_hand);
        } else {
            delivery.by_hand = apply::left_to_user(prepared, cell);
        }
    }
    Ok((delivery, end))
}

fn source(prepared: &PreparedTune, files: FileDigests) -> TunedSource {
    let experiment = std::path::absolute(&prepared.source);
    let experiment = experiment.unwrap_or_else(|_| prepared.source.clone());
    TunedSource {
        experiment: experiment.display().to_string(),
        within: prepared.within,
        files,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn note_begin(prepared: &PreparedTune, log: &ExperimentLog, quiet: bool) {
    if quiet {
        return;
    }
    let knobs = match prepared.tuning().knobs.len() {
        1 => "1 knob".to_owned(),
        knobs => format!("{knobs} knobs"),
    };
    let combinations = prepared.file.experiment.cells_len();
    eprint(&format!(
        "{}: {knobs}, {combinations} combinations, at most {}",
        prepared.file.experiment.name,
        seconds(prepared.within.as_secs())
    ));
    let done = log.records().len();
    if done > 0 {
        eprint(&format!(
            "note: {done} trials are in the log; the search goes on behind them"
        ));
    }
    eprint(&format!(
        "seed {}, results in {}",
        log.header().seed,
        prepared.file.folder.display()
    ));
}

fn carry_out(
    prepared: &mut PreparedTune,
    log: &mut ExperimentLog,
    blocks: &mut TuneBlocks,
    arguments: &TuneArguments,
    stop: &StopFlag,
) -> Result<SearchEnd, CliError> {
    let services = prepared.open_services(stop)?;
    let dead_man = dead_man::start(prepared, blocks.longest_trial())?;
    let guard = user_guard(prepared, arguments)?;
    let mut line = TrialLine(LiveLine::new(arguments.quiet));
    let mut watcher = GuardedWatcher::new(&mut line, guard, stop.clone());
    let mut progress = TuneProgress {
        experiment: Arc::clone(&prepared.file.experiment),
        within: prepared.within,
        unit: prepared.unit.symbol(),
        quiet: arguments.quiet,
    };
    let default = blocks.default_cell();
    let mut loads = TuneLoads {
        ramps: TrialRamps::new(default, prepared.objective.clone(), prepared.unit),
        loads: &mut prepared.loads,
    };
    let mut trials = WatchedTrials {
        trials: ServiceTrials {
            services,
            loads: &mut loads,
            folder: prepared.file.folder.clone(),
            started_unix_ms: log.header().started_unix_ms,
            stop: stop.clone(),
            watcher: &mut watcher,
        },
        dead_man,
    };
    let end = run_experiment(log, blocks, &mut trials, stop, &mut progress);
    let WatchedTrials { trials, dead_man } = trials;
    let closed = trials.services.close();
    let users = watcher.found().map(str::to_owned);
    line.0.clear();
    let end = end?;
    closed?;
    dead_man.done();
    Ok(SearchEnd { end, users })
}

/// Reads the access log of the service, unless users are allowed.
fn user_guard(
    prepared: &PreparedTune,
    arguments: &TuneArguments,
) -> Result<Option<UserGuard>, CliError> {
    if arguments.beside_users {
        return Ok(None);
    }
    let client = prepared.loads.client(prepared.default_cell())?;
    Ok(client.map(|(address, agent)| UserGuard::of(address, &agent)))
}

/// How a search ended of which these are all records.
pub(super) fn end_of(blocks: &TuneBlocks, records: &[TrialRecord]) -> ExperimentEnd {
    let block = records.last().map_or(0, |record| record.trial.block + 1);
    if blocks.clone().next_block(block, records).is_empty() {
        ExperimentEnd::Complete
    } else {
        ExperimentEnd::Spent
    }
}
