//! Charts of the day: requests, response times, CPU.

use maud::{Markup, html};
use plimsoll_logs::day::summary::{Distribution, MinuteSummary};

use super::LogObject;
use crate::chart::axis::Axis;
use crate::chart::day::{DayAxis, DayChart};
use crate::chart::panel::ChartLine;
use crate::number::{count, micros_of, percent, short};

/// Points of a chart.
const POINTS_MAX: u32 = 720;

/// Requests of a minute.
type OfMinute = fn(&MinuteSummary) -> u64;

/// Name, class of the line, and requests of each kind.
const KINDS: [(&str, &str, OfMinute); 5] = [
    ("pages", "l-p95", |minute| minute.page),
    ("API", "l-p99", |minute| minute.api),
    ("assets", "l-p50", |minute| minute.asset),
    ("media", "l-offered", |minute| minute.media),
    ("other", "l-target", |minute| minute.other),
];

/// The minute of a moment since 1970.
fn minute_of(at: &str) -> Option<i64> {
    let moment: jiff::Timestamp = at.parse().ok()?;
    Some(moment.as_second().div_euclid(60))
}

fn axis_of(object: &LogObject) -> Option<DayAxis> {
    let minutes = &object.day.requests_by_minute;
    let first = minute_of(&minutes.first()?.at)?;
    let last = minute_of(&minutes.last()?.at)?;
    Some(DayAxis::new(first, last, POINTS_MAX))
}

/// Requests by minute and kind, and what reaches the service.
pub(super) fn section(object: &LogObject) -> Markup {
    let Some(axis) = axis_of(object) else {
        return html! {};
    };
    let merged = axis.step() > 1;
    html! {
        section aria-labelledby="day-heading" {
            h2 #day-heading { "The day" }
            p.lead {
                "Requests per second by the minute in which they began, in UTC."
                @if merged { " Each point is the mean of " (axis.step()) " minutes." }
            }
            (axis.draw(&requests(object, axis)))
            (axis.draw(&service(object, axis)))
            @if let Some(chart) = times(object, axis) { (axis.draw(&chart)) }
            @for series in object.cpu.iter().flatten() {
                (axis.draw(&cpu(series, axis)))
            }
            details {
                summary { "By hour, as a table" }
                div.scroll tabindex="0" role="group" aria-label="By hour" { (hours(object)) }
            }
        }
    }
}

fn rate(per_minute: u64) -> f64 {
    per_minute as f64 / 60.0
}

fn line(
    object: &LogObject,
    axis: DayAxis,
    name: &str,
    class: &'static str,
    of: OfMinute,
) -> ChartLine {
    let minutes = object.day.requests_by_minute.iter();
    let values = minutes.filter_map(|minute| Some((minute_of(&minute.at)?, rate(of(minute)))));
    ChartLine {
        name: name.to_owned(),
        class,
        points: axis.points(values, Some(0.0)),
    }
}

fn chart(title: &'static str, lines: Vec<ChartLine>) -> DayChart {
    let values = lines.iter().flat_map(|line| &line.points);
    let axis = Axis::linear_from_zero(values.map(|point| point.1));
    DayChart {
        title,
        lines,
        axis,
        label: short,
    }
}

fn requests(object: &LogObject, axis: DayAxis) -> DayChart {
    let kinds = KINDS.iter().filter(|kind| {
        let minutes = object.day.requests_by_minute.iter();
        minutes.map(kind.2).any(|requests| requests > 0)
    });
    let mut lines = vec![line(object, axis, "all", "l-machine", |minute| {
        minute.requests
    })];
    lines.extend(kinds.map(|(name, class, of)| line(object, axis, name, class, *of)));
    chart("Requests per second", lines)
}

fn service(object: &LogObject, axis: DayAxis) -> DayChart {
    let lines = vec![
        line(object, axis, "reach the service", "l-completed", |minute| {
            minute.reach_service
        }),
        line(object, axis, "server errors", "l-failed", |minute| {
            minute.server_errors
        }),
    ];
    chart("Requests per second that reach the service", lines)
}

fn times(object: &LogObject, axis: DayAxis) -> Option<DayChart> {
    let line = |name: &str, class: &'static str, of: fn(&Distribution) -> f64| {
        let hours = object.day.hours.iter();
        let values = hours.filter_map(|hour| {
            let minute = minute_of(&hour.at)?;
            let ms = of(hour.response_time_ms.as_ref()?);
            // An hour is a line of its length.
            Some((0..60).map(move |offset| (minute + offset, ms)))
        });
        ChartLine {
            name: name.to_owned(),
            class,
            points: axis.points(values.flatten(), None),
        }
    };
    let lines = vec![
        line("p50", "l-p50", |times| times.p50),
        line("p95", "l-p95", |times| times.p95),
        line("p99", "l-p99", |times| times.p99),
    ];
    let values: Vec<f64> = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.1)
        .collect();
    (!values.is_empty()).then(|| DayChart {
        title: "Response time by hour",
        lines,
        axis: Axis::linear_or_log(values),
        label: |ms| micros_of(ms * 1e3),
    })
}

fn cpu(series: &super::CpuSeries, axis: DayAxis) -> DayChart {
    let minutes = series.minutes.iter();
    let values = minutes.filter_map(|minute| Some((minute_of(&minute.at)?, minute.busy)));
    DayChart {
        title: "CPU",
        lines: vec![ChartLine {
            name: crate::printable::printable(&series.name),
            class: "l-machine",
            points: axis.points(values, None),
        }],
        axis: Axis::linear_up_to(1.0),
        label: percent,
    }
}

fn hours(object: &LogObject) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "hour (UTC)" } th scope="col" { "requests" }
                th scope="col" { "p50" } th scope="col" { "p95" } th scope="col" { "p99" }
            } }
            tbody { @for hour in &object.day.hours { tr {
                th scope="row" { (super::page::clock(&hour.at)) }
                td { (count(hour.requests)) }
                @match &hour.response_time_ms {
                    Some(times) => { @for ms in [times.p50, times.p95, times.p99] { td { (micros_of(ms * 1e3)) } } },
                    None => { td { "–" } td { "–" } td { "–" } },
                }
            } } }
        }
    }
}
