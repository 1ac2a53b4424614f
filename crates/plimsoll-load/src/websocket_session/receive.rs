//! Input of a WebSocket: the handshake response, then broadcasts, responses, pings, and an end.

use plimsoll_model::broadcast::SubscriberState;
use plimsoll_model::journey::Layout;
use plimsoll_wire::response::Expected;
use plimsoll_wire::websocket::deflate::{Inflater, Offer};
use plimsoll_wire::websocket::event::Deflated;
use plimsoll_wire::websocket::handshake::{
    self, AcceptedHandshake, ClientHandshake, HandshakeError,
};
use plimsoll_wire::websocket::{Event, Opcode, Role, WebSocketError, WebSocketReader, closing};

use super::WebSocketSessions;
use super::session::{Inflates, Opening, Sent, WebSocketSession};
use crate::agenda::Agenda;
use crate::due::NEVER;
use crate::recorder::WebSocketWindowBuilder;
use crate::virtual_users::VirtualUsers;

/// Pending bytes beyond which a pong is dropped: the target does not read.
const PONGS_LEN_MAX: usize = 4096;

/// The code of a close frame without one (RFC 6455, 7.4.1).
pub(super) const NO_CODE: u16 = 1005;

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

/// The context of received bytes.
pub(crate) struct ReceiveContext<'a> {
    /// The settings of all WebSockets, in a load from flags.
    pub(crate) agenda: Option<&'a Agenda>,
    /// Limits of the response that opens one.
    pub(crate) expected: Expected,
    /// The receivers, where users own them.
    pub(crate) virtual_users: Option<&'a mut VirtualUsers>,
    pub(crate) at: Moment,
    pub(crate) second: &'a mut WebSocketWindowBuilder,
    pub(crate) fed: &'a mut Fed,
}

impl WebSocketSessions {
    /// Processes received bytes.
    pub(crate) fn feed(&mut self, id: u32, bytes: &mut [u8], context: &mut ReceiveContext<'_>) {
        if context.fed.end.is_some() {
            return;
        }
        let Some(mut session) = self.rows.get_mut(id as usize).and_then(Option::take) else {
            return;
        };
        if session.stream.is_some() {
            self.feed_stream(&mut session, bytes, context);
            self.rows[id as usize] = Some(session);
            return;
        }
        let mut taken = 0;
        if session.opening.is_some() {
            taken = self.take_opening(&mut session, bytes, context);
        }
        let limits = self.limits;
        while taken < bytes.len() && context.fed.end.is_none() {
            match session.reader.next(&mut bytes[taken..], &limits) {
                Ok((count, event)) => {
                    taken += count;
                    if let Some(event) = event {
                        self.take(&mut session, &event, context);
                    }
                }
                Err(error) => context.fed.end = Some(SessionEnd::ProtocolError(error)),
            }
        }
        self.rows[id as usize] = Some(session);
    }

    /// Processes bytes of a handshake response; returns how many belong to it.
    fn take_opening(
        &mut self,
        session: &mut WebSocketSession,
        bytes: &[u8],
        context: &mut ReceiveContext<'_>,
    ) -> usize {
        let opening = session.opening.as_ref();
        let before = opening.map_or(0, |opening| opening.head.len());
        let opened = match open(session, bytes, context) {
            Ok(None) => return bytes.len(),
            Ok(Some(opened)) => opened,
            Err(error) => {
                context.fed.end = Some(SessionEnd::Refused(error));
                return bytes.len();
            }
        };
        session.listener = SubscriberState::new(context.at.now / 1000);
        if let Some(agreed) = opened.deflate {
            session.reader = WebSocketReader::new(Role::Client, true);
            session.inflates = if agreed.server_begins_anew {
                Inflates::Anew
            } else {
                Inflates::ContextTakeover(Box::new(Inflater::new(true)))
            };
        }
        context.fed.opened = true;
        self.opened_owned(session, context);
        opened.head_len.saturating_sub(before)
    }

