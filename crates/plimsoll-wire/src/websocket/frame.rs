//! Frames: headers read and written, and whole frames built once (RFC 6455, 5.2).

use std::ops::Deref;

use super::{WebSocketError, mask};

/// Longest frame header, bytes.
pub const HEAD_LEN_MAX: usize = 14;

/// Longest payload of a control frame, bytes.
pub const CONTROL_LEN_MAX: usize = 125;

const FIN: u8 = 0x80;
const RESERVED_1: u8 = 0x40;
const RESERVED_2_3: u8 = 0x30;
const MASK: u8 = 0x80;

/// Opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// A further fragment of a message.
    Continuation = 0,
    /// A message of text, or its first fragment.
    Text = 1,
    /// A message of bytes, or its first fragment.
    Binary = 2,
    /// Close.
    Close = 8,
    /// Ping; requires a pong with the same payload.
    Ping = 9,
    /// Pong, in response to a ping or unsolicited.
    Pong = 10,
}

impl Opcode {
    fn read(bits: u8) -> Result<Self, WebSocketError> {
        Ok(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            other => return Err(WebSocketError::ReservedOpcode(other)),
        })
    }

    /// Whether it is a control frame, which may be sent between fragments.
    #[inline]
    pub fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Whether it is the last fragment of its message.
    pub is_last: bool,
    /// The first reserved bit: the message is compressed (RFC 7692, 6).
    pub is_deflated: bool,
    /// Opcode.
    pub opcode: Opcode,
    /// The key its payload is masked with.
    pub mask: Option<[u8; 4]>,
    /// Bytes of payload.
    pub len: u64,
}

/// Length of the header that starts with these two bytes.
#[inline]
pub(super) fn head_len(second: u8) -> usize {
    let length = match second & !MASK {
        127 => 8,
        126 => 2,
        _ => 0,
    };
    2 + length + if second & MASK == 0 { 0 } else { 4 }
}

impl FrameHead {
    /// The header at the start of `bytes` and its length; `None` while it is incomplete.
    ///
    /// # Errors
    /// When it breaks the grammar, for either role.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Option<(usize, Self)>, WebSocketError> {
        let Some((&[first, second], _)) = bytes.split_first_chunk::<2>() else {
            return Ok(None);
        };
        let head_len = head_len(second);
        let Some(head) = bytes.get(2..head_len) else {
            return Ok(None);
        };
        if first & RESERVED_2_3 != 0 {
            return Err(WebSocketError::ReservedBit);
        }
        let opcode = Opcode::read(first & 0xf)?;
        let is_last = first & FIN != 0;
        let (len, key) = match second & !MASK {
            127 => {
                let (length, key) = head.split_first_chunk().ok_or(WebSocketError::Length)?;
                (u64::from_be_bytes(*length), key)
            }
            126 => {
                let (length, key) = head.split_first_chunk().ok_or(WebSocketError::Length)?;
                (u64::from(u16::from_be_bytes(*length)), key)
            }
            short => (u64::from(short), head),
        };
        if opcode.is_control() && !is_last {
            return Err(WebSocketError::ControlFragmented);
        }
        if opcode.is_control() && second & !MASK > 125 {
            return Err(WebSocketError::ControlTooLong);
        }
        let least = match second & !MASK {
            127 => 1 << 16,
            126 => 126,
            _ => 0,
        };
        if len < least || len >> 63 != 0 {
            return Err(WebSocketError::Length);
        }
        let head = Self {
            is_last,
            is_deflated: first & RESERVED_1 != 0,
            opcode,
            mask: key.first_chunk().copied(),
            len,
        };
        Ok(Some((head_len, head)))
    }

    /// Its bytes.
    #[inline]
    pub fn encode(&self) -> EncodedHead {
        let mut bytes = [0; HEAD_LEN_MAX];
        bytes[0] = self.opcode as u8
            | if self.is_last { FIN } else { 0 }
            | if self.is_deflated { RESERVED_1 } else { 0 };
        let masked = if self.mask.is_some() { MASK } else { 0 };
        let mut len = 2;
        match (u8::try_from(self.len), u16::try_from(self.len)) {
            (Ok(short @ ..=125), _) => bytes[1] = masked | short,
            (_, Ok(long)) => {
                bytes[1] = masked | 0x7e;
                bytes[2..4].copy_from_slice(&long.to_be_bytes());
                len = 4;
            }
            _ => {
                bytes[1] = masked | 0x7f;
                bytes[2..10].copy_from_slice(&self.len.to_be_bytes());
                len = 10;
            }
        }
        if let Some(key) = self.mask {
            bytes[len..len + 4].copy_from_slice(&key);
            len += 4;
        }
        EncodedHead { bytes, len }
    }
}

