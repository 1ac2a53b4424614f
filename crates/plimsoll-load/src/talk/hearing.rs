//! What comes over a WebSocket: the handshake's answer, then broadcasts, answers, pings, and an end.

use plimsoll_model::broadcast::Listener;
use plimsoll_model::journey::Layout;
use plimsoll_wire::websocket::deflate::{Inflater, Offer};
use plimsoll_wire::websocket::event::Deflated;
use plimsoll_wire::websocket::handshake::{self, AnswerFault, Asked, Opened};
use plimsoll_wire::websocket::{Event, Fault, Opcode, Reader, Role, closing};

use super::{End, Fed, Inflates, Moment, Opening, Talk, Talks, awaited};
use crate::agenda::Agenda;
use crate::crowd::Crowd;
use crate::due::NEVER;
use crate::second::TalkSecond;

/// Bytes that wait to be written, beyond which a pong is left out: the target does not read.
const PONGS_LEN_MAX: usize = 4096;

/// The code of a close frame without one (RFC 6455, 7.4.1).
pub(super) const NO_CODE: u16 = 1005;

/// What stands around bytes that came.
pub(crate) struct Scene<'a> {
    /// What is done on every WebSocket, where flags say it.
    pub(crate) agenda: Option<&'a Agenda>,
    /// Who they came to, where users own them.
    pub(crate) crowd: Option<&'a mut Crowd>,
    pub(crate) at: Moment,
    pub(crate) second: &'a mut TalkSecond,
    pub(crate) fed: &'a mut Fed,
}

impl Talks {
    /// Takes bytes that came.
    pub(crate) fn feed(&mut self, id: u32, bytes: &mut [u8], scene: &mut Scene<'_>) {
        if scene.fed.end.is_some() {
            return;
        }
        let Some(mut talk) = self.rows.get_mut(id as usize).and_then(Option::take) else {
            return;
        };
        if talk.stream.is_some() {
            self.feed_stream(&mut talk, bytes, scene);
            self.rows[id as usize] = Some(talk);
            return;
        }
        let mut taken = 0;
        if talk.opening.is_some() {
            taken = self.take_opening(&mut talk, bytes, scene);
        }
        let limits = self.limits;
        while taken < bytes.len() && scene.fed.end.is_none() {
            match talk.reader.next(&mut bytes[taken..], &limits) {
                Ok((count, event)) => {
                    taken += count;
                    if let Some(event) = event {
                        self.take(&mut talk, &event, scene);
                    }
                }
                Err(fault) => scene.fed.end = Some(End::Faulty(fault)),
            }
        }
        self.rows[id as usize] = Some(talk);
    }

    /// Takes bytes of a handshake's answer: how many of them are of it.
    fn take_opening(&mut self, talk: &mut Talk, bytes: &[u8], scene: &mut Scene<'_>) -> usize {
        let opening = talk.opening.as_ref();
        let before = opening.map_or(0, |opening| opening.head.len());
        let opened = match open(talk, bytes, scene) {
            Ok(None) => return bytes.len(),
            Ok(Some(opened)) => opened,
            Err(fault) => {
                scene.fed.end = Some(End::Refused(fault));
                return bytes.len();
            }
        };
        talk.listener = Listener::new(scene.at.now / 1000);
        if let Some(agreed) = opened.deflate {
            talk.reader = Reader::new(Role::Client, true);
            talk.inflates = if agreed.server_begins_anew {
                Inflates::Anew
            } else {
                Inflates::Kept(Box::new(Inflater::new(true)))
            };
        }
        scene.fed.opened = true;
        self.opened_owned(talk, scene);
        opened.head_len.saturating_sub(before)
    }

