//! Trials in turn: A B B A or B A A B, until the data decides.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_analysis::experiment::comparison::usual_rules::{RuleVerdict, usual_verdicts};
use plimsoll_analysis::experiment::effect::{Criteria, Direction};
use plimsoll_analysis::experiment::metrics::{LOAD_LINE, P50, P95, RunMetrics, THROUGHPUT};
use plimsoll_analysis::experiment::trial::Scale;
use plimsoll_lab::clock;
use plimsoll_lab::experiment::comparison::{BASELINE_CELL, CANDIDATE_CELL, ComparisonBlocks};
use plimsoll_lab::experiment::log::{ExperimentHeader, ExperimentLog, FORMAT};
use plimsoll_lab::experiment::service_trials::{RUNS, ServiceTrials};
use plimsoll_lab::experiment::trial::{PlannedTrial, RecordedOutcome, TrialRecord};
use plimsoll_lab::experiment::{ExperimentEnd, ExperimentWatcher, run_experiment};
use plimsoll_lab::progress::{Progress, StopFlag, Watcher};
use plimsoll_lab::service::ExperimentServices;
use plimsoll_lab::{output, run, run_log};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::redact;
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_report::Report;
use plimsoll_report::compare::{BlockCounts, ComparedRuns, ComparedSide};
use plimsoll_report::number::{rate, short};

use super::loads::SideLoads;
use super::sides::Sides;
use super::{append, present};
use crate::arguments::CompareArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::live_line::LiveLine;
use crate::screen::{Screen, eprint};
use crate::{services, signals};

/// Blocks after which trials at a rate are looked at: five metrics of which three vary need eight to be significant.
const LOOKS_AT_RATE: [u32; 2] = [8, 18];
/// The same for load lines, one metric.
const LOOKS_AT_LINE: [u32; 2] = [7, 10];

/// Runs the trials and compares their two sides.
pub(super) fn compare(arguments: &CompareArguments, screen: Screen) -> Result<Exit, CliError> {
    let seed = match arguments.live.seed {
        Some(seed) => seed,
        None => {
            getrandom::u64().map_err(|error| CliError::new(Exit::Internal, error.to_string()))?
        }
    };
    let sides = Sides::of(arguments, seed)?;
    let loads = SideLoads::of(&sides, &arguments.live)?;
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    let experiment = LiveExperiment {
        arguments,
        sides: &sides,
        folder: new_folder(&arguments.out)?,
        stop,
        seed,
    };
    let (end, blocks, log) = experiment.carry_out(loads)?;
    let exit = experiment.deliver(&blocks, log.records(), screen)?;
    Ok(match end {
        ExperimentEnd::Interrupted => Exit::Interrupted,
        ExperimentEnd::Complete | ExperimentEnd::Spent => exit,
    })
}

/// A comparison whose trials are run.
struct LiveExperiment<'a> {
    arguments: &'a CompareArguments,
    sides: &'a Sides,
    folder: PathBuf,
    stop: StopFlag,
    seed: u64,
}

