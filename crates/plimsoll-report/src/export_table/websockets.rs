//! Columns of WebSockets in the table of seconds.

use plimsoll_analysis::summary::percentiles;
use plimsoll_model::histogram::Histogram;
use plimsoll_model::trial::Percentiles;
use plimsoll_model::websocket::WebSocketWindow;
use plimsoll_model::window::Window;

use super::{ExportTable, Pick};

pub(super) fn columns(table: &mut ExportTable, rows: &[Window]) {
    let counts: [Pick<WebSocketWindow, u64>; 12] = [
        ("websockets_connected", |window| window.connected),
        ("websockets_failed", |window| window.failed.values().sum()),
        ("websockets_closed", |window| window.closed.values().sum()),
        ("websockets_faults", |window| {
            window.protocol_errors.values().sum()
        }),
        ("messages_in", |window| window.messages_in),
        ("messages_out", |window| window.messages_out),
        ("message_bytes_in", |window| window.bytes_in),
        ("message_bytes_out", |window| window.bytes_out),
        ("messages_unanswered", |window| window.unanswered),
        ("messages_unsent", |window| window.unsent),
        ("websockets_reconnected", |window| window.reconnected),
        ("websockets_reconnects_failed", |window| {
            window.reconnects_failed
        }),
    ];
    for (name, pick) in counts {
        let values = rows
            .iter()
            .map(|row| row.websocket.as_deref().map_or(0, pick));
        table.counts(name, values);
    }
    let times = |pick: fn(&WebSocketWindow) -> Histogram| -> Vec<Option<Percentiles>> {
        let windows = rows.iter().map(|row| row.websocket.as_deref());
        windows.map(|window| percentiles(&pick(window?))).collect()
    };
    table.percentiles("handshake_us", &times(|window| window.handshake.clone()));
    table.percentiles("request_us", &times(|window| window.request.clone()));
    table.percentiles("broadcast_us", &times(broadcasts));
    table.percentiles("reconnect_us", &times(|window| window.reconnect.clone()));
}

fn broadcasts(window: &WebSocketWindow) -> Histogram {
    let mut all = Histogram::new();
    for channel in window.channels.values() {
        all.merge(&channel.latency);
    }
    all
}
