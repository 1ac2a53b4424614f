//! The object of WebSockets.

use std::collections::BTreeMap;

use plimsoll_analysis::summary::cuts::CutSummary;
use plimsoll_analysis::summary::websockets::{BroadcastSummary, ChannelSummary, WebSocketSummary};
use plimsoll_model::websocket::SocketCut;
use schemars::JsonSchema;
use serde::Serialize;

use super::TimesObject;
use crate::number::millis;

/// Most channels listed individually.
const CHANNELS_MAX: usize = 100;

/// Results of WebSockets. Times are of the judged seconds, all else is of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "WebSocket")]
pub struct WebSocketObject {
    /// Successful handshakes.
    pub connected: u64,
    /// Failed handshakes: the sum of `failures`.
    pub failed: u64,
    /// Failed handshakes by cause: `status 403`, `wrong accept key`, or the name of an outcome such as
    /// `connect_refused`.
    pub failures: BTreeMap<String, u64>,
    /// WebSockets closed early by the target: the sum of `close_codes`.
    pub closed: u64,
    /// The same by close code; 1005 without a code, 1006 without a close frame.
    pub close_codes: BTreeMap<String, u64>,
    /// WebSockets closed by us because the target violated the protocol or a limit.
    pub faults: BTreeMap<String, u64>,
    /// From the moment a handshake was due until its response, ms.
    pub handshake_ms: TimesObject,
    /// From the moment a message of `--send` and `--every`, or of a plan's `await`, was due until its response, ms.
    pub request_ms: TimesObject,
    /// From the timestamp in a broadcast to its arrival, ms; null without `--broadcast-stamp`, or `stamp` in a plan.
    pub broadcast_ms: TimesObject,
    /// Received / expected; null when nothing was expected. A subscriber is expected to receive every message of its
    /// channel that any subscriber received while it was subscribed, except within a second of both ends.
    pub reach: Option<f64>,
    /// Expected pairs of a message and a subscriber.
    pub expected: u64,
    /// Pairs of these that were received.
    pub received: u64,
    /// Subscribers that received none of their expected messages.
    pub unreached: u64,
    /// Distinct broadcasts received.
    pub broadcasts: u64,
    /// Sequence numbers missing between the first and the last of each subscriber; 0 without `--broadcast-seq`, or
    /// `seq` in a plan.
    pub gaps: u64,
    /// Messages received again by the same subscriber.
    pub duplicates: u64,
    /// Messages received after one with a higher sequence number; 0 without `--broadcast-seq`, or `seq` in a plan.
    pub reordered: u64,
    /// Messages received.
    pub messages_in: u64,
    /// Messages that were sent.
    pub messages_out: u64,
    /// Content bytes of the messages received.
    pub bytes_in: u64,
    /// Content bytes of the messages sent.
    pub bytes_out: u64,
    /// Messages of `--every` with a response.
    pub answered: u64,
    /// Messages of `--every` without a response in time.
    pub unanswered: u64,
    /// Broadcasts that arrived before their timestamp, and count with a latency of 0: the publisher's clock is ahead of
    /// ours.
    pub ahead: u64,
    /// The largest such difference, ms.
    pub ahead_ms_max: f64,
    /// Lost WebSockets that were reopened, where the plan has `reconnect`.
    pub reconnected: u64,
    /// Failed attempts to reopen.
    pub reconnects_failed: u64,
    /// From the loss of a WebSocket until it was ready again, ms; over the whole run.
    pub reconnect_ms: TimesObject,
    /// Messages that could not be sent: no WebSocket was open, or the target did not read.
    pub unsent: u64,
    /// WebSockets of users who dropped out of their network (`drop`); null without any.
    pub dropped: Option<CutObject>,
    /// WebSockets that were cut together (`disconnect`), by their moment.
    pub disconnects: Vec<DisconnectObject>,
    /// The same by channel, which is the URL or what a plan's `subscribe` names; the first 100.
    pub channels: Vec<ChannelObject>,
}

/// What became of WebSockets that were cut from this side, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Cut")]
pub struct CutObject {
    /// WebSockets that were cut.
    pub cut: u64,
    /// Those that were open again.
    pub back: u64,
    /// Until half of all that were cut were open again, ms: from a mass disconnect, or from the return of users who had
    /// dropped; null when fewer were.
    pub back_ms_p50: Option<f64>,
    /// The same for 99 % of all.
    pub back_ms_p99: Option<f64>,
    /// Attempts to open one again.
    pub attempts: u64,
    /// Most attempts in one second.
    pub attempts_per_second_max: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// WebSockets that stay closed: their attempts were used up.
    pub abandoned: u64,
}

