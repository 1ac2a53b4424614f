//! Flags that open WebSockets or streams of Server-Sent Events instead of sending requests.

use std::time::Duration;

use clap::Args;

use super::{duration, rate_above_zero};

/// WebSocket sessions: opened, held, and their messages measured.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, and any of them may be given"
)]
#[derive(Debug, Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketArguments {
    /// Open --connections WebSockets to the URL (ws://, wss://, http:// or https://) and hold them
    #[arg(long, group = "talks", conflicts_with_all = [
        "rate", "users", "phase", "step", "lasting", "think", "spacing", "target", "request", "head", "data",
        "compressed", "location", "good", "no_keepalive", "requests_per_connection", "max_connections", "http2",
        "http2_prior_knowledge", "streams",
    ])]
    pub(crate) ws: bool,
    /// Open --connections streams of Server-Sent Events, hold them, and measure events as with --ws
    #[arg(long, group = "talks", conflicts_with_all = [
        "rate", "users", "phase", "step", "lasting", "think", "spacing", "target", "request", "head", "data",
        "compressed", "location", "good", "no_keepalive", "requests_per_connection", "max_connections", "http2",
        "http2_prior_knowledge", "streams",
    ])]
    pub(crate) sse: bool,
    /// Handshakes per second, evenly spaced [default: 1000/s]
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, requires = "talks")]
    pub(crate) connect_rate: Option<f64>,
    /// How long all are held after the last handshake was due [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "talks")]
    pub(crate) hold: Option<Duration>,
    /// Offer permessage-deflate
    #[arg(long, requires = "talks", conflicts_with = "sse")]
    pub(crate) ws_compress: bool,
    /// Reconnect sessions that the target or the network closes: after 500 ms on average, doubling up to 30 s, 10 times
    #[arg(long, requires = "talks")]
    pub(crate) ws_reconnect: bool,
    /// Message to send on each: with --every repeatedly, where the next message that is not a broadcast counts as the
    /// response; without --every once after the handshake, such as a subscription
    #[arg(long, value_name = "TEXT", requires = "talks", conflicts_with = "sse")]
    pub(crate) send: Option<String>,
    /// JSON path of the publication time in a broadcast, in s, ms, µs or ns since 1970: $.time
    #[arg(long, value_name = "JSONPATH", requires = "talks")]
    pub(crate) broadcast_stamp: Option<String>,
    /// JSON path of the sequence number in a broadcast: $.seq. A message with neither field is not a broadcast; without
    /// both flags every message that is not a response is a broadcast
    #[arg(long, value_name = "JSONPATH", requires = "talks")]
    pub(crate) broadcast_seq: Option<String>,
}
