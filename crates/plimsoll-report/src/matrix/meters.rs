//! Meters of scalability: of cells, and over factors with numbers.

use maud::{Markup, html};
use plimsoll_analysis::experiment::result::FactorScale;

use super::MatrixReport;
use crate::number::{percent, short};
use crate::printable::printable;

/// Cells in the table.
const CELLS_MAX: usize = 100;
/// Cells on the terminal.
const LINES_MAX: usize = 8;

/// The plain forms, then the meters of the cells, the best mean first.
pub(super) fn meters_section(report: &MatrixReport<'_>) -> Markup {
    html! {
        @for scale in &report.result.scales { p { (scale_sentence(report, scale)) } }
        (cells(report))
        (study(report))
    }
}

/// `workers 1 → 2: 76 % of linear, 2 → 4: 98 %; every step up to 4 reaches 80 %.`
fn scale_sentence(report: &MatrixReport<'_>, scale: &FactorScale) -> String {
    let steps: Vec<String> = scale
        .steps
        .iter()
        .map(|(from, to, step)| format!("{} → {}: {}", short(*from), short(*to), percent(*step)))
        .collect();
    let first = scale.steps.first().map(|step| step.0);
    let range = match (scale.range, first) {
        (Some((low, high)), _) if high > low => {
            format!(
                "every step from {} to {} reaches 80 %",
                short(low),
                short(high)
            )
        }
        (_, Some(first)) => format!("the step from {} does not reach 80 %", short(first)),
        _ => return String::new(),
    };
    format!(
        "{}, growth as a share of linear growth: {}; {range}.",
        printable(&report.input.factors[scale.factor].name),
        steps.join(", ")
    )
}

/// What the columns of meters mean.
const MEANINGS: [(&str, &str); 9] = [
    (
        "mean",
        "geometric mean of all axes as ratios to the first cell, each so that more is better: load, p95, good answers, CPU, memory, price",
    ),
    (
        "worst axis",
        "the smallest of these ratios: what the mean hides",
    ),
    ("CRAM", "allocated resources: the price as a ratio"),
    ("CRUM", "used resources: the area of CPU, memory and price"),
    (
        "SPM",
        "performance: the area of throughput, p95 and good answers",
    ),
    ("SLM", "load: the load line, or the throughput, as a ratio"),
    (
        "SCM",
        "capacity: the area of load, performance and allocated resources",
    ),
    ("SEC", "effective capacity: the same with used resources"),
    (
        "F",
        "productivity (Jogalekar and Woodside): throughput, discounted by the response time against the objective, by the price a second",
    ),
];

/// Cells with a mean, the best first.
fn ranked_by_mean(report: &MatrixReport<'_>) -> Vec<usize> {
    let meters = &report.result.meters;
    let mut ranked: Vec<usize> = (0..meters.len())
        .filter(|cell| meters[*cell].mean.is_some())
        .collect();
    let mean = |cell: usize| meters[cell].mean.unwrap_or(0.0);
    ranked.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    ranked
}

/// What is wrong with the areas of the study.
const FLAWS: &str = "Areas depend on the order of the axes and on their units, grow with the square and weigh related axes \
                     twice: a cell that fails can win by the bytes that it moves. They are no rank.";

/// The meters as the market study computes them.
fn study(report: &MatrixReport<'_>) -> Markup {
    let ranked = ranked_by_mean(report);
    let ranges = report.result.study_ranges();
    let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
    html! {
        @if !ranked.is_empty() {
            details {
                summary { "Meters in the units of the market study" }
                p { (FLAWS) }
                @if ranges.range.is_some() {
                    p { "Over all cells: ESS " (shown(ranges.scalability)) ", ESR " (shown(ranges.range)) "." }
                }
                div.scroll tabindex="0" role="group" aria-label="Meters in the units of the study" {
                    table {
                        thead { tr {
                            th scope="col" { "cell" }
                            @for name in ["CRAM", "CRUM", "SPM", "SLM", "SCM", "SEC", "ESS"] { th scope="col" { (name) } }
                        } }
                        tbody { @for &cell in ranked.iter().take(CELLS_MAX) {
                            @let found = &report.result.study[cell];
                            tr {
                                th scope="row" { (printable(&report.cell_text(cell))) }
                                @for value in [
                                    found.allocated, found.used, found.performance, found.load, found.capacity,
                                    found.effective_capacity, found.scalability,
                                ] {
                                    td { (shown(value)) }
                                }
                            }
                        } }
                    }
                }
            }
        }
    }
}

