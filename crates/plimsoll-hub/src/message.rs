//! A message as it is sent, encoded once per format for all subscribers.

use std::sync::OnceLock;

use bytes::Bytes;
use plimsoll_wire::websocket::Opcode;
use plimsoll_wire::websocket::deflate::Deflater;
use plimsoll_wire::websocket::frame::{Frame, write};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::quoted;
use crate::patch::patch;
use crate::position::{ChannelRef, Position};
use crate::sse;

/// Shortest message that is compressed, bytes.
const DEFLATED_LEN_MIN: usize = 128;

/// The format of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFormat {
    /// WebSocket.
    WebSocket,
    /// WebSocket with compressed messages, each independent (`server_no_context_takeover`).
    Deflated,
    /// Server-Sent Events.
    Sse,
    /// Server-Sent Events of Mercure.
    Mercure,
}

impl ClientFormat {
    /// Whether its clients only receive.
    pub fn is_events(self) -> bool {
        matches!(self, Self::Sse | Self::Mercure)
    }
}

/// A published message with its offset.
#[derive(Debug)]
pub struct HubMessage {
    channel: ChannelRef,
    position: Position,
    is_notice: bool,
    /// Other channels have the same at this offset.
    is_copy: bool,
    /// The WebSocket frame, which ends with the text.
    frame: Bytes,
    text_at: usize,
    sse: OnceLock<Bytes>,
    deflated: OnceLock<Bytes>,
    /// A frame with a patch, for clients that have the message of this offset.
    patch: Option<(u64, Bytes)>,
    /// Boxed because it is rare.
    mercure: OnceLock<Box<Bytes>>,
}

/// The previous message, if patches are sent.
#[derive(Debug)]
pub(crate) struct Before {
    /// Its offset.
    pub(crate) offset: u64,
    /// JSON.
    pub(crate) data: Box<str>,
}

