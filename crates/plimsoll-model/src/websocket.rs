//! WebSockets that are opened, held and read: how many, and their results in one second.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::broadcast::BroadcastWindow;
use crate::histogram::Histogram;
use crate::journey::Reconnect;
use crate::redact::REDACTED;

/// How many WebSockets, and what each does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebSocketLoad {
    /// WebSockets that are opened.
    pub connections: u32,
    /// Handshakes due per second, evenly spaced, until all are due.
    pub per_second: f64,
    /// How long all are held once the last was due.
    pub hold: Duration,
    /// What is sent on each; `None` to listen only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<WebSocketMessage>,
    /// JSON path (RFC 9535) of the publication time in a broadcast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "stamp")]
    pub timestamp: Option<String>,
    /// JSON path (RFC 9535) of the sequence number in a broadcast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<String>,
    /// Offers permessage-deflate (RFC 7692).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compress: bool,
    /// Uses Server-Sent Events instead of WebSockets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stream: bool,
    /// Lost ones are opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnect: Option<Reconnect>,
}

/// A message that is sent on each WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSocketMessage {
    /// The text.
    pub text: String,
    /// How often, each to be answered; `None` for once, when the WebSocket is open, without waiting for an answer.
    pub every: Option<Duration>,
}

impl WebSocketLoad {
    /// How long handshakes become due.
    pub fn connecting(&self) -> Duration {
        let seconds = f64::from(self.connections) / self.per_second;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Until WebSockets are closed.
    pub fn lasting(&self) -> Duration {
        self.connecting().saturating_add(self.hold)
    }

    /// Whether broadcasts are recognized by their content.
    pub fn marks_broadcasts(&self) -> bool {
        self.timestamp.is_some() || self.sequence.is_some()
    }

    /// Removes what may be secret.
    pub(crate) fn redact(&mut self) {
        if let Some(message) = &mut self.message {
            REDACTED.clone_into(&mut message.text);
        }
    }
}

/// Why open WebSockets of users are cut from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SocketCut {
    /// Their users drop out of their network, one by one.
    Dropped,
    /// Many are cut together at this moment of the load, ms from its start.
    Disconnected(u64),
}

/// WebSockets that were cut in one way, and what became of them, in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CutWindow {
    /// Open ones that were cut.
    pub cut: u64,
    /// Attempts to open one again that began.
    pub attempts: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Those that stay closed: their attempts were used up.
    pub abandoned: u64,
    /// Until one was ready again, µs: from the cut of many together, from the return of a user that dropped.
    pub back: Histogram,
}

impl CutWindow {
    /// Adds the counts of another loop or another second.
    pub fn merge(&mut self, other: &Self) {
        self.cut += other.cut;
        self.attempts += other.attempts;
        self.failed += other.failed;
        self.abandoned += other.abandoned;
        self.back.merge(&other.back);
    }
}

/// What WebSockets did in one second. Handshakes count with the requests of the window as well, and so do messages that
/// wait for an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WebSocketWindow {
    /// Handshakes that succeeded.
    pub connected: u64,
    /// Handshakes that did not, by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// Open ones that the target ended, by close code; 1005 when it gave none, 1006 when it closed the connection
    /// without a close frame (RFC 6455, 7.4.1).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub closed: BTreeMap<u16, u64>,
    /// Open ones that were closed because the target broke the protocol or a limit, by the violation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(rename = "faults")]
    pub protocol_errors: BTreeMap<String, u64>,
    /// From the moment a handshake was due until it was answered well, µs.
    pub handshake: Histogram,
    /// From the moment a message was due to its answer, µs.
    pub request: Histogram,
    /// Messages whose answer did not arrive before the next was due, within the time-out, or at all.
    pub unanswered: u64,
    /// Messages received, of any kind.
    pub messages_in: u64,
    /// Messages that were sent.
    pub messages_out: u64,
    /// Bytes of content of the messages received.
    pub bytes_in: u64,
    /// Bytes of content of the messages that were sent.
    pub bytes_out: u64,
    /// Broadcasts received before their publication time: the publisher's clock is ahead. They count with a latency
    /// of 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ahead: u64,
    /// The largest such lead, µs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ahead_us_max: u64,
    /// Broadcasts by channel: the index of the URL's path in the plan, or one of `channel_names`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<u32, BroadcastWindow>,
    /// Names of channels that users' steps named for the first time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub channel_names: BTreeMap<u32, String>,
    /// Lost ones that were opened again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reconnected: u64,
    /// Tries to do so that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reconnects_failed: u64,
    /// From the loss of one until it was ready again, µs.
    #[serde(default)]
    pub reconnect: Histogram,
    /// Messages that were to be sent and were not: none was open, or the target did not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// Those of users who dropped out of their network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Box<CutWindow>>,
    /// Those that were cut together, by the moment of the load, ms from its start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disconnects: BTreeMap<u64, CutWindow>,
}

