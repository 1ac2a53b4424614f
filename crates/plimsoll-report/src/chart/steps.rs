//! Steps over time: one small chart per step, all with the same axes.

use std::collections::BTreeMap;

use maud::{Markup, html};
use plimsoll_analysis::summary::breakdown::StepSummary;
use plimsoll_analysis::summary::timeline::{StepPoint, Timeline};

use super::axis::{Axis, clock};
use super::panel::{BOX_HEIGHT, horizontal_grid, path};
use super::percent_of;
use crate::number::{count, micros, micros_of};
use crate::printable::printable;
use crate::report::Report;

/// Most charts; a plan of more steps shows those with the most samples.
const CHARTS_MAX: usize = 24;
/// Most points per chart.
const POINTS_MAX: u32 = 120;

/// One chart.
#[derive(Clone, Debug)]
struct Chart {
    label: String,
    journey: String,
    samples: u64,
    points: Vec<StepPoint>,
}

/// All charts.
#[derive(Clone, Debug)]
pub(crate) struct StepCharts {
    step_s: u32,
    end: u32,
    axis: Axis,
    several: bool,
    left_out: usize,
    charts: Vec<Chart>,
}

impl StepCharts {
    /// The steps of a run; `None` when none had a good answer.
    pub(crate) fn of(report: &Report<'_>) -> Option<Self> {
        let breakdown = report.summary.breakdown.as_ref()?;
        let timeline = Timeline::of(report.run, POINTS_MAX);
        let end = timeline.points.last()?.second + timeline.step_s;
        let mut kept: Vec<(usize, &StepSummary)> = breakdown
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| step.metrics.response_us.is_some())
            .collect();
        kept.sort_by_key(|(_, step)| std::cmp::Reverse(step.metrics.samples));
        let left_out = kept.len().saturating_sub(CHARTS_MAX);
        kept.truncate(CHARTS_MAX);
        // Back to the order of the plan.
        kept.sort_by_key(|(index, _)| *index);
        let charts: Vec<Chart> = kept
            .into_iter()
            .map(|(_, step)| Chart {
                label: step.label.clone(),
                journey: step.journey.clone(),
                samples: step.metrics.samples,
                points: timeline.steps(report.run, &step.ids),
            })
            .collect();
        let values = charts.iter().flat_map(|chart| &chart.points);
        let values = values.flat_map(|point| [point.response_us.p95, point.response_us.p50]);
        let axis = Axis::linear_or_log(values.map(|us| us as f64));
        (!charts.is_empty()).then_some(Self {
            step_s: timeline.step_s,
            end,
            axis,
            several: breakdown.journeys.len() > 1,
            left_out,
            charts,
        })
    }

    /// Number of steps without a chart.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// The charts side by side.
    pub(crate) fn draw(&self) -> Markup {
        html! {
            div.multiples { @for chart in &self.charts { (self.chart(chart)) } }
        }
    }

    fn chart(&self, chart: &Chart) -> Markup {
        let label = printable(&chart.label);
        let line = |pick: fn(&StepPoint) -> u64| {
            let points: Vec<(u32, f64)> = chart
                .points
                .iter()
                .map(|point| (point.second, pick(point) as f64))
                .collect();
            path(&points, self.step_s, &self.axis)
        };
        html! {
            figure {
                figcaption {
                    strong { (label) }
                    " " small {
                        @if self.several { (printable(&chart.journey)) ", " }
                        (count(chart.samples)) " samples"
                    }
                }
                svg.chart.small role="img" aria-label={ "Response time of " (label) " over time, p50 and p95" } {
                    (horizontal_grid(&self.axis, micros_of))
                    svg.stretch viewBox={ "0 0 " (self.end) " " (BOX_HEIGHT) } preserveAspectRatio="none"
                        width="100%" height="100%" {
                        path.line.l-p95 d=(line(|point| point.response_us.p95)) {}
                        path.line.l-p50 d=(line(|point| point.response_us.p50)) {}
                    }
                    @for (second, anchor) in [(0, "start"), (self.end, "end")] {
                        text.moment x=(percent_of(f64::from(second) / f64::from(self.end))) y="100%" dy="14"
                            text-anchor=(anchor) { (clock(second)) }
                    }
                }
            }
        }
    }

    /// The p95 of every step over time.
    pub(crate) fn table(&self) -> Markup {
        let mut rows: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (index, chart) in self.charts.iter().enumerate() {
            for point in &chart.points {
                let row = rows
                    .entry(point.second)
                    .or_insert_with(|| vec!["–".to_owned(); self.charts.len()]);
                row[index] = micros(point.response_us.p95);
            }
        }
        html! {
            table {
                caption { "p95; every row covers " (self.step_s) " s from the moment given" }
                thead { tr {
                    th scope="col" { "time" }
                    @for chart in &self.charts { th scope="col" { (printable(&chart.label)) } }
                } }
                tbody { @for (second, row) in rows {
                    tr { th scope="row" { (clock(second)) } @for text in row { td { (text) } } }
                } }
            }
        }
    }
}