    #[inline]
    fn take(
        &mut self,
        session: &mut WebSocketSession,
        event: &Event<'_>,
        context: &mut ReceiveContext<'_>,
    ) {
        match event {
            // After the closing handshake nothing is received.
            Event::Text(_) | Event::Binary(_) | Event::Deflated(_)
                if !session.closing.may_send() => {}
            Event::Text(text) => self.on_message(session, text.as_bytes(), context),
            Event::Binary(bytes) => self.on_message(session, bytes, context),
            Event::Ping(payload) => {
                if session.closing.may_send() && session.unsent.len() < PONGS_LEN_MAX {
                    self.output.frame(Opcode::Pong, payload);
                }
            }
            Event::Close(close) => {
                let code = close.code;
                if session.closing.receive() {
                    let payload = closing::payload(code, "");
                    self.output.frame(Opcode::Close, &payload);
                }
                context.fed.end = Some(SessionEnd::Closed(code.unwrap_or(NO_CODE)));
            }
            Event::Deflated(deflated) => {
                let mut inflated = std::mem::take(&mut self.inflated);
                match self.inflate(session, deflated, &mut inflated) {
                    Ok(()) => self.on_message(session, &inflated, context),
                    Err(error) => context.fed.end = Some(SessionEnd::ProtocolError(error)),
                }
                self.inflated = inflated;
            }
            Event::Pong(_) => {}
        }
    }

    fn inflate(
        &mut self,
        session: &mut WebSocketSession,
        deflated: &Deflated<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), WebSocketError> {
        let inflater = match &mut session.inflates {
            Inflates::ContextTakeover(inflater) => &mut **inflater,
            Inflates::Anew | Inflates::No => self
                .inflater
                .get_or_insert_with(|| Box::new(Inflater::new(false))),
        };
        deflated
            .inflate(inflater, self.limits.message_len_max, out)
            .map(drop)
    }

    /// A message arrived: a broadcast, or a response.
    #[inline]
    pub(super) fn on_message(
        &mut self,
        session: &mut WebSocketSession,
        bytes: &[u8],
        context: &mut ReceiveContext<'_>,
    ) {
        let Some(agenda) = context.agenda.filter(|_| session.owned.is_none()) else {
            return self.on_user_messages(session, bytes, context);
        };
        context.second.received(bytes.len() as u64);
        if !agenda.is_marked() && (session.awaited != NEVER || session.owed > 0) {
            return answer(session, context.fed);
        }
        let found = self.finder.find(agenda.marks(), Layout::Plain, bytes);
        if agenda.is_marked() && !found.is_marked() {
            return answer(session, context.fed);
        }
        self.broadcast(session.path, &mut session.listener, found, context);
    }
}

/// A message is a response to what was sent. Responses arrive in the order of the messages, timed-out ones first.
#[inline]
fn answer(session: &mut WebSocketSession, fed: &mut Fed) {
    if session.owed > 0 {
        session.owed -= 1;
    } else {
        fed.answered = fed.answered.or(session.take_awaited());
    }
}

/// Processes bytes of a handshake response; returns the result once it is complete.
fn open(
    session: &mut WebSocketSession,
    bytes: &[u8],
    context: &mut ReceiveContext<'_>,
) -> Result<Option<AcceptedHandshake>, HandshakeError> {
    let Some(opening) = &mut session.opening else {
        return Ok(None);
    };
    let Opening { key, head, scanned } = &mut **opening;
    let (protocols, offer) = offered(session.owned.as_ref().map(|owned| owned.socket()), context);
    let asked = ClientHandshake {
        key,
        protocols,
        offer,
        limits: context.expected.head,
    };
    let whole = if head.is_empty() {
        bytes
    } else {
        head.extend_from_slice(bytes);
        &head[..]
    };
    let Some(opened) = handshake::read_answer(whole, *scanned, &asked)? else {
        if head.is_empty() {
            head.extend_from_slice(bytes);
        }
        *scanned = head.len();
        return Ok(None);
    };
    if session.owned.is_some() {
        context.fed.head = whole.get(..opened.head_len).map(<[u8]>::to_vec);
    }
    session.opening = None;
    Ok(Some(opened))
}

/// The offered subprotocols and compression.
fn offered<'a>(socket: Option<u32>, context: &'a ReceiveContext<'_>) -> (&'a str, Option<Offer>) {
    match (socket, &context.virtual_users, context.agenda) {
        (Some(socket), Some(virtual_users), _) => {
            let socket = virtual_users.socket(socket);
            (&socket.protocols, socket.offer)
        }
        (_, _, Some(agenda)) => agenda.offered(),
        _ => ("", None),
    }
}
