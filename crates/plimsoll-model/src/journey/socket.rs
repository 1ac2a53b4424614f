//! What users do on WebSockets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Expectation, RequestStep, TextTemplate};
use crate::distribution::DurationDistribution;

/// Opens a WebSocket, which stays until it is closed, the user opens another, or the user leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SocketStep {
    /// The handshake: URL, headers, time-out, and the id under which it is counted.
    pub request: RequestStep,
    /// Subprotocols that are offered, with commas between them; empty for none.
    pub protocols: String,
    /// Offers permessage-deflate (RFC 7692).
    pub compress: bool,
    /// Opens it again when it is lost.
    pub reconnect: Option<Reconnect>,
    /// Its users drop out of their network now and then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<Drops>,
    /// Moments at which open ones are cut together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disconnects: Vec<Disconnect>,
    /// Sent as soon as it is open, each time.
    pub first: Option<OutgoingMessage>,
    /// Conditions of the message that makes it ready; without any it is ready once it is open.
    pub ready: Vec<Expectation>,
    /// Messages that are answered immediately, by their whole text, and the reply to each.
    pub replies: Vec<(String, String)>,
    /// The keep-alive message, and its interval.
    pub beat: Option<(Duration, String)>,
    /// Where in a message its JSON begins.
    pub layout: Layout,
    /// Uses Server-Sent Events instead: messages are received in the same way, and none can be sent.
    #[serde(default)]
    pub is_stream: bool,
}

/// Where in a message its JSON begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// At its start.
    #[default]
    Plain,
    /// Behind a prefix before the first bracket or brace, such as Socket.IO's packet numbers.
    AfterNumber,
    /// Behind the first empty line, as in STOMP's frames.
    AfterHead,
    /// At its start; the server may join several messages, a line each, as Centrifugo does.
    Lines,
}

/// How a lost WebSocket is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconnect {
    /// Mean pause before the first try; each further one doubles it.
    pub after: Duration,
    /// Longest mean pause.
    pub up_to: Duration,
    /// Tries at most.
    pub times: u32,
}

/// Users drop out of their network, as phones in a tunnel do, and come back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drops {
    /// Share of the open ones that drop per second.
    pub per_second: f64,
    /// How long a user is away before it opens its WebSocket again.
    pub away: DurationDistribution,
}

/// A moment at which open WebSockets are cut together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disconnect {
    /// From the start of the load.
    pub at: Duration,
    /// Share of the open ones, above 0 to 1.
    pub share: f64,
}

impl Reconnect {
    /// The default.
    pub const DEFAULT: Self = Self {
        after: Duration::from_millis(500),
        up_to: Duration::from_secs(30),
        times: 10,
    };
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingMessage {
    /// Its content.
    pub text: TextTemplate,
    /// Sent as bytes instead of text.
    pub binary: bool,
}

/// Sends a message, awaits one, or both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendStep {
    /// The message to send.
    #[serde(rename = "said")]
    pub message: Option<OutgoingMessage>,
    /// The awaited message: the expectations select it, the captures extract values from it. Method and URL are
    /// unused.
    pub awaited: Option<RequestStep>,
}

/// From here on broadcasts of a channel are listened to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubscribeStep {
    /// Name of the channel; `None` for the path of the URL.
    pub channel: Option<TextTemplate>,
    /// JSON path (RFC 9535) of the publication time in a broadcast.
    #[serde(rename = "stamp")]
    pub timestamp: Option<String>,
    /// JSON path (RFC 9535) of its sequence number.
    pub sequence: Option<String>,
    /// Further conditions of a message of this channel.
    pub conditions: Vec<Expectation>,
    /// The message that subscribes to it.
    #[serde(rename = "say")]
    pub send: SendStep,
}

impl Layout {
    /// Where the JSON of a message begins, bytes from its start.
    pub fn offset(self, message: &[u8]) -> usize {
        let at = match self {
            Self::Plain | Self::Lines => Some(0),
            Self::AfterNumber => message.iter().position(|byte| matches!(byte, b'[' | b'{')),
            Self::AfterHead => {
                let is_end = |pair: &[u8]| pair == b"\n\n" || pair == b"\n\r";
                let end = message.windows(2).position(is_end);
                let body = end.map(|end| end + 2);
                // A line may end in CR LF: what is left of the empty one is not JSON.
                body.map(|at| at + usize::from(message.get(at) == Some(&b'\n')))
            }
        };
        at.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_begins_behind_what_a_protocol_writes_before_it() {
        let check = |layout: Layout, message: &str, rest: &str| {
            assert_eq!(&message[layout.offset(message.as_bytes())..], rest);
        };
        check(Layout::Plain, "42[1]", "42[1]");
        check(Layout::AfterNumber, "42/game,7[1]", "[1]");
        check(Layout::AfterNumber, "3", "3");
        check(Layout::AfterHead, "MESSAGE\na:b\n\n{}\0", "{}\0");
        check(Layout::AfterHead, "MESSAGE\r\na:b\r\n\r\n{}\0", "{}\0");
        check(Layout::AfterHead, "CONNECTED", "CONNECTED");
    }
}
