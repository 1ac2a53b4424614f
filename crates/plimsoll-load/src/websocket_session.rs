//! WebSockets of one loop: their state, their schedule, and received messages.
//!
//! Nothing here touches a socket: the loop passes in received bytes, and writes the bytes prepared in `out`.

mod owned;
mod receive;
mod rest;
mod stream;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};

use plimsoll_model::broadcast::{ChannelObserver, SubscriberState};
use plimsoll_wire::websocket::deflate::{Deflater, Inflater};
use plimsoll_wire::websocket::frame::{self, Frame};
use plimsoll_wire::websocket::handshake::{self, HandshakeError};
use plimsoll_wire::websocket::{
    Closing, Opcode, Role, WebSocketError, WebSocketLimits, WebSocketReader, closing,
};
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) use self::owned::{Lost, Owned, WebSocketTimer};
pub(crate) use self::receive::ReceiveContext;
pub(crate) use self::rest::{REST_NS, Rest};
use self::stream::EventStream;
use crate::agenda::{self, Agenda};
use crate::due::NEVER;
use crate::finder::MarkFinder;
use crate::handshake::{AFTER_KEY, KEY};
use crate::prepared_load::PreparedLoad;
use crate::spread::first_due;
use crate::window_builder::WebSocketWindowBuilder;

/// Pending bytes beyond which users' messages are dropped: the target does not read.
const UNSENT_LEN_MAX: usize = 1 << 20;

/// Compression level of sent messages: that of browsers' libraries.
const DEFLATE_LEVEL: u32 = 6;

/// Label of the random numbers of handshakes and masks among the seeds derived from a trial's.
const MASKS_LABEL: u64 = 0x6d61_736b;

/// One WebSocket, or one that is being opened.
#[derive(Debug)]
pub(crate) struct WebSocketSession {
    reader: WebSocketReader,
    /// The handshake, until its response arrives.
    opening: Option<Box<Opening>>,
    listener: SubscriberState,
    /// When the pending message was due, or [`NEVER`]; and when it was sent.
    awaited: u64,
    sent: u64,
    /// Timed-out responses that may still arrive before the pending one.
    owed: u32,
    /// Index of its channel.
    path: u32,
    closing: Closing,
    /// Bytes that the socket did not take yet.
    unsent: Vec<u8>,
    inflates: Inflates,
    /// Set for an event stream.
    stream: Option<Box<EventStream>>,
    /// Set where a user of a journey owns it.
    owned: Option<Box<Owned>>,
}

/// How compressed messages of the target are read.
#[derive(Debug)]
enum Inflates {
    /// Not negotiated.
    No,
    /// Without context takeover: the loop's inflater reads them.
    Anew,
    /// With context takeover.
    ContextTakeover(Box<Inflater>),
}

/// A pending handshake.
#[derive(Debug)]
struct Opening {
    key: String,
    /// The result of a handshake response.
    head: Vec<u8>,
    scanned: usize,
}

impl WebSocketSession {
    fn is_open(&self) -> bool {
        self.opening.is_none() && self.closing.may_send()
    }

    /// Whether compression was negotiated.
    fn is_deflated(&self) -> bool {
        !matches!(self.inflates, Inflates::No)
    }
}

/// A sent or due message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) due: u64,
    pub(crate) at: u64,
}

/// An event found in received bytes.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    /// The handshake succeeded.
    pub(crate) opened: bool,
    /// A response to a message arrived.
    pub(crate) answered: Option<Sent>,
    /// The message arrived that a user waited for.
    pub(crate) answer: Option<Vec<u8>>,
    /// The response to a user's handshake.
    pub(crate) head: Option<Vec<u8>>,
    /// The connection must be closed.
    pub(crate) end: Option<SessionEnd>,
}

/// Why a WebSocket ended, or was not opened.
#[derive(Debug)]
pub(crate) enum SessionEnd {
    /// The handshake was refused.
    Refused(HandshakeError),
    /// The target closed it with this code, or responded to our close.
    Closed(u16),
    /// The target broke the protocol or a limit.
    ProtocolError(WebSocketError),
    /// The target broke the framing of an event stream.
    Broken(String),
}

