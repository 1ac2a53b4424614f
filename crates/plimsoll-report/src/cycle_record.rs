//! A record of cycles: one object as JSON, and a table in Markdown that also reads on a terminal.

use std::fmt::Write as _;

use plimsoll_analysis::experiment::cycles::{self, Cycle};
use plimsoll_model::cycle::{CycleEntry, CycleResult};
use plimsoll_model::plan::LoadUnit;
use schemars::JsonSchema;
use serde::Serialize;

use crate::history_page::{day, escaped, metric_label, quantity};
use crate::number::{load, short};
use crate::pretty;

/// The output of `plimsoll ledger --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll ledger --json")]
pub struct RecordObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// The cycles in the order of time.
    pub cycles: Vec<CycleObject>,
    /// Lines of the record that could not be read.
    pub damaged: Vec<DamagedCycleObject>,
}

/// A cycle: a measurement, and what it is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CycleObject {
    /// Number within its name, from 0: a first measurement has nothing before it.
    pub number: usize,
    /// When the measurement began, RFC 3339.
    pub at: String,
    /// Name of the plan.
    pub name: String,
    /// Commit that was measured; null outside of a repository.
    pub commit: Option<String>,
    /// The objective; null when nothing was judged.
    pub objective: Option<String>,
    /// The limit that the change was made against; null when none was found.
    pub diagnosis: Option<String>,
    /// What was changed; null when it was not given.
    pub change: Option<String>,
    /// The metric that was measured.
    pub metric: String,
    /// Before the change; null for a first measurement.
    pub before: Option<LevelObject>,
    /// After the change; null without a result.
    pub after: Option<LevelObject>,
    /// After over before; null where either is missing.
    pub gain: Option<LevelObject>,
    /// Why there is no result; null with one.
    pub no_result: Option<String>,
    /// The limit that was found after the change; null when none was found.
    pub next_limit: Option<String>,
}

/// A value with its interval: of 90 % for lines of searches, of 95 % for gains and cells of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelObject {
    /// The value.
    pub value: f64,
    /// Lower end; null without an interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// A line of the record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DamagedCycleObject {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl RecordObject {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// The record of `entries`, which are in the order of time.
    pub fn of(entries: &[CycleEntry], damaged: Vec<DamagedCycleObject>) -> Self {
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            cycles: cycles::cycles(entries).iter().map(cycle_object).collect(),
            damaged,
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }

    /// As Markdown: a table for each name.
    pub fn markdown(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for cycle in &self.cycles {
            if !names.contains(&cycle.name.as_str()) {
                names.push(&cycle.name);
            }
        }
        let mut text = String::from("# Cycles\n\n");
        text.push_str(
            "Load lines have 90 % intervals, gains and cells of a matrix 95 % intervals.\n",
        );
        if self.cycles.is_empty() {
            text.push_str("\nNothing was measured yet.\n");
        }
        for name in names {
            let of_name = self.cycles.iter().filter(|cycle| cycle.name == name);
            table(name, &of_name.collect::<Vec<_>>(), &mut text);
        }
        text
    }
}

/// The JSON schema of [`RecordObject`].
pub fn schema() -> String {
    pretty::schema::<RecordObject>()
}

fn cycle_object(cycle: &Cycle<'_>) -> CycleObject {
    let after = cycle.after;
    let (metric, before_level, after_level) = levels(cycle);
    CycleObject {
        number: cycle.number,
        at: after.at.clone(),
        name: after.name.clone(),
        commit: after.commit.clone(),
        objective: after.objective.clone(),
        diagnosis: cycle.diagnosis().map(str::to_owned),
        change: after.change.clone(),
        metric,
        before: before_level,
        after: after_level,
        gain: cycle.gain.map(|gain| LevelObject {
            value: gain.value,
            low: gain.low,
            high: gain.high,
        }),
        no_result: match &after.result {
            CycleResult::NoLine { reason } => Some(reason.clone()),
            _ => None,
        },
        next_limit: after.limit.clone(),
    }
}

/// The metric, and its levels before and after.
fn levels(cycle: &Cycle<'_>) -> (String, Option<LevelObject>, Option<LevelObject>) {
    let single = |value: Option<f64>, interval: Option<(f64, f64)>| {
        value.map(|value| LevelObject {
            value,
            low: interval.map(|interval| interval.0),
            high: interval.map(|interval| interval.1),
        })
    };
    if let CycleResult::Comparison {
        metric,
        before,
        after,
        before_interval,
        after_interval,
        ..
    } = &cycle.after.result
    {
        let (before, after) = (
            single(*before, *before_interval),
            single(*after, *after_interval),
        );
        return (metric.clone(), before, after);
    }
    let before = cycle.before.and_then(|before| line(&before.result));
    let after = line(&cycle.after.result);
    let unit = after
        .or(before)
        .map_or_else(LoadUnit::default, |(unit, _)| unit);
    let metric = format!("load line, {}", unit.symbol());
    (
        metric,
        before.map(|(_, level)| level),
        after.map(|(_, level)| level),
    )
}

