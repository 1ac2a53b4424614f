//! Server-Sent Events: an answer that goes on, heard as WebSockets are.

use plimsoll_model::broadcast::Listener;
use plimsoll_wire::event_stream::{EventReader, Limits, StreamFault};
use plimsoll_wire::head::{self, Head, HeadMemo};
use plimsoll_wire::response::{Expected, Progress, ResponseReader, Sink};
use plimsoll_wire::websocket::Fault;
use plimsoll_wire::websocket::handshake::AnswerFault;

use super::hearing::{NO_CODE, Scene};
use super::{End, Talk, Talks};

/// A stream goes on for as long as it is wanted.
const EXPECTED: Expected = Expected {
    no_body: false,
    keep_location: false,
    body_len_max: u64::MAX,
};

/// What is known of a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    reader: ResponseReader,
    memo: HeadMemo,
    events: EventReader,
}

impl Stream {
    /// What a returning client says that it had last; empty if nothing was said.
    pub(super) fn last_id(&self) -> &str {
        self.events.last_id()
    }
}

/// What some bytes of an answer hold.
#[derive(Debug, Default)]
struct Held {
    head: Option<Vec<u8>>,
    content: Vec<u8>,
}

impl Sink for Held {
    fn head(&mut self, _head: &Head, bytes: &[u8]) {
        self.head = Some(bytes.to_vec());
    }

    fn content(&mut self, bytes: &[u8]) {
        self.content.extend_from_slice(bytes);
    }
}

impl Talks {
    /// Takes bytes of a stream.
    pub(super) fn feed_stream(&mut self, talk: &mut Talk, bytes: &[u8], scene: &mut Scene<'_>) {
        let Some(mut stream) = talk.stream.take() else {
            return;
        };
        let mut held = Held::default();
        let memo = &mut stream.memo;
        let progress = stream.reader.feed_into(bytes, EXPECTED, memo, &mut held);
        if let Some(head) = held.head {
            match check(stream.reader.status(), &head) {
                Ok(()) => {
                    talk.opening = None;
                    talk.listener = Listener::new(scene.at.now / 1000);
                    scene.fed.opened = true;
                    scene.fed.head = Some(head);
                    self.opened_owned(talk, scene);
                }
                Err(fault) => scene.fed.end = Some(End::Refused(fault)),
            }
        }
        if scene.fed.end.is_none() {
            let longest = self.limits.message_len_max;
            let limits = Limits {
                line_len_max: longest,
                data_len_max: longest,
            };
            let told = stream.events.feed(&held.content, &limits, |event| {
                if talk.closing.may_send() {
                    self.hear(talk, event.data.as_bytes(), scene);
                }
            });
            scene.fed.end = match (told, progress) {
                (Err(StreamFault::Utf8), _) => Some(End::Faulty(Fault::Utf8)),
                (Err(StreamFault::TooLong), _) => Some(End::Faulty(Fault::TooLong(longest))),
                (Ok(()), Err(fault)) if talk.opening.is_some() => {
                    Some(End::Refused(AnswerFault::Http(fault)))
                }
                (Ok(()), Err(fault)) => Some(End::Broken(fault.to_string())),
                (Ok(()), Ok(Progress::Complete(_))) => Some(End::Closed(NO_CODE)),
                (Ok(()), Ok(Progress::More)) => None,
            };
        }
        talk.stream = Some(stream);
    }

    /// Whether a connection carries a stream: nothing is sent on it, and nobody says farewell.
    pub(crate) fn is_stream(&mut self, id: u32) -> bool {
        self.get(id).is_some_and(|talk| talk.stream.is_some())
    }

    /// The id of the last event of a stream; empty if none was said.
    pub(crate) fn last_event(&mut self, id: u32) -> String {
        let talk = self.get(id);
        let stream = talk.and_then(|talk| talk.stream.as_ref());
        stream.map_or_else(String::new, |stream| stream.last_id().to_owned())
    }
}

/// Whether an answer begins a stream.
fn check(status: u16, answer: &[u8]) -> Result<(), AnswerFault> {
    if status != 200 {
        return Err(AnswerFault::Status(status));
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
        Err(AnswerFault::NotSwitched)
    }
}