/// A mass disconnect.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Disconnect")]
pub struct DisconnectObject {
    /// Its moment, s from the start of the load.
    pub at_s: f64,
    /// What became of the WebSockets.
    #[serde(flatten)]
    pub cut: CutObject,
}

/// Broadcasts of one channel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub struct ChannelObject {
    /// Path and query of its URL, or the name in a plan's `subscribe`.
    pub channel: String,
    /// Received / expected; null when nothing was expected.
    pub reach: Option<f64>,
    /// Expected pairs of a message and a subscriber.
    pub expected: u64,
    /// Pairs of these that were received.
    pub received: u64,
    /// Subscribers that received none of their expected messages.
    pub unreached: u64,
    /// Distinct broadcasts received.
    pub broadcasts: u64,
    /// Sequence numbers missing between the first and the last of each subscriber.
    pub gaps: u64,
    /// Messages received again by the same subscriber.
    pub duplicates: u64,
    /// Messages received after one with a higher sequence number.
    pub reordered: u64,
    /// From the timestamp in a broadcast to its arrival, ms.
    pub broadcast_ms: TimesObject,
}

impl WebSocketObject {
    pub(super) fn of(summary: &WebSocketSummary) -> Self {
        let BroadcastSummary {
            messages,
            reached,
            gaps,
            duplicates,
            reordered,
        } = summary.broadcasts;
        let codes = summary.close_codes.iter();
        let channels = summary.channels.iter().take(CHANNELS_MAX);
        let mut cuts = summary.cuts.iter();
        let dropped = cuts.find(|cuts| cuts.cut == SocketCut::Dropped);
        Self {
            connected: summary.connected,
            failed: summary.failed(),
            failures: summary.failures.clone(),
            closed: summary.closed(),
            close_codes: codes
                .map(|(code, &count)| (code.to_string(), count))
                .collect(),
            faults: summary.protocol_errors.clone(),
            handshake_ms: TimesObject::of(summary.handshake_us),
            request_ms: TimesObject::of(summary.request_us),
            broadcast_ms: TimesObject::of(summary.broadcast_us),
            reach: reached.ratio(),
            expected: reached.expected,
            received: reached.received,
            unreached: reached.unreached,
            broadcasts: messages,
            gaps,
            duplicates,
            reordered,
            messages_in: summary.messages_in,
            messages_out: summary.messages_out,
            bytes_in: summary.bytes_in,
            bytes_out: summary.bytes_out,
            answered: summary.answered,
            unanswered: summary.unanswered,
            ahead: summary.ahead,
            ahead_ms_max: millis(summary.ahead_us_max),
            reconnected: summary.reconnected,
            reconnects_failed: summary.reconnects_failed,
            reconnect_ms: TimesObject::of(summary.reconnect_us),
            unsent: summary.unsent,
            dropped: dropped.map(CutObject::of),
            disconnects: summary
                .cuts
                .iter()
                .filter_map(DisconnectObject::of)
                .collect(),
            channels: channels.map(ChannelObject::of).collect(),
        }
    }
}

impl CutObject {
    fn of(cuts: &CutSummary) -> Self {
        Self {
            cut: cuts.count,
            back: cuts.back,
            back_ms_p50: cuts.half_back_us.map(millis),
            back_ms_p99: cuts.p99_back_us.map(millis),
            attempts: cuts.attempts,
            attempts_per_second_max: cuts.attempts_per_second_max,
            failed: cuts.failed,
            abandoned: cuts.abandoned,
        }
    }
}

impl DisconnectObject {
    fn of(cuts: &CutSummary) -> Option<Self> {
        let SocketCut::Disconnected(at_ms) = cuts.cut else {
            return None;
        };
        Some(Self {
            at_s: at_ms as f64 / 1e3,
            cut: CutObject::of(cuts),
        })
    }
}

impl ChannelObject {
    fn of(channel: &ChannelSummary) -> Self {
        let BroadcastSummary {
            messages,
            reached,
            gaps,
            duplicates,
            reordered,
        } = channel.broadcasts;
        Self {
            channel: channel.name.clone(),
            reach: reached.ratio(),
            expected: reached.expected,
            received: reached.received,
            unreached: reached.unreached,
            broadcasts: messages,
            gaps,
            duplicates,
            reordered,
            broadcast_ms: TimesObject::of(channel.broadcast_us),
        }
    }
}
