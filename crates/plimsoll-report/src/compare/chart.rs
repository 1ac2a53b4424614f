//! Throughput and response time of several sides against the offered rate, with bands.

use maud::{Markup, html};
use plimsoll_analysis::summary::is_search;
use plimsoll_analysis::whole_run;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::trial::Trial;
use plimsoll_model::window::Window;

use super::ComparedSide;
use crate::chart::axis::Axis;
use crate::chart::load::{rate_of, trials_of};
use crate::chart::panel::horizontal_grid;
use crate::chart::{number, percent_of};
use crate::number::{micros_of, rate, short};
use crate::printable::printable;
use crate::report::Report;

/// Colours before they repeat.
const COLOURS: usize = 6;
/// Points of a rising load at most.
const GROUPS_MAX: u32 = 20;
/// Width and height of the stretched box.
const BOX: f64 = 1000.0;

/// What was measured at a load, over all trials at it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    rate: f64,
    low: f64,
    mean: f64,
    high: f64,
}

/// A side as a line.
#[derive(Clone, Debug)]
struct Series {
    name: String,
    class: String,
    levels: Vec<Level>,
}

/// Both charts; `None` where the loads have different units, or nothing was measured.
pub(super) fn charts(sides: &[&ComparedSide<'_>]) -> Option<Markup> {
    let units: Vec<LoadUnit> = sides
        .iter()
        .filter_map(|side| side.report.as_ref())
        .map(Report::unit)
        .collect();
    let unit = *units.first()?;
    if units.iter().any(|other| *other != unit) {
        return None;
    }
    let throughput = series(sides, |point| Some(point.throughput));
    // A single load is a dot: the table says all of it.
    if throughput.iter().all(|side| side.levels.len() < 2) {
        return None;
    }
    let response = series(sides, |point| point.p95_us);
    Some(html! {
        (legend(&throughput))
        (chart("Throughput", "complete answers per second, by offered load", &throughput, rate, unit))
        (chart("Response time", "p95 of the response time, by offered load", &response, micros_of, unit))
    })
}

/// A trial, or a run at one load.
#[derive(Clone, Copy, Debug)]
struct Point {
    rate: f64,
    throughput: f64,
    p95_us: Option<f64>,
}

impl Point {
    fn of(trial: &Trial) -> Self {
        Self {
            rate: rate_of(trial),
            throughput: trial.throughput,
            p95_us: (trial.response_us.p95 > 0).then_some(trial.response_us.p95 as f64),
        }
    }
}

impl Point {
    /// Of all seconds together, in which `rate` was offered; `None` without any.
    fn of_windows(windows: &[Window], rate: f64) -> Option<Self> {
        let seconds = u32::try_from(windows.len())
            .ok()
            .filter(|seconds| *seconds > 0)?;
        let mut times = Histogram::new();
        let mut completed = 0;
        for window in windows {
            times.merge(&window.response);
            completed += window.completed();
        }
        Some(Self {
            rate,
            throughput: completed as f64 / f64::from(seconds),
            p95_us: times.quantile(0.95).map(|time| time as f64),
        })
    }
}

fn points(report: &Report<'_>) -> Vec<Point> {
    if is_search(report.run) {
        let valid = trials_of(report).filter(|trial| !trial.verdict.is_void());
        return valid.map(Point::of).collect();
    }
    let steps = whole_run::steps(report.run);
    if !steps.is_empty() {
        return steps.iter().map(Point::of).collect();
    }
    let rising = rising(report.run);
    if !rising.is_empty() {
        return rising;
    }
    let summary = &report.summary;
    if summary.requests == 0 {
        return Vec::new();
    }
    vec![Point {
        rate: summary.offered,
        throughput: summary.completed,
        p95_us: summary.response_us.map(|times| times.p95 as f64),
    }]
}

/// Points of a load that rises in a single run, from its seconds in groups; none of another load.
fn rising(run: &Run) -> Vec<Point> {
    let Load::Open { phases, .. } = &run.header.plan.load else {
        return Vec::new();
    };
    let Some(first) = run.windows.first().map(|window| window.second) else {
        return Vec::new();
    };
    let mut points = Vec::new();
    let mut began_s = 0.0;
    for phase in phases {
        let lasting_s = phase.lasting_ns as f64 / 1e9;
        if phase.to > phase.from {
            let slope = (phase.to - phase.from) / lasting_s;
            let middle = |from: u32, to: u32| f64::midpoint(f64::from(from), f64::from(to));
            for (from, to) in groups(began_s, began_s + lasting_s) {
                let windows = run.windows_between(first + from, first + to);
                let rate = phase.from + slope * (middle(from, to) - began_s);
                points.extend(Point::of_windows(windows, rate));
            }
        }
        began_s += lasting_s;
    }
    points
}

/// Whole seconds between two moments, in at most so many groups as points are drawn.
fn groups(from_s: f64, to_s: f64) -> Vec<(u32, u32)> {
    let (from, to) = (whole(from_s.ceil()), whole(to_s.floor()));
    let seconds = to.saturating_sub(from);
    let size = seconds.div_ceil(GROUPS_MAX).max(1);
    (0..seconds / size)
        .map(|group| (from + group * size, from + (group + 1) * size))
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what a run can last"
)]
fn whole(seconds: f64) -> u32 {
    seconds.clamp(0.0, f64::from(u32::MAX / 2)) as u32
}

