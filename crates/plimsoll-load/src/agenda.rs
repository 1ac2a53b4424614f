//! What every WebSocket of a load does, prepared once.

use plimsoll_model::plan::Plan;
use plimsoll_model::websocket::WebSocketLoad;
use plimsoll_wire::websocket::WebSocketLimits;
use plimsoll_wire::websocket::deflate::Offer;

use crate::clock::nanoseconds;
use crate::error::LoadError;
use crate::finder::Marks;

/// Most fragments of one message.
const FRAGMENTS_MAX: u32 = 4096;

/// Longest message accepted, bytes.
const MESSAGE_LEN_MAX: u64 = 64 << 20;

/// Settings that all loops share in a load of WebSockets.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The message that is sent.
    pub(crate) text: Box<[u8]>,
    /// Interval of messages, ns; 0 for one message without an expected response.
    pub(crate) every_ns: u64,
    /// Whether anything is sent.
    pub(crate) sends: bool,
    pub(crate) marks: Marks,
    pub(crate) is_marked: bool,
    /// The subprotocols offered.
    pub(crate) protocols: String,
    /// The compression offered.
    pub(crate) offer: Option<Offer>,
    /// Whether a response can be late before the next message is due.
    pub(crate) expires: bool,
    pub(crate) timeout_ns: u64,
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
            expires: timeout_ns < every_ns,
            timeout_ns,
        })
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
