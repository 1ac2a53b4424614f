//! WebSocket (RFC 6455) as a state machine over bytes, with compressed messages (RFC 7692).
//!
//! [`handshake`] is the opening handshake of both sides; [`reader::WebSocketReader`] turns pieces of any size into
//! [`event::Event`]s; [`frame::write`] builds frames, which a server may send unchanged to any number of clients.
//! [`closing::Closing`] tracks the closing handshake, [`deflate`] implements the negotiated compression.
//!
//! Both sides use the same code: the masking side is [`Role::Client`]. Nothing does I/O, reads a clock or draws random
//! numbers: keys and nonces are passed in. An idle reader holds no memory but itself; a message that arrived in one
//! piece is borrowed from the input.

pub mod closing;
pub mod deflate;
pub mod error;
pub mod event;
pub mod frame;
pub mod handshake;
pub mod mask;
pub mod reader;

pub use closing::{Close, Closing};
pub use error::WebSocketError;
pub use event::Event;
pub use frame::Opcode;
pub use reader::{WebSocketLimits, WebSocketReader};

/// Which side of a connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opened the connection, masks its frames and accepts only unmasked ones.
    Client,
    /// It accepted the connection, does not mask and accepts only masked frames.
    Server,
}

#[cfg(test)]
mod autobahn;
