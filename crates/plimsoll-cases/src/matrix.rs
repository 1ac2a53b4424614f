//! The page of a case's matrix, from what `plimsoll matrix --json` printed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use plimsoll_harness::page::{ReportPage, Table, percent};
use serde::Deserialize;

/// What stands beside the matrix of a case.
#[derive(Args)]
pub(crate) struct MatrixCaseArguments {
    /// Only start the servers that matrix.yaml needs, and stop them on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "serve", "smoke"])]
    pub(crate) stack: bool,
    /// Write the page of a matrix that was measured, from the output of `plimsoll matrix --json`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "serve", "smoke", "stack"])]
    pub(crate) matrix: Option<PathBuf>,
}

/// What the page takes from the output; its schema is `docs/reference/matrix.schema.json`.
#[derive(Deserialize)]
struct MeasuredMatrix {
    state: String,
    seed: u64,
    trials: Trials,
    seconds: f64,
    forecast: Option<Forecast>,
    axes: Vec<Axis>,
    metric: Option<String>,
    load_unit: String,
    cells: Vec<Cell>,
    effects: Vec<Effect>,
    interactions: Vec<Effect>,
    scales: Vec<Scale>,
    drift: Option<Drift>,
}

#[derive(Deserialize)]
struct Trials {
    total: u64,
    measured: u64,
    failed: u64,
    void: u64,
}

#[derive(Deserialize)]
struct Forecast {
    seconds: f64,
}

#[derive(Deserialize)]
struct Axis {
    name: String,
    levels: Vec<String>,
}

#[derive(Deserialize)]
struct Cell {
    levels: BTreeMap<String, String>,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    measured: usize,
    failed: usize,
    void: usize,
    may_be_best: bool,
}

#[derive(Deserialize)]
struct Effect {
    metric: String,
    factor: String,
    from: String,
    to: String,
    second_factor: Option<String>,
    second_levels: Option<(String, String)>,
    scale: String,
    estimate: f64,
    low: Option<f64>,
    high: Option<f64>,
    verdict: String,
    pairs: usize,
}

#[derive(Deserialize)]
struct Scale {
    factor: String,
    sec: Vec<(f64, f64)>,
    ess: Vec<(f64, f64, f64)>,
}

#[derive(Deserialize)]
struct Drift {
    change: f64,
    p: f64,
    references: usize,
}

/// Adds the tables of a matrix to a page.
///
/// # Errors
///
/// If the file is not the output of a complete matrix.
pub(crate) fn fill(page: &mut ReportPage, file: &Path) -> Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let matrix: MeasuredMatrix = serde_json::from_str(&text).with_context(|| {
        format!(
            "{} is not the output of `plimsoll matrix --json`",
            file.display()
        )
    })?;
    ensure!(
        matrix.state == "complete",
        "the matrix is not complete: {}; the same `plimsoll matrix` goes on with it",
        matrix.state
    );
    matrix.fill(page)
}

impl MeasuredMatrix {
    fn fill(&self, page: &mut ReportPage) -> Result<()> {
        let metric = self.metric.as_deref().context("nothing was measured")?;
        page.paragraph(&self.course());
        page.requirement(
            "the whole matrix in at most 60 minutes",
            Some(&format!("{:.0} minutes", self.seconds / 60.0)),
            Some(self.seconds <= 3600.0),
        );
        page.chapter(&format!("{} in each cell", self.title(metric)));
        page.table(&self.cells_table());
        page.paragraph(
            "In brackets the 95 % interval; bold: cannot be told from the best cell by these trials.",
        );
        page.chapter("What each setting does");
        page.table(&effects_table(metric, &self.effects));
        let decided: Vec<&Effect> = self
            .interactions
            .iter()
            .filter(|it| it.is_decided())
            .collect();
        page.paragraph(&format!(
            "Of {} interactions of two settings, {} can be told from none.",
            self.interactions.len(),
            decided.len()
        ));
        if !decided.is_empty() {
            page.table(&interactions_table(&decided));
        }
        self.fill_scales(page);
        Ok(())
    }

