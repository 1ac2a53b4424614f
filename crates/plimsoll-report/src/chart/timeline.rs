//! The run over time: panels below each other on one time axis, with a shared cursor.

mod resources;
mod websockets;

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use plimsoll_analysis::summary::timeline::{Level, Timeline};
use plimsoll_model::metric;
use plimsoll_model::trial::{Percentiles, Trial};

use super::axis::{Axis, clock, time_step};
use super::load::load_of;
use super::panel::{BOX_HEIGHT, ChartLine, horizontal_grid, path};
use super::{number, percent_of};
use crate::number::{bytes, micros, micros_of, short, whole};
use crate::report::Report;

/// Format of a value.
type ValueFormat = fn(f64) -> String;

/// One of the charts that share the time axis.
#[derive(Clone, Debug)]
struct Panel {
    title: &'static str,
    axis: Axis,
    lines: Vec<ChartLine>,
    /// The objective's bound and its label.
    bound: Option<(f64, String)>,
    text: ValueFormat,
}

/// All panels.
#[derive(Clone, Debug)]
pub(crate) struct TimeChart {
    step_s: u32,
    /// End of the time axis, s.
    end: u32,
    panels: Vec<Panel>,
}

impl TimeChart {
    /// The run in at most `points_max` points; `None` without measurements.
    pub(crate) fn of(report: &Report<'_>, points_max: u32) -> Option<Self> {
        let timeline = Timeline::of(report.run, points_max);
        let last_point = timeline.points.last().map(|point| point.second);
        let last_reading = report.run.readings.seconds().last().copied();
        let end =
            last_point.max(last_reading)? / timeline.step_s * timeline.step_s + timeline.step_s;
        let panels = [
            latency(report, &timeline),
            resources::machines_cpu(report, &timeline),
            resources::machines_memory(report, &timeline),
            throughput(&timeline),
            users(&timeline),
            websockets::open(&timeline),
            websockets::messages(&timeline),
            websockets::broadcasts(&timeline),
            failures(&timeline),
            in_flight(&timeline),
            resources::machine(report, &timeline),
            resources::programs(report, &timeline),
            resources::tcp(report, &timeline),
            memory(report, &timeline),
        ];
        Some(Self {
            step_s: timeline.step_s,
            end,
            panels: panels.into_iter().flatten().collect(),
        })
    }

    /// Seconds that one point covers.
    pub(crate) fn step_s(&self) -> u32 {
        self.step_s
    }

    /// The panels under each other.
    pub(crate) fn draw(&self, trials: &[Trial]) -> Markup {
        let mut first = 0;
        html! {
            @if !trials.is_empty() { (self.strip(trials)) }
            @for (index, panel) in self.panels.iter().enumerate() {
                @let lines_before = first;
                @let () = first += panel.lines.len();
                (self.panel(panel, index, lines_before, trials))
            }
            svg.chart.time-axis aria-hidden="true" { g.x-labels { (self.time_labels()) } }
        }
    }

    fn view_box(&self) -> String {
        format!("0 0 {} {BOX_HEIGHT}", self.end)
    }

    fn panel(&self, panel: &Panel, index: usize, first: usize, trials: &[Trial]) -> Markup {
        let names: Vec<&str> = panel.lines.iter().map(|line| line.name.as_str()).collect();
        html! {
            div.panel {
                h3 { (panel.title) }
                ul.legend aria-hidden="true" {
                    @for (offset, line) in panel.lines.iter().enumerate() {
                        li {
                            svg.key width="22" height="10" { path class={ "line " (line.class) } d="M1 5H21" {} }
                            (line.name) " " output data-line=(first + offset) {}
                        }
                    }
                }
                svg class={ "chart panel-" (index) } role="img" aria-label={ (panel.title) " over time: " (names.join(", ")) } {
                    (horizontal_grid(&panel.axis, panel.text))
                    g.x-grid aria-hidden="true" { (self.time_grid()) }
                    svg.stretch viewBox=(self.view_box()) preserveAspectRatio="none" width="100%" height="100%" {
                        @for trial in trials.iter().filter(|trial| !trial.verdict.is_pass()) {
                            rect class={ "span " (trial.verdict.name()) } x=(trial.measured.0)
                                width=(trial.measured.1.saturating_sub(trial.measured.0)) y="0" height=(BOX_HEIGHT) {}
                        }
                        @for line in &panel.lines {
                            path class={ "line " (line.class) } d=(path(&line.points, self.step_s, &panel.axis)) {}
                        }
                    }
                    @if let Some((bound, text)) = &panel.bound {
                        @let at = percent_of(1.0 - panel.axis.place(*bound));
                        g.objective {
                            line x1="0" x2="100%" y1=(at) y2=(at) {}
                            text x="6" y=(at) dy="-5" { (text) }
                        }
                    }
                    line.cursor y1="0" y2="100%" visibility="hidden" {}
                }
            }
        }
    }

