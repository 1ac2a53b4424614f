//! Flags that open WebSockets in place of sending requests.

use std::time::Duration;

use clap::Args;

use super::{duration, rate_above_zero};

/// WebSockets that are opened, held and listened to.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own, and any of them may be given"
)]
#[derive(Debug, Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketArguments {
    /// Open as many WebSockets as --connections says at the URL (ws://, wss://, http:// or https://), and hold them
    #[arg(long, group = "talks", conflicts_with_all = [
        "rate", "users", "phase", "step", "lasting", "think", "spacing", "target", "request", "head", "data",
        "compressed", "location", "good", "no_keepalive", "requests_per_connection", "max_connections", "http2",
        "http2_prior_knowledge", "streams",
    ])]
    pub(crate) ws: bool,
    /// Ask for as many streams of Server-Sent Events as --connections says, hold them, and hear them as with --ws
    #[arg(long, group = "talks", conflicts_with_all = [
        "rate", "users", "phase", "step", "lasting", "think", "spacing", "target", "request", "head", "data",
        "compressed", "location", "good", "no_keepalive", "requests_per_connection", "max_connections", "http2",
        "http2_prior_knowledge", "streams",
    ])]
    pub(crate) sse: bool,
    /// Handshakes due per second, evenly spaced, until all are due [default: 1000/s]
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, requires = "talks")]
    pub(crate) connect_rate: Option<f64>,
    /// How long all are held once the last handshake was due [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "talks")]
    pub(crate) hold: Option<Duration>,
    /// Offer permessage-deflate on each
    #[arg(long, requires = "talks", conflicts_with = "sse")]
    pub(crate) ws_compress: bool,
    /// Open those again that the target or the network ends: after 500 ms on average, doubling up to 30 s, 10 times
    #[arg(long, requires = "talks")]
    pub(crate) ws_reconnect: bool,
    /// A text to send on each: with --every again and again, each answered by the next message that is no broadcast;
    /// without it once, when the WebSocket is open, such as a subscription
    #[arg(long, value_name = "TEXT", requires = "talks", conflicts_with = "sse")]
    pub(crate) send: Option<String>,
    /// Where in a broadcast the moment stands at which it was published, in s, ms, µs or ns since 1970: $.time
    #[arg(long, value_name = "JSONPATH", requires = "talks")]
    pub(crate) broadcast_stamp: Option<String>,
    /// Where in a broadcast its sequence number stands: $.seq. A message with neither is no broadcast; without both flags
    /// all are that answer nothing
    #[arg(long, value_name = "JSONPATH", requires = "talks")]
    pub(crate) broadcast_seq: Option<String>,
}