/// Times of received bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// When they are read, ns of run time.
    pub(crate) now: u64,
    /// When they arrived, µs since 1970.
    pub(crate) unix_us: u64,
}

/// The WebSockets of a loop.
pub(crate) struct WebSocketSessions {
    /// By connection.
    rows: Vec<Option<WebSocketSession>>,
    channel_stats: BTreeMap<u32, ChannelObserver>,
    is_alone: bool,
    finder: MarkFinder,
    /// The same for each subscription of users.
    finders: Vec<MarkFinder>,
    /// Channels whose name was reported.
    named: HashSet<u32>,
    /// Reconnects of a load from flags, by request.
    pub(crate) returning: HashMap<u32, Lost>,
    /// Due work on users' WebSockets, and reconnects.
    timers: BinaryHeap<Reverse<(u64, WebSocketTimer)>>,
    limits: WebSocketLimits,
    /// Compression state, created with the first use.
    inflater: Option<Box<Inflater>>,
    deflater: Option<Box<Deflater>>,
    /// Buffers for inflated and deflated messages.
    inflated: Vec<u8>,
    deflated: Vec<u8>,
    /// Messages to be sent: when, on which connection of which generation.
    due: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Pending responses with a deadline before the next message, in order of time.
    expiries: VecDeque<(u64, u32, u64)>,
    random: Xoshiro256PlusPlus,
    /// WebSockets opened so far, over all loops if each opens as many.
    opened: u64,
    loops: u64,
    /// Whether open WebSockets are being closed.
    pub(crate) is_over: bool,
    /// Why the handshake failed that is counted next.
    pub(crate) cause: Option<String>,
    /// Prepared output.
    pub(crate) out: Vec<u8>,
    /// Whether messages may accumulate.
    pub(crate) rest: Rest,
}

impl WebSocketSessions {
    /// For loop `index`; `None` for another kind of load.
    pub(crate) fn new(prepared: &PreparedLoad, index: u32) -> Option<Box<Self>> {
        if !prepared.has_sockets() {
            return None;
        }
        let connections = match prepared.agenda {
            Some(_) => prepared.connections_of(index),
            None => 0,
        };
        let seed = prepared.seed.derive(MASKS_LABEL).derive(u64::from(index));
        Some(Box::new(Self {
            rows: Vec::with_capacity(connections),
            channel_stats: BTreeMap::new(),
            is_alone: prepared.plan.cores == 1,
            finder: MarkFinder::default(),
            finders: Vec::new(),
            named: HashSet::new(),
            returning: HashMap::new(),
            timers: BinaryHeap::new(),
            limits: agenda::limits(&prepared.plan),
            inflater: None,
            deflater: None,
            inflated: Vec::new(),
            deflated: Vec::new(),
            due: BinaryHeap::new(),
            expiries: VecDeque::new(),
            random: seed.generator(),
            opened: u64::from(index),
            loops: u64::from(prepared.plan.cores),
            is_over: false,
            cause: None,
            out: Vec::new(),
            rest: Rest::default(),
        }))
    }

    /// The broadcasts that a loop received on a channel.
    #[inline]
    fn channel_stats(&mut self, channel: u32) -> &mut ChannelObserver {
        let is_alone = self.is_alone;
        let entry = self.channel_stats.entry(channel);
        entry.or_insert_with(|| ChannelObserver::new(is_alone))
    }

    fn get(&mut self, id: u32) -> Option<&mut WebSocketSession> {
        self.rows.get_mut(id as usize)?.as_mut()
    }

    /// Prepares a handshake on a connection: the template with a fresh key.
    pub(crate) fn begin_handshake(&mut self, id: u32, path: u32, template: &[u8]) {
        let end = template.len().saturating_sub(AFTER_KEY);
        let at = end.saturating_sub(KEY.len());
        self.begin_handshake_with(id, path, (template, Some(at)), None);
    }

