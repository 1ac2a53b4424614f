//! Panels of CPU and TCP states.

use plimsoll_analysis::summary::resources::{NamedSeries, machine_cpu, programs_cpu, tcp_states};
use plimsoll_analysis::summary::timeline::{Level, Timeline};

use super::{ChartLine, Panel, from_zero, levels};
use crate::chart::axis::Axis;
use crate::number::{percent, short};
use crate::printable::printable;
use crate::report::Report;

/// Colours of lines without a meaning of their own.
const COLOURS: [&str; 6] = [
    "side-line side-0",
    "side-line side-1",
    "side-line side-2",
    "side-line side-3",
    "side-line side-4",
    "side-line side-5",
];

/// CPU of the machine and of the two sides. Where a point covers several seconds, its highest second is a thin line above
/// the mean: a peak of a second is not lost in a day.
pub(super) fn machine(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let mut lines = Vec::new();
    for NamedSeries { name, series } in machine_cpu(report.run) {
        let (class, peak) = match name.as_str() {
            "machine" => ("l-machine", Some("l-machine peak")),
            "target" => ("l-target", Some("l-target peak")),
            "generator" => ("l-generator", None),
            _ => ("l-p50", None),
        };
        lines.push(levels(report, timeline, (&name, class), &series, |level| {
            level.mean
        }));
        if let Some(peak) = peak.filter(|_| timeline.step_s > 1) {
            let name = format!("{name}, highest second");
            lines.push(levels(report, timeline, (&name, peak), &series, |level| {
                level.max
            }));
        }
    }
    shares("CPU of the machine", lines)
}

/// CPU by program of the service: what each point's highest second used.
pub(super) fn programs(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let lines = highest_lines(report, timeline, &programs_cpu(report.run));
    let values = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.1));
    let axis = Axis::linear_from_zero(values);
    shares("CPU by program", lines).map(|panel| Panel { axis, ..panel })
}

/// TCP sockets of the machine by state: the highest number of each point.
pub(super) fn tcp(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let lines = highest_lines(report, timeline, &tcp_states(report.run));
    from_zero("TCP connections of the machine", lines, short)
}

fn highest_lines(
    report: &Report<'_>,
    timeline: &Timeline,
    series: &[NamedSeries],
) -> Vec<ChartLine> {
    let highest: fn(&Level) -> f64 = |level| level.max;
    let lines = series.iter().zip(COLOURS).map(|(named, class)| {
        let name = printable(&named.name).replace('_', " ");
        levels(report, timeline, (&name, class), &named.series, highest)
    });
    lines.collect()
}

fn shares(title: &'static str, lines: Vec<ChartLine>) -> Option<Panel> {
    (!lines.is_empty()).then(|| Panel {
        title,
        axis: Axis::linear_up_to(1.0),
        lines,
        bound: None,
        text: percent,
    })
}
