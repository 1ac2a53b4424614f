//! `--for users=…`: the smallest settings that carry so many users, each confirmed by a trial of that many.
//!
//! The trials have a log of their own in the folder of the search, so that a killed table goes on as well.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_analysis::tuning::Observation;
use plimsoll_analysis::tuning::table::{candidates, known_settings};
use plimsoll_lab::experiment::block::{BlockTrial, Blocks};
use plimsoll_lab::experiment::log::ExperimentLog;
use plimsoll_lab::experiment::service_trials::{
    RUNS, ServiceTrials, TrialLoad, TrialLoads, TrialWork,
};
use plimsoll_lab::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord, TrialRole};
use plimsoll_lab::experiment::{ExperimentWatcher, run_experiment};
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::{output, run_log};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::journey::UserPhase;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::verdict::Verdict;
use plimsoll_report::number;
use plimsoll_report::tune::{UserRow, UserRowResult};
use serde_json::json;

use super::PreparedTune;
use crate::arguments::UserNumbers;
use crate::experiment::ExperimentLoads;
use crate::explain::CliError;
use crate::live;
use crate::live_line::{LiveLine, TrialLine};
use crate::screen::eprint;

/// Folder of the trials, in that of the search.
const FOLDER: &str = "users";
/// How long the users stay in a trial.
const EACH: Duration = Duration::from_mins(1);
/// Users that arrive in a second before that.
const ARRIVALS_PER_S: f64 = 50.0;
/// Time after the last has arrived that is not judged.
const REST: Duration = Duration::from_secs(10);

/// A row and the settings that may carry its users.
#[derive(Clone, Debug, PartialEq)]
struct PlannedRow {
    users: u32,
    /// Cells with their lines, the smallest first.
    candidates: Vec<(usize, f64)>,
}

/// The rows, and what came of the trials so far.
#[derive(Clone, Debug)]
struct UserTable {
    rows: Vec<PlannedRow>,
    /// Folder of the trials.
    folder: PathBuf,
}

/// Refuses a table where the load line does not count users.
pub(super) fn check(prepared: &PreparedTune) -> Result<(), CliError> {
    if prepared.unit == LoadUnit::Users {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--for users=… needs a load line in users, and that of {} is in {}",
        prepared.source.display(),
        prepared.unit.symbol()
    ))
    .remedy("measure a plan with journeys: measure: { plan: site.yaml, limit: 2m }"))
}

/// Finds and confirms the settings of each number of users.
pub(super) fn table(
    prepared: &mut PreparedTune,
    numbers: &UserNumbers,
    observations: &[Observation],
    search: &ExperimentLog,
    (stop, quiet): (&StopFlag, bool),
) -> Result<(Vec<UserRow>, ExperimentEnd), CliError> {
    let folder = prepared.file.folder.join(FOLDER);
    let table = UserTable {
        rows: rows(&prepared.file.experiment, numbers, observations),
        folder: folder.clone(),
    };
    let mut header = search.header().clone();
    let planned: Vec<_> = table.rows.iter().map(row_json).collect();
    header.definition = json!({ "search": header.definition, "users": planned });
    let mut log = ExperimentLog::open(&folder, header)?;
    live::attach_experiment(&mut log);
    output::create_folder(&folder.join(RUNS))?;
    let services = prepared.open_services(stop)?;
    let mut line = TrialLine(LiveLine::new(quiet));
    let mut loads = UserLoads {
        loads: &mut prepared.loads,
        table: table.clone(),
    };
    let mut trials = ServiceTrials {
        services,
        loads: &mut loads,
        folder,
        started_unix_ms: log.header().started_unix_ms,
        stop: stop.clone(),
        watcher: &mut line,
    };
    let mut progress = UserProgress {
        experiment: Arc::clone(&prepared.file.experiment),
        table: table.clone(),
        quiet,
    };
    let mut blocks = table.clone();
    let end = run_experiment(&mut log, &mut blocks, &mut trials, stop, &mut progress);
    let closed = trials.services.close();
    line.0.clear();
    let end = end?;
    closed?;
    let results = table.results(&prepared.file.experiment, log.records());
    Ok((results, end))
}

