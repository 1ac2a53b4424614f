//! The runs of a history that may be compared, and where their metrics changed.
//!
//! Runs are compared that have one command, name, plan and class of machine. Void runs keep their place and have no value.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::history::{HistoryEntry, SeriesKey};

use super::effect::Direction;
use super::history::{self, ChangeKind, HistoryChange, RUNS_MIN};
use super::metrics::{self, MetricDefinition};
use super::trial::Scale;
use crate::stats::control_chart::{Limits, Signal};
use crate::stats::divisive::Parameters;

/// Runs of a series that are looked at: the newest.
pub const RUNS_MAX: usize = 1_000;
/// Valid runs before a run that its control chart takes at least.
pub const CHART_RUNS_MIN: usize = 5;
/// Smallest difference of a share that is worth a word.
const SHARE_DIFFERENCE_MIN: f64 = 0.005;
/// Metrics that are compared, by their names without labels: the others follow from them, or are noise.
const COMPARED: [&str; 9] = [
    metrics::LOAD_LINE,
    metrics::THROUGHPUT,
    metrics::MEAN,
    metrics::P50,
    metrics::P95,
    metrics::P99,
    metrics::ERRORS,
    metrics::CPU_PER_REQUEST,
    metrics::MEMORY,
];

/// How changes are searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryOptions {
    /// Of change points.
    pub parameters: Parameters,
    /// Newest runs in which a change for the worse fails the gate; older changes are accepted.
    pub recent: usize,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            recent: RUNS_MIN,
        }
    }
}

/// Runs that may be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeries {
    key: SeriesKey,
    runs: Vec<usize>,
    metrics: Vec<MetricSeries>,
}

impl RunSeries {
    /// What its runs share.
    pub fn key(&self) -> &SeriesKey {
        &self.key
    }

    /// Indices of its runs in the history, ascending.
    pub fn runs(&self) -> &[usize] {
        &self.runs
    }

    /// Its metrics by name.
    pub fn metrics(&self) -> &[MetricSeries] {
        &self.metrics
    }
}

/// One metric of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSeries {
    name: String,
    /// Index of the run in the history, and its value.
    points: Vec<(usize, f64)>,
    changes: Vec<HistoryChange>,
    chart: Option<ControlChart>,
}

/// The newest run against those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlChart {
    /// Limits by the accepted runs.
    pub limits: Limits,
    /// Why the newest run stands out.
    pub signal: Option<Signal>,
    /// Newest runs in a row that stand out for the worse.
    pub worse_in_a_row: usize,
    /// Index of the first run that the limits are made of.
    pub since: usize,
}

impl MetricSeries {
    /// Name of the metric, with its labels.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Index of each run in the history that has a value, and the value.
    pub fn points(&self) -> &[(usize, f64)] {
        &self.points
    }

    /// Steps, slides and spikes, their indices into [`Self::points`].
    pub fn changes(&self) -> &[HistoryChange] {
        &self.changes
    }

    /// The chart of the newest run; `None` with too few runs.
    pub fn chart(&self) -> Option<ControlChart> {
        self.chart
    }

    /// Which direction is good; `None` of a metric that is not known.
    pub fn direction(&self) -> Option<Direction> {
        metrics::definition(&self.name).map(|definition| definition.direction)
    }

    /// Whether a change is for the worse.
    pub fn is_worse(&self, change: &HistoryChange) -> bool {
        is_worse(self.direction(), change.before, change.after)
    }

    /// Whether change points were searched for: the series is long enough.
    pub fn has_change_points(&self) -> bool {
        self.points.len() >= RUNS_MIN
    }

    /// The newest change for the worse of at most this age that the level of now has not made up for.
    pub fn standing_change(
        &self,
        oldest_run: usize,
        options: HistoryOptions,
    ) -> Option<HistoryChange> {
        let changes = || {
            let changes = self.changes.iter().rev();
            changes.filter(|change| change.kind != ChangeKind::Spike)
        };
        let level = changes().next()?.after;
        let definition = metrics::definition(&self.name);
        let magnitude_min = options.parameters.magnitude_min;
        changes()
            .find(|change| {
                self.is_worse(change)
            // A slide goes on, however early it began.
            && (change.kind == ChangeKind::Slide || self.points[change.index].0 >= oldest_run)
            && is_worse(self.direction(), change.before, level)
            && is_material(definition, change.before, level, magnitude_min)
            })
            .copied()
    }
}