/// The meters in lines: the plain forms, and the cells by their mean.
pub(super) fn lines(report: &MatrixReport<'_>) -> Vec<String> {
    let mut lines: Vec<String> = report
        .result
        .scales
        .iter()
        .map(|scale| {
            let name = printable(&report.input.factors[scale.factor].name);
            let capacity = scale.capacity.iter();
            let capacity: Vec<String> = capacity
                .map(|(level, line)| format!("{} at {}", short(*line), short(*level)))
                .collect();
            let steps = scale.steps.iter();
            let steps: Vec<String> = steps.map(|(.., step)| short(*step)).collect();
            let range = scale.range.map_or_else(
                || "none".to_owned(),
                |(low, high)| format!("{} to {}", short(low), short(high)),
            );
            let (capacity, steps) = (capacity.join(", "), steps.join(", "));
            format!("{name}: SEC {capacity}; ESS {steps}; ESR {range}")
        })
        .collect();
    let ranked = ranked_by_mean(report);
    if ranked.len() < 2 {
        return lines;
    }
    lines.push(
        "meters, by the geometric mean of all axes against the first cell; the areas are no rank:"
            .to_owned(),
    );
    let head = [
        "mean", "worst", "CRAM", "CRUM", "SPM", "SLM", "SCM", "SEC", "F",
    ];
    let row = |name: &str, values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| format!("{value:>8}")).collect();
        format!("{name:<28}{}", values.join(" "))
    };
    lines.push(row("", &head.map(str::to_owned)));
    lines.extend(ranked.iter().take(LINES_MAX).map(|&cell| {
        let found = &report.result.meters[cell];
        let values = [
            found.mean,
            found.worst_axis,
            found.allocated,
            found.used,
            found.performance,
            found.load,
            found.capacity,
            found.effective_capacity,
            found.productivity,
        ];
        let shown = values.map(|value| value.map_or_else(|| "–".to_owned(), short));
        row(&printable(&report.cell_text(cell)), &shown)
    }));
    lines
}

fn cells(report: &MatrixReport<'_>) -> Markup {
    let meters = &report.result.meters;
    let ranked = ranked_by_mean(report);
    let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
    html! {
        @if !ranked.is_empty() {
            p.lead {
                "Each cell against the first that was measured, which has a mean of 1. The rank is by that mean. Areas of polygons \
                 (CRUM, SPM, SCM, SEC) grow with the square and count related axes twice: do not rank by them."
            }
            details {
                summary { "What the columns mean" }
                dl.meanings { @for (name, meaning) in MEANINGS { dt { (name) } dd { (meaning) } } }
            }
            div.scroll tabindex="0" role="group" aria-label="Meters" {
                table {
                    thead { tr {
                        th scope="col" { "cell" }
                        @for name in ["mean", "worst axis", "CRAM", "CRUM", "SPM", "SLM", "SCM", "SEC", "F"] {
                            th scope="col" { (name) }
                        }
                    } }
                    tbody { @for &cell in ranked.iter().take(CELLS_MAX) {
                        @let found = &meters[cell];
                        tr {
                            th scope="row" { (printable(&report.cell_text(cell))) }
                            @for value in [
                                found.mean, found.worst_axis, found.allocated, found.used, found.performance, found.load,
                                found.capacity, found.effective_capacity, found.productivity,
                            ] {
                                td { (shown(value)) }
                            }
                        }
                    } }
                }
            }
        }
    }
}
