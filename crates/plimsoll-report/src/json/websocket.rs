//! The object of WebSockets.

use std::collections::BTreeMap;

use plimsoll_analysis::summary::websockets::{BroadcastSummary, ChannelSummary, WebSocketSummary};
use schemars::JsonSchema;
use serde::Serialize;

use super::TimesObject;
use crate::number::millis;

/// Channels that are told one by one, at most.
const CHANNELS_MAX: usize = 100;

/// What became of WebSockets. Times are of the judged seconds, all else is of the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "WebSocket")]
pub struct WebSocketObject {
    /// Handshakes that opened one.
    pub connected: u64,
    /// Handshakes that did not: the sum of `failures`.
    pub failed: u64,
    /// The same by cause: `status 403`, `wrong accept key`, or the name of an outcome such as `connect_refused`.
    pub failures: BTreeMap<String, u64>,
    /// Open ones that the target ended before their time: the sum of `close_codes`.
    pub closed: u64,
    /// The same by close code; 1005 when it gave none, 1006 when it closed the connection without a word.
    pub close_codes: BTreeMap<String, u64>,
    /// Open ones that were given up, by what the target did against the protocol or a limit.
    pub faults: BTreeMap<String, u64>,
    /// From the moment a handshake was due until it was answered, ms.
    pub handshake_ms: TimesObject,
    /// From the moment a message of `--send` and `--every`, or of a plan's `await`, was due to its answer, ms.
    pub request_ms: TimesObject,
    /// From the stamp in a broadcast to its arrival, ms; null without `--broadcast-stamp`, or `stamp` in a plan.
    pub broadcast_ms: TimesObject,
    /// Received / expected; null when nothing was expected. Expected of a subscriber is every message of its channel that
    /// anybody got while it listened, less a second at both ends.
    pub reach: Option<f64>,
    /// Pairs of a message and a subscriber that was to get it.
    pub expected: u64,
    /// Pairs of these that came about.
    pub received: u64,
    /// Subscribers that were to get something and got nothing at all.
    pub unreached: u64,
    /// Different broadcasts that anybody got.
    pub broadcasts: u64,
    /// Sequence numbers left out between the first and the last of each subscriber; 0 without `--broadcast-seq`, or `seq` in a plan.
    pub gaps: u64,
    /// Receipts of what a subscriber had already.
    pub duplicates: u64,
    /// Receipts after a message with a higher sequence number; 0 without `--broadcast-seq`, or `seq` in a plan.
    pub reordered: u64,
    /// Messages that came.
    pub messages_in: u64,
    /// Messages that were sent.
    pub messages_out: u64,
    /// Bytes of content of the messages that came.
    pub bytes_in: u64,
    /// Bytes of content of the messages that were sent.
    pub bytes_out: u64,
    /// Messages of `--every` that were answered.
    pub answered: u64,
    /// Messages of `--every` whose answer did not come in time.
    pub unanswered: u64,
    /// Broadcasts that came before their stamp, and count with a latency of 0: the publisher's clock is ahead of ours.
    pub ahead: u64,
    /// The most by which one did, ms.
    pub ahead_ms_max: f64,
    /// Lost ones that were opened again, where the plan says `reconnect`.
    pub reconnected: u64,
    /// Tries to do so that failed.
    pub reconnects_failed: u64,
    /// From the moment one was lost until it was ready again, ms; over the whole run.
    pub reconnect_ms: TimesObject,
    /// Messages that were to be sent and were not: no WebSocket was open, or the target did not read.
    pub unsent: u64,
    /// The same by channel, which is the URL or what a plan's `subscribe` names; the first 100.
    pub channels: Vec<ChannelObject>,
}

/// Broadcasts of one channel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub struct ChannelObject {
    /// Path and query of its URL, or the name that a plan's `subscribe` gives it.
    pub channel: String,
    /// Received / expected; null when nothing was expected.
    pub reach: Option<f64>,
    /// Pairs of a message and a subscriber that was to get it.
    pub expected: u64,
    /// Pairs of these that came about.
    pub received: u64,
    /// Subscribers that were to get something and got nothing at all.
    pub unreached: u64,
    /// Different broadcasts that anybody got.
    pub broadcasts: u64,
    /// Sequence numbers left out between the first and the last of each subscriber.
    pub gaps: u64,
    /// Receipts of what a subscriber had already.
    pub duplicates: u64,
    /// Receipts after a message with a higher sequence number.
    pub reordered: u64,
    /// From the stamp in a broadcast to its arrival, ms.
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
            channels: channels.map(ChannelObject::of).collect(),
        }
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
