//! What is done on every WebSocket of a load, made ready.

use plimsoll_model::plan::Plan;
use plimsoll_model::websocket::WebSocketLoad;
use plimsoll_wire::websocket::WebSocketLimits;
use plimsoll_wire::websocket::deflate::Offer;

use crate::clock::nanoseconds;
use crate::error::LoadError;
use crate::finder::Marks;

/// Most fragments of one message.
const FRAGMENTS_MAX: u32 = 4096;

/// Longest message that is taken at all, bytes.
const MESSAGE_LEN_MAX: u64 = 64 << 20;

/// What all loops share of a load of WebSockets.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// What is sent.
    pub(crate) text: Box<[u8]>,
    /// How often, ns; 0 for once, unanswered.
    pub(crate) every_ns: u64,
    /// Whether anything is sent.
    pub(crate) sends: bool,
    pub(crate) marks: Marks,
    pub(crate) is_marked: bool,
    /// The subprotocols that are offered.
    pub(crate) protocols: String,
    /// Compression that is offered.
    pub(crate) offer: Option<Offer>,
    /// Whether an answer can be late before the next message is due.
    pub(crate) expires: bool,
    pub(crate) timeout_ns: u64,
}

impl Agenda {
    /// # Errors
    /// When a JSON path is none.
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

/// What is taken of a message.
pub(crate) fn limits(plan: &Plan) -> WebSocketLimits {
    // The bound on bodies is far higher, where it is not said: nothing of them is kept.
    let limit = plan.transport.body_len_max.min(MESSAGE_LEN_MAX);
    WebSocketLimits {
        message_len_max: usize::try_from(limit).unwrap_or(usize::MAX),
        fragments_max: FRAGMENTS_MAX,
    }
}

/// The subprotocols among the headers of the plan.
fn protocols(plan: &Plan) -> String {
    let headers = plan.request.headers.iter();
    let offered = headers.filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    let offered: Vec<&str> = offered.map(|(_, value)| value.as_str()).collect();
    offered.join(", ")
}
