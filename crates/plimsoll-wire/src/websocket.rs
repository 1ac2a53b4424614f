//! WebSocket (RFC 6455) as a state machine over bytes, with compressed messages (RFC 7692).
//!
//! [`handshake`] asks and answers; [`reader::Reader`] makes [`event::Event`]s of whatever pieces the network delivers;
//! [`frame::write`] makes frames, which a server may write to any number of clients as they are. [`closing::Closing`]
//! says what is owed when an end is announced, [`deflate`] what the two sides agreed on.
//!
//! Both sides use the same code: the one that sends with a mask is [`Role::Client`]. Nothing does I/O, reads a clock or
//! rolls dice: keys and nonces are handed in. A reader that waits holds no memory but itself; a message that came whole is
//! handed on where it lies.

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
    /// It asked for the connection, masks what it sends and takes nothing masked.
    Client,
    /// It was asked, masks nothing and takes nothing that is not masked.
    Server,
}

#[cfg(test)]
mod autobahn;
