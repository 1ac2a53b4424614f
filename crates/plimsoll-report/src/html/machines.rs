//! Machines that agents watch, with the generator's own.

use maud::{Markup, html};

use crate::machines::{COLUMNS, rows};
use crate::report::Report;

/// The table of machines; nothing without agents.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let rows = rows(&report.machines);
    if rows.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="machines-heading" {
            h2 #machines-heading { "Machines" }
            p.lead {
                "What each used of what it has, on average "
                @if report.is_search() { "at the highest load that passed, or else at the one that failed" }
                @else { "over the examined seconds" }
                ". Of several disks and links it is the busiest; a clock with + is ahead of the generator's."
            }
            div.scroll tabindex="0" role="group" aria-labelledby="machines-heading" {
                table {
                    thead { tr {
                        th scope="col" { "machine" }
                        @for name in COLUMNS { th scope="col" { (name) } }
                        th scope="col" { "components" }
                    } }
                    tbody { @for row in &rows { tr {
                        th scope="row" { @if row.is_sum { em { (row.name) } } @else { (row.name) } }
                        @for cell in &row.cells { td { (cell) } }
                        td { (row.components) }
                    } } }
                }
            }
        }
    }
}
