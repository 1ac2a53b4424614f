//! A replay as one self-contained HTML file.

use maud::{Markup, html};

use super::text::{cells, decision_text, header, sentence};
use super::{ScaleObject, ScalerRun};
use crate::chart::scaling::ScalingChart;
use crate::html::{StaticPage, page_banner};
use crate::number::{rate, seconds};
use crate::printable::printable;
use crate::text::unbroken;

/// Decisions on the page: the first.
const DECISIONS_MAX: usize = 200;

/// The whole file; `scalers` are those of the object.
pub fn render(object: &ScaleObject, scalers: &[ScalerRun]) -> String {
    let main = html! {
        @for warning in &object.warnings { p.notice { (printable(warning)) } }
        (answer(object))
        (table(object))
        section aria-labelledby="over-time" {
            h2 #over-time { "Demand, supply and load" }
            p.lead {
                "All in replicas, over the time of the trace: the load as a multiple of what one carries ("
                (rate(object.line)) "), the replicas that it needs, and those that the scaler had."
            }
            @for scaler in scalers { (ScalingChart::of(&scaler.name, &scaler.seconds, object.line).draw()) }
        }
        (decisions(object))
    };
    StaticPage {
        title: "scale".to_owned(),
        is_experiment: true,
        banner: banner(object),
        main,
        made_from: "the policy and the trace alone",
        command: "plimsoll scale POLICY --replay TRACE --html FILE",
    }
    .render()
}

fn banner(object: &ScaleObject) -> Markup {
    page_banner(&html! {
        div {
            strong { "Plimsoll" }
            span { "scaling policy " (printable(&object.policy)) }
        }
        span { (printable(&object.trace)) ", " (seconds(object.duration_s.into())) }
    })
}

fn answer(object: &ScaleObject) -> Markup {
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (unbroken(&printable(&sentence(object)))) }
            @if let Some(own) = object.scalers.first() {
                p { (printable(&own.capacity)) "; " (printable(&own.oscillation)) "." }
            }
        }
    }
}

fn table(object: &ScaleObject) -> Markup {
    let has_price = object.scalers.iter().any(|scaler| scaler.price.is_some());
    html! {
        section aria-labelledby="scalers" {
            h2 #scalers { "Compared" }
            div.scroll tabindex="0" role="group" aria-label="Scalers" {
                table {
                    thead { tr {
                        @for (index, name) in header(has_price).iter().enumerate() {
                            th.text[index == 0] scope="col" { (name) }
                        }
                    } }
                    tbody {
                        @for scaler in &object.scalers {
                            @let row = cells(scaler, object, has_price);
                            tr {
                                @for (index, cell) in row.iter().enumerate() {
                                    @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
            p.muted {
                "θ: missing or superfluous replicas as a share of the demand; τ: share of the time with them; unstable: share of the time in \
                 which supply did not move as demand did. Speedup: how many times as elastic as "
                (object.baseline.as_deref().map_or_else(|| "another policy".to_owned(), printable)) "."
            }
            ul.remarks {
                @for scaler in &object.scalers {
                    li { strong { (printable(&scaler.name)) } ": " (printable(&scaler.capacity)) "; " (printable(&scaler.oscillation)) }
                }
            }
        }
    }
}

fn decisions(object: &ScaleObject) -> Markup {
    let more =
        object.decisions.len().saturating_sub(DECISIONS_MAX) as u64 + object.decisions_left_out;
    html! {
        section aria-labelledby="decisions" {
            h2 #decisions { "Decisions of " (printable(&object.policy)) }
            @if object.decisions.is_empty() { p { "No decision changes anything." } }
            ol.remarks {
                @for decision in object.decisions.iter().take(DECISIONS_MAX) {
                    li { (printable(&decision_text(decision))) }
                }
            }
            @if more > 0 { p.muted { (more) " more are in --json." } }
        }
    }
}