impl WebSocketWindow {
    /// Adds the results of another loop or another second.
    pub fn merge(&mut self, other: &Self) {
        self.connected += other.connected;
        add(&mut self.failed, &other.failed);
        add(&mut self.closed, &other.closed);
        add(&mut self.protocol_errors, &other.protocol_errors);
        self.handshake.merge(&other.handshake);
        self.request.merge(&other.request);
        self.unanswered += other.unanswered;
        self.messages_in += other.messages_in;
        self.messages_out += other.messages_out;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.ahead += other.ahead;
        self.ahead_us_max = self.ahead_us_max.max(other.ahead_us_max);
        let names = other.channel_names.iter();
        self.channel_names
            .extend(names.map(|(&channel, name)| (channel, name.clone())));
        self.reconnected += other.reconnected;
        self.reconnects_failed += other.reconnects_failed;
        self.reconnect.merge(&other.reconnect);
        self.unsent += other.unsent;
        if let Some(dropped) = &other.dropped {
            self.dropped.get_or_insert_default().merge(dropped);
        }
        for (&at_ms, cuts) in &other.disconnects {
            self.disconnects.entry(at_ms).or_default().merge(cuts);
        }
        for (&channel, broadcast) in &other.channels {
            self.channels.entry(channel).or_default().merge(broadcast);
        }
    }
}

fn add<Key: Ord + Clone>(mine: &mut BTreeMap<Key, u64>, theirs: &BTreeMap<Key, u64>) {
    for (key, count) in theirs {
        if let Some(mine) = mine.get_mut(key) {
            *mine += count;
        } else {
            mine.insert(key.clone(), *count);
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast::Sighting;

    fn load() -> WebSocketLoad {
        WebSocketLoad {
            connections: 10_000,
            per_second: 2000.0,
            hold: Duration::from_secs(30),
            message: Some(WebSocketMessage {
                text: "token=abc".to_owned(),
                every: None,
            }),
            timestamp: None,
            sequence: Some("$.seq".to_owned()),
            compress: false,
            is_stream: false,
            reconnect: None,
        }
    }

    #[test]
    fn a_load_lasts_until_the_last_was_held() {
        assert_eq!(load().lasting(), Duration::from_secs(35));
        let mut redacted = load();
        redacted.redact();
        assert_eq!(redacted.message.unwrap().text, REDACTED);
    }

    #[test]
    fn windows_add_up_and_survive_json() {
        let mut first = WebSocketWindow {
            connected: 3,
            failed: BTreeMap::from([("status 403".to_owned(), 2)]),
            closed: BTreeMap::from([(1006, 1)]),
            ahead_us_max: 7,
            ..WebSocketWindow::default()
        };
        first.handshake.record(1500, 3);
        let channel = first.channels.entry(0).or_default();
        channel.gaps = 4;
        channel.sightings.push(Sighting {
            id: 9,
            first_us: 10,
            received: 2,
        });
        let cuts = first.disconnects.entry(60_000).or_default();
        (cuts.cut, cuts.attempts) = (5, 6);
        cuts.back.record(700_000, 4);
        first.dropped.get_or_insert_default().abandoned = 1;
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(
            serde_json::from_str::<WebSocketWindow>(&text).unwrap(),
            first
        );
        let mut both = first.clone();
        both.merge(&first);
        both.merge(&WebSocketWindow::default());
        assert_eq!((both.connected, both.handshake.count()), (6, 6));
        assert_eq!((both.failed["status 403"], both.closed[&1006]), (4, 2));
        assert_eq!((both.channels[&0].gaps, both.ahead_us_max), (8, 7));
        let cuts = &both.disconnects[&60_000];
        assert_eq!((cuts.cut, cuts.attempts, cuts.back.count()), (10, 12, 8));
        assert_eq!(both.dropped.map(|dropped| dropped.abandoned), Some(2));
        assert_eq!(both.channels[&0].sightings.len(), 2);
    }
}
