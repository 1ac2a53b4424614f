//! A matrix as a cycle of a record: from the reference cell to the best other cell.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_analysis::experiment::result::{CellChange, MatrixResult, MatrixTrials, REFERENCE};
use plimsoll_lab::experiment::trial::TrialRecord;
use plimsoll_lab::run_log;
use plimsoll_model::cycle::{CYCLE_FORMAT, CycleEntry, CycleResult};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::experiment::ExperimentEnd;

use super::results::Outcome;
use crate::cycles::{CycleTarget, limit_of};
use crate::explain::CliError;
use crate::screen::eprint;

/// Run files of a cell that are read for its limit.
const RUNS_MAX: usize = 5;

/// Appends the best change to the record; one that cannot be judged is left out, which is reported.
pub(super) fn append(
    target: &CycleTarget,
    outcome: &Outcome<'_>,
    input: &MatrixTrials,
    result: &MatrixResult,
    folder: &Path,
) -> Result<(), CliError> {
    if outcome.end == ExperimentEnd::Interrupted {
        eprint("note: the matrix was interrupted; the record of cycles is unchanged");
        return Ok(());
    }
    let change = result.best_change(input);
    let Some((change, metric)) = change.zip(result.metric.as_deref()) else {
        eprint("note: no cell was measured beside the first; the record of cycles is unchanged");
        return Ok(());
    };
    let limit = |cell: usize| limit_of_cell(outcome.records, cell, folder);
    target.append_matrix(CycleEntry {
        format: CYCLE_FORMAT,
        at: outcome.header.started_at.clone(),
        name: outcome.experiment.name.clone(),
        commit: None,
        change: Some(change_text(outcome.experiment, change.cell)),
        objective: outcome.objective.map(ToString::to_string),
        result: comparison(result, change, metric, limit(REFERENCE)),
        limit: limit(change.cell),
        plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

fn comparison(
    result: &MatrixResult,
    change: CellChange,
    metric: &str,
    limit_before: Option<String>,
) -> CycleResult {
    let finite = |value: f64| value.is_finite().then_some(value);
    let (before, after) = (&result.cells[REFERENCE], &result.cells[change.cell]);
    CycleResult::Comparison {
        metric: metric.to_owned(),
        verdict: match change.verdict {
            EffectVerdict::Better => "better",
            EffectVerdict::Worse => "worse",
            EffectVerdict::Same => "same",
            EffectVerdict::Undecided | EffectVerdict::TooFew => "undecided",
        }
        .to_owned(),
        before: before.level,
        after: after.level,
        before_interval: before.interval,
        after_interval: after.interval,
        estimate: finite(change.effect.estimate()),
        low: finite(change.effect.low()),
        high: finite(change.effect.high()),
        limit_before,
    }
}

/// What differs from the reference cell: `workers 1 → 4, cache none → page`.
fn change_text(experiment: &Experiment, cell: usize) -> String {
    let cells = experiment.listed();
    let (Some(before), Some(after)) = (cells.get(REFERENCE), cells.get(cell)) else {
        return String::new();
    };
    let design = &experiment.design;
    let axes = design.axes().iter().enumerate();
    let changed = axes.filter_map(|(axis, described)| {
        let [before, after] =
            [before, after].map(|cell| design.level_text(cell, axis).unwrap_or("–"));
        (before != after).then(|| format!("{} {before} → {after}", described.name()))
    });
    changed.collect::<Vec<_>>().join(", ")
}

/// The limit that most of the last run files of a cell name; run files that cannot be read are passed over.
fn limit_of_cell(records: &[TrialRecord], cell: usize, folder: &Path) -> Option<String> {
    let of_cell = records.iter().rev();
    let files = of_cell
        .filter(|record| record.trial.cell == cell)
        .flat_map(|record| record.runs.iter());
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in files.take(RUNS_MAX) {
        let run = run_log::read(&folder.join(file)).ok();
        if let Some(limit) = run.and_then(|reading| limit_of(&reading.run)) {
            *counts.entry(limit).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(limit, _)| limit)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::{Axis, CellList, Design};

    use super::super::cost::tests::experiment;
    use super::*;

    #[test]
    fn a_change_names_the_settings_that_differ() {
        let levels = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect();
        let mut experiment = experiment(Vec::new());
        experiment.design = Design::new(vec![
            Axis::new("workers", levels(&["1", "4"])),
            Axis::new("cache", levels(&["none", "page"])),
        ]);
        experiment.cells = CellList::Listed(experiment.design.cells().unwrap());
        assert_eq!(
            change_text(&experiment, 3),
            "workers 1 → 4, cache none → page"
        );
        assert_eq!(change_text(&experiment, 1), "cache none → page");
    }
}