    /// Trials as a strip above the panels: their verdict by height and colour.
    fn strip(&self, trials: &[Trial]) -> Markup {
        html! {
            svg.chart.strip role="img" aria-label="Trials over time; the table of trials has each" {
                svg.stretch viewBox={ "0 0 " (self.end) " 12" } preserveAspectRatio="none" width="100%" height="100%" {
                    @for trial in trials {
                        @let top = if trial.verdict.is_pass() { 6 } else { 0 };
                        rect class={ "trial " (trial.verdict.name()) } x=(trial.start_second)
                            width=(trial.measured.1.saturating_sub(trial.start_second)) y=(top) height=(12 - top) {
                            title {
                                "trial " (trial.index) " (" (trial.spec.kind.name()) ") at " (load_of(trial))
                                ": " (trial.verdict.name())
                            }
                        }
                    }
                }
            }
        }
    }

    fn moments(&self) -> impl Iterator<Item = (u32, String)> + use<'_> {
        let step = usize::try_from(time_step(f64::from(self.end))).unwrap_or(usize::MAX);
        (0..=self.end)
            .step_by(step)
            .map(|second| (second, percent_of(f64::from(second) / f64::from(self.end))))
    }

    fn time_grid(&self) -> Markup {
        html! {
            @for (_, at) in self.moments() { line x1=(at) x2=(at) y1="0" y2="100%" {} }
        }
    }

    fn time_labels(&self) -> Markup {
        html! {
            @for (second, at) in self.moments() { text.x-label x=(at) y="14" { (clock(second)) } }
        }
    }

    /// Data for the cursor script: moments, and every value as text.
    pub(crate) fn data(&self) -> Markup {
        let columns = self.columns();
        let seconds: Vec<u32> = columns.keys().copied().collect();
        let lines = self.panels.iter().map(|panel| panel.lines.len()).sum();
        let texts: Vec<Vec<&str>> = (0..lines)
            .map(|line| columns.values().map(|row| row[line].as_str()).collect())
            .collect();
        let data = serde_json::json!({ "step": self.step_s, "end": self.end, "seconds": seconds, "texts": texts });
        // A script element ends at the first `</script`, whatever the context.
        let text = data.to_string().replace('<', "\\u003c");
        html! { script type="application/json" #timeline-data { (PreEscaped(text)) } }
    }

    /// Texts of all lines by second; `–` where a line has no value.
    fn columns(&self) -> BTreeMap<u32, Vec<String>> {
        let lines: Vec<(&ChartLine, ValueFormat)> = self
            .panels
            .iter()
            .flat_map(|panel| panel.lines.iter().map(move |line| (line, panel.text)))
            .collect();
        let mut columns = BTreeMap::new();
        for (index, (line, text)) in lines.iter().enumerate() {
            for &(second, value) in &line.points {
                let row = columns
                    .entry(second)
                    .or_insert_with(|| vec!["–".to_owned(); lines.len()]);
                row[index] = text(value);
            }
        }
        columns
    }

    /// The same as a table.
    pub(crate) fn table(&self) -> Markup {
        html! {
            table {
                caption { "Every row covers " (self.step_s) " s from the moment given" }
                thead {
                    tr {
                        th scope="col" { "time" }
                        @for panel in &self.panels {
                            @for line in &panel.lines { th scope="col" { (line.name) } }
                        }
                    }
                }
                tbody {
                    @for (second, row) in self.columns() {
                        tr {
                            th scope="row" { (clock(second)) }
                            @for text in row { td { (text) } }
                        }
                    }
                }
            }
        }
    }
}

fn latency(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let line = |name: &str, class, pick: fn(&Percentiles) -> u64| {
        let points = timeline.points.iter();
        let points = points
            .filter_map(|point| Some((point.second, pick(point.response_us.as_ref()?) as f64)));
        ChartLine {
            name: name.to_owned(),
            class,
            points: points.collect(),
        }
    };
    let lines = vec![
        line("p99", "l-p99", |times| times.p99),
        line("p95", "l-p95", |times| times.p95),
        line("p50", "l-p50", |times| times.p50),
    ];
    if lines[0].points.is_empty() {
        return None;
    }
    let bound = report.strictest_bound();
    let bound = bound.map(|bound| {
        let text = format!("{} < {}", bound.quantile_name(), micros(bound.within_us));
        (bound.within_us as f64, text)
    });
    let values = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1));
    Some(Panel {
        title: "Response time",
        axis: Axis::linear_or_log(values.chain(bound.as_ref().map(|bound| bound.0))),
        lines,
        bound,
        text: micros_of,
    })
}

