//! How the metric is distributed: box plots and quartiles by level, and a histogram.

use maud::{Markup, html};
use plimsoll_analysis::stats::order::quantile;

use super::{MatrixReport, MatrixTrial};
use crate::chart::axis::Axis;
use crate::chart::panel::horizontal_grid;
use crate::chart::percent_of;
use crate::number::count;
use crate::printable::printable;

/// Classes of the histogram.
const CLASSES: usize = 24;
/// Levels of a factor with a box at most.
const BOXES_MAX: usize = 40;

/// Five numbers of a box.
struct FiveNumbers {
    min: f64,
    low: f64,
    middle: f64,
    high: f64,
    max: f64,
    trials: u64,
}

impl FiveNumbers {
    fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            min: quantile(values, 0.0)?,
            low: quantile(values, 0.25)?,
            middle: quantile(values, 0.5)?,
            high: quantile(values, 0.75)?,
            max: quantile(values, 1.0)?,
            trials: values.len() as u64,
        })
    }
}

/// Boxes of every factor, and the histogram; nothing when nothing was measured.
pub(super) fn distributions(report: &MatrixReport<'_>) -> Markup {
    let values = report.main_values();
    html! {
        @if let Some(metric) = &report.result.metric {
            @if !values.is_empty() {
                (histogram(report, metric, &values))
                @let axis = Axis::linear_from_zero(values.iter().map(|value| value.1));
                p.lead {
                    "By level, over all trials of its cells: whiskers reach from the smallest to the largest value, the box holds \
                     the middle half, the line in it is the median."
                }
                @for factor in 0..report.input.factors.len() {
                    (boxes(report, metric, factor, &values, &axis))
                }
            }
        }
    }
}

fn boxes(
    report: &MatrixReport<'_>,
    metric: &str,
    factor: usize,
    values: &[(&MatrixTrial, f64)],
    axis: &Axis,
) -> Markup {
    let of_level = |level: usize| -> Vec<f64> {
        let is_at = |trial: &MatrixTrial| {
            let cell = report.input.cells.get(trial.cell);
            cell.is_some_and(|levels| levels[factor] == level)
        };
        let found = values.iter().filter(|(trial, _)| is_at(trial));
        found.map(|(_, value)| *value).collect()
    };
    let texts = &report.input.factors[factor].levels;
    let rows: Vec<(&String, FiveNumbers)> = texts
        .iter()
        .take(BOXES_MAX)
        .enumerate()
        .filter_map(|(level, text)| Some((text, FiveNumbers::of(&of_level(level))?)))
        .collect();
    let value = |value: f64| report.value_text(metric, value);
    html! {
        h3 { (printable(&report.input.factors[factor].name)) }
        div.scroll tabindex="0" role="group" aria-label="Box plots" {
            table.boxes {
                thead { tr {
                    th scope="col" { "level" }
                    th.wide scope="col" { (box_axis(report, metric, axis)) }
                    th scope="col" { "smallest" }
                    th scope="col" { "lower quartile" }
                    th scope="col" { "median" }
                    th scope="col" { "upper quartile" }
                    th scope="col" { "largest" }
                    th scope="col" { "trials" }
                } }
                tbody { @for (text, five) in &rows { tr {
                    th scope="row" { (printable(text)) }
                    td.wide { (box_plot(five, axis)) }
                    td { (value(five.min)) }
                    td { (value(five.low)) }
                    td { (value(five.middle)) }
                    td { (value(five.high)) }
                    td { (value(five.max)) }
                    td { (count(five.trials)) }
                } } }
            }
        }
        @if texts.len() > BOXES_MAX {
            p.muted { (texts.len() - BOXES_MAX) " more levels are in the table of trials." }
        }
    }
}

fn box_plot(five: &FiveNumbers, axis: &Axis) -> Markup {
    let at = |value: f64| percent_of(axis.place(value));
    html! {
        svg.box-plot width="100%" height="16" aria-hidden="true" {
            line.whisker x1=(at(five.min)) x2=(at(five.max)) y1="8" y2="8" {}
            rect.quartiles x=(at(five.low)) width=(percent_of(axis.place(five.high) - axis.place(five.low))) y="2" height="12" {}
            line.middle x1=(at(five.middle)) x2=(at(five.middle)) y1="1" y2="15" {}
        }
    }
}

/// The scale above the boxes: its ends.
fn box_axis(report: &MatrixReport<'_>, metric: &str, axis: &Axis) -> Markup {
    let ends = [axis.ticks().first(), axis.ticks().last()].map(|tick| tick.copied().unwrap_or(0.0));
    html! {
        span.ends {
            span { (report.tick_text(metric, ends[0])) }
            span { (report.value_text(metric, ends[1])) }
        }
    }
}

fn histogram(report: &MatrixReport<'_>, metric: &str, values: &[(&MatrixTrial, f64)]) -> Markup {
    let numbers = values.iter().map(|value| value.1);
    let axis = Axis::linear_near(numbers.clone(), 1.0);
    let (first, last) = match axis.ticks() {
        [first, .., last] => (*first, *last),
        _ => (0.0, 1.0),
    };
    let width = ((last - first) / CLASSES as f64).max(f64::MIN_POSITIVE);
    let mut counts = [0_u64; CLASSES];
    for number in numbers {
        counts[class_of((number - first) / width)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let height = Axis::whole_from_zero(most);
    let share = |index: usize| index as f64 / CLASSES as f64;
    let text = |value: f64| report.value_text(metric, value);
    html! {
        div.axis-title { "number of trials by " (MatrixReport::metric_text(metric)) }
        svg.chart.dated role="img" aria-labelledby="histogram-title" {
            title #histogram-title { "Histogram of all trials of cells" }
            (horizontal_grid(&height, |tick| count(crate::number::whole(tick))))
            @for (index, number) in counts.iter().enumerate() {
                @let high = height.place(*number as f64);
                @let from = first + width * index as f64;
                rect.histogram x=(percent_of(share(index))) width=(percent_of(0.9 / CLASSES as f64)) y=(percent_of(1.0 - high)) height=(percent_of(high)) {
                    title { (text(from)) " to " (text(from + width)) ": " (count(*number)) }
                }
            }
            g aria-hidden="true" {
                @for &tick in axis.ticks() {
                    text.x-label x=(percent_of(axis.place(tick))) y="100%" dy="18" { (report.tick_text(metric, tick)) }
                }
            }
        }
        div.axis-title.below { (MatrixReport::metric_text(metric)) (report.axis_unit(metric)) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the classes"
)]
fn class_of(place: f64) -> usize {
    place.clamp(0.0, CLASSES as f64 - 1.0) as usize
}
