//! Workers that carried the load, and what those of each region did together.

use maud::{Markup, html};

use crate::report::Report;
use crate::workers::{COLUMNS, REGION_COLUMNS, WorkerRow, region_rows, rows};

/// The tables; nothing for a load of this machine.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let workers = rows(&report.run.workers);
    if workers.is_empty() {
        return html! {};
    }
    let regions = region_rows(&report.run.workers);
    html! {
        section aria-labelledby="workers-heading" {
            h2 #workers-heading { "Workers" }
            p.lead {
                "Each carried a part of the load: requests are those of its whole part, with warm-up and drain, of a search those \
                 of all trials but self-tests; its share is of what all of them offered, lag and CPU are those of the judged seconds. A clock with + is ahead of this \
                 machine's; by what follows ± the start may have been off. A lost worker has no results from that second on."
            }
            (table("worker", COLUMNS, &workers, "workers-heading"))
            @if !regions.is_empty() {
                h3 #regions-heading { "Workers by region" }
                p {
                    "Of whole parts, with warm-up and drain. Percentiles are those of the good answers of all workers of the \
                     region together."
                }
                (table("region", REGION_COLUMNS, &regions, "regions-heading"))
            }
        }
    }
}

fn table<const N: usize>(
    of: &str,
    columns: [&str; N],
    rows: &[WorkerRow<N>],
    heading: &str,
) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-labelledby=(heading) {
            table {
                thead { tr {
                    th scope="col" { (of) }
                    @for name in columns { th scope="col" { (name) } }
                } }
                tbody { @for row in rows { tr {
                    th scope="row" { (row.name) }
                    @for cell in &row.cells { td { (cell) } }
                } } }
            }
        }
    }
}