impl HubMessage {
    /// The message of a channel at this position. `data` is JSON, and is sent unchanged. If offsets have gaps, the
    /// message states its predecessor in `after`.
    pub(crate) fn new(
        channel: ChannelRef,
        name: &str,
        position: Position,
        after: Option<u64>,
        data: &str,
        before: Option<&Before>,
    ) -> Self {
        let Position { epoch, offset } = position;
        let after = after.map_or_else(String::new, |after| format!(r#""after":{after},"#));
        let head = format!(
            r#"{{"channel":{},"offset":{offset},"epoch":{epoch},{after}"#,
            quoted(name)
        );
        let mut message = Self::of(
            channel,
            position,
            false,
            &format!(r#"{head}"data":{data}}}"#),
        );
        message.patch = before.and_then(|before| {
            let patch = patch(&before.data, data)?;
            let frame = text_frame(&format!(r#"{head}"patch":{patch}}}"#));
            Some((before.offset, frame))
        });
        message
    }

    /// Notes whether other channels have the same at this offset.
    pub(crate) fn with_copies(self, is_copy: bool) -> Self {
        Self { is_copy, ..self }
    }

    /// Whether other channels have the same at this offset.
    #[inline]
    pub(crate) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// The published JSON; `None` for a notice.
    pub(crate) fn data(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.text());
        let published = serde_json::from_str::<PublishedFields<'_>>(&text);
        published
            .ok()
            .map(|published| published.data.get().to_owned())
    }

    /// The notice for the subscribers of a channel that messages were missed: they restart at `position`.
    pub(crate) fn notice(channel: ChannelRef, name: &str, position: Position) -> Self {
        let text = lost(name, position);
        Self::of(channel, position, true, &text)
    }

    fn of(channel: ChannelRef, position: Position, is_notice: bool, text: &str) -> Self {
        let frame = text_frame(text);
        Self {
            channel,
            position,
            is_notice,
            is_copy: false,
            text_at: frame.len() - text.len(),
            frame,
            sse: OnceLock::new(),
            deflated: OnceLock::new(),
            patch: None,
            mercure: OnceLock::new(),
        }
    }

    /// The patch for a client that expects this offset next and has the previous message.
    #[inline]
    pub(crate) fn patch_for(&self, next: u64) -> Option<&Bytes> {
        let (before, frame) = self.patch.as_ref()?;
        (before + 1 == next).then_some(frame)
    }

    /// Its channel.
    pub fn channel(&self) -> ChannelRef {
        self.channel
    }

    /// Its offset in the epoch, from 1.
    pub fn offset(&self) -> u64 {
        self.position.offset
    }

    /// Its position, as clients receive it.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether it is a notice of missed messages.
    pub fn is_notice(&self) -> bool {
        self.is_notice
    }

    /// The text that a client reads.
    pub fn text(&self) -> &[u8] {
        &self.frame[self.text_at..]
    }

    /// Bytes that it takes in a history.
    pub fn size(&self) -> usize {
        let patch = self.patch.as_ref().map_or(0, |(_, frame)| frame.len());
        size_of::<Self>() + self.frame.len() + patch
    }

    /// The bytes in a format, encoded on first use. `deflater` starts each message independently.
    #[inline]
    pub fn bytes(&self, format: ClientFormat, deflater: &mut Option<Deflater>) -> &Bytes {
        match format {
            ClientFormat::WebSocket => &self.frame,
            ClientFormat::Sse => self.sse.get_or_init(|| {
                let id = (self.position.epoch, self.position.offset);
                sse::event(Some(id), &String::from_utf8_lossy(self.text())).into()
            }),
            ClientFormat::Deflated => self.deflated.get_or_init(|| self.deflate(deflater)),
            ClientFormat::Mercure => self.mercure.get_or_init(|| Box::new(self.update().into())),
        }
    }

    /// The data for Mercure: a string as its plain text, other JSON unchanged.
    fn update(&self) -> String {
        let text = String::from_utf8_lossy(self.text());
        let (false, Ok(published)) = (
            self.is_notice,
            serde_json::from_str::<PublishedFields<'_>>(&text),
        ) else {
            return sse::aside(&text);
        };
        let id = (self.position.epoch, self.position.offset);
        match serde_json::from_str::<String>(published.data.get()) {
            Ok(plain) => sse::update(id, &plain),
            Err(_) => sse::update(id, published.data.get()),
        }
    }

    /// The frame, compressed if that is shorter.
    fn deflate(&self, deflater: &mut Option<Deflater>) -> Bytes {
        if self.text().len() < DEFLATED_LEN_MIN {
            return self.frame.clone();
        }
        let deflater = deflater.get_or_insert_with(|| Deflater::new(6, false));
        let mut payload = Vec::new();
        deflater.deflate(self.text(), &mut payload);
        if payload.len() >= self.text().len() {
            return self.frame.clone();
        }
        let mut frame = Vec::new();
        let packed = Frame {
            opcode: Opcode::Text,
            is_deflated: true,
            payload: &payload,
        };
        write(&mut frame, &packed, None);
        frame.into()
    }
}

/// The published part of a message.
#[derive(Deserialize)]
struct PublishedFields<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The notice that messages of a channel were missed.
fn lost(channel: &str, position: Position) -> String {
    let (channel, Position { epoch, offset }) = (quoted(channel), position);
    format!(r#"{{"subscribed":{channel},"epoch":{epoch},"offset":{offset},"recovered":false}}"#)
}

/// A server frame with this text.
pub(crate) fn text_frame(text: &str) -> Bytes {
    let mut frame = Vec::new();
    write(
        &mut frame,
        &Frame::plain(Opcode::Text, text.as_bytes()),
        None,
    );
    frame.into()
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::websocket::deflate::Inflater;
    use plimsoll_wire::websocket::{Event, Role, WebSocketLimits, WebSocketReader};

    use super::*;

    const CHANNEL: ChannelRef = ChannelRef { slot: 3, epoch: 9 };

    /// A message at an offset.
    fn message(name: &str, offset: u64, data: &str) -> HubMessage {
        HubMessage::new(
            CHANNEL,
            name,
            Position { epoch: 7, offset },
            None,
            data,
            None,
        )
    }

    #[test]
    fn a_message_is_what_the_surface_says() {
        let message = message("game-\"1\"", 5, r#"{"odds":[1, 2]}"#);
        assert_eq!(
            message.bytes(ClientFormat::WebSocket, &mut None)[2..],
            br#"{"channel":"game-\"1\"","offset":5,"epoch":7,"data":{"odds":[1, 2]}}"#[..]
        );
        assert_eq!(
            &message.bytes(ClientFormat::Sse, &mut None)[..],
            b"id: 7:5\ndata: {\"channel\":\"game-\\\"1\\\"\",\"offset\":5,\"epoch\":7,\"data\":{\"odds\":[1, 2]}}\n\n"
        );
    }

    #[test]
    fn readers_of_mercure_get_what_was_published() {
        let read = |data: &str| {
            let message = message("a", 5, data);
            String::from_utf8(message.bytes(ClientFormat::Mercure, &mut None).to_vec()).unwrap()
        };
        assert_eq!(
            read(r#"{"odds": [1]}"#),
            "id: #7:5\ndata: {\"odds\": [1]}\n\n"
        );
        assert_eq!(read(r#""one\ntwo""#), "id: #7:5\ndata: one\ndata: two\n\n");
        let position = Position {
            epoch: 7,
            offset: 5,
        };
        let notice = HubMessage::notice(CHANNEL, "a", position);
        let notice_bytes = notice.bytes(ClientFormat::Mercure, &mut None);
        assert!(notice_bytes.starts_with(b"event: plimsoll\ndata: {\"subscribed\":\"a\""));
    }

    #[test]
    fn every_client_can_inflate_the_same_bytes() {
        let mut deflater = None;
        let data = format!("[{}1]", "1,".repeat(100));
        for offset in 1..4 {
            let message = message("a", offset, &data);
            let mut bytes = message
                .bytes(ClientFormat::Deflated, &mut deflater)
                .to_vec();
            assert!(bytes.len() < message.text().len() / 2);
            let mut reader = WebSocketReader::new(Role::Client, true);
            let (_, event) = reader
                .next(&mut bytes, &WebSocketLimits::default())
                .unwrap();
            let Some(Event::Deflated(packed)) = event else {
                panic!("it is compressed");
            };
            let mut out = Vec::new();
            let content = packed.inflate(&mut Inflater::new(false), 10_000, &mut out);
            assert_eq!(content.unwrap().bytes(), message.text());
        }
    }

    #[test]
    fn what_is_short_is_not_compressed() {
        let message = message("a", 1, "1");
        let mut deflater = None;
        assert_eq!(
            message.bytes(ClientFormat::Deflated, &mut deflater),
            &message.frame
        );
        assert!(deflater.is_none());
    }
}
