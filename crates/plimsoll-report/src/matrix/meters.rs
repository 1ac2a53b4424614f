//! Meters of scalability: of cells, and over factors with numbers.

use maud::{Markup, html};

use super::MatrixReport;
use crate::number::short;
use crate::printable::printable;

/// Cells in the table.
const CELLS_MAX: usize = 100;

/// The plain forms, then the meters of the cells, the best mean first.
pub(super) fn meters_section(report: &MatrixReport<'_>) -> Markup {
    html! {
        @for scale in &report.result.scales {
            p {
                (printable(&report.input.factors[scale.factor].name)) ": "
                @for (from, to, step) in &scale.steps {
                    "from " (short(*from)) " to " (short(*to)) " the line scales by " (short(*step)) " of linear; "
                }
                @match scale.range {
                    Some((low, high)) if high > low => {
                        "by at least 0.8 from " (short(low)) " to " (short(high)) "."
                    }
                    _ => { "no step scales by 0.8." }
                }
            }
        }
        (cells(report))
    }
}

fn cells(report: &MatrixReport<'_>) -> Markup {
    let meters = &report.result.meters;
    let mut ranked: Vec<usize> = (0..meters.len())
        .filter(|cell| meters[*cell].mean.is_some())
        .collect();
    let mean = |cell: usize| meters[cell].mean.unwrap_or(0.0);
    ranked.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    let shown = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
    html! {
        @if !ranked.is_empty() {
            p.lead {
                "Against the first cell, which has a mean of 1. The rank is by the geometric mean of all axes. The areas of \
                 polygons (CRUM, SPM, SCM, SEC) are means over all orders of the axes; they grow with the square and count \
                 related axes twice, so they are no rank."
            }
            div.scroll tabindex="0" role="region" aria-label="Meters" {
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
