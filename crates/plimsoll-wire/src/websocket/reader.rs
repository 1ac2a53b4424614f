//! Turns received bytes into events, in pieces of any size.

use std::borrow::Cow;
use std::mem::take;

use super::closing::Close;
use super::error::WebSocketError;
use super::event::{Deflated, Event};
use super::frame::{CONTROL_LEN_MAX, FrameHead, HEAD_LEN_MAX, Opcode, head_len};
use super::{Role, mask};

/// Limits of received messages. Passed with each read, so that a connection need not store them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebSocketLimits {
    /// Longest message, compressed and decompressed, bytes. At most twice as much is buffered.
    pub message_len_max: usize,
    /// Most fragments of one message.
    pub fragments_max: u32,
}

impl Default for WebSocketLimits {
    /// 1 MiB in 4,096 fragments.
    fn default() -> Self {
        Self {
            message_len_max: 1 << 20,
            fragments_max: 4096,
        }
    }
}

/// Reads one direction of one connection.
///
/// An idle reader is all the memory that the direction takes.
#[derive(Debug)]
pub struct WebSocketReader {
    /// The beginning of an incomplete message or control frame.
    held: Option<Box<PartialMessage>>,
    /// Bytes of the current payload still to come; at most [`WebSocketLimits::message_len_max`].
    left: usize,
    /// The key for the next byte of the payload.
    mask: [u8; 4],
    /// The beginning of an incomplete frame header.
    head: [u8; HEAD_LEN_MAX],
    head_len: u8,
    opcode: Opcode,
    is_last: bool,
    is_deflated: bool,
    stage: FrameStage,
    role: Role,
    takes_deflated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameStage {
    Head,
    Payload,
    /// A close frame arrived, or an error occurred: further bytes are ignored.
    Over,
}

#[derive(Debug, Default)]
struct PartialMessage {
    /// A message with fragments still to come.
    message: Option<MessageKind>,
    bytes: Vec<u8>,
    /// Length of the prefix known to be valid UTF-8.
    text_len: usize,
    fragments: u32,
    control: Vec<u8>,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MessageKind {
    is_text: bool,
    is_deflated: bool,
}

impl WebSocketReader {
    /// Reads what is sent to this role; compressed messages are accepted if that was negotiated.
    pub fn new(role: Role, takes_deflated: bool) -> Self {
        Self {
            held: None,
            left: 0,
            mask: [0; 4],
            head: [0; HEAD_LEN_MAX],
            head_len: 0,
            opcode: Opcode::Continuation,
            is_last: false,
            is_deflated: false,
            stage: FrameStage::Head,
            role,
            takes_deflated,
        }
    }

    /// Buffered bytes of incomplete messages.
    pub fn memory(&self) -> usize {
        self.held.as_ref().map_or(0, |held| {
            size_of::<PartialMessage>() + held.bytes.capacity() + held.control.capacity()
        })
    }

    /// The next event in `input`, and how many bytes were taken; without an event all of them. Masked bytes
    /// are unmasked in place.
    ///
    /// # Errors
    /// When the other side violates the protocol or a limit. Nothing is read afterwards.
    #[inline]
    pub fn next<'a>(
        &mut self,
        input: &'a mut [u8],
        limits: &WebSocketLimits,
    ) -> Result<(usize, Option<Event<'a>>), WebSocketError> {
        let result = self.step(input, limits);
        if result.is_err() {
            self.stage = FrameStage::Over;
            self.held = None;
        }
        result
    }

    fn step<'a>(
        &mut self,
        input: &'a mut [u8],
        limits: &WebSocketLimits,
    ) -> Result<(usize, Option<Event<'a>>), WebSocketError> {
        let len = input.len();
        let mut rest = input;
        loop {
            match self.stage {
                FrameStage::Over => return Ok((len, None)),
                FrameStage::Head => {
                    let (taken, head) = self.take_head(rest)?;
                    rest = &mut rest[taken..];
                    let Some(head) = head else {
                        return Ok((len, None));
                    };
                    self.begin(&head, limits)?;
                }
                FrameStage::Payload if rest.is_empty() && self.left > 0 => return Ok((len, None)),
                FrameStage::Payload => {
                    let taken = self.left.min(rest.len());
                    let (piece, after) = take(&mut rest).split_at_mut(taken);
                    rest = after;
                    if let Some(event) = self.take_payload(piece)? {
                        return Ok((len - rest.len(), Some(event)));
                    }
                }
            }
        }
    }