fn series(sides: &[&ComparedSide<'_>], value: impl Fn(&Point) -> Option<f64>) -> Vec<Series> {
    let of = |(index, side): (usize, &&ComparedSide<'_>)| {
        let points = points(side.report.as_ref()?);
        let mut values: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|point| Some((point.rate, value(point)?)))
            .collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let levels = values.chunk_by(|a, b| (a.0 - b.0).abs() <= 1e-9 * b.0.abs());
        Some(Series {
            name: printable(&side.name),
            class: format!("side-{}", index % COLOURS),
            levels: levels.map(level).collect(),
        })
    };
    sides.iter().enumerate().filter_map(of).collect()
}

fn level(values: &[(f64, f64)]) -> Level {
    let measured = || values.iter().map(|value| value.1);
    Level {
        rate: values[0].0,
        low: measured().fold(f64::INFINITY, f64::min),
        mean: measured().sum::<f64>() / values.len() as f64,
        high: measured().fold(0.0, f64::max),
    }
}

fn legend(series: &[Series]) -> Markup {
    html! {
        ul.legend {
            @for side in series { li { span class={ "l-key " (side.class) } {} (side.name) } }
        }
    }
}

fn chart(
    title: &str,
    caption: &str,
    series: &[Series],
    label: impl Fn(f64) -> String,
    unit: LoadUnit,
) -> Markup {
    let levels = || series.iter().flat_map(|side| &side.levels);
    let has_band = levels().any(|level| level.high > level.low);
    let x = Axis::linear_or_log_rates(levels().map(|level| level.rate));
    let y = Axis::linear_or_log(levels().map(|level| level.high));
    html! {
        div.panel {
            h3 { (title) }
            div.axis-title { (caption) @if has_band { "; the band is from the lowest to the highest of the trials at a load" } }
            svg.chart.load role="img" aria-label={ (title) " of all sides by offered load; the table has the values" } {
                (horizontal_grid(&y, label))
                g.grid aria-hidden="true" {
                    @for &tick in x.ticks() {
                        @let at = percent_of(x.place(tick));
                        line x1=(at) x2=(at) y1="0" y2="100%" {}
                        text.x-label x=(at) y="100%" dy="18" { (short(tick)) }
                    }
                }
                svg.stretch viewBox={ "0 0 " (BOX) " " (BOX) } preserveAspectRatio="none" width="100%" height="100%" {
                    @for side in series {
                        path class={ "side-band " (side.class) } d=(band(&side.levels, &x, &y)) {}
                        path class={ "line side-line " (side.class) } d=(line(&side.levels, &x, &y)) {}
                    }
                }
                @for side in series { @for level in &side.levels {
                    svg class={ "mark side-mark " (side.class) } x=(percent_of(x.place(level.rate)))
                        y=(percent_of(1.0 - y.place(level.mean))) {
                        title { (side.name) " at " (short(level.rate)) " " (unit.symbol()) }
                        circle r="3.5" {}
                    }
                } }
            }
            div.axis-title.below { "offered load, " (unit.symbol()) }
        }
    }
}

fn place(x: &Axis, y: &Axis, rate: f64, value: f64) -> String {
    format!(
        "{} {}",
        number(x.place(rate) * BOX),
        number((1.0 - y.place(value)) * BOX)
    )
}

fn line(levels: &[Level], x: &Axis, y: &Axis) -> String {
    let points: Vec<String> = levels
        .iter()
        .map(|level| place(x, y, level.rate, level.mean))
        .collect();
    if points.is_empty() {
        String::new()
    } else {
        format!("M{}", points.join("L"))
    }
}

/// Up along the lower ends, back along the upper ones.
fn band(levels: &[Level], x: &Axis, y: &Axis) -> String {
    let low = levels.iter().map(|level| (level.rate, level.low));
    let high = levels.iter().rev().map(|level| (level.rate, level.high));
    let points: Vec<String> = low
        .chain(high)
        .map(|(rate, value)| place(x, y, rate, value))
        .collect();
    if points.is_empty() {
        String::new()
    } else {
        format!("M{}Z", points.join("L"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_goes_there_and_back() {
        let x = Axis::linear_up_to(100.0);
        let y = Axis::linear_up_to(10.0);
        let levels = [level(&[(0.0, 2.0), (0.0, 4.0)]), level(&[(100.0, 10.0)])];
        assert_eq!(line(&levels, &x, &y), "M0 700L1000 0");
        assert_eq!(band(&levels, &x, &y), "M0 800L1000 0L1000 0L0 600Z");
        assert_eq!(line(&[], &x, &y), "");
    }

    #[test]
    fn a_rise_is_drawn_in_groups_of_whole_seconds() {
        assert_eq!(groups(0.0, 3.5), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(groups(10.0, 50.0).len(), 20);
        assert_eq!(groups(10.0, 50.0)[0], (10, 12));
        assert!(groups(0.0, 0.4).is_empty());
        let mut window = Window::new(3);
        window
            .outcomes
            .add_many(plimsoll_model::outcome::Outcome::Ok, 40);
        window.response.record(20_000, 40);
        let point = Point::of_windows(&[window], 50.0).unwrap();
        assert!((point.throughput - 40.0).abs() < 1e-9);
        assert!(
            point
                .p95_us
                .is_some_and(|time| (time / 20_000.0 - 1.0).abs() < 0.01)
        );
        assert!(Point::of_windows(&[], 1.0).is_none());
    }
}
