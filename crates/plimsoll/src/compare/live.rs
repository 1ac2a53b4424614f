//! Trials in turn: A B B A or B A A B, until the data decides.

mod definition;
mod folder;
mod progress;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_analysis::experiment::comparison::blocks::TRIALS_PER_BLOCK;
use plimsoll_analysis::experiment::comparison::usual_rules::{RuleVerdict, usual_verdicts};
use plimsoll_analysis::experiment::effect::{Criteria, Direction};
use plimsoll_analysis::experiment::metrics::{LOAD_LINE, P95, RunMetrics, THROUGHPUT};
use plimsoll_analysis::experiment::trial::Scale;
use plimsoll_lab::clock;
use plimsoll_lab::experiment::comparison_blocks::{
    BASELINE_CELL, CANDIDATE_CELL, ComparisonBlocks, LOOKS_AT_LINE, LOOKS_AT_RATE, looks_within,
};
use plimsoll_lab::experiment::log::ExperimentLog;
use plimsoll_lab::experiment::run_experiment;
use plimsoll_lab::experiment::service_trials::{RUNS, ServiceTrials};
use plimsoll_lab::experiment::trial::{RecordedOutcome, TrialRecord};
use plimsoll_lab::progress::{StopFlag, Watcher as _};
use plimsoll_lab::service::ExperimentServices;
use plimsoll_lab::{output, run, run_log};
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::Verdict;
use plimsoll_report::Report;
use plimsoll_report::compare::{BlockCounts, ComparedRuns, ComparedSide};
use plimsoll_report::number::rate;

use self::progress::BlockProgress;
use super::loads::SideLoads;
use super::sides::Sides;
use super::{append, present};
use crate::arguments::CompareArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live;
use crate::live_line::{LiveLine, TrialLine};
use crate::screen::{Screen, eprint};
use crate::{metrics_export, services, signals};

/// The run file of the load by which the capacity of the baseline is found.
const CAPACITY_RUN: &str = "capacity.run";

/// Runs the trials, or those that are left, and compares their two sides.
pub(super) fn compare(arguments: &CompareArguments, screen: Screen) -> Result<Exit, CliError> {
    let sides = Sides::of(arguments)?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let _page = live::open(arguments.live_page.address, &stop)?;
    let loads = SideLoads::of(&sides, &arguments.live)?;
    let folder = folder::folder(arguments.out.as_deref(), &sides, &stop)?;
    let mut services = open_services(&sides, &folder, &stop)?;
    let header = definition::header(arguments, &sides, &mut services)?;
    let mut log = ExperimentLog::open(&folder, header)?;
    let _exports = metrics_export::open(&arguments.export, &folder, "compare");
    live::attach_experiment(&mut log);
    output::create_folder(&folder.join(RUNS)).map_err(|error| folder::not_made(&folder, &error))?;
    let mut experiment = LiveExperiment {
        arguments,
        sides: &sides,
        folder,
        stop,
        seed: log.header().seed,
        log,
    };
    experiment.note_begin(&mut services);
    let (end, blocks) = experiment.carry_out(services, loads)?;
    let exit = experiment.deliver(&blocks, screen)?;
    experiment.note_end(end, &blocks);
    Ok(match end {
        ExperimentEnd::Interrupted => Exit::Interrupted,
        ExperimentEnd::Complete | ExperimentEnd::Spent => exit,
    })
}

fn open_services(
    sides: &Sides,
    folder: &Path,
    stop: &StopFlag,
) -> Result<ExperimentServices, CliError> {
    let experiment = Arc::new(sides.experiment().clone());
    services::open(experiment, Path::new("."), folder, Vec::new(), stop.clone())
}

/// A comparison whose trials are run.
struct LiveExperiment<'a> {
    arguments: &'a CompareArguments,
    sides: &'a Sides,
    folder: PathBuf,
    stop: StopFlag,
    seed: u64,
    log: ExperimentLog,
}

