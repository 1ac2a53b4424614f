//! Bytes and compression.

use maud::{Markup, html};
use plimsoll_model::bodies::BodyBytes;

use crate::number::{bytes, count, percent, short};
use crate::report::Report;

/// Bytes of the run and its bodies by content coding; nothing without traffic.
pub(super) fn section(report: &Report<'_>) -> Markup {
    let traffic = &report.summary.traffic;
    if traffic.bytes_in + traffic.bytes_out == 0 {
        return html! {};
    }
    let bodies = traffic.bodies.by_coding();
    let answers: u64 = bodies.iter().map(|coding| coding.1.answers).sum();
    let is_decoded = bodies.iter().any(|(_, coded)| coded.decoded_from > 0);
    html! {
        section aria-labelledby="traffic-heading" {
            h2 #traffic-heading { "Bytes and compression" }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            p {
                "Received " strong { (bytes(traffic.bytes_in)) } ", sent " strong { (bytes(traffic.bytes_out)) }
                ": heads included, TLS left out."
            }
            @if !bodies.is_empty() {
                div.scroll tabindex="0" role="group" aria-labelledby="traffic-heading" {
                    table {
                        caption { "Response bodies by content coding, redirects included" }
                        thead { tr {
                            @for name in ["coding", "answers", "share", "bytes", "per answer"] { th scope="col" { (name) } }
                            @if is_decoded { th scope="col" { "decoded" } th scope="col" { "ratio" } }
                        } }
                        tbody { @for (coding, coded) in &bodies { tr {
                            th scope="row" { (name_of(coding)) }
                            td { (count(coded.answers)) }
                            td { (percent(coded.answers as f64 / answers.max(1) as f64)) }
                            td { (bytes(coded.bytes)) }
                            td { (bytes(coded.bytes / coded.answers.max(1))) }
                            @if is_decoded {
                                td { (decoded(coded)) }
                                td { (coded.ratio().map_or_else(|| "–".to_owned(), short)) }
                            }
                        } } }
                    }
                }
                @if !is_decoded {
                    p.muted { "The decoded size is known only where a journey reads a compressed body." }
                }
            }
        }
    }
}

fn name_of(coding: &str) -> &str {
    match coding {
        "br" => "brotli",
        "other" => "none, or another",
        coding => coding,
    }
}

/// `700 KiB from 100 KiB`: only bodies that a journey reads are decoded.
fn decoded(coded: &BodyBytes) -> String {
    if coded.decoded_from == 0 {
        return "–".to_owned();
    }
    format!(
        "{} from {}",
        bytes(coded.decoded),
        bytes(coded.decoded_from)
    )
}
