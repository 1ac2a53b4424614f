//! Events of a reader.

use std::borrow::Cow;

use super::closing::Close;
use super::deflate::Inflater;
use super::error::WebSocketError;

/// A complete message or control frame. It is borrowed if it arrived in one piece, otherwise owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message of text.
    Text(Cow<'a, str>),
    /// A message of bytes.
    Binary(Cow<'a, [u8]>),
    /// A message still compressed.
    Deflated(Deflated<'a>),
    /// A ping, which requires a pong with the same payload.
    Ping(Cow<'a, [u8]>),
    /// A pong.
    Pong(Cow<'a, [u8]>),
    /// A close frame; nothing is read after it.
    Close(Close<'a>),
}

/// A message as it was compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deflated<'a> {
    pub(super) is_text: bool,
    pub(super) bytes: Cow<'a, [u8]>,
}

/// A message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageContent<'a> {
    /// Text.
    Text(&'a str),
    /// Bytes.
    Binary(&'a [u8]),
}

impl Deflated<'_> {
    /// Bytes as received.
    pub fn compressed_len(&self) -> usize {
        self.bytes.len()
    }

    /// Decompresses the content into `out`, which is overwritten. The messages of a connection must be decompressed in
    /// order.
    ///
    /// # Errors
    /// When it is invalid, exceeds `len_max` bytes, or is text and not UTF-8.
    pub fn inflate<'o>(
        &self,
        inflater: &mut Inflater,
        len_max: usize,
        out: &'o mut Vec<u8>,
    ) -> Result<MessageContent<'o>, WebSocketError> {
        inflater.inflate(&self.bytes, len_max, out)?;
        Ok(if self.is_text {
            MessageContent::Text(std::str::from_utf8(out).map_err(|_| WebSocketError::Utf8)?)
        } else {
            MessageContent::Binary(out)
        })
    }
}

impl Event<'_> {
    /// The content of a message that is not compressed.
    pub fn content(&self) -> Option<MessageContent<'_>> {
        match self {
            Self::Text(text) => Some(MessageContent::Text(text)),
            Self::Binary(bytes) => Some(MessageContent::Binary(bytes)),
            _ => None,
        }
    }

    /// The same, owned.
    pub fn into_owned(self) -> Event<'static> {
        fn own(bytes: Cow<'_, [u8]>) -> Cow<'static, [u8]> {
            Cow::Owned(bytes.into_owned())
        }
        match self {
            Self::Text(text) => Event::Text(Cow::Owned(text.into_owned())),
            Self::Binary(bytes) => Event::Binary(own(bytes)),
            Self::Deflated(deflated) => Event::Deflated(Deflated {
                is_text: deflated.is_text,
                bytes: own(deflated.bytes),
            }),
            Self::Ping(bytes) => Event::Ping(own(bytes)),
            Self::Pong(bytes) => Event::Pong(own(bytes)),
            Self::Close(close) => Event::Close(close.into_owned()),
        }
    }
}

impl MessageContent<'_> {
    /// Its bytes, whatever they are.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}
