//! What comes over a WebSocket: the handshake's answer, then broadcasts, answers, pings, and an end.

use plimsoll_model::broadcast::{Ear, Heard, Listener};
use plimsoll_wire::websocket::handshake::{self, AnswerFault, Asked};
use plimsoll_wire::websocket::{Event, Opcode, closing};

use super::{Agenda, End, Fed, Moment, Opening, Talk, Talks, awaited};
use crate::second::TalkSecond;
use crate::source::NEVER;

/// Bytes that wait to be written, beyond which a pong is left out: the target does not read.
const PONGS_LEN_MAX: usize = 4096;

/// The code of a close frame without one (RFC 6455, 7.4.1).
const NO_CODE: u16 = 1005;

impl Talks {
    /// Takes bytes that came.
    pub(crate) fn feed(
        &mut self,
        agenda: &Agenda,
        id: u32,
        bytes: &mut [u8],
        at: Moment,
        fed: &mut Fed,
        second: &mut TalkSecond,
    ) {
        if fed.end.is_some() {
            return;
        }
        let Some(mut talk) = self.rows.get_mut(id as usize).and_then(Option::take) else {
            return;
        };
        let mut taken = 0;
        if talk.opening.is_some() {
            let before = talk
                .opening
                .as_ref()
                .map_or(0, |opening| opening.head.len());
            match open(&mut talk, agenda, bytes) {
                Ok(None) => taken = bytes.len(),
                Ok(Some(head_len)) => {
                    taken = head_len.saturating_sub(before);
                    talk.listener = Listener::new(at.now / 1000);
                    fed.opened = true;
                }
                Err(fault) => {
                    taken = bytes.len();
                    fed.end = Some(End::Refused(fault));
                }
            }
        }
        while taken < bytes.len() && fed.end.is_none() {
            match talk.reader.next(&mut bytes[taken..], &agenda.limits) {
                Ok((count, event)) => {
                    taken += count;
                    if let Some(event) = event {
                        self.take(agenda, &mut talk, &event, at, fed, second);
                    }
                }
                Err(fault) => fed.end = Some(End::Faulty(fault)),
            }
        }
        self.rows[id as usize] = Some(talk);
    }

    #[inline]
    fn take(
        &mut self,
        agenda: &Agenda,
        talk: &mut Talk,
        event: &Event<'_>,
        at: Moment,
        fed: &mut Fed,
        second: &mut TalkSecond,
    ) {
        match event {
            // Who has said farewell no longer listens.
            Event::Text(_) | Event::Binary(_) if !talk.closing.may_send() => {}
            Event::Text(text) => self.hear(agenda, talk, text.as_bytes(), at, fed, second),
            Event::Binary(bytes) => self.hear(agenda, talk, bytes, at, fed, second),
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
                fed.end = Some(End::Closed(code.unwrap_or(NO_CODE)));
            }
            // No compression was offered, so nothing compressed is let through.
            Event::Pong(_) | Event::Deflated(_) => {}
        }
    }

    /// A message came: a broadcast, or an answer.
    #[inline]
    fn hear(
        &mut self,
        agenda: &Agenda,
        talk: &mut Talk,
        bytes: &[u8],
        at: Moment,
        fed: &mut Fed,
        second: &mut TalkSecond,
    ) {
        let window = &mut second.window;
        window.messages_in += 1;
        window.bytes_in += bytes.len() as u64;
        if !agenda.is_marked && (talk.awaited != NEVER || talk.owed > 0) {
            return answer(talk, fed);
        }
        let found = self.finder.find(&agenda.marks, bytes);
        if agenda.is_marked && !found.is_marked() {
            return answer(talk, fed);
        }
        let latency_us = found.stamp_us.map(|stamp_us| {
            if stamp_us > at.unix_us {
                window.ahead += 1;
                window.ahead_us_max = window.ahead_us_max.max(stamp_us - at.unix_us);
            }
            at.unix_us.saturating_sub(stamp_us)
        });
        let is_alone = self.is_alone;
        let ear = self.ears.entry(talk.path);
        ear.or_insert_with(|| Ear::new(is_alone)).hear(
            &mut talk.listener,
            Heard {
                id: found.sequence.unwrap_or(found.hash),
                sequence: found.sequence,
                at_us: at.now / 1000,
                latency_us,
            },
        );
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

/// Takes bytes of a handshake's answer: its length once it is complete.
fn open(talk: &mut Talk, agenda: &Agenda, bytes: &[u8]) -> Result<Option<usize>, AnswerFault> {
    let Some(opening) = &mut talk.opening else {
        return Ok(Some(0));
    };
    let Opening { key, head, scanned } = &mut **opening;
    let asked = Asked {
        key,
        protocols: &agenda.protocols,
        offer: None,
    };
    let opened = if head.is_empty() {
        handshake::read_answer(bytes, 0, &asked)?
    } else {
        head.extend_from_slice(bytes);
        handshake::read_answer(head, *scanned, &asked)?
    };
    let Some(opened) = opened else {
        if head.is_empty() {
            head.extend_from_slice(bytes);
        }
        *scanned = head.len();
        return Ok(None);
    };
    talk.opening = None;
    Ok(Some(opened.head_len))
}
