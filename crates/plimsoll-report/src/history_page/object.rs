//! The object of `plimsoll history --json`.

use std::collections::BTreeMap;

use plimsoll_analysis::experiment::history::{ChangeKind, HistoryChange};
use plimsoll_analysis::experiment::history_gate::{self, GateReason, GateVerdict, SeriesGate};
use plimsoll_analysis::experiment::run_series::{self, HistoryOptions, MetricSeries, RunSeries};
use plimsoll_analysis::stats::control_chart::Signal;
use plimsoll_model::history::HistoryEntry;
use plimsoll_model::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

use super::phrases;
use crate::pretty;

/// The output of `plimsoll history --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll history --json")]
pub struct HistoryObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// The answer of the gate for the newest runs.
    pub gate: GateObject,
    /// Runs that are compared with each other.
    pub series: Vec<SeriesObject>,
    /// All runs in the order of time.
    pub points: Vec<PointObject>,
    /// Changes for good, by series and metric, in the order of time.
    pub changes: Vec<ChangeObject>,
    /// Levels of a single run between two equal levels: no changes.
    pub spikes: Vec<ChangeObject>,
    /// The newest run of each series against the runs before it.
    pub charts: Vec<ChartObject>,
    /// Lines of the history that could not be read.
    pub damaged: Vec<DamagedObject>,
}

/// Answers of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateAnswer {
    /// Compared, and no worse: exit code 0.
    Passed,
    /// Nothing was compared, or a single run stands out: exit code 4.
    Undecided,
    /// The newest run is void: exit code 6.
    Void,
    /// It became worse: exit code 3.
    Regressed,
}

impl From<GateVerdict> for GateAnswer {
    fn from(verdict: GateVerdict) -> Self {
        match verdict {
            GateVerdict::Passed => Self::Passed,
            GateVerdict::Undecided => Self::Undecided,
            GateVerdict::Void => Self::Void,
            GateVerdict::Regressed => Self::Regressed,
        }
    }
}

/// The answer of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateObject {
    /// The worst of the answers below.
    pub verdict: GateAnswer,
    /// The answer in words.
    pub sentence: String,
    /// The newest run of each command and name.
    pub series: Vec<SeriesGateObject>,
}

/// The answer of the gate for the newest run of a command and name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesGateObject {
    /// Index into `series`.
    pub series: usize,
    /// The answer.
    pub verdict: GateAnswer,
    /// Metrics that were compared.
    pub compared: usize,
    /// The answer in words.
    pub sentence: String,
    /// The reasons for it in words; empty when it passed.
    pub reasons: Vec<String>,
    /// Metrics that became worse or stand out.
    pub metrics: Vec<String>,
}

/// Runs that are compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesObject {
    /// The command.
    pub command: String,
    /// Name of the plan.
    pub name: String,
    /// Digest of the plan.
    pub plan: String,
    /// Class of the machine that sent the load.
    pub machine: String,
    /// Number of runs.
    pub runs: usize,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointObject {
    /// When it began, RFC 3339.
    pub at: String,
    /// Index into `series`; null for a run older than the newest thousand of its series.
    pub series: Option<usize>,
    /// Commit that was measured; null outside of a repository.
    pub commit: Option<String>,
    /// Its judgement; null if unknown.
    pub verdict: Option<String>,
    /// Whether its metrics are compared.
    pub valid: bool,
    /// Metrics by name.
    pub metrics: BTreeMap<String, f64>,
}

/// A change of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeObject {
    /// When the first run of the new level began, RFC 3339.
    pub at: String,
    /// The metric.
    pub metric: String,
    /// Level before.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// `step`, `slide` or `spike`.
    pub kind: String,
    /// Whether it is for the worse; null for a metric of unknown direction.
    pub worse: Option<bool>,
    /// Index into `series`.
    pub series: usize,
    /// Index of the run within the runs of its series that have the metric, from 0.
    pub index: usize,
    /// Index into `points`.
    pub point: usize,
    /// The commits between which it came; null without commits.
    pub commits: Option<CommitRange>,
}

/// The last commit of the old level and the first of the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommitRange {
    /// Last commit of the old level.
    pub from: String,
    /// First commit of the new level.
    pub to: String,
}

/// The newest run on its control chart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChartObject {
    /// Index into `series`.
    pub series: usize,
    /// The metric.
    pub metric: String,
    /// Its value in the newest run.
    pub newest: f64,
    /// Centre of the accepted runs before.
    pub centre: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
    /// Index of the first run that the limits are made of, within the runs of its series that have the metric.
    pub since: usize,
    /// Why the newest run stands out: `outside`, `two_of_three`, `eight_on_a_side`; null if it does not.
    pub signal: Option<String>,
}

