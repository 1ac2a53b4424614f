//! Why a WebSocket connection must end.

use thiserror::Error;

use super::closing::code;

/// A violation of the protocol or a limit by the other side. Nothing more is read of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WebSocketError {
    /// A reserved bit without an extension that defines it, or on a frame where it is invalid.
    #[error("a reserved bit is set")]
    ReservedBit,
    /// An operation code that is not defined.
    #[error("the opcode {0} is reserved")]
    ReservedOpcode(u8),
    /// A client's frame without a mask.
    #[error("a client's frame is not masked")]
    Unmasked,
    /// A server's frame with a mask.
    #[error("a server's frame is masked")]
    Masked,
    /// A length in more bytes than it needs, or beyond 63 bits.
    #[error("a frame length is not in its shortest form")]
    Length,
    /// A control frame in fragments.
    #[error("a control frame is fragmented")]
    ControlFragmented,
    /// A control frame with more than 125 bytes.
    #[error("a control frame is longer than 125 bytes")]
    ControlTooLong,
    /// A continuation frame without a message.
    #[error("a continuation frame without a message to continue")]
    NothingToContinue,
    /// A message begins inside another one.
    #[error("a message begins inside a fragmented message")]
    Interleaved,
    /// A close frame of one byte.
    #[error("a close frame has a payload of one byte")]
    CloseLength,
    /// An invalid close code.
    #[error("invalid close code {0}")]
    CloseCode(u16),
    /// Text, or the reason of a close frame, that is not UTF-8.
    #[error("text is not UTF-8")]
    Utf8,
    /// A message exceeds its limit, compressed or decompressed.
    #[error("a message is longer than {0} bytes")]
    TooLong(usize),
    /// A message in more fragments than its limit.
    #[error("a message has more than {0} fragments")]
    TooManyFragments(u32),
    /// A compressed message that cannot be inflated.
    #[error("a compressed message is not valid")]
    Deflate,
}

impl WebSocketError {
    /// The close code for the other side (RFC 6455, 7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            Self::Utf8 | Self::Deflate => code::INVALID_DATA,
            Self::TooLong(_) => code::TOO_BIG,
            Self::TooManyFragments(_) => code::POLICY,
            _ => code::PROTOCOL,
        }
    }
}
