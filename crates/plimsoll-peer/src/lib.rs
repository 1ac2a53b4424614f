//! How processes of Plimsoll on several machines speak with each other: an agent with those that read its readings, a
//! coordinator with its workers.
//!
//! The walk of a connection:
//!
//! 1. The side that listens makes an [`Identity`] and from it a [`Token`] ([`Identity::invite`]), one line of text that the
//!    user carries to the other machine.
//! 2. TLS 1.3 with certificates on both sides: [`Identity::server_config`] and [`Token::client_config`]. The client knows the
//!    fingerprint of the server's certificate, the server the public keys that it invited; no authority is involved.
//!    Whoever has no token is refused by an alert before a byte of the protocol was sent.
//! 3. Messages in frames ([`frame`]): a length and JSON. [`Channel`] sends and receives them over a blocking stream.
//! 4. The side that listens sends its [`Hello`] first, then the client: only so is a refusal by the server read as what it
//!    is, and not as a connection that was reset. Each side judges the other's version ([`Hello::judge`]).
//! 5. [`RoundTrip`]s give the offset between the clocks ([`ClockOffset::best`]).
//!
//! What this crate does not do: it opens no socket, reads no file and no clock, and knows nothing of what is sent.

mod channel;
mod error;
pub mod frame;
mod hello;
mod identity;
mod key;
mod offset;
mod tls;
mod token;

pub use channel::{Channel, ChannelError, ClientStream, ServerStream};
pub use error::{PeerError, TokenError};
pub use hello::{Hello, Refusal, Role, Version};
pub use identity::{INVITED_MOST, Identity};
pub use offset::{ClockOffset, ROUND_TRIPS, RoundTrip};
pub use tls::{TlsRefusal, server_name};
pub use token::Token;