/// A line of the timeline's points.
fn line(
    name: &str,
    class: &'static str,
    timeline: &Timeline,
    pick: fn(&plimsoll_analysis::summary::timeline::Point) -> f64,
) -> ChartLine {
    let points = timeline
        .points
        .iter()
        .map(|point| (point.second, pick(point)));
    ChartLine {
        name: name.to_owned(),
        class,
        points: points.collect(),
    }
}

/// A panel from zero; `None` without any point.
fn from_zero(title: &'static str, lines: Vec<ChartLine>, text: ValueFormat) -> Option<Panel> {
    let lines: Vec<ChartLine> = lines
        .into_iter()
        .filter(|line| !line.points.is_empty())
        .collect();
    if lines.is_empty() {
        return None;
    }
    let values = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1));
    Some(Panel {
        title,
        axis: Axis::linear_from_zero(values),
        lines,
        bound: None,
        text,
    })
}

fn throughput(timeline: &Timeline) -> Option<Panel> {
    let lines = vec![
        line("offered/s", "l-offered", timeline, |point| point.offered),
        line("completed/s", "l-completed", timeline, |point| {
            point.completed
        }),
    ];
    from_zero("Throughput", lines, short)
}

/// Users, for runs that have any.
fn users(timeline: &Timeline) -> Option<Panel> {
    if timeline.points.iter().all(|point| point.users_max == 0) {
        return None;
    }
    let users = line("users", "l-completed", timeline, |point| {
        point.users_max as f64
    });
    from_zero("Users", vec![users], short)
}

fn failures(timeline: &Timeline) -> Option<Panel> {
    let failed = line("failed/s", "l-failed", timeline, |point| point.failed);
    from_zero("Errors", vec![failed], short)
}

fn in_flight(timeline: &Timeline) -> Option<Panel> {
    let in_flight = line("in flight", "l-completed", timeline, |point| {
        point.in_flight_max as f64
    });
    from_zero("Requests in flight", vec![in_flight], short)
}

/// A line of samples.
fn levels(
    report: &Report<'_>,
    timeline: &Timeline,
    (name, class): (&str, &'static str),
    series: &str,
    pick: fn(&Level) -> f64,
) -> ChartLine {
    let levels = timeline.levels(report.run, series);
    ChartLine {
        name: name.to_owned(),
        class,
        points: levels
            .iter()
            .map(|(second, level)| (*second, pick(level)))
            .collect(),
    }
}

fn of_process(metric: &str, process: &str) -> String {
    metric::series(metric, &[("process", process)])
}

fn memory(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let max: fn(&Level) -> f64 = |level| level.max;
    let used = metric::series(metric::MEMORY_USAGE, &[("system.memory.state", "used")]);
    let target = of_process(metric::PROCESS_MEMORY, metric::TARGET);
    let lines = vec![
        levels(report, timeline, ("in use", "l-machine"), &used, max),
        levels(report, timeline, ("target", "l-target"), &target, max),
    ];
    let panel = from_zero("Memory", lines, |value| bytes(whole(value)))?;
    let values = panel
        .lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1));
    Some(Panel {
        axis: Axis::linear_bytes_from_zero(values),
        ..panel
    })
}

/// A place on the time axis, for the small charts of evidence.
pub(crate) fn spark(
    points: &[(u32, f64)],
    step_s: u32,
    spans: &[(&'static str, (u32, u32))],
) -> Markup {
    let end = points.last().map_or(1, |point| point.0 + step_s);
    let axis = Axis::linear_from_zero(points.iter().map(|point| point.1));
    html! {
        svg.spark role="img" aria-label="the series over the run, with the windows B, P and F shaded"
            viewBox={ "0 0 " (number(f64::from(end))) " " (BOX_HEIGHT) } preserveAspectRatio="none" {
            @for (name, (from, to)) in spans {
                rect class={ "window " (name) } x=(from) width=(to.saturating_sub(*from)) y="0" height=(BOX_HEIGHT) {}
            }
            path.line.l-target d=(path(points, step_s, &axis)) {}
        }
    }
}
