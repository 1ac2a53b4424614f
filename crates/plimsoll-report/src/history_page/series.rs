//! The section of a page for runs that are compared with each other: a chart for each metric.

use maud::{Markup, html};
use plimsoll_analysis::experiment::run_series::CHART_RUNS_MIN;

use super::phrases::{change_sentence, counted, day, metric_label, metric_order, quantity};
use super::{ChangeObject, ChartObject, HistoryObject, PointObject, SeriesObject};
use crate::chart::runs::{ChartedRun, ControlLimits, RunChart};
use crate::printable::printable;
use crate::text::unbroken;

/// Metrics whose charts are open; the others are a click away.
const OPEN_MAX: usize = 8;

/// The section of the series `index`.
pub(super) fn section(object: &HistoryObject, index: usize, series: &SeriesObject) -> Markup {
    let id = format!("series-{index}");
    let metrics = metrics(object, index);
    let (level, charted): (Vec<_>, Vec<_>) = metrics.iter().partition(|metric| metric.is_level());
    let (open, folded) = charted.split_at(charted.len().min(OPEN_MAX));
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (printable(&series.command)) " of " (printable(&series.name)) }
            p.lead {
                (counted(series.runs, "run"))
                @if !series.machine.is_empty() { " on " (printable(&series.machine)) }
                "."
                @if !charted.is_empty() {
                    " Each point is a run, in the order of time. A vertical axis need not begin at zero."
                }
            }
            @if metrics.is_empty() {
                p {
                    "Nothing to compare yet: a chart needs " (CHART_RUNS_MIN + 1)
                    " valid runs of the same plan on the same class of machine."
                }
            }
            @for metric in open { (metric.draw()) }
            @if !folded.is_empty() {
                details {
                    summary { (counted(folded.len(), "more metric")) }
                    @for metric in folded { (metric.draw()) }
                }
            }
            @if !level.is_empty() {
                p.muted {
                    "The same in every run: "
                    @for (index, metric) in level.iter().enumerate() {
                        @if index > 0 { ", " }
                        (printable(&metric_label(metric.name))) " " (quantity(metric.name, metric.points[0].1))
                    }
                    "."
                }
            }
        }
    }
}

/// A metric of a series.
struct SeriesMetric<'a> {
    name: &'a str,
    points: Vec<(&'a PointObject, f64)>,
    changes: Vec<&'a ChangeObject>,
    chart: Option<&'a ChartObject>,
}

/// The metrics that are compared: they have a chart or a change. What became worse is first.
fn metrics(object: &HistoryObject, series: usize) -> Vec<SeriesMetric<'_>> {
    let charts = object.charts.iter();
    let changes = object.changes.iter();
    let mut names: Vec<&str> = charts
        .filter(|chart| chart.series == series)
        .map(|chart| chart.metric.as_str())
        .chain(
            changes
                .filter(|change| change.series == series)
                .map(|change| change.metric.as_str()),
        )
        .collect();
    names.sort_unstable();
    names.dedup();
    let judged = object
        .gate
        .series
        .iter()
        .filter(|gate| gate.series == series);
    let for_the_worse: Vec<&String> = judged.flat_map(|gate| &gate.metrics).collect();
    names.sort_by_key(|name| {
        let is_named = for_the_worse.iter().any(|metric| metric == name);
        (!is_named, metric_order(name))
    });
    let metrics = names.into_iter();
    metrics
        .map(|name| SeriesMetric::of(object, series, name))
        .filter(|metric| !metric.points.is_empty())
        .collect()
}

impl<'a> SeriesMetric<'a> {
    fn of(object: &'a HistoryObject, series: usize, name: &'a str) -> Self {
        let runs = object.points.iter();
        Self {
            name,
            points: runs
                .filter(|point| point.series == Some(series) && point.valid)
                .filter_map(|point| Some((point, *point.metrics.get(name)?)))
                .filter(|(_, value)| value.is_finite())
                .collect(),
            changes: object
                .changes
                .iter()
                .filter(|change| change.series == series && change.metric == name)
                .collect(),
            chart: object
                .charts
                .iter()
                .find(|chart| chart.series == series && chart.metric == name),
        }
    }

    /// Whether every run reads the same: a picture would say nothing.
    fn is_level(&self) -> bool {
        let mut texts = self.points.iter().map(|point| quantity(self.name, point.1));
        let first = texts.next();
        self.changes.is_empty() && texts.all(|text| Some(text) == first)
    }

    fn draw(&self) -> Markup {
        let title = printable(&metric_label(self.name));
        let runs: Vec<ChartedRun> = self.points.iter().map(|point| self.run(point)).collect();
        let date = |point: Option<&(&PointObject, f64)>| {
            point.map_or_else(String::new, |point| printable(&day(&point.0.at)))
        };
        let drawn = RunChart {
            title: &title,
            runs: &runs,
            dates: (date(self.points.first()), date(self.points.last())),
            marks: self.changes.iter().map(|change| change.index).collect(),
            limits: self.chart.map(|chart| ControlLimits {
                low: chart.low.max(0.0),
                centre: chart.centre,
                high: chart.high,
                since: chart.since,
            }),
            unit: self.unit(),
        };
        html! {
            (drawn.draw(|value| quantity(self.name, value)))
            @if let Some(chart) = self.chart { (self.newest(chart)) }
            @if !self.changes.is_empty() {
                ul.remarks { @for change in &self.changes { li { (unbroken(&change_sentence(change))) } } }
            }
        }
    }

    fn run(&self, (point, value): &(&PointObject, f64)) -> ChartedRun {
        let commit = point.commit.as_ref();
        let commit = commit.map_or_else(String::new, |commit| {
            format!(", commit {}", super::phrases::short_commit(commit))
        });
        let text = format!(
            "{}: {}{commit}",
            day(&point.at),
            quantity(self.name, *value)
        );
        ChartedRun {
            value: *value,
            title: printable(&text),
        }
    }

    /// What ticks are multiples of: whole KiB, MiB or GiB of memory.
    fn unit(&self) -> f64 {
        let definition = plimsoll_analysis::experiment::metrics::definition(self.name);
        if definition.is_none_or(|definition| definition.unit != "By") {
            return 1.0;
        }
        let highest = self.points.iter().map(|point| point.1).fold(1.0, f64::max);
        1024_f64.powf(highest.log(1024.0).floor())
    }

    fn newest(&self, chart: &ChartObject) -> Markup {
        html! {
            p.muted {
                "Newest " (quantity(self.name, chart.newest)) ", expected "
                (quantity(self.name, chart.low.max(0.0))) " to " (quantity(self.name, chart.high))
                @if chart.signal.is_some() { ": " strong { "it stands out" } }
                "."
            }
        }
    }
}