/// A line of the history that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DamagedObject {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl HistoryObject {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// The history of `entries`, which are in the order of time.
    pub fn of(
        entries: &[HistoryEntry],
        damaged: Vec<DamagedObject>,
        options: HistoryOptions,
    ) -> Self {
        let series = run_series::series(entries, options);
        let gates = history_gate::judge(&series, entries, options);
        let mut object = Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            gate: gate_object(&gates, &series, entries),
            series: series.iter().map(series_object).collect(),
            points: points(entries, &series),
            changes: Vec::new(),
            spikes: Vec::new(),
            charts: Vec::new(),
            damaged,
        };
        for (index, of_series) in series.iter().enumerate() {
            for metric in of_series.metrics() {
                object.add_metric(index, metric, entries);
            }
        }
        object
    }

    fn add_metric(&mut self, series: usize, metric: &MetricSeries, entries: &[HistoryEntry]) {
        for change in metric.changes() {
            let list = if change.kind == ChangeKind::Spike {
                &mut self.spikes
            } else {
                &mut self.changes
            };
            list.push(change_object(series, metric, change, entries));
        }
        if let Some((chart, newest)) = metric.chart().zip(metric.points().last()) {
            self.charts.push(ChartObject {
                series,
                metric: metric.name().to_owned(),
                newest: newest.1,
                centre: chart.limits.centre,
                low: chart.limits.low,
                high: chart.limits.high,
                since: chart.since,
                signal: chart.signal.map(|signal| signal_name(signal).to_owned()),
            });
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

/// The JSON schema of [`HistoryObject`].
pub fn schema() -> String {
    pretty::schema::<HistoryObject>()
}

fn series_object(series: &RunSeries) -> SeriesObject {
    let key = series.key();
    SeriesObject {
        command: key.command.clone(),
        name: key.name.clone(),
        plan: key.plan.clone(),
        machine: key.machine.clone(),
        runs: series.runs().len(),
    }
}

fn points(entries: &[HistoryEntry], series: &[RunSeries]) -> Vec<PointObject> {
    let mut points: Vec<PointObject> = entries
        .iter()
        .map(|entry| PointObject {
            at: entry.at.clone(),
            series: None,
            commit: entry.commit.clone(),
            verdict: entry
                .verdict
                .map(|verdict| verdict_name(verdict).to_owned()),
            valid: entry.is_valid(),
            metrics: entry.metrics.clone(),
        })
        .collect();
    for (index, of_series) in series.iter().enumerate() {
        for &run in of_series.runs() {
            points[run].series = Some(index);
        }
    }
    points
}

fn change_object(
    series: usize,
    metric: &MetricSeries,
    change: &HistoryChange,
    entries: &[HistoryEntry],
) -> ChangeObject {
    let (point, _) = metric.points()[change.index];
    ChangeObject {
        at: entries[point].at.clone(),
        metric: metric.name().to_owned(),
        before: change.before,
        after: change.after,
        p: change.p,
        kind: kind_name(change.kind).to_owned(),
        worse: metric.direction().map(|_| metric.is_worse(change)),
        series,
        index: change.index,
        point,
        commits: commits(metric, change, entries),
    }
}

/// The commits of the run before the new level and of its first; of a slide, of its first run and its last.
pub(super) fn commits(
    metric: &MetricSeries,
    change: &HistoryChange,
    entries: &[HistoryEntry],
) -> Option<CommitRange> {
    let points = metric.points();
    let (from, to) = if change.kind == ChangeKind::Slide {
        let next = metric
            .changes()
            .iter()
            .find(|next| next.kind == ChangeKind::Step && next.index > change.index);
        let end = next.map_or(points.len(), |next| next.index);
        (change.index, end.checked_sub(1)?)
    } else {
        (change.index.checked_sub(1)?, change.index)
    };
    let commit = |at: usize| entries[points.get(at)?.0].commit.clone();
    Some(CommitRange {
        from: commit(from)?,
        to: commit(to)?,
    })
}

fn gate_object(
    gates: &[SeriesGate<'_>],
    series: &[RunSeries],
    entries: &[HistoryEntry],
) -> GateObject {
    let of_series = |gate: &SeriesGate<'_>| SeriesGateObject {
        series: series
            .iter()
            .position(|series| std::ptr::eq(series, gate.series))
            .unwrap_or_default(),
        verdict: gate.verdict.into(),
        compared: gate.compared,
        sentence: phrases::gate_sentence(gate, entries),
        reasons: phrases::reasons(gate, entries),
        metrics: gate.reasons.iter().filter_map(metric_name).collect(),
    };
    let by_series: Vec<SeriesGateObject> = gates.iter().map(of_series).collect();
    let verdict = history_gate::worst(gates).into();
    GateObject {
        sentence: phrases::overall_sentence(verdict, &by_series),
        verdict,
        series: by_series,
    }
}

fn metric_name(reason: &GateReason<'_>) -> Option<String> {
    match reason {
        GateReason::Changed(metric, _) | GateReason::StandsOut(metric, _) => {
            Some(metric.name().to_owned())
        }
        GateReason::NothingCompared | GateReason::NewestIsVoid => None,
    }
}

fn kind_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Step => "step",
        ChangeKind::Slide => "slide",
        ChangeKind::Spike => "spike",
    }
}

fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Outside => "outside",
        Signal::TwoOfThree => "two_of_three",
        Signal::EightOnASide => "eight_on_a_side",
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::Missed => "missed",
        Verdict::Undecided => "undecided",
        Verdict::Unreachable => "unreachable",
        Verdict::Void => "void",
        Verdict::Interrupted => "interrupted",
    }
}
