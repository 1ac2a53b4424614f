//! Where requests spend their time, by their spans.

use maud::{Markup, html};
use plimsoll_analysis::traces::{self, ComponentUse, RouteUse};

use crate::number::{percent, short};
use crate::printable::printable;
use crate::report::Report;
use crate::text::{queries, route_name};

/// A table of routes and their components; empty without spans.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let routes = traces::of(report.run);
    if routes.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="traces-heading" {
            h2 #traces-heading { "What requests spend their time on" }
            p.lead {
                "From the requests traced during the whole run. Time in which several calls ran in parallel is divided among them, so that shares add up to the request's time; the time of a call excludes the calls that it made."
            }
            @for route in &routes { (route_section(route)) }
        }
    }
}

fn route_section(route: &RouteUse) -> Markup {
    let name = route_name(route);
    html! {
        h3 { (printable(&name)) }
        p {
            (short(route.each_ms)) " ms each, " (percent(route.share)) " of the traced time, " (percent(route.failed)) " failed"
            @if let Some(queries) = queries(route) { "; " (queries) }
        }
        div.scroll tabindex="0" role="group" aria-label=(format!("components of {name}")) {
            table.evidence {
                thead { tr {
                    th scope="col" { "component" }
                    th scope="col" { "share of the time" }
                    th scope="col" { "calls per request" }
                    th scope="col" { "ms per call" }
                    th scope="col" { "failed" }
                    th.text scope="col" { "what stands out" }
                } }
                tbody { @for part in &route.components { (row(part)) } }
            }
        }
        @for repeated in &route.repeated {
            p { (short(repeated.calls)) " times in each request: " code { (printable(&repeated.statement)) } }
        }
    }
}

fn row(component: &ComponentUse) -> Markup {
    html! {
        tr {
            th scope="row" { (printable(component.name())) small { (component.kind) } }
            td { (percent(component.share)) }
            td { (short(component.calls)) }
            td { (short(component.each_ms)) }
            td { (percent(component.failed)) }
            td.text {
                @for (status, share) in [("429", component.too_many), ("503", component.unavailable)] {
                    @if share > 0.0 { p { (percent(share)) " answered " (status) } }
                }
            }
        }
    }
}