    /// How the measurement went.
    fn course(&self) -> String {
        let Trials {
            total,
            measured,
            failed,
            void,
        } = self.trials;
        let forecast = self.forecast.as_ref().map_or_else(String::new, |forecast| {
            format!(
                " (forecast after the first block: {:.1})",
                forecast.seconds / 60.0
            )
        });
        let drift = self.drift.as_ref().map_or_else(String::new, |drift| {
            format!(
                " From the first to the last of {} reference trials the machine drifted by a factor of {:.2} (p = {:.2}).",
                drift.references, drift.change, drift.p
            )
        });
        format!(
            "{total} trials in {:.1} minutes{forecast}: {measured} measured, {failed} failed, {void} void; seed {}.{drift}",
            self.seconds / 60.0,
            self.seed,
        )
    }

    fn title(&self, metric: &str) -> String {
        match metric {
            "load_line" => format!("Load line ({})", self.load_unit),
            "p95" => "p95 (ms)".to_owned(),
            other => other.to_owned(),
        }
    }

    /// Axes whose level does not follow from that of an axis before it.
    fn own_axes(&self) -> Vec<&Axis> {
        let follows = |axis: &Axis, earlier: &Axis| {
            earlier.levels.iter().all(|level| {
                let mut levels = self.cells.iter().filter_map(|cell| {
                    let is_of_level = cell.levels.get(&earlier.name) == Some(level);
                    is_of_level.then(|| cell.levels.get(&axis.name))
                });
                let first = levels.next();
                levels.all(|level| Some(level) == first)
            })
        };
        let mut own: Vec<&Axis> = Vec::new();
        for axis in &self.axes {
            if !own.iter().any(|earlier| follows(axis, earlier)) {
                own.push(axis);
            }
        }
        own
    }

    /// The levels of the last axis side by side.
    fn cells_table(&self) -> Table {
        let axes = self.own_axes();
        let Some((across, down)) = axes.split_last() else {
            return Table::default();
        };
        let head = down.iter().map(|axis| axis.name.clone());
        let columns = across
            .levels
            .iter()
            .map(|level| format!("{} {level}", across.name));
        let mut table = Table::new(head.chain(columns));
        let key = |cell: &Cell| -> Vec<String> {
            down.iter()
                .map(|axis| cell.levels.get(&axis.name).cloned().unwrap_or_default())
                .collect()
        };
        let mut keys: Vec<Vec<String>> = self.cells.iter().map(key).collect();
        keys.dedup();
        for row in keys {
            let values = across.levels.iter().map(|level| {
                let of_row =
                    |cell: &&Cell| key(cell) == row && cell.levels.get(&across.name) == Some(level);
                self.cells
                    .iter()
                    .find(of_row)
                    .map_or_else(|| "–".to_owned(), Cell::text)
            });
            let values: Vec<String> = values.collect();
            table.row(row.iter().chain(&values));
        }
        table
    }

    fn fill_scales(&self, page: &mut ReportPage) {
        if self.scales.is_empty() {
            return;
        }
        page.chapter("How it scales");
        let mut table = Table::new(["setting", "per unit of it", "of linear growth, by step"]);
        for scale in &self.scales {
            let per_unit = scale
                .sec
                .iter()
                .map(|(level, value)| format!("{level}: {value:.1}"));
            let steps = scale
                .ess
                .iter()
                .map(|(from, to, share)| format!("{from} to {to}: {}", percent(*share)));
            table.row([
                scale.factor.clone(),
                per_unit.collect::<Vec<_>>().join(", "),
                steps.collect::<Vec<_>>().join(", "),
            ]);
        }
        page.table(&table);
    }
}

fn effects_table(metric: &str, effects: &[Effect]) -> Table {
    let mut table = Table::new(["setting", "from", "to", "effect", "95 %", "", "pairs"]);
    for effect in effects.iter().filter(|effect| effect.metric == metric) {
        table.row([
            effect.factor.as_str(),
            &effect.from,
            &effect.to,
            &effect.size(),
            &effect.interval(),
            effect.word(),
            &effect.pairs.to_string(),
        ]);
    }
    table
}

fn interactions_table(effects: &[&Effect]) -> Table {
    let mut table = Table::new(["setting", "with", "effect beyond both", "95 %", "pairs"]);
    for effect in effects {
        let (from, to) = effect.second_levels.clone().unwrap_or_default();
        table.row([
            format!("{} {} to {}", effect.factor, effect.from, effect.to),
            format!(
                "{} {from} to {to}",
                effect.second_factor.as_deref().unwrap_or_default()
            ),
            effect.size(),
            effect.interval(),
            effect.pairs.to_string(),
        ]);
    }
    table
}