/// The bytes of a header.
#[derive(Clone, Copy, Debug)]
pub struct EncodedHead {
    bytes: [u8; HEAD_LEN_MAX],
    len: usize,
}

impl Deref for EncodedHead {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A message, or a control frame, in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What it is for.
    pub opcode: Opcode,
    /// Whether the payload was compressed.
    pub is_deflated: bool,
    /// Its payload, not masked; a control frame has at most [`CONTROL_LEN_MAX`] bytes.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// A frame with the payload as given.
    pub fn plain(opcode: Opcode, payload: &'a [u8]) -> Self {
        Self {
            opcode,
            is_deflated: false,
            payload,
        }
    }
}

/// Appends a frame to `out`. A client masks with a fresh unpredictable key; a server passes none, and its bytes
/// are the same for all its clients.
#[inline]
pub fn write(out: &mut Vec<u8>, frame: &Frame<'_>, mask: Option<[u8; 4]>) {
    let head = FrameHead {
        is_last: true,
        is_deflated: frame.is_deflated,
        opcode: frame.opcode,
        mask,
        len: frame.payload.len() as u64,
    }
    .encode();
    out.reserve(head.len() + frame.payload.len());
    out.extend_from_slice(&head);
    let start = out.len();
    out.extend_from_slice(frame.payload);
    if let Some(key) = mask {
        mask::apply(&mut out[start..], key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(opcode: Opcode, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, &Frame::plain(opcode, payload), mask);
        out
    }

    #[test]
    fn the_examples_of_the_standard_are_written() {
        // RFC 6455, 5.7.
        assert_eq!(written(Opcode::Text, b"Hello", None), b"\x81\x05Hello");
        assert_eq!(
            written(Opcode::Text, b"Hello", Some([0x37, 0xfa, 0x21, 0x3d])),
            b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"
        );
        assert_eq!(written(Opcode::Ping, b"Hello", None), b"\x89\x05Hello");
        let long = written(Opcode::Binary, &[7; 256], None);
        assert_eq!(long[..4], [0x82, 0x7e, 0x01, 0x00]);
        let longer = written(Opcode::Binary, &vec![7; 65_536], None);
        assert_eq!(longer[..10], [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for len in [0, 1, 125, 126, 127, 65_535, 65_536, (1 << 63) - 1] {
            for mask in [None, Some([1, 2, 3, 4])] {
                let head = FrameHead {
                    is_last: true,
                    is_deflated: true,
                    opcode: Opcode::Binary,
                    mask,
                    len,
                };
                let bytes = head.encode();
                assert_eq!(FrameHead::read(&bytes), Ok(Some((bytes.len(), head))));
                for cut in 0..bytes.len() {
                    assert_eq!(FrameHead::read(&bytes[..cut]), Ok(None));
                }
            }
        }
    }

    #[test]
    fn lengths_are_written_in_as_few_bytes_as_they_take() {
        for bytes in [
            &b"\x82\x7e\x00\x7d"[..],
            b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff",
            b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00",
        ] {
            assert_eq!(FrameHead::read(bytes), Err(WebSocketError::Length));
        }
    }
}