impl LiveExperiment<'_> {
    fn carry_out(
        &self,
        mut loads: SideLoads<'_>,
    ) -> Result<(ExperimentEnd, ComparisonBlocks, ExperimentLog), CliError> {
        let quiet = self.arguments.quiet;
        let mut services = services::open(
            Arc::new(self.sides.experiment().clone()),
            Path::new("."),
            &self.folder,
            Vec::new(),
            self.stop.clone(),
        )?;
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
        let mut log = ExperimentLog::open(&self.folder, self.header())?;
        let mut blocks = self.blocks(&looks);
        let mut trials = ServiceTrials {
            services,
            loads: &mut loads,
            folder: self.folder.clone(),
            started_unix_ms: log.header().started_unix_ms,
            stop: self.stop.clone(),
            watcher: &mut line,
        };
        let mut progress = BlockProgress {
            names: self.sides.names(),
            blocks: looks[looks.len() - 1],
            quiet,
        };
        let end = run_experiment(
            &mut log,
            &mut blocks,
            &mut trials,
            &self.stop,
            &mut progress,
        );
        let closed = trials.services.close();
        line.0.clear();
        let end = end?;
        closed?;
        Ok((end, blocks, log))
    }

    fn blocks(&self, looks: &[u32]) -> ComparisonBlocks {
        let seed = Seed(self.seed);
        let criteria = Criteria {
            margin: self.arguments.margin,
            ..Criteria::standard(Direction::LowerIsBetter, Scale::Ratio, seed)
        };
        let within = self.arguments.live.within;
        ComparisonBlocks::new(looks.to_vec(), within, criteria, seed)
    }

    /// What the log records of the comparison; commands may have secrets and are left out.
    fn header(&self) -> ExperimentHeader {
        let target = |cell: usize| {
            let (what, target) = self.sides.target(cell);
            redact::text(target.unwrap_or(what)).into_owned()
        };
        let targets = [target(BASELINE_CELL), target(CANDIDATE_CELL)];
        ExperimentHeader {
            format: FORMAT,
            command: "compare".to_owned(),
            source: targets[0].clone(),
            started_at: jiff::Timestamp::now().to_string(),
            started_unix_ms: clock::unix_ms(),
            seed: self.seed,
            definition: serde_json::json!({
                "sides": self.sides.names(),
                "targets": targets,
                "rate": self.arguments.live.rate,
                "margin": self.arguments.margin,
            }),
        }
    }

    /// What the baseline carries, by a closed load.
    fn capacity(
        &self,
        services: &mut ExperimentServices,
        loads: &SideLoads<'_>,
        line: &mut TrialLine,
    ) -> Result<f64, CliError> {
        let mut service = services.apply(BASELINE_CELL)?;
        let ready = service.ready();
        let measured = match ready {
            Err(fault) => Err(CliError::from(fault)),
            Ok(_) => loads.probe(self.seed).and_then(|mut assignment| {
                assignment.log_path = self.folder.join(RUNS).join("capacity.run");
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
        RunMetrics::of(&finished.run)
            .value(THROUGHPUT)
            .filter(|throughput| *throughput > 0.0)
            .ok_or_else(|| {
                CliError::new(
                    Exit::Unreachable,
                    "the baseline answers no request, so there is no load to begin with",
                )
                .remedy("check the URL, and --ready if the service needs time after its start")
            })
    }

    fn deliver(
        &self,
        blocks: &ComparisonBlocks,
        records: &[TrialRecord],
        screen: Screen,
    ) -> Result<Exit, CliError> {
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

/// A folder of its own for these trials.
fn new_folder(out: &Path) -> Result<PathBuf, CliError> {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let folder = out.join(format!("compare-{}", now.strftime("%Y%m%dT%H%M%S%.3fZ")));
    output::create_folder(&folder.join(RUNS)).map_err(|error| {
        CliError::usage(format!("cannot make {}: {error}", folder.display()))
            .remedy("choose another folder with --out DIR")
    })?;
    Ok(folder)
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

/// The live line of the loads.
struct TrialLine(LiveLine);

impl Watcher for TrialLine {
    fn window_closed(&mut self, progress: &Progress<'_>) {
        self.0.window_closed(progress);
    }

    fn noted(&mut self, text: &str) {
        self.0.noted(text);
    }
}

/// A line for each trial.
struct BlockProgress<'p> {
    names: &'p [String; 2],
    /// Blocks at most.
    blocks: u32,
    quiet: bool,
}

impl ExperimentWatcher for BlockProgress<'_> {
    fn trial_ended(&mut self, records: &[TrialRecord], _left: &[usize]) {
        let Some(record) = records.last().filter(|_| !self.quiet) else {
            return;
        };
        let PlannedTrial {
            block,
            position,
            cell,
            ..
        } = record.trial;
        let outcome = match &record.outcome {
            RecordedOutcome::Failed(reason) => format!("failed: {reason}"),
            RecordedOutcome::Void(reason) => format!("void: {reason}"),
            RecordedOutcome::Measured(metrics) => {
                let value = |name: &str| metrics.get(name).copied().map(short);
                match (value(LOAD_LINE), value(P50), value(P95)) {
                    (Some(line), ..) => format!("line {line} req/s"),
                    (None, Some(p50), Some(p95)) => format!("p50 {p50} ms, p95 {p95} ms"),
                    _ => "measured".to_owned(),
                }
            }
        };
        eprint(&format!(
            "block {} of at most {}, trial {} of 4, {}: {outcome}",
            block + 1,
            self.blocks,
            position + 1,
            self.names[cell.min(1)]
        ));
    }
}
