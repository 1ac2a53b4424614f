//! The section of WebSockets.

use maud::{Markup, html};
use plimsoll_analysis::summary::websockets::WebSocketSummary;
use plimsoll_model::trial::Percentiles;

use crate::answer;
use crate::number::{count, micros, percent};
use crate::printable::printable;
use crate::report::Report;
use crate::text::unbroken;

/// Channels in the table.
const CHANNELS_MAX: usize = 100;

pub(super) fn section(report: &Report<'_>) -> Markup {
    let Some(websocket) = &report.summary.websocket else {
        return html! {};
    };
    let plan = &report.run.header.plan;
    let opens = plan.opens_websockets();
    let kind = if opens {
        heading(answer::websocket_kind(&plan.load))
    } else {
        "Messages"
    };
    html! {
        section aria-labelledby="websockets-heading" {
            h2 #websockets-heading { (kind) }
            @if opens { p.lead { (unbroken(&answer::opened(websocket))) "." } }
            @if let Some(asked) = answer::sent(websocket) { p { "Messages: " (unbroken(&asked)) "." } }
            @if let Some(received) = answer::received(websocket) { p { "Received: " (unbroken(&received)) "." } }
            @for text in answer::cuts(websocket) { p { "Cut from this side: " (unbroken(&text)) "." } }
            (times(websocket, kind))
            (channels(websocket))
        }
    }
}

/// As a heading begins.
fn heading(kind: &'static str) -> &'static str {
    match kind {
        "event streams" => "Event streams",
        other => other,
    }
}

fn times(websocket: &WebSocketSummary, kind: &str) -> Markup {
    let rows: Vec<(&str, &Percentiles)> = [
        ("handshake", &websocket.handshake_us),
        ("request", &websocket.request_us),
        ("broadcast", &websocket.broadcast_us),
        ("reconnect", &websocket.reconnect_us),
    ]
    .into_iter()
    .filter_map(|(name, times)| Some((name, times.as_ref()?)))
    .collect();
    html! {
        @if !rows.is_empty() {
            div.scroll tabindex="0" role="group" aria-label=(format!("Times of {kind}")) {
                table {
                    thead { tr {
                        th scope="col" { "time" }
                        @for name in ["p50", "p90", "p95", "p99", "p99.9", "max"] { th scope="col" { (name) } }
                    } }
                    tbody {
                        @for (name, times) in &rows {
                            tr {
                                th scope="row" { (name) }
                                @for value in [times.p50, times.p90, times.p95, times.p99, times.p999, times.max] {
                                    td { (micros(value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn channels(websocket: &WebSocketSummary) -> Markup {
    let active = websocket
        .channels
        .iter()
        .filter(|channel| channel.broadcasts.messages > 0);
    let shown: Vec<_> = active.take(CHANNELS_MAX).collect();
    html! {
        @if !shown.is_empty() {
            div.scroll tabindex="0" role="group" aria-label="Channels" {
                table {
                    thead { tr {
                        th.text scope="col" { "channel" }
                        @for name in [
                            "broadcasts", "reach", "expected", "received", "got nothing", "gaps", "duplicates",
                            "out of order",
                        ] { th scope="col" { (name) } }
                    } }
                    tbody {
                        @for channel in &shown {
                            @let broadcasts = &channel.broadcasts;
                            @let reached = &broadcasts.reached;
                            tr {
                                th.text scope="row" { (printable(&channel.name)) }
                                td { (count(broadcasts.messages)) }
                                td { (reached.ratio().map_or_else(|| "–".to_owned(), percent)) }
                                @for number in [
                                    reached.expected, reached.received, reached.unreached, broadcasts.gaps,
                                    broadcasts.duplicates, broadcasts.reordered,
                                ] { td { (count(number)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