    /// Takes bytes of a frame header, which may have begun earlier, and returns how many.
    #[inline]
    fn take_head(&mut self, input: &[u8]) -> Result<(usize, Option<FrameHead>), WebSocketError> {
        let have = usize::from(self.head_len);
        if have == 0
            && let Some((taken, head)) = FrameHead::read(input)?
        {
            return Ok((taken, Some(head)));
        }
        // Two bytes determine its length.
        let mut filled = have;
        let mut input = input.iter();
        loop {
            let needed = if filled < 2 {
                2
            } else {
                head_len(self.head[1])
            };
            if filled == needed {
                break;
            }
            let Some(&byte) = input.next() else {
                break;
            };
            self.head[filled] = byte;
            filled += 1;
        }
        let head = FrameHead::read(&self.head[..filled])?.map(|(_, head)| head);
        self.head_len = if head.is_some() {
            0
        } else {
            u8::try_from(filled).unwrap_or_default()
        };
        Ok((filled - have, head))
    }

    /// A frame header is complete: validates it in context.
    #[inline]
    fn begin(&mut self, head: &FrameHead, limits: &WebSocketLimits) -> Result<(), WebSocketError> {
        match (self.role, head.mask) {
            (Role::Server, None) => return Err(WebSocketError::Unmasked),
            (Role::Client, Some(_)) => return Err(WebSocketError::Masked),
            (Role::Server, Some(key)) => self.mask = key,
            (Role::Client, None) => {}
        }
        let begins = matches!(head.opcode, Opcode::Text | Opcode::Binary);
        if head.is_deflated && !(begins && self.takes_deflated) {
            return Err(WebSocketError::ReservedBit);
        }
        let too_long = WebSocketError::TooLong(limits.message_len_max);
        self.left = usize::try_from(head.len).map_err(|_| too_long)?;
        self.opcode = head.opcode;
        self.is_last = head.is_last;
        self.is_deflated = head.is_deflated;
        self.stage = FrameStage::Payload;
        if head.opcode.is_control() {
            debug_assert!(self.left <= CONTROL_LEN_MAX);
            return Ok(());
        }
        let kind = self.kind();
        let under_way = self
            .held
            .as_deref_mut()
            .filter(|partial| partial.message.is_some());
        let before = match (under_way, begins) {
            (Some(_), true) => return Err(WebSocketError::Interleaved),
            (None, false) => return Err(WebSocketError::NothingToContinue),
            (Some(partial), false) => {
                partial.fragments += 1;
                if partial.fragments > limits.fragments_max {
                    return Err(WebSocketError::TooManyFragments(limits.fragments_max));
                }
                partial.bytes.len()
            }
            (None, true) => {
                // A single-frame message is buffered only if it arrives in pieces; `hold` decides that.
                if !head.is_last {
                    let partial = self.held.get_or_insert_default();
                    partial.message = Some(kind);
                    partial.fragments = 1;
                }
                0
            }
        };
        if before.saturating_add(self.left) > limits.message_len_max {
            return Err(too_long);
        }
        Ok(())
    }