fn row_json(row: &PlannedRow) -> serde_json::Value {
    json!({ "users": row.users, "cells": row.candidates.iter().map(|(cell, _)| cell).collect::<Vec<_>>() })
}

fn rows(
    experiment: &Experiment,
    numbers: &UserNumbers,
    observations: &[Observation],
) -> Vec<PlannedRow> {
    let known = known_settings(observations, &|levels| cost(experiment, levels));
    let row = |users: &u32| PlannedRow {
        users: *users,
        candidates: candidates(&known, f64::from(*users))
            .into_iter()
            .map(|setting| (experiment.design.index_of(&setting.levels), setting.line))
            .collect(),
    };
    numbers.0.iter().map(row).collect()
}

/// What a setting takes: the sum of its ordered levels, each as a share of the highest.
fn cost(experiment: &Experiment, levels: &[usize]) -> f64 {
    let knobs = experiment.tuning.iter().flat_map(|tuning| &tuning.knobs);
    let ordered = knobs.zip(levels).filter(|(knob, _)| knob.is_ordered);
    ordered
        .map(|(knob, level)| *level as f64 / (knob.levels.len().max(2) - 1) as f64)
        .sum()
}

impl UserTable {
    /// The row and the candidate of the trial after these records; `None` after the last.
    fn next(&self, records: &[TrialRecord]) -> Option<(&PlannedRow, usize)> {
        let mut records = records.iter();
        for row in &self.rows {
            for (cell, _) in &row.candidates {
                match records.next() {
                    None => return Some((row, *cell)),
                    Some(record) if self.has_passed(record) => break,
                    Some(_) => {}
                }
            }
        }
        None
    }

    /// Whether the objective was met with all the users.
    fn has_passed(&self, record: &TrialRecord) -> bool {
        if !matches!(record.outcome, RecordedOutcome::Measured(_)) {
            return false;
        }
        let run = record.runs.last();
        let reading = run.and_then(|run| run_log::read(&self.folder.join(run)).ok());
        let ending = reading.and_then(|reading| reading.run.ending);
        ending.is_some_and(|ending| ending.verdict == Verdict::Met)
    }

    fn results(&self, experiment: &Experiment, records: &[TrialRecord]) -> Vec<UserRow> {
        let mut records = records.iter();
        let rows = self.rows.iter();
        rows.map(|row| {
            let mut result = if row.candidates.is_empty() {
                UserRowResult::NotReachable
            } else {
                UserRowResult::NotConfirmed
            };
            for (cell, line) in &row.candidates {
                match records.next() {
                    None => {
                        result = UserRowResult::Open;
                        break;
                    }
                    Some(record) if self.has_passed(record) => {
                        result = UserRowResult::Confirmed {
                            levels: experiment.design.levels_at(*cell),
                            line: *line,
                        };
                        break;
                    }
                    Some(_) => {}
                }
            }
            UserRow {
                users: row.users,
                result,
            }
        })
        .collect()
    }
}

impl Blocks for UserTable {
    fn next_block(&mut self, _block: u32, records: &[TrialRecord]) -> Vec<BlockTrial> {
        let next = self.next(records).map(|(_, cell)| (cell, TrialRole::Cell));
        next.into_iter().collect()
    }
}

/// The users of each trial.
struct UserLoads<'l> {
    loads: &'l mut ExperimentLoads,
    table: UserTable,
}

