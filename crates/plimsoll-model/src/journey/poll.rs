//! Messages that users fetch by polling.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{RequestStep, TextTemplate};

/// Requests again and again, and reads messages from the answers. A failed request does not end it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollStep {
    /// The request, and the id under which it is counted.
    pub request: RequestStep,
    /// From one request to the next; `None` for the next as soon as the last is answered (long polling). The wait for an
    /// answer is then no time that the target needed: it counts under the step alone.
    pub interval: Option<Duration>,
    /// How long; `None` until the load ends.
    pub lasting: Option<Duration>,
    /// JSON path (RFC 9535) of the messages in an answer; `None` where each answer with a body is one.
    pub messages: Option<String>,
    /// Name of the channel; `None` for the path of the URL.
    pub channel: Option<TextTemplate>,
    /// JSON path (RFC 9535) of the publication time in a message.
    #[serde(rename = "stamp")]
    pub timestamp: Option<String>,
    /// JSON path (RFC 9535) of its sequence number.
    pub sequence: Option<String>,
}
