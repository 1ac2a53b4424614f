//! Columns of WebSockets in the table of seconds.

use plimsoll_analysis::summary::percentiles;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::Window;

use super::{Pick, Table};

pub(super) fn columns(table: &mut Table, rows: &[Window]) {
    let counts: [Pick<WebSocketWindow, u64>; 12] = [
        ("websockets_connected", |seen| seen.connected),
        ("websockets_failed", |seen| seen.failed.values().sum()),
        ("websockets_closed", |seen| seen.closed.values().sum()),
        ("websockets_faults", |seen| seen.faults.values().sum()),
        ("messages_in", |seen| seen.messages_in),
        ("messages_out", |seen| seen.messages_out),
        ("message_bytes_in", |seen| seen.bytes_in),
        ("message_bytes_out", |seen| seen.bytes_out),
        ("messages_unanswered", |seen| seen.unanswered),
        ("messages_unsent", |seen| seen.unsent),
        ("websockets_reconnected", |seen| seen.reconnected),
        ("websockets_reconnects_failed", |seen| {
            seen.reconnects_failed
        }),
    ];
    for (name, pick) in counts {
        let values = rows
            .iter()
            .map(|row| row.websocket.as_deref().map_or(0, pick));
        table.counts(name, values);
    }
    let times = |pick: fn(&WebSocketWindow) -> Histogram| -> Vec<Option<Percentiles>> {
        let seen = rows.iter().map(|row| row.websocket.as_deref());
        seen.map(|seen| percentiles(&pick(seen?))).collect()
    };
    table.percentiles("handshake_us", &times(|seen| seen.handshake.clone()));
    table.percentiles("request_us", &times(|seen| seen.request.clone()));
    table.percentiles("broadcast_us", &times(broadcasts));
    table.percentiles("reconnect_us", &times(|seen| seen.reconnect.clone()));
}

fn broadcasts(seen: &WebSocketWindow) -> Histogram {
    let mut all = Histogram::new();
    for heard in seen.channels.values() {
        all.merge(&heard.latency);
    }
    all
}