impl LiveExperiment<'_> {
    /// What is known before the first trial.
    fn note_begin(&self, services: &mut ExperimentServices) {
        let folder = self.folder.display();
        let changed = services.uncommitted();
        if changed > 0 {
            let files = if changed == 1 { "file" } else { "files" };
            eprint(&format!(
                "note: {changed} changed {files} of the repository not committed: neither side has the changes"
            ));
        }
        let done = self.log.records().len();
        if done > 0 {
            eprint(&format!(
                "note: {folder} has {done} trials of this comparison, which are kept; it goes on behind them"
            ));
        }
        if !self.arguments.quiet {
            eprint(&format!("seed {}, results in {folder}", self.seed));
        }
    }

    /// What the user can do when it ended without an answer.
    fn note_end(&self, end: ExperimentEnd, blocks: &ComparisonBlocks) {
        let folder = self.folder.display();
        if end == ExperimentEnd::Interrupted {
            eprint(&format!(
                "note: the same command with --out {folder} goes on"
            ));
            return;
        }
        let records = self.log.records();
        let done = records.len() / TRIALS_PER_BLOCK;
        let (fit, needed) = (blocks.blocks_that_fit(records), blocks.blocks_needed());
        if fit.is_none_or(|fit| fit >= needed) || done >= needed as usize {
            return;
        }
        let lasted_ms: u64 = records.iter().map(TrialRecord::lasted_ms).sum();
        let each_s = lasted_ms.div_ceil(1_000) / done.max(1) as u64 + 1;
        let minutes = (each_s * u64::from(needed + 1)).div_ceil(60);
        eprint(&format!(
            "note: a decision takes {needed} blocks, of about {each_s} s each, and --within has room for {done}: the same command with --within {minutes}m --out {folder} goes on"
        ));
    }

    /// Checks out and builds both sides: a revision that is not built has no trials.
    fn build(&self, services: &mut ExperimentServices) -> Result<(), CliError> {
        for (cell, name) in self.sides.names().iter().enumerate() {
            if !self.sides.has_sources() {
                return Ok(());
            }
            let began = clock::unix_ms();
            if !self.arguments.quiet {
                eprint(&format!("{name}: checking out and building"));
            }
            let built = services.build(cell);
            if built.is_err() {
                for line in services.failed_build() {
                    eprint(&format!("  | {line}"));
                }
            }
            for note in built? {
                eprint(&format!("note: {name}: {note}"));
            }
            let took_s = clock::unix_ms().saturating_sub(began).div_ceil(1_000);
            if !self.arguments.quiet {
                eprint(&format!("{name}: ready to start after {took_s} s"));
            }
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        mut services: ExperimentServices,
        mut loads: SideLoads<'_>,
    ) -> Result<(ExperimentEnd, ComparisonBlocks), CliError> {
        let quiet = self.arguments.quiet;
        self.build(&mut services)?;
        let mut line = TrialLine(LiveLine::new(quiet));
        let is_of_lines = loads.needs_capacity();
        if is_of_lines {
            let capacity = self.capacity(&mut services, &loads, &mut line)?;
            let note = format!(
                "{} carries about {}; the load of each trial rises from half to one and a half of that",
                self.sides.names()[BASELINE_CELL],
                rate(capacity)
            );
            line.0.noted(&note);
            loads.set_capacity(capacity);
        }
        let looks = if is_of_lines {
            LOOKS_AT_LINE
        } else {
            LOOKS_AT_RATE
        };
        let looks = looks_within(looks, self.arguments.live.within);
        let mut blocks = self.blocks(looks);
        let mut trials = ServiceTrials {
            services,
            loads: &mut loads,
            folder: self.folder.clone(),
            started_unix_ms: self.log.header().started_unix_ms,
            stop: self.stop.clone(),
            watcher: &mut line,
        };
        let mut progress = BlockProgress::new(self.sides.names(), blocks.clone(), quiet);
        let log = &mut self.log;
        let end = run_experiment(log, &mut blocks, &mut trials, &self.stop, &mut progress);
        let closed = trials.services.close();
        line.0.clear();
        let end = end?;
        closed?;
        Ok((end, blocks))
    }

    fn blocks(&self, looks: [u32; 2]) -> ComparisonBlocks {
        let seed = Seed(self.seed);
        let criteria = Criteria {
            margin: self.arguments.margin,
            ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, seed)
        };
        let within = self.arguments.live.within;
        ComparisonBlocks::new(looks, within, criteria, seed)
    }

    /// What the baseline carries, by a closed load.
    fn capacity(
        &self,
        services: &mut ExperimentServices,
        loads: &SideLoads<'_>,
        line: &mut TrialLine,
    ) -> Result<f64, CliError> {
        let path = self.folder.join(RUNS).join(CAPACITY_RUN);
        // All trials have the same load, also those after a kill.
        if let Some(capacity) = known_capacity(&path) {
            return Ok(capacity);
        }
        let _ = std::fs::remove_file(&path);
        let mut service = services.apply(BASELINE_CELL)?;
        let ready = service.ready();
        let measured = match ready {
            Err(fault) => Err(CliError::from(fault)),
            Ok(_) => loads.probe(self.seed).and_then(|mut assignment| {
                assignment.log_path = path;
                assignment.probes.pids.extend(service.processes());
                Ok(run::run(assignment, self.stop.clone(), line)?)
            }),
        };
        // Also after an error: nothing stays started.
        service.stop()?;
        let finished = measured?;
        if self.stop.is_raised() {
            let message = "interrupted before the first trial";
            return Err(CliError::new(Exit::Interrupted, message));
        }
        throughput(&finished.run).ok_or_else(|| {
            CliError::new(
                Exit::Unreachable,
                "the baseline answers no request, so there is no load to begin with",
            )
            .remedy("check the URL, and --ready if the service needs time after its start")
        })
    }

    fn deliver(&self, blocks: &ComparisonBlocks, screen: Screen) -> Result<Exit, CliError> {
        let records = self.log.records();
        let result = blocks.result(records);
        let runs = [BASELINE_CELL, CANDIDATE_CELL].map(|cell| self.last_run(records, cell));
        let side = |cell: usize| ComparedSide {
            name: self.sides.names()[cell].clone(),
            run_file: None,
            report: runs[cell].as_ref().map(Report::of),
        };
        let compared = ComparedRuns::new(
            side(BASELINE_CELL),
            side(CANDIDATE_CELL),
            result.comparison().clone(),
        )
        .with_blocks(BlockCounts {
            valid: result.valid(),
            void: result.void(),
            failed: result.failed(),
        })
        .beside(usual(records, &runs));
        let page = self.arguments.html.clone();
        let page = page.unwrap_or_else(|| self.folder.join("report.html"));
        if !self.arguments.quiet {
            self.report_reasons(records);
        }
        let exit = present(&compared, self.arguments, Some(&page), screen)?;
        if let [Some(baseline), Some(candidate)] = &runs {
            append(self.arguments, baseline, candidate, result.comparison())?;
        }
        Ok(exit)
    }

    /// The last run of a side that measured; one that cannot be read any more is left out.
    fn last_run(&self, records: &[TrialRecord], cell: usize) -> Option<Run> {
        let record = records.iter().rev().find(|record| {
            record.trial.cell == cell && matches!(record.outcome, RecordedOutcome::Measured(_))
        })?;
        let file = self.folder.join(record.runs.last()?);
        run_log::read(&file).ok().map(|reading| reading.run)
    }

    /// Each different reason of void and failed trials.
    fn report_reasons(&self, records: &[TrialRecord]) {
        let mut reported: Vec<&str> = Vec::new();
        for record in records {
            let (RecordedOutcome::Void(reason) | RecordedOutcome::Failed(reason)) = &record.outcome
            else {
                continue;
            };
            if !reported.contains(&reason.as_str()) {
                reported.push(reason);
                let name = &self.sides.names()[record.trial.cell.min(1)];
                let index = record.trial.index;
                eprint(&format!("note: trial {index} ({name}): {reason}"));
            }
        }
    }
}

/// The capacity that an earlier start has measured to its end.
fn known_capacity(path: &Path) -> Option<f64> {
    let reading = run_log::read(path).ok()?;
    let ending = reading.run.ending.as_ref()?;
    if ending.verdict == Verdict::Interrupted {
        return None;
    }
    throughput(&reading.run)
}

fn throughput(run: &Run) -> Option<f64> {
    let throughput = RunMetrics::of(run).value(THROUGHPUT);
    throughput.filter(|throughput| *throughput > 0.0)
}

/// What rules in common use conclude from the same trials.
fn usual(records: &[TrialRecord], runs: &[Option<Run>; 2]) -> Vec<RuleVerdict> {
    let trials = ComparisonBlocks::trials(records);
    let has_line = |record: &TrialRecord| matches!(&record.outcome, RecordedOutcome::Measured(values) if values.contains_key(LOAD_LINE));
    let metric = if records.iter().any(has_line) {
        LOAD_LINE
    } else {
        P95
    };
    let requests = runs.each_ref().map(|run| {
        let mut all = Histogram::new();
        for window in run.iter().flat_map(|run| &run.windows) {
            all.merge(&window.response);
        }
        all
    });
    usual_verdicts(&trials, metric, Some([&requests[0], &requests[1]]))
}
