//! The heads with which a request becomes a subscriber of the hub.

use plimsoll_wire::websocket::deflate::Agreement;
use plimsoll_wire::websocket::handshake::UpgradeRequest;

use super::head::{ConnectionHeader, HeadWriter};

/// Bytes that suffice for either head without its variable lines.
const LEN: usize = 256;

/// The response that opens a WebSocket.
pub(crate) fn websocket(upgrade: &UpgradeRequest, deflate: Option<Agreement>) -> Vec<u8> {
    let mut out = Vec::with_capacity(LEN);
    let mut head = HeadWriter::new(&mut out, 101);
    head.field("Upgrade", "websocket")
        .field("Connection", "Upgrade")
        .field("Sec-WebSocket-Accept", &upgrade.accept);
    if let Some(deflate) = deflate {
        head.field("Sec-WebSocket-Extensions", &deflate.header());
    }
    head.end();
    out
}

/// The head for a reader of Server-Sent Events. Proxies are requested not to buffer. The body ends with the connection:
/// chunk lengths would differ from the bytes that all subscribers share. `extra` are complete header lines.
pub(crate) fn events(extra: &str, date: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(LEN + extra.len());
    let mut head = HeadWriter::new(&mut out, 200);
    head.field("Content-Type", "text/event-stream")
        .field("Cache-Control", "no-store")
        .field("X-Accel-Buffering", "no")
        .connection(ConnectionHeader::Close)
        .lines(extra)
        .date(date);
    head.end();
    out
}