/// The series of a history, in the order of their first runs. `entries` are in the order of time.
pub fn series(entries: &[HistoryEntry], options: HistoryOptions) -> Vec<RunSeries> {
    let mut runs: BTreeMap<SeriesKey, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        runs.entry(entry.key()).or_default().push(index);
    }
    let mut series: Vec<RunSeries> = runs
        .into_iter()
        .map(|(key, mut runs)| {
            runs.drain(..runs.len().saturating_sub(RUNS_MAX));
            let metrics = metric_series(entries, &runs, options);
            RunSeries { key, runs, metrics }
        })
        .collect();
    series.sort_by_key(|series| series.runs.first().copied());
    series
}

fn metric_series(
    entries: &[HistoryEntry],
    runs: &[usize],
    options: HistoryOptions,
) -> Vec<MetricSeries> {
    let valid: Vec<usize> = runs
        .iter()
        .copied()
        .filter(|&index| entries[index].is_valid())
        .collect();
    let names: BTreeSet<&str> = valid
        .iter()
        .flat_map(|&index| entries[index].metrics.keys())
        .map(String::as_str)
        .filter(|name| is_compared(name))
        .collect();
    let points = |name: &str| {
        valid
            .iter()
            .filter_map(|&index| Some((index, *entries[index].metrics.get(name)?)))
            .filter(|(_, value)| value.is_finite())
            .collect()
    };
    names
        .into_iter()
        .map(|name| metric_of(name, points(name), options))
        .collect()
}

/// Metrics of ours that say something for themselves, and all that are not ours.
fn is_compared(name: &str) -> bool {
    let plain = plimsoll_model::labels::metric(name);
    COMPARED.contains(&plain) || metrics::definition(name).is_none() && !is_count(plain)
}

/// Whether a metric depends on how long a run took.
fn is_count(name: &str) -> bool {
    [
        metrics::REQUESTS,
        metrics::OK,
        metrics::FAILED,
        metrics::FAST,
        metrics::MIDDLE,
        metrics::SLOW,
    ]
    .contains(&name)
}

fn metric_of(name: &str, points: Vec<(usize, f64)>, options: HistoryOptions) -> MetricSeries {
    let definition = metrics::definition(name);
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let mut changes = history::changes(&values, options.parameters);
    let magnitude_min = options.parameters.magnitude_min;
    changes.retain(|change| is_material(definition, change.before, change.after, magnitude_min));
    // A level that only the newest run has may be a spike: the chart answers for it.
    changes.retain(|change| change.kind != ChangeKind::Step || change.index + 1 < values.len());
    // A level that was accepted is what later runs are compared with.
    let start = changes
        .iter()
        .rev()
        .find(|change| change.kind == ChangeKind::Step)
        .map_or(0, |change| change.index);
    let chart = chart(&values[start..], definition, magnitude_min).map(|chart| ControlChart {
        since: chart.since + start,
        ..chart
    });
    MetricSeries {
        name: name.to_owned(),
        points,
        changes,
        chart,
    }
}

/// Whether a difference is large enough to be worth a word.
fn is_material(
    definition: Option<MetricDefinition>,
    before: f64,
    after: f64,
    magnitude_min: f64,
) -> bool {
    let distance = (after - before).abs();
    match definition.map(|definition| definition.scale) {
        Some(Scale::Difference) => distance >= SHARE_DIFFERENCE_MIN,
        _ => distance >= magnitude_min * before.abs(),
    }
}

fn is_worse(direction: Option<Direction>, before: f64, after: f64) -> bool {
    match direction {
        Some(Direction::HigherIsBetter) => after < before,
        Some(Direction::LowerIsBetter) => after > before,
        None => false,
    }
}

/// Walks through the runs; one that stands out for the worse is not accepted.
fn chart(
    values: &[f64],
    definition: Option<MetricDefinition>,
    magnitude_min: f64,
) -> Option<ControlChart> {
    let direction = definition.map(|definition| definition.direction);
    let mut accepted: Vec<f64> = Vec::new();
    let mut accepted_at: Vec<usize> = Vec::new();
    let mut newest = None;
    let mut worse_in_a_row = 0;
    for (index, &value) in values.iter().enumerate() {
        let since = accepted_at.len().saturating_sub(RUNS_MIN);
        let since = accepted_at.get(since).copied().unwrap_or(index);
        let found = history::chart(&accepted, value).filter(|_| accepted.len() >= CHART_RUNS_MIN);
        let centre = found.map_or(value, |(limits, _)| limits.centre);
        let signal = found
            .and_then(|(_, signal)| signal)
            .filter(|_| is_material(definition, centre, value, magnitude_min));
        if signal.is_some() && is_worse(direction, centre, value) {
            worse_in_a_row += 1;
        } else {
            worse_in_a_row = 0;
            accepted.push(value);
            accepted_at.push(index);
        }
        newest = found.map(|(limits, _)| ControlChart {
            limits,
            signal,
            worse_in_a_row,
            since,
        });
    }
    newest
}

#[cfg(test)]
pub(super) mod tests;
