//! The trials as a table, one row each: the trial, the levels of its axes between `seconds` and `runs`, and its metrics.

use std::collections::BTreeSet;

use super::{MatrixReport, MatrixTrial, TrialResult};
use crate::export_table::{ColumnValues, ExportTable};
use crate::parquet::ParquetError;

/// Columns that are neither an axis nor a metric.
const COLUMNS: [&str; 11] = [
    "trial", "block", "position", "role", "cell", "seed", "validity", "reason", "began_s",
    "seconds", "runs",
];

/// The trials as CSV.
pub fn csv(report: &MatrixReport<'_>) -> String {
    crate::csv::file(&table(report))
}

/// The trials as Parquet.
///
/// # Errors
/// When the library refuses the table.
pub fn parquet(report: &MatrixReport<'_>) -> Result<Vec<u8>, ParquetError> {
    crate::parquet::file("trials", &table(report))
}

fn table(report: &MatrixReport<'_>) -> ExportTable {
    let trials = report.trials;
    let metrics = metric_names(trials);
    let mut table = ExportTable::default();
    about(&mut table, trials);
    for (axis, name) in report.axes.iter().enumerate() {
        let is_taken = COLUMNS.contains(&name.as_str()) || metrics.contains(&name.as_str());
        let column = if is_taken {
            format!("axis_{name}")
        } else {
            name.clone()
        };
        table.push(column, levels(report, axis));
    }
    table.texts("runs", trials.iter().map(|trial| trial.runs.join(" ")));
    for name in metrics {
        let values = trials.iter().map(|trial| match &trial.result {
            TrialResult::Measured(metrics) => metrics.get(name).copied(),
            _ => None,
        });
        table.push(name, ColumnValues::Numbers(values.collect()));
    }
    table
}

fn about(table: &mut ExportTable, trials: &[MatrixTrial]) {
    let number = |of: fn(&MatrixTrial) -> u32| trials.iter().map(move |trial| u64::from(of(trial)));
    table.counts("trial", number(|trial| trial.index));
    table.counts("block", number(|trial| trial.block));
    table.counts("position", number(|trial| trial.position));
    let role = |trial: &MatrixTrial| {
        if trial.is_reference {
            "reference"
        } else {
            "cell"
        }
    };
    table.texts("role", trials.iter().map(|trial| role(trial).to_owned()));
    table.counts("cell", trials.iter().map(|trial| trial.cell as u64));
    // As text: 64 bits fit neither a double nor a signed number.
    table.texts("seed", trials.iter().map(|trial| trial.seed.to_string()));
    let validity = |trial: &MatrixTrial| match trial.result {
        TrialResult::Measured(_) => "measured",
        TrialResult::Failed(_) => "failed",
        TrialResult::Void(_) => "void",
    };
    table.texts(
        "validity",
        trials.iter().map(|trial| validity(trial).to_owned()),
    );
    let reasons = trials.iter().map(|trial| match &trial.result {
        TrialResult::Measured(_) => None,
        TrialResult::Failed(reason) | TrialResult::Void(reason) => Some(reason.clone()),
    });
    table.push("reason", ColumnValues::Texts(reasons.collect()));
    table.numbers("began_s", trials.iter().map(|trial| trial.began_s));
    table.numbers("seconds", trials.iter().map(|trial| trial.lasted_s));
}

/// The levels of an axis: as numbers when all are.
fn levels(report: &MatrixReport<'_>, axis: usize) -> ColumnValues {
    let level = |trial: &MatrixTrial| report.cells.get(trial.cell)?.get(axis)?.clone();
    let texts: Vec<Option<String>> = report.trials.iter().map(level).collect();
    let all = report
        .cells
        .iter()
        .filter_map(|cell| cell.get(axis)?.as_ref());
    let is_number = |text: &String| text.parse::<f64>().is_ok_and(f64::is_finite);
    if all.clone().next().is_none() || !all.clone().all(is_number) {
        return ColumnValues::Texts(texts);
    }
    let number = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
    ColumnValues::Numbers(texts.into_iter().map(number).collect())
}

/// Names of all metrics, those of the whole load before those of steps and processes.
fn metric_names(trials: &[MatrixTrial]) -> Vec<&str> {
    let mut names: BTreeSet<(bool, &str)> = BTreeSet::new();
    for trial in trials {
        if let TrialResult::Measured(metrics) = &trial.result {
            names.extend(
                metrics
                    .keys()
                    .map(|name| (name.contains('{'), name.as_str())),
            );
        }
    }
    names.into_iter().map(|(_, name)| name).collect()
}