    /// Takes a piece of the payload: the rest of it, or all that is available.
    #[inline]
    fn take_payload<'a>(
        &mut self,
        piece: &'a mut [u8],
    ) -> Result<Option<Event<'a>>, WebSocketError> {
        if self.role == Role::Server {
            mask::apply(piece, self.mask);
            self.mask = mask::after(self.mask, piece.len());
        }
        self.left -= piece.len();
        if self.left == 0 {
            self.stage = FrameStage::Head;
        }
        if self.opcode.is_control() {
            return self.take_control(piece);
        }
        if self.left == 0 && self.is_last && self.held.is_none() {
            return finish(self.kind(), Cow::Borrowed(piece)).map(Some);
        }
        self.hold(piece)
    }

    /// The kind of message that the current frame begins.
    fn kind(&self) -> MessageKind {
        MessageKind {
            is_text: self.opcode == Opcode::Text,
            is_deflated: self.is_deflated,
        }
    }

    /// Takes a piece of a message that arrives in several.
    fn hold<'a>(&mut self, piece: &'a mut [u8]) -> Result<Option<Event<'a>>, WebSocketError> {
        let begun = self.kind();
        let held = self.held.get_or_insert_default();
        let kind = *held.message.get_or_insert(begun);
        let is_over = self.left == 0 && self.is_last;
        if is_over && held.bytes.is_empty() {
            // The first bytes are the whole message: no copy is needed.
            self.held = None;
            return finish(kind, Cow::Borrowed(piece)).map(Some);
        }
        if held.bytes.is_empty() && self.is_last {
            held.bytes
                .reserve_exact(piece.len() + self.left.min(RESERVED_LEN_MAX));
        }
        held.bytes.extend_from_slice(piece);
        if kind.is_text && !kind.is_deflated {
            held.text_len = text_len(&held.bytes, held.text_len)?;
        }
        if !is_over {
            return Ok(None);
        }
        let bytes = take(&mut held.bytes);
        self.held = None;
        finish(kind, Cow::Owned(bytes)).map(Some)
    }

    fn take_control<'a>(
        &mut self,
        piece: &'a mut [u8],
    ) -> Result<Option<Event<'a>>, WebSocketError> {
        let is_begun = self
            .held
            .as_ref()
            .is_some_and(|held| !held.control.is_empty());
        let payload = if self.left == 0 && !is_begun {
            Cow::Borrowed(&*piece)
        } else {
            let held = self.held.get_or_insert_default();
            held.control.extend_from_slice(piece);
            if self.left > 0 {
                return Ok(None);
            }
            let control = take(&mut held.control);
            if held.message.is_none() {
                self.held = None;
            }
            Cow::Owned(control)
        };
        Ok(Some(match self.opcode {
            Opcode::Ping => Event::Ping(payload),
            Opcode::Pong => Event::Pong(payload),
            _ => {
                self.stage = FrameStage::Over;
                self.held = None;
                Event::Close(Close::read(payload)?)
            }
        }))
    }
}

/// Most memory reserved for a frame before its bytes arrive, bytes: a header alone may not make a reader grow.
const RESERVED_LEN_MAX: usize = 16 * 1024;

/// The event of a complete message.
#[inline]
fn finish(kind: MessageKind, bytes: Cow<'_, [u8]>) -> Result<Event<'_>, WebSocketError> {
    let is_text = kind.is_text;
    Ok(match bytes {
        bytes if kind.is_deflated => Event::Deflated(Deflated { is_text, bytes }),
        bytes if !is_text => Event::Binary(bytes),
        Cow::Borrowed(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| WebSocketError::Utf8)?;
            Event::Text(Cow::Borrowed(text))
        }
        Cow::Owned(bytes) => {
            let text = String::from_utf8(bytes).map_err(|_| WebSocketError::Utf8)?;
            Event::Text(Cow::Owned(text))
        }
    })
}

/// Length of the prefix of `bytes` that is whole characters, given that the first `known` are; the last one may be cut.
fn text_len(bytes: &[u8], known: usize) -> Result<usize, WebSocketError> {
    match std::str::from_utf8(&bytes[known..]) {
        Ok(_) => Ok(bytes.len()),
        Err(error) if error.error_len().is_none() => Ok(known + error.valid_up_to()),
        Err(_) => Err(WebSocketError::Utf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_waits_is_small() {
        assert!(
            size_of::<WebSocketReader>() <= 48,
            "{}",
            size_of::<WebSocketReader>()
        );
    }

    #[test]
    fn memory_is_let_go_with_the_message() {
        let mut reader = WebSocketReader::new(Role::Client, false);
        let limits = WebSocketLimits::default();
        let mut bytes = *b"\x01\x02He\x89\x01x\x80\x03llo";
        let (taken, event) = reader.next(&mut bytes[..6], &limits).unwrap();
        assert_eq!((taken, event), (6, None));
        assert!(reader.held.is_some());
        let (taken, event) = reader.next(&mut bytes[6..], &limits).unwrap();
        assert_eq!((taken, event), (1, Some(Event::Ping(Cow::Borrowed(b"x")))));
        let (taken, event) = reader.next(&mut bytes[7..], &limits).unwrap();
        assert_eq!((taken, event), (5, Some(Event::Text("Hello".into()))));
        assert!(reader.held.is_none() && reader.head_len == 0);
    }

    #[test]
    fn a_head_alone_does_not_make_a_reader_grow() {
        let mut reader = WebSocketReader::new(Role::Client, false);
        let limits = WebSocketLimits {
            message_len_max: usize::MAX,
            fragments_max: 1,
        };
        let mut bytes = *b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffx";
        assert_eq!(reader.next(&mut bytes, &limits), Ok((11, None)));
        let held = reader.held.as_ref().unwrap();
        assert!(held.bytes.capacity() <= 2 * RESERVED_LEN_MAX);
        assert!(reader.memory() > 0 && reader.memory() <= 3 * RESERVED_LEN_MAX);
    }
}
