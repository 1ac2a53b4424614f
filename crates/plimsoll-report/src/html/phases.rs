//! Where the time of a request goes on the network.

use maud::{Markup, html};
use plimsoll_analysis::summary::phases::PhasesSummary;
use plimsoll_model::trial::Percentiles;

use crate::chart::bars;
use crate::number::{count, micros, micros_of, whole};
use crate::report::Report;

/// A phase: name, how many were measured, times.
type PhaseRow = (&'static str, u64, Option<Percentiles>);

/// The table of phases, with a picture of the means; nothing for logs of older versions.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(phases) = &report.summary.phases else {
        return html! {};
    };
    html! {
        section aria-labelledby="phases-heading" {
            h2 #phases-heading { "Where the time goes on the network" }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            p.lead {
                "First byte and transfer of a good answer are its service time together; an answer that was read at once has a \
                 transfer of 0. Connecting and TLS come before them, on new connections alone."
            }
            (means(report, phases))
            div.scroll tabindex="0" role="group" aria-labelledby="phases-heading" { (table(phases)) }
        }
    }
}

fn table(phases: &PhasesSummary) -> Markup {
    let rows: [PhaseRow; 4] = [
        ("connect", phases.connections, phases.connect_us),
        ("TLS handshake", phases.handshakes, phases.tls_us),
        ("first byte", phases.answers, phases.first_byte_us),
        ("transfer", phases.answers, phases.transfer_us),
    ];
    html! {
        table {
            thead { tr {
                th scope="col" { "phase" }
                @for name in ["measured", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"] { th scope="col" { (name) } }
            } }
            tbody { @for (name, number, times) in rows { @if let Some(times) = times { tr {
                th scope="row" { (name) }
                td { (count(number)) }
                @for us in [times.p50, times.p90, times.p95, times.p99, times.p999, times.max] { td { (micros(us)) } }
                td { (micros_of(times.mean)) }
            } } } }
        }
    }
}

/// The mean response time of good answers, divided; nothing without any.
fn means(report: &Report<'_>, phases: &PhasesSummary) -> Markup {
    let (Some(response), Some(service), Some(first), Some(transfer)) = (
        report.summary.response_us,
        report.summary.service_us,
        phases.first_byte_us,
        phases.transfer_us,
    ) else {
        return html! {};
    };
    let parts = [
        ("c1", "until it was sent", response.mean - service.mean),
        ("c0", "first byte", first.mean),
        ("c2", "transfer", transfer.mean),
    ]
    .map(|(class, name, us)| (class, name, us.max(0.0)));
    let texts = parts.map(|(_, name, us)| format!("{name} {}", micros_of(us)));
    html! {
        p.axis-title.bar-title { "mean response time of a good answer, " (micros_of(response.mean)) }
        div role="img" aria-label={ "The mean response time divided: " (texts.join(", ")) } {
            (bars::stacked(&parts.map(|(class, name, us)| (class, name, whole(us)))))
        }
        ul.legend {
            @for ((class, ..), text) in parts.iter().zip(&texts) {
                li { span class={ "swatch " (class) } {} (text) }
            }
        }
    }
}
