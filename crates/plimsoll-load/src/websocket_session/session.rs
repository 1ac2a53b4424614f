//! One WebSocket: its handshake, its readers, and what is pending on it.

use plimsoll_model::broadcast::SubscriberState;
use plimsoll_wire::websocket::deflate::Inflater;
use plimsoll_wire::websocket::{Closing, Role, WebSocketReader};

use super::owned::Owned;
use super::stream::EventStream;
use crate::due::NEVER;

/// Pending bytes beyond which users' messages are dropped: the target does not read.
const UNSENT_LEN_MAX: usize = 1 << 20;

/// One WebSocket, or one that is being opened.
#[derive(Debug)]
pub(super) struct WebSocketSession {
    pub(super) reader: WebSocketReader,
    /// The handshake, until its response arrives.
    pub(super) opening: Option<Box<Opening>>,
    pub(super) listener: SubscriberState,
    /// When the pending message was due, or [`NEVER`]; and when it was sent.
    pub(super) awaited: u64,
    pub(super) sent: u64,
    /// Timed-out responses that may still arrive before the pending one.
    pub(super) owed: u32,
    /// Index of its channel.
    pub(super) path: u32,
    pub(super) closing: Closing,
    /// Bytes that the socket did not take yet.
    pub(super) unsent: Vec<u8>,
    pub(super) inflates: Inflates,
    /// Set for an event stream.
    pub(super) stream: Option<Box<EventStream>>,
    /// Set where a user of a journey owns it.
    pub(super) owned: Option<Box<Owned>>,
}

/// How compressed messages of the target are read.
#[derive(Debug)]
pub(super) enum Inflates {
    /// Not negotiated.
    No,
    /// Without context takeover: the loop's inflater reads them.
    Anew,
    /// With context takeover.
    ContextTakeover(Box<Inflater>),
}

/// A pending handshake.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) key: String,
    /// The result of a handshake response.
    pub(super) head: Vec<u8>,
    pub(super) scanned: usize,
}

impl WebSocketSession {
    /// A handshake with this key is sent on channel `path`; without one, an event stream is requested.
    pub(super) fn new(path: u32, key: String, is_stream: bool, owned: Option<Box<Owned>>) -> Self {
        Self {
            reader: WebSocketReader::new(Role::Client, false),
            opening: Some(Box::new(Opening {
                key,
                head: Vec::new(),
                scanned: 0,
            })),
            listener: SubscriberState::new(0),
            awaited: NEVER,
            sent: 0,
            owed: 0,
            path,
            closing: Closing::default(),
            unsent: Vec::new(),
            inflates: Inflates::No,
            stream: is_stream.then(Box::default),
            owned,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.opening.is_none() && self.closing.may_send()
    }

    /// Whether compression was negotiated.
    pub(super) fn is_deflated(&self) -> bool {
        !matches!(self.inflates, Inflates::No)
    }

    /// Whether users' messages can be sent on it: it is open, and the target reads.
    pub(super) fn takes_messages(&self) -> bool {
        self.is_open() && self.stream.is_none() && self.unsent.len() < UNSENT_LEN_MAX
    }

    /// Whether nothing is pending, so that it can be closed.
    pub(super) fn is_at_rest(&self) -> bool {
        let mut owned = self.owned.iter();
        self.is_open() && self.awaited == NEVER && owned.all(|owned| owned.is_at_rest())
    }

    /// Removes and returns the pending message.
    pub(super) fn take_awaited(&mut self) -> Option<Sent> {
        let due = std::mem::replace(&mut self.awaited, NEVER);
        (due != NEVER).then_some(Sent { due, at: self.sent })
    }
}

/// A sent or due message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) due: u64,
    pub(crate) at: u64,
}
