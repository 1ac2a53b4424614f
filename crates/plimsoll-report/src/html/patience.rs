//! Bands of patience.

use maud::{Markup, html};

use crate::answer::band_shares;
use crate::chart::bars;
use crate::number::{count, micros, percent};
use crate::printable::printable;
use crate::report::Report;

/// The bands of the plan; nothing without any.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(counts) = report
        .summary
        .patience
        .as_ref()
        .filter(|counts| counts.total() > 0)
    else {
        return html! {};
    };
    let total = counts.total() as f64;
    let rows = counts.bands.iter().zip(band_shares(counts));
    let last = counts.bands.last().map_or(0, |count| count.band.within_us);
    html! {
        section aria-labelledby="patience-heading" {
            h2 #patience-heading { "Patience" }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            p.lead { "Requests by how long they took from the moment they were due, in the bands of the plan." }
            div.scroll tabindex="0" role="group" aria-labelledby="patience-heading" {
                table.classes {
                    thead { tr {
                        th scope="col" { "band" } th scope="col" { "within" } th scope="col" { "requests" }
                        th scope="col" { "share" } th.wide aria-hidden="true" {} th scope="col" { "or sooner" }
                    } }
                    tbody {
                        @for (count_of, (share, within)) in rows { tr {
                            th scope="row" { (printable(&count_of.band.name)) }
                            td { (micros(count_of.band.within_us)) }
                            td { (count(count_of.requests)) }
                            td { (percent(share)) }
                            td.wide aria-hidden="true" { (bars::value("base", share, None)) }
                            td { (percent(within)) }
                        } }
                        @for (name, class, number) in [("longer", "slow", counts.longer), ("failed", "failing", counts.failed)] {
                            @if number > 0 { tr {
                                th scope="row" { (name) }
                                td { @if name == "longer" { "above " (micros(last)) } @else { "–" } }
                                td { (count(number)) }
                                td { (percent(number as f64 / total)) }
                                td.wide aria-hidden="true" { (bars::value(class, number as f64 / total, None)) }
                                td { "–" }
                            } }
                        }
                    }
                }
            }
        }
    }
}