impl TrialLoads for UserLoads<'_> {
    fn work(&mut self, trial: &PlannedTrial, records: &[TrialRecord]) -> Result<TrialWork, String> {
        let next = self.table.next(records);
        let (row, _) = next.ok_or("the table has no further row")?;
        let users = f64::from(row.users);
        let arriving = Duration::from_secs_f64((users / ARRIVALS_PER_S).max(1.0));
        let phase = |from: f64, lasting: Duration| UserPhase {
            from,
            to: users,
            lasting,
            mix: Vec::new(),
        };
        let load = Load::Users {
            phases: vec![phase(0.0, arriving), phase(users, REST + EACH)],
            iterations: None,
        };
        let mut assignment = self.loads.with_load(trial, |_| load)?;
        assignment.plan.warmup = arriving + REST;
        Ok(TrialWork {
            warm: None,
            loads: vec![TrialLoad {
                name: number::users(row.users.into()),
                assignment,
                search: None,
                ends_beyond_line: false,
            }],
        })
    }
}

/// A line for each trial.
struct UserProgress {
    experiment: Arc<Experiment>,
    table: UserTable,
    quiet: bool,
}

impl ExperimentWatcher for UserProgress {
    fn trial_started(&mut self, trial: &PlannedTrial, records: &[TrialRecord], _left: &[usize]) {
        let Some((row, _)) = self.table.next(records).filter(|_| !self.quiet) else {
            return;
        };
        let users = number::users(row.users.into());
        let text = super::setting_text(&self.experiment, trial.cell);
        eprint(&format!("{users}: {text}"));
    }

    fn trial_ended(&mut self, records: &[TrialRecord], _left: &[usize]) {
        let Some(record) = records.last().filter(|_| !self.quiet) else {
            return;
        };
        let text = match &record.outcome {
            RecordedOutcome::Failed(reason) => format!("failed: {reason}"),
            RecordedOutcome::Void(reason) => format!("void: {reason}"),
            RecordedOutcome::Measured(_) if self.table.has_passed(record) => "carried".to_owned(),
            RecordedOutcome::Measured(_) => "the objective is missed".to_owned(),
        };
        eprint(&format!("  {text}"));
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::seed::Seed;

    use super::*;

    fn record(outcome: RecordedOutcome) -> TrialRecord {
        TrialRecord {
            trial: PlannedTrial {
                index: 0,
                block: 0,
                position: 0,
                cell: 0,
                role: TrialRole::Cell,
                seed: Seed(1),
            },
            began_ms: 0,
            ended_ms: 1,
            outcome,
            traffic: plimsoll_lab::experiment::trial::TrialTraffic::default(),
            runs: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_next_candidate_follows_only_a_failure() {
        let row = |users, cells: &[usize]| PlannedRow {
            users,
            candidates: cells.iter().map(|cell| (*cell, 100.0)).collect(),
        };
        let table = UserTable {
            rows: vec![row(10, &[3, 4]), row(20, &[5]), row(900, &[])],
            folder: PathBuf::new(),
        };
        let failed = || record(RecordedOutcome::Failed("died".to_owned()));
        let next =
            |records: &[TrialRecord]| table.next(records).map(|(row, cell)| (row.users, cell));
        assert_eq!(next(&[]), Some((10, 3)));
        assert_eq!(next(&[failed()]), Some((10, 4)));
        assert_eq!(next(&[failed(), failed()]), Some((20, 5)));
        assert_eq!(next(&[failed(), failed(), failed()]), None);
        let experiment = super::super::tests::experiment_of(
            "knobs: { workers: [2, 4] }\n\
             measure: { url: 'http://127.0.0.1:9/', limit: 2m }\n\
             apply: { command: [bin/app, '{{ workers }}'] }\n",
        );
        let results = |records: &[TrialRecord]| -> Vec<UserRowResult> {
            let rows = table.results(&experiment, records).into_iter();
            rows.map(|row| row.result).collect()
        };
        assert_eq!(
            results(&[failed()]),
            [
                UserRowResult::Open,
                UserRowResult::Open,
                UserRowResult::NotReachable
            ]
        );
        let all = [failed(), failed(), failed()];
        assert_eq!(results(&all)[1], UserRowResult::NotConfirmed);
    }
}