fn line(result: &CycleResult) -> Option<(LoadUnit, LevelObject)> {
    match *result {
        CycleResult::Line {
            unit,
            low,
            median,
            high,
            ..
        } => Some((
            unit,
            LevelObject {
                value: median,
                low: Some(low),
                high: Some(high),
            },
        )),
        _ => None,
    }
}

fn table(name: &str, cycles: &[&CycleObject], text: &mut String) {
    let _ = writeln!(text, "\n## {}\n", escaped(name));
    text.push_str("| | at | diagnosis | change | before | after | gain | next limit |\n");
    text.push_str("|---:|---|---|---|---:|---:|---:|---|\n");
    for cycle in cycles {
        let word = |text: &Option<String>| text.as_deref().map_or_else(|| "–".to_owned(), escaped);
        let change = match (&cycle.change, &cycle.commit) {
            (None, Some(commit)) => escaped(&commit.chars().take(10).collect::<String>()),
            (change, _) => word(change),
        };
        let after = match &cycle.no_result {
            Some(reason) => format!("no line: {}", escaped(reason)),
            None => level(&cycle.metric, cycle.after),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {change} | {} | {after} | {} | {} |",
            cycle.number,
            escaped(&day(&cycle.at)),
            word(&cycle.diagnosis),
            level(&cycle.metric, cycle.before),
            gain(cycle.gain),
            word(&cycle.next_limit),
        );
    }
}

/// `241 req/s (230 to 250)`.
fn level(metric: &str, level: Option<LevelObject>) -> String {
    let Some(level) = level else {
        return "–".to_owned();
    };
    let unit = [
        LoadUnit::RequestsPerSecond,
        LoadUnit::Users,
        LoadUnit::SessionsPerSecond,
    ]
    .into_iter()
    .find(|unit| metric.ends_with(unit.symbol()));
    let value = match unit {
        Some(unit) => load(level.value, unit),
        None => format!("{} {}", metric_label(metric), quantity(metric, level.value)),
    };
    match (level.low, level.high) {
        (Some(low), Some(high)) if unit.is_none() => format!(
            "{value} ({} to {})",
            quantity(metric, low),
            quantity(metric, high)
        ),
        (Some(low), Some(high)) => format!("{value} ({} to {})", short(low), short(high)),
        _ => value,
    }
}

/// `× 1.83 (1.6 to 2.1)`.
fn gain(gain: Option<LevelObject>) -> String {
    let Some(gain) = gain else {
        return "–".to_owned();
    };
    match (gain.low, gain.high) {
        (Some(low), Some(high)) => {
            format!(
                "× {} ({} to {})",
                short(gain.value),
                short(low),
                short(high)
            )
        }
        _ => format!("× {}", short(gain.value)),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cycle::CYCLE_FORMAT;

    use super::*;

    fn entry(change: &str, line: [f64; 3], limit: &str) -> CycleEntry {
        let [low, median, high] = line;
        CycleEntry {
            format: CYCLE_FORMAT,
            at: "2026-11-26T10:00:00Z".to_owned(),
            name: "site".to_owned(),
            commit: None,
            change: (!change.is_empty()).then(|| change.to_owned()),
            objective: Some("p95 < 800ms".to_owned()),
            result: CycleResult::Line {
                unit: LoadUnit::RequestsPerSecond,
                low,
                median,
                high,
                confirmed: true,
            },
            limit: Some(limit.to_owned()),
            plimsoll: String::new(),
        }
    }

    #[test]
    fn a_record_reads_as_diagnose_change_measure() {
        let entries = [
            entry("", [90.0, 100.0, 110.0], "CPU of node"),
            entry("cache | pages", [180.0, 200.0, 220.0], "pool of db"),
        ];
        let record = RecordObject::of(&entries, Vec::new());
        let text = record.markdown();
        let expected = "| 1 | 2026-11-26 10:00 | CPU of node | cache \\| pages | 100 req/s (90 to 110) | \
                        200 req/s (180 to 220) | × 2 (1.69 to 2.37) | pool of db |\n";
        assert!(text.contains(expected), "{text}");
        assert!(
            text.contains("| 0 | 2026-11-26 10:00 | – | – | – |"),
            "{text}"
        );
        let mut of_matrix = entry("workers 1 → 4", [1.0, 1.0, 1.0], "");
        of_matrix.result = CycleResult::Comparison {
            metric: "p95".to_owned(),
            verdict: "better".to_owned(),
            before: Some(200.0),
            after: Some(100.0),
            before_interval: Some((190.0, 210.0)),
            after_interval: Some((90.0, 110.0)),
            estimate: Some(0.5),
            low: Some(0.4),
            high: Some(0.6),
            limit_before: Some("CPU".to_owned()),
        };
        let text = RecordObject::of(&[of_matrix], Vec::new()).markdown();
        let levels =
            "p95 200 ms (190 ms to 210 ms) | p95 100 ms (90 ms to 110 ms) | × 0.5 (0.4 to 0.6)";
        assert!(text.contains(levels), "{text}");
        let empty = RecordObject::of(&[], Vec::new());
        assert!(empty.markdown().contains("Nothing was measured yet"));
    }
}
