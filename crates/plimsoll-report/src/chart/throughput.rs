//! Throughput against offered load: a mark for each step of a run.

use maud::{Markup, html};
use plimsoll_analysis::summary::throughput::LoadPoint;
use plimsoll_model::plan::LoadUnit;

use super::axis::{Axis, clock};
use super::load::{symbol, vertical_grid};
use super::panel::horizontal_grid;
use super::percent_of;
use crate::number::{load, rate, short};

/// Ratio of the highest load to the lowest from which a picture says more than a number.
const RATIO_MIN: f64 = 1.1;

/// The chart; `None` where all points are at one load.
pub(crate) fn chart(points: &[LoadPoint]) -> Option<Markup> {
    let loads = || points.iter().map(|point| point.load);
    let (low, high) = (
        loads().fold(f64::INFINITY, f64::min),
        loads().fold(0.0, f64::max),
    );
    let unit = points.first()?.unit;
    if high < low * RATIO_MIN || high <= 0.0 {
        return None;
    }
    // Few failures among many answers must not make the axis logarithmic: they are at its lower end.
    let rates = points.iter().map(|point| point.completed);
    let is_rate = unit == LoadUnit::RequestsPerSecond;
    let (x, y) = if is_rate {
        // One axis for both, so that its diagonal is the line on which everything is answered.
        let both = Axis::linear_or_log_rates(loads().chain(rates));
        (both.clone(), both)
    } else {
        (
            Axis::linear_or_log_rates(loads()),
            Axis::linear_from_zero(rates.chain(points.iter().map(|point| point.failed))),
        )
    };
    Some(html! {
        div.axis-title { "answers per second, by offered load" }
        svg.chart.load role="img" aria-labelledby="throughput-title throughput-text" {
            title #throughput-title { "Throughput against offered load" }
            desc #throughput-text { (description(points)) }
            (horizontal_grid(&y, short))
            (vertical_grid(&x))
            @if is_rate { line.diagonal x1="0" y1="100%" x2="100%" y2="0" {} }
            @for point in points {
                @if point.failed > 0.0 { (mark("fail", point, point.failed, (&x, &y))) }
                (mark("pass", point, point.completed, (&x, &y)))
            }
        }
        div.axis-title.below { "offered load, " (unit.symbol()) }
    })
}

fn mark(class: &str, point: &LoadPoint, value: f64, (x, y): (&Axis, &Axis)) -> Markup {
    let what = if class == "pass" {
        "completed"
    } else {
        "failed"
    };
    html! {
        svg class={ "throughput mark " (class) } x=(percent_of(x.place(point.load))) y=(percent_of(1.0 - y.place(value))) {
            title {
                "at " (clock(point.second)) ", " (load(point.load, point.unit)) ": " (what) " " (rate(value))
            }
            (symbol(class))
        }
    }
}

/// The highest throughput, and what came back at the highest load.
fn description(points: &[LoadPoint]) -> String {
    let highest =
        |value: fn(&LoadPoint) -> f64| points.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
    let (Some(best), Some(most)) = (
        highest(|point| point.completed),
        highest(|point| point.load),
    ) else {
        return String::new();
    };
    format!(
        "{} loads. The most answers were {} at {}; at the highest load, {}, there were {} and {} failed. The table below has every load.",
        points.len(),
        rate(best.completed),
        load(best.load, best.unit),
        load(most.load, most.unit),
        rate(most.completed),
        rate(most.failed),
    )
}

/// Every point, in the order of time.
pub(crate) fn table(points: &[LoadPoint]) -> Markup {
    let unit = points.first().map_or("", |point| point.unit.symbol());
    html! {
        table {
            thead { tr {
                th scope="col" { "at" } th scope="col" { "seconds" } th scope="col" { "load, " (unit) }
                th scope="col" { "offered/s" } th scope="col" { "completed/s" } th scope="col" { "failed/s" }
            } }
            tbody { @for point in points { tr {
                th scope="row" { (clock(point.second)) }
                td { (point.seconds) }
                @for value in [point.load, point.offered, point.completed, point.failed] { td { (short(value)) } }
            } } }
        }
    }
}