impl Cell {
    fn text(&self) -> String {
        let Some(value) = self.value else {
            return format!("no result ({} failed, {} void)", self.failed, self.void);
        };
        let digits = digits(value);
        let interval = match (self.low, self.high) {
            (Some(low), Some(high)) => format!(" ({low:.digits$}–{high:.digits$})"),
            _ => String::new(),
        };
        let mut text = format!("{value:.digits$}{interval}");
        if self.may_be_best {
            text = format!("**{text}**");
        }
        let trials = self.measured + self.failed + self.void;
        if self.measured < trials {
            text = format!("{text}, {} of {trials} trials", self.measured);
        }
        text
    }
}

/// Digits after the point, for three that count.
fn digits(value: f64) -> usize {
    match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    }
}

impl Effect {
    fn is_decided(&self) -> bool {
        matches!(self.verdict.as_str(), "better" | "worse")
    }

    fn text(&self, value: f64) -> String {
        match self.scale.as_str() {
            "ratio" => format!("x {value:.2}"),
            _ => format!("{value:+.2}"),
        }
    }

    fn size(&self) -> String {
        self.text(self.estimate)
    }

    fn interval(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} to {}", self.text(low), self.text(high)),
            _ => "–".to_owned(),
        }
    }

    fn word(&self) -> &str {
        match self.verdict.as_str() {
            "too_few" => "too few trials",
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell_of(cores: &str, users: &str, value: f64) -> serde_json::Value {
        let edge = if cores == "1" { "none" } else { "edge.yaml" };
        json!({
            "levels": { "cores": cores, "edge": edge, "users": users },
            "value": value, "low": value * 0.9, "high": value * 1.1,
            "measured": 3, "failed": 0, "void": 0, "may_be_best": cores == "2" && users == "50",
        })
    }

    fn matrix() -> serde_json::Value {
        let effect = json!({
            "metric": "p95", "factor": "cores", "from": "1", "to": "2", "scale": "ratio",
            "estimate": 0.5, "low": 0.4, "high": 0.6, "verdict": "better", "pairs": 6,
        });
        let mut interaction = effect.clone();
        interaction["second_factor"] = json!("users");
        interaction["second_levels"] = json!(["50", "150"]);
        json!({
            "state": "complete", "seed": 7, "seconds": 1800.0, "metric": "p95", "load_unit": "req/s",
            "trials": { "total": 13, "measured": 12, "failed": 1, "void": 0 },
            "forecast": { "seconds": 1700.0 },
            "axes": [
                { "name": "cores", "levels": ["1", "2"] },
                { "name": "edge", "levels": ["none", "edge.yaml"] },
                { "name": "users", "levels": ["50", "150"] },
            ],
            "cells": [
                cell_of("1", "50", 20.0), cell_of("1", "150", 400.0), cell_of("2", "50", 9.0), cell_of("2", "150", 30.0),
            ],
            "effects": [effect], "interactions": [interaction],
            "scales": [{ "factor": "cores", "sec": [[1.0, 80.0], [2.0, 75.0]], "ess": [[1.0, 2.0, 0.94]] }],
            "drift": { "change": 1.02, "p": 0.4, "references": 4 },
        })
    }

    fn page(matrix: &serde_json::Value) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("matrix.json");
        fs::write(&file, matrix.to_string())?;
        let mut page = ReportPage::blank("A matrix");
        fill(&mut page, &file)?;
        Ok(page.finish())
    }

    #[test]
    fn a_page_has_cells_effects_and_interactions() {
        let page = page(&matrix()).unwrap();
        for line in [
            "13 trials in 30.0 minutes (forecast after the first block: 28.3): 12 measured, 1 failed, 0 void; seed 7.",
            "| the whole matrix in at most 60 minutes | 30 minutes | met |",
            "| cores | users 50 | users 150 |",
            "| 1 | 20.0 (18.0–22.0) | 400 (360–440) |",
            "| 2 | **9.00 (8.10–9.90)** | 30.0 (27.0–33.0) |",
            "| cores | 1 | 2 | x 0.50 | x 0.40 to x 0.60 | better | 6 |",
            "| cores 1 to 2 | users 50 to 150 | x 0.50 | x 0.40 to x 0.60 | 6 |",
            "| cores | 1: 80.0, 2: 75.0 | 1 to 2: 94.0 % |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_complete_has_no_page() {
        let mut interrupted = matrix();
        interrupted["state"] = json!("interrupted");
        let error = page(&interrupted).unwrap_err().to_string();
        assert!(error.contains("not complete"), "{error}");
    }
}