    /// The same for a user: `template` has the key at an offset; without one it requests an event stream.
    pub(crate) fn begin_handshake_with(
        &mut self,
        id: u32,
        path: u32,
        (template, at): (&[u8], Option<usize>),
        owned: Option<Box<Owned>>,
    ) {
        let mut nonce = [0; 16];
        for half in nonce.chunks_exact_mut(8) {
            half.copy_from_slice(&self.random.random::<u64>().to_ne_bytes());
        }
        let key = handshake::key(nonce);
        self.out.clear();
        self.out.extend_from_slice(template);
        let place = at.and_then(|at| self.out.get_mut(at..at + KEY.len()));
        if let Some(place) = place {
            place.copy_from_slice(key.as_bytes());
        }
        let index = id as usize;
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, || None);
        }
        self.rows[index] = Some(WebSocketSession {
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
            stream: at.is_none().then(Box::default),
            owned,
        });
    }

    /// Prepares a frame.
    fn frame(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = self.random.random::<u32>().to_ne_bytes();
        frame::write(&mut self.out, &Frame::plain(opcode, payload), Some(mask));
    }

    /// Prepares a message, compressed where that was negotiated.
    fn message(&mut self, is_deflated: bool, opcode: Opcode, payload: &[u8]) {
        if !is_deflated {
            return self.frame(opcode, payload);
        }
        // Negotiated without context takeover, so one coder serves the loop.
        let coder = self
            .deflater
            .get_or_insert_with(|| Box::new(Deflater::new(DEFLATE_LEVEL, false)));
        self.deflated.clear();
        coder.deflate(payload, &mut self.deflated);
        let mask = self.random.random::<u32>().to_ne_bytes();
        let frame = Frame {
            opcode,
            is_deflated: true,
            payload: &self.deflated,
        };
        frame::write(&mut self.out, &frame, Some(mask));
    }

    /// Prepares a user's message.
    pub(crate) fn queue_message(&mut self, id: u32, opcode: Opcode, payload: &[u8]) {
        let is_deflated = self.get(id).is_some_and(|session| session.is_deflated());
        self.message(is_deflated, opcode, payload);
    }

    /// A WebSocket is open: returns when its first message is due, if it sends several.
    pub(crate) fn opened(&mut self, agenda: &Agenda, (id, generation): (u32, u32), now: u64) {
        let number = self.opened;
        self.opened += self.loops;
        if agenda.every_ns > 0 {
            let first = first_due(number, now, agenda.every_ns);
            self.due.push(Reverse((first, id, generation)));
        }
    }

    /// Whether a message is sent at once, and only once.
    pub(crate) fn greets(agenda: &Agenda) -> bool {
        agenda.sends && agenda.every_ns == 0
    }

    /// Prepares the message. Returns its length.
    pub(crate) fn queue_agenda_message(&mut self, agenda: &Agenda, id: u32) -> u64 {
        self.queue_message(id, Opcode::Text, &agenda.text);
        agenda.text.len() as u64
    }

    /// When the next message is due.
    #[inline]
    pub(crate) fn next_due(&self) -> u64 {
        self.due.peek().map_or(NEVER, |next| next.0.0)
    }

    /// The next message, if it is due by `release`.
    pub(crate) fn pop_due(&mut self, release: u64) -> Option<(u64, u32, u32)> {
        if self.next_due() > release {
            return None;
        }
        self.due.pop().map(|next| next.0)
    }

    /// Schedules the next message on this connection.
    pub(crate) fn again(&mut self, agenda: &Agenda, (due, id, generation): (u64, u32, u32)) {
        let next = due.saturating_add(agenda.every_ns);
        self.due.push(Reverse((next, id, generation)));
    }

    /// Whether messages can be sent on this connection: it is open, and the target reads.
    pub(crate) fn may_send(&mut self, id: u32) -> Option<bool> {
        let session = self.get(id).filter(|session| session.is_open())?;
        Some(session.unsent.is_empty())
    }

    /// Whether a user's message can be sent on this connection: it is open, and the target reads.
    pub(crate) fn takes(&mut self, id: u32) -> bool {
        let session = self.get(id);
        let session = session.filter(|session| session.is_open() && session.stream.is_none());
        session.is_some_and(|session| session.unsent.len() < UNSENT_LEN_MAX)
    }

    /// A message was sent, and its response is pending.
    pub(crate) fn await_answer(&mut self, agenda: &Agenda, id: u32, sent: Sent) {
        if let Some(session) = self.get(id) {
            session.awaited = sent.due;
            session.sent = sent.at;
        }
        if agenda.expires {
            let expiry = sent.due.saturating_add(agenda.timeout_ns);
            self.expiries.push_back((expiry, id, sent.due));
        }
    }

    /// The next deadline of a response.
    #[inline]
    pub(crate) fn next_expiry(&self) -> u64 {
        self.expiries.front().map_or(NEVER, |next| next.0)
    }

    /// A connection whose response has timed out.
    pub(crate) fn pop_expired(&mut self, now: u64) -> Option<u32> {
        while let Some((_, id, due)) = self.expiries.pop_front_if(|next| next.0 <= now) {
            if self.get(id).is_some_and(|session| session.awaited == due) {
                return Some(id);
            }
        }
        None
    }

    /// Stops waiting for a response; returns the pending message, if any. The response may still arrive.
    pub(crate) fn give_up_answer(&mut self, id: u32) -> Option<Sent> {
        let session = self.get(id)?;
        let sent = awaited(session)?;
        session.owed += 1;
        Some(sent)
    }

    /// Whether the connection has nothing pending, so that it can be closed.
    pub(crate) fn is_at_rest(&mut self, id: u32) -> bool {
        self.get(id).is_some_and(|session| {
            let mut owned = session.owned.iter();
            session.is_open() && session.awaited == NEVER && owned.all(|owned| owned.is_at_rest())
        })
    }

    /// Connections with an open WebSocket.
    pub(crate) fn all_open(&self) -> Vec<u32> {
        let sessions = (0_u32..).zip(&self.rows);
        sessions
            .filter(|(_, session)| session.as_ref().is_some_and(WebSocketSession::is_open))
            .map(|(id, _)| id)
            .collect()
    }

    /// Prepares a close frame with a code, unless one was sent.
    pub(crate) fn bid_farewell(&mut self, id: u32, code: u16) {
        let session = self.get(id);
        if session.is_some_and(|session| session.closing.send() && session.stream.is_none()) {
            let payload = closing::payload(Some(code), "");
            self.frame(Opcode::Close, &payload);
        }
    }

    /// A subscriber unsubscribes.
    pub(crate) fn leave(&mut self, id: u32, now: u64) {
        let Some(session) = self.rows.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        let is_alone = self.is_alone;
        let channel_stats = &mut self.channel_stats;
        let mut leave = |channel: u32, listener: &SubscriberState| {
            let stats = channel_stats
                .entry(channel)
                .or_insert_with(|| ChannelObserver::new(is_alone));
            stats.close(listener, now / 1000);
        };
        match &session.owned {
            None => leave(session.path, &session.listener),
            Some(owned) => {
                for listening in owned.listening() {
                    leave(listening.channel, &listening.listener);
                }
            }
        }
    }

    /// Drops the state of a connection.
    pub(crate) fn forget(&mut self, id: u32) {
        if let Some(session) = self.rows.get_mut(id as usize) {
            *session = None;
        }
    }

    /// Hands over the received broadcasts.
    pub(crate) fn flush(&mut self, second: &mut WebSocketWindowBuilder) {
        for (&path, stats) in &mut self.channel_stats {
            let window = stats.take_window();
            second
                .window
                .channels
                .entry(path)
                .or_default()
                .merge(&window);
        }
    }

    /// Bytes that could not be written at once are queued.
    pub(crate) fn keep(&mut self, id: u32, written: usize) {
        let Some(session) = self.rows.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        session
            .unsent
            .extend_from_slice(self.out.get(written..).unwrap_or_default());
    }

    /// Pending bytes.
    pub(crate) fn unsent(&mut self, id: u32) -> Option<&mut Vec<u8>> {
        self.get(id).map(|session| &mut session.unsent)
    }
}

/// The code of a connection that ended without a close frame (RFC 6455, 7.4.1).
pub(crate) const ABNORMAL: u16 = 1006;

/// Removes and returns the pending message.
fn awaited(session: &mut WebSocketSession) -> Option<Sent> {
    let due = std::mem::replace(&mut session.awaited, NEVER);
    (due != NEVER).then_some(Sent {
        due,
        at: session.sent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::TargetConnection;

    #[test]
    fn one_that_waits_is_small() {
        let size = size_of::<Option<WebSocketSession>>() + size_of::<TargetConnection>();
        assert!(size <= 512, "{size} bytes for a connection that waits");
    }
}