    #[inline]
    fn take(&mut self, talk: &mut Talk, event: &Event<'_>, scene: &mut Scene<'_>) {
        match event {
            // Who has said farewell no longer listens.
            Event::Text(_) | Event::Binary(_) | Event::Deflated(_) if !talk.closing.may_send() => {}
            Event::Text(text) => self.hear(talk, text.as_bytes(), scene),
            Event::Binary(bytes) => self.hear(talk, bytes, scene),
            Event::Ping(payload) => {
                if talk.closing.may_send() && talk.unsent.len() < PONGS_LEN_MAX {
                    self.frame(Opcode::Pong, payload);
                }
            }
            Event::Close(close) => {
                let code = close.code;
                if talk.closing.receive() {
                    let payload = closing::payload(code, "");
                    self.frame(Opcode::Close, &payload);
                }
                scene.fed.end = Some(End::Closed(code.unwrap_or(NO_CODE)));
            }
            Event::Deflated(deflated) => {
                let mut inflated = std::mem::take(&mut self.inflated);
                match self.inflate(talk, deflated, &mut inflated) {
                    Ok(()) => self.hear(talk, &inflated, scene),
                    Err(fault) => scene.fed.end = Some(End::Faulty(fault)),
                }
                self.inflated = inflated;
            }
            Event::Pong(_) => {}
        }
    }

    fn inflate(
        &mut self,
        talk: &mut Talk,
        deflated: &Deflated<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let inflater = match &mut talk.inflates {
            Inflates::Kept(inflater) => &mut **inflater,
            Inflates::Anew | Inflates::No => self
                .inflater
                .get_or_insert_with(|| Box::new(Inflater::new(false))),
        };
        deflated
            .inflate(inflater, self.limits.message_len_max, out)
            .map(drop)
    }

    /// A message came: a broadcast, or an answer.
    #[inline]
    pub(super) fn hear(&mut self, talk: &mut Talk, bytes: &[u8], scene: &mut Scene<'_>) {
        let window = &mut scene.second.window;
        window.messages_in += 1;
        window.bytes_in += bytes.len() as u64;
        let Some(agenda) = scene.agenda.filter(|_| talk.owned.is_none()) else {
            return self.hear_owned(talk, bytes, scene);
        };
        if !agenda.is_marked && (talk.awaited != NEVER || talk.owed > 0) {
            return answer(talk, scene.fed);
        }
        let found = self.finder.find(&agenda.marks, Layout::Plain, bytes);
        if agenda.is_marked && !found.is_marked() {
            return answer(talk, scene.fed);
        }
        self.broadcast(talk.path, &mut talk.listener, found, scene);
    }
}

/// A message answers what was sent. Answers come in the order of the messages, so one that was given up comes before.
#[inline]
fn answer(talk: &mut Talk, fed: &mut Fed) {
    if talk.owed > 0 {
        talk.owed -= 1;
    } else {
        fed.answered = fed.answered.or(awaited(talk));
    }
}

/// Takes bytes of a handshake's answer: what it says once it is complete.
fn open(
    talk: &mut Talk,
    bytes: &[u8],
    scene: &mut Scene<'_>,
) -> Result<Option<Opened>, AnswerFault> {
    let Some(opening) = &mut talk.opening else {
        return Ok(None);
    };
    let Opening { key, head, scanned } = &mut **opening;
    let (protocols, offer) = offered(talk.owned.as_ref().map(|owned| owned.socket), scene);
    let asked = Asked {
        key,
        protocols,
        offer,
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
    if talk.owned.is_some() {
        scene.fed.head = whole.get(..opened.head_len).map(<[u8]>::to_vec);
    }
    talk.opening = None;
    Ok(Some(opened))
}

/// The subprotocols and the compression that were offered.
fn offered<'a>(socket: Option<u32>, scene: &'a Scene<'_>) -> (&'a str, Option<Offer>) {
    match (socket, &scene.crowd, scene.agenda) {
        (Some(socket), Some(crowd), _) => {
            let socket = crowd.socket(socket);
            (&socket.protocols, socket.offer)
        }
        (_, _, Some(agenda)) => (&agenda.protocols, agenda.offer),
        _ => ("", None),
    }
}
