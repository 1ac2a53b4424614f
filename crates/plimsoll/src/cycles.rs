//! `plimsoll ledger`, and what `--ledger FILE` appends to it: diagnose, change, measure again.

use std::path::{Path, PathBuf};

use plimsoll_analysis::experiment::comparison::{Comparison, ComparisonVerdict, MetricWeight};
use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_lab::{cycles as record, history};
use plimsoll_model::cycle::{CYCLE_FORMAT, CycleEntry, CycleResult};
use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;
use plimsoll_report::Report;
use plimsoll_report::answer;
use plimsoll_report::cycle_record::{DamagedCycleObject, RecordObject};

use crate::arguments::{CycleTargetArguments, CyclesArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::line_files;
use crate::screen::{eprint, print};

/// Prints a record.
pub(crate) fn cycles(arguments: &CyclesArguments) -> Result<Exit, CliError> {
    let loaded = record::read(&arguments.file).map_err(|error| {
        line_files::read_error(&error, "give the file that was given to --ledger")
    })?;
    line_files::warn(&loaded.damaged, &arguments.file);
    let damaged = loaded.damaged.into_iter().map(|line| DamagedCycleObject {
        line: line.line,
        what: line.what,
    });
    let object = RecordObject::of(&loaded.entries, damaged.collect());
    print(&if arguments.json {
        object.json()
    } else {
        object.markdown()
    });
    Ok(if object.damaged.is_empty() {
        Exit::Met
    } else {
        Exit::Usage
    })
}

/// The record that a result is appended to.
#[derive(Clone, Debug)]
pub(crate) struct CycleTarget {
    file: PathBuf,
    change: Option<String>,
    commit: Option<String>,
}

impl CycleTarget {
    /// The record that the arguments name, if any; without `commit`, it is that of the working folder.
    pub(crate) fn of(arguments: &CycleTargetArguments, commit: Option<&str>) -> Option<Self> {
        let commit = commit.map(str::to_owned);
        Some(Self {
            file: arguments.record.clone()?,
            change: arguments.change.clone(),
            commit: commit.or_else(|| history::head_commit(Path::new("."))),
        })
    }

    /// Appends a search; one without a measurement is left out, which is reported.
    pub(crate) fn append_search(&self, run: &Run) -> Result<(), CliError> {
        let verdict = run.ending.as_ref().map(|ending| ending.verdict);
        if matches!(
            verdict,
            None | Some(Verdict::Interrupted | Verdict::Void | Verdict::Unreachable)
        ) {
            eprint("note: nothing was measured; the record of cycles is unchanged");
            return Ok(());
        }
        self.append(run, search_result(run), limit_of(run))
    }

    /// Appends a comparison; its `limit_before` is that of the baseline.
    pub(crate) fn append_comparison(
        &self,
        baseline: &Run,
        candidate: &Run,
        comparison: &Comparison,
    ) -> Result<(), CliError> {
        let Some(result) = comparison_result(baseline, comparison) else {
            eprint("note: no metric was compared; the record of cycles is unchanged");
            return Ok(());
        };
        self.append(candidate, result, limit_of(candidate))
    }

    fn append(
        &self,
        run: &Run,
        result: CycleResult,
        limit: Option<String>,
    ) -> Result<(), CliError> {
        let header = &run.header;
        self.write(&CycleEntry {
            format: CYCLE_FORMAT,
            at: header.started_at.clone(),
            name: header.plan.name.clone(),
            commit: self.commit.clone(),
            change: self.change.clone(),
            objective: header.plan.objective.as_ref().map(ToString::to_string),
            result,
            limit,
            plimsoll: header.versions.get("plimsoll").cloned().unwrap_or_default(),
        })
    }

    /// Appends the best change of a matrix, unless the record has it: a complete matrix may be shown again.
    pub(crate) fn append_matrix(&self, mut entry: CycleEntry) -> Result<(), CliError> {
        let known = if self.file.exists() {
            record::read(&self.file).ok()
        } else {
            None
        };
        let is_known = known.is_some_and(|known| {
            let mut entries = known.entries.iter();
            entries.any(|known| (&known.name, &known.at) == (&entry.name, &entry.at))
        });
        if is_known {
            eprint("note: the record of cycles has this matrix already");
            return Ok(());
        }
        entry.commit.clone_from(&self.commit);
        if self.change.is_some() {
            entry.change.clone_from(&self.change);
        }
        self.write(&entry)
    }

    fn write(&self, entry: &CycleEntry) -> Result<(), CliError> {
        record::append(&self.file, entry).map_err(|error| {
            line_files::append_error(&error, "the result is not in the record", "--ledger FILE")
        })
    }
}

fn search_result(run: &Run) -> CycleResult {
    let unit = run.header.plan.find.map(|find| find.unit);
    let unit = unit.unwrap_or_default();
    let search = run.search.as_ref().map(|search| &search.line);
    let known = match search {
        Some(Ok(line)) => Some((line.unit, [line.low, line.median, line.high], true)),
        Some(Err(none)) => none.estimate().map(|estimate| {
            let ends = [estimate.low, estimate.median, estimate.high];
            (unit, ends, false)
        }),
        None => None,
    };
    let Some((unit, [low, median, high], confirmed)) = known else {
        let report = Report::of(run);
        return CycleResult::NoLine {
            reason: answer::reason(&report).unwrap_or_else(|| answer::sentence(&report)),
        };
    };
    CycleResult::Line {
        unit,
        low,
        median,
        high,
        confirmed,
    }
}

/// The metric that decides: of those that differ the first, else the first main one.
fn comparison_result(baseline: &Run, comparison: &Comparison) -> Option<CycleResult> {
    let metrics = comparison.metrics();
    let wanted = match comparison.verdict() {
        ComparisonVerdict::Better => EffectVerdict::Better,
        ComparisonVerdict::Worse => EffectVerdict::Worse,
        ComparisonVerdict::Same => EffectVerdict::Same,
        ComparisonVerdict::Undecided | ComparisonVerdict::Incomparable => EffectVerdict::Undecided,
    };
    let deciding = metrics
        .iter()
        .find(|metric| metric.weight != MetricWeight::Reported && metric.verdict == wanted);
    let main = || {
        metrics
            .iter()
            .find(|metric| metric.weight == MetricWeight::Main)
    };
    let metric = deciding.or_else(main)?;
    Some(CycleResult::Comparison {
        metric: metric.name.to_owned(),
        verdict: comparison.verdict().name().to_owned(),
        before: metric.baseline,
        after: metric.candidate,
        before_interval: None,
        after_interval: None,
        estimate: metric.estimate,
        low: metric.low,
        high: metric.high,
        limit_before: limit_of(baseline),
    })
}

/// The limit that is most likely.
pub(crate) fn limit_of(run: &Run) -> Option<String> {
    let likely = |finding: &&Finding| finding.certainty != Certainty::Demoted;
    run.findings
        .iter()
        .find(likely)
        .map(|finding| finding.limit.clone())
}
