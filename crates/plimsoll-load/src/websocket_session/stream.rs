//! Server-Sent Events: an endless response, whose events are handled like WebSocket messages.

use plimsoll_model::broadcast::SubscriberState;
use plimsoll_wire::event_stream::{EventReader, EventStreamError, EventStreamLimits};
use plimsoll_wire::head::{self, Head, HeadMemo};
use plimsoll_wire::response::{Expected, Progress, ResponseReader, Sink};
use plimsoll_wire::websocket::WebSocketError;
use plimsoll_wire::websocket::handshake::HandshakeError;

use super::WebSocketSessions;
use super::receive::{NO_CODE, ReceiveContext, SessionEnd};
use super::session::WebSocketSession;

/// The state of an event stream.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    reader: ResponseReader,
    memo: HeadMemo,
    events: EventReader,
}

impl EventStream {
    /// The `Last-Event-ID` of a reconnect; empty without one.
    pub(super) fn last_id(&self) -> &str {
        self.events.last_id()
    }
}

/// The content of some bytes of a response.
#[derive(Debug, Default)]
struct StreamChunk {
    head: Option<Vec<u8>>,
    content: Vec<u8>,
}

impl Sink for StreamChunk {
    fn head(&mut self, _head: &Head, bytes: &[u8]) {
        self.head = Some(bytes.to_vec());
    }

    fn content(&mut self, bytes: &[u8]) {
        self.content.extend_from_slice(bytes);
    }
}

impl WebSocketSessions {
    /// Processes bytes of an event stream.
    pub(super) fn feed_stream(
        &mut self,
        session: &mut WebSocketSession,
        bytes: &[u8],
        context: &mut ReceiveContext<'_>,
    ) {
        let Some(mut stream) = session.stream.take() else {
            return;
        };
        let mut held = StreamChunk::default();
        let memo = &mut stream.memo;
        // An event stream may last as long as the load.
        let expected = Expected {
            no_body: false,
            keep_location: false,
            head: context.expected.head,
            body_len_max: u64::MAX,
        };
        let progress = stream.reader.feed_into(bytes, expected, memo, &mut held);
        if let Some(head) = held.head {
            match check(stream.reader.status(), &head) {
                Ok(()) => {
                    session.opening = None;
                    session.listener = SubscriberState::new(context.at.now / 1000);
                    context.fed.opened = true;
                    context.fed.head = Some(head);
                    self.opened_owned(session, context);
                }
                Err(error) => context.fed.end = Some(SessionEnd::Refused(error)),
            }
        }
        if context.fed.end.is_none() {
            let longest = self.limits.message_len_max;
            let limits = EventStreamLimits {
                line_len_max: longest,
                data_len_max: longest,
            };
            let result = stream.events.feed(&held.content, &limits, |event| {
                if session.closing.may_send() {
                    self.on_message(session, event.data.as_bytes(), context);
                }
            });
            context.fed.end = match (result, progress) {
                (Err(EventStreamError::Utf8), _) => {
                    Some(SessionEnd::ProtocolError(WebSocketError::Utf8))
                }
                (Err(EventStreamError::TooLong), _) => {
                    Some(SessionEnd::ProtocolError(WebSocketError::TooLong(longest)))
                }
                (Ok(()), Err(error)) if session.opening.is_some() => {
                    Some(SessionEnd::Refused(HandshakeError::Http(error)))
                }
                (Ok(()), Err(error)) => Some(SessionEnd::Broken(error.to_string())),
                (Ok(()), Ok(Progress::Complete(_))) => Some(SessionEnd::Closed(NO_CODE)),
                (Ok(()), Ok(Progress::More)) => None,
            };
        }
        session.stream = Some(stream);
    }

    /// Whether a connection carries an event stream: nothing is sent on it, and it has no closing handshake.
    pub(crate) fn is_stream(&mut self, id: u32) -> bool {
        self.get(id).is_some_and(|session| session.stream.is_some())
    }

    /// The id of the last event; empty without one.
    pub(crate) fn last_event(&mut self, id: u32) -> String {
        let session = self.get(id);
        let stream = session.and_then(|session| session.stream.as_ref());
        stream.map_or_else(String::new, |stream| stream.last_id().to_owned())
    }
}

/// Whether a response begins an event stream.
fn check(status: u16, answer: &[u8]) -> Result<(), HandshakeError> {
    if status != 200 {
        return Err(HandshakeError::Status(status));
    }
    let mut types =
        head::headers(answer).filter(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
    let is_stream = types.next().is_some_and(|(_, value)| {
        let kind = value.split(|&byte| byte == b';').next();
        kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
    });
    if is_stream {
        Ok(())
    } else {
        Err(HandshakeError::NotSwitched)
    }
}
