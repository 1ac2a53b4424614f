//! What every WebSocket of a load does, prepared once.

use plimsoll_model::plan::Plan;
use plimsoll_model::websocket::WebSocketLoad;
use plimsoll_wire::websocket::WebSocketLimits;
use plimsoll_wire::websocket::deflate::Offer;

use crate::clock::nanoseconds;
use crate::error::LoadError;
use crate::finder::Marks;
use crate::spread::first_due;

/// Most fragments of one message.
const FRAGMENTS_MAX: u32 = 4096;

/// Longest message accepted, bytes.
const MESSAGE_LEN_MAX: u64 = 64 << 20;

/// Settings that all loops share in a load of WebSockets.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The message that is sent.
    text: Box<[u8]>,
    /// Interval of messages, ns; 0 for one message without an expected response.
    every_ns: u64,
    /// Whether anything is sent.
    sends: bool,
    marks: Marks,
    is_marked: bool,
    /// The subprotocols offered.
    protocols: String,
    /// The compression offered.
    offer: Option<Offer>,
    timeout_ns: u64,
}

impl Agenda {
    /// # Errors
    /// When a JSON path is invalid.
    pub(crate) fn new(load: &WebSocketLoad, plan: &Plan) -> Result<Self, LoadError> {
        let message = load.message.as_ref();
        let every = message.and_then(|message| message.every);
        let (every_ns, timeout_ns) = (
            every.map_or(0, nanoseconds),
            nanoseconds(plan.transport.timeout),
        );
        Ok(Self {
            text: message
                .map_or(&b""[..], |message| message.text.as_bytes())
                .into(),
            every_ns,
            sends: message.is_some(),
            marks: Marks::new(load)?,
            is_marked: load.marks_broadcasts(),
            protocols: protocols(plan),
            offer: load.compress.then(Offer::default),
            timeout_ns,
        })
    }

    /// The message that is sent.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether a message is sent as soon as a WebSocket is open, and only that one.
    pub(crate) fn greets(&self) -> bool {
        self.sends && self.every_ns == 0
    }

    /// When the first message of the n-th WebSocket is due, if it sends several.
    pub(crate) fn first_message(&self, number: u64, now: u64) -> Option<u64> {
        (self.every_ns > 0).then(|| first_due(number, now, self.every_ns))
    }

    /// When the message after one that was due at `due` is due.
    pub(crate) fn next_message(&self, due: u64) -> u64 {
        due.saturating_add(self.every_ns)
    }

    /// When a response is late, if that can be before the next message is due.
    pub(crate) fn expiry_of(&self, due: u64) -> Option<u64> {
        (self.timeout_ns < self.every_ns).then(|| due.saturating_add(self.timeout_ns))
    }

    /// Where broadcasts carry their marks.
    #[inline]
    pub(crate) fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Whether broadcasts are known by their marks.
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// The subprotocols and the compression offered.
    pub(crate) fn offered(&self) -> (&str, Option<Offer>) {
        (&self.protocols, self.offer)
    }
}

/// Limits of incoming messages.
pub(crate) fn limits(plan: &Plan) -> WebSocketLimits {
    // The default for bodies is far higher; nothing of a message is stored.
    let limit = plan.transport.body_len_max.min(MESSAGE_LEN_MAX);
    WebSocketLimits {
        message_len_max: usize::try_from(limit).unwrap_or(usize::MAX),
        fragments_max: FRAGMENTS_MAX,
    }
}

/// The subprotocols in the plan's headers.
fn protocols(plan: &Plan) -> String {
    let headers = plan.request.headers.iter();
    let offered = headers.filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    let offered: Vec<&str> = offered.map(|(_, value)| value.as_str()).collect();
    offered.join(", ")
}
