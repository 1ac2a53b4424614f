//! Throughput against offered load.

use maud::{Markup, html};
use plimsoll_model::plan::LoadUnit;

use crate::chart::load::symbol;
use crate::chart::throughput;
use crate::report::Report;

/// The picture with its table; nothing where all was at one load.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let points = &report.summary.throughput;
    let Some(chart) = throughput::chart(points) else {
        return html! {};
    };
    let is_rate = points
        .iter()
        .all(|point| point.unit == LoadUnit::RequestsPerSecond);
    let has_failures = points.iter().any(|point| point.failed > 0.0);
    html! {
        section aria-labelledby="throughput-heading" {
            h2 #throughput-heading { "Throughput against offered load" }
            p.lead {
                @if report.is_search() { "Every valid trial is one mark. " }
                @else { "Every step of the load, and every piece of a ramp, is one mark. " }
                @if is_rate { "On the diagonal all requests are answered as fast as they become due; below it they queue or fail." }
            }
            ul.legend {
                (key("pass", "completed"))
                @if has_failures { (key("fail", "failed")) }
            }
            (chart)
            details {
                summary { "The same as a table" }
                div.scroll tabindex="0" role="group" aria-label="Throughput at every load" { (throughput::table(points)) }
            }
        }
    }
}

fn key(class: &str, text: &str) -> Markup {
    html! {
        li { svg.key width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true" {
            g class={ "mark " (class) } { (symbol(class)) }
        } (text) }
    }
}
