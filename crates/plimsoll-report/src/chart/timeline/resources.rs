//! Panels of CPU and TCP states.

use plimsoll_analysis::machines::usage::MachineUse;
use plimsoll_analysis::summary::resources::{NamedSeries, machine_cpu, programs_cpu, tcp_states};
use plimsoll_analysis::summary::timeline::{Level, Timeline};
use plimsoll_model::machine::on_machine;
use plimsoll_model::metric;

use super::{ChartLine, Panel, from_zero, levels};
use crate::chart::axis::Axis;
use crate::machines::machine_name;
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

/// CPU of each machine, where agents watch some, under the response time: which of them is busy when that rises.
pub(super) fn machines_cpu(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let mean: fn(&Level) -> f64 = |level| level.mean;
    let lines = machines(report).into_iter().zip(COLOURS);
    let lines = lines.map(|(machine, class)| {
        let name = machine_name(machine.name.as_deref());
        let series = series_of(machine, metric::CPU_BUSY);
        levels(report, timeline, (&name, class), &series, mean)
    });
    let lines = lines.filter(|line| !line.points.is_empty());
    shares("CPU by machine", lines.collect())
}

/// The share of its memory that each machine used.
pub(super) fn machines_memory(report: &Report<'_>, timeline: &Timeline) -> Option<Panel> {
    let lines = machines(report).into_iter().zip(COLOURS);
    let lines = lines.map(|(machine, class)| {
        let of = |metric| timeline.levels(report.run, &series_of(machine, metric));
        let whole = of(metric::MEMORY_LIMIT).into_iter();
        let whole = whole.map(|(_, level)| level.max).fold(0.0, f64::max);
        let available = of(metric::MEMORY_AVAILABLE).into_iter();
        let used = available
            .filter(|_| whole > 0.0)
            .map(|(second, level)| (second, (1.0 - level.mean / whole).max(0.0)));
        ChartLine {
            name: machine_name(machine.name.as_deref()),
            class,
            points: used.collect(),
        }
    });
    let lines = lines.filter(|line| !line.points.is_empty());
    shares("Memory by machine", lines.collect())
}

/// The machines of a panel, in the order of the table: those with the busiest CPUs, where there are more than colours.
fn machines<'r>(report: &'r Report<'_>) -> Vec<&'r MachineUse> {
    let mut machines: Vec<&MachineUse> = report.machines.machines.iter().collect();
    let busy = |machine: &MachineUse| machine.used.cpu_share.unwrap_or(0.0);
    machines.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
    machines.truncate(COLOURS.len());
    machines.sort_by(|a, b| a.name.cmp(&b.name));
    machines
}

/// The series of a metric without labels on a machine.
fn series_of(machine: &MachineUse, metric: &str) -> String {
    let name = machine.name.as_deref();
    name.map_or_else(|| metric.to_owned(), |name| on_machine(metric, name))
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
