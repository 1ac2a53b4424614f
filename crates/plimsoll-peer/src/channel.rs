//! Messages over a blocking stream: of TLS, or of pipes to a program that was started over `ssh`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::{self, Decoder, FrameError};
use crate::tls::{TlsRefusal, server_name};

/// Bytes of a read.
const READ: usize = 16 << 10;

/// Bytes that are read of a client that was refused: more than the rest of its handshake.
const LEFTOVER: u64 = 16 << 10;

/// TLS over a socket of the side that connects.
pub type ClientStream = StreamOwned<ClientConnection, TcpStream>;

/// TLS over a socket of the side that listens.
pub type ServerStream = StreamOwned<ServerConnection, TcpStream>;

/// A channel has ended, or nothing arrived.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The handshake was refused, by this side or the other.
    #[error("{}", refusal_text(*.0))]
    Refused(TlsRefusal),
    /// The other side has closed the connection.
    #[error("the other side closed the connection")]
    Closed,
    /// Nothing arrived, or nothing was taken, within the time-out of the stream. What has arrived of a message is kept:
    /// receiving may be tried again.
    #[error("the other side is silent")]
    Silent,
    /// A message is too long.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message is not what is expected here.
    #[error("the other side sent a message that this version cannot read: {0}")]
    Message(serde_json::Error),
    /// A message cannot be written.
    #[error("cannot write a message: {0}")]
    Write(serde_json::Error),
    /// The connection failed.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ChannelError {
    fn from(error: io::Error) -> Self {
        if let Some(refusal) = TlsRefusal::of(&error) {
            return Self::Refused(refusal);
        }
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent,
            // A peer that ends without the close of TLS; one that was killed, or a path that is gone.
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// Sends and receives messages over a stream. The stream's own time-outs hold.
#[derive(Debug)]
pub struct Channel<S> {
    stream: S,
    decoder: Decoder,
    longest: usize,
}

impl Channel<ClientStream> {
    /// The client's side of a connection: makes the handshake with the configuration of a token
    /// ([`crate::Token::client_config`]). Messages have at most `longest` bytes.
    ///
    /// A server that refuses the token does so after the client's last word of the handshake: then the first
    /// [`Channel::receive`] fails.
    ///
    /// # Errors
    /// When the server has another certificate, does not speak TLS, or is silent for as long as the socket's time-outs.
    pub fn connect(
        mut socket: TcpStream,
        config: Arc<ClientConfig>,
        longest: usize,
    ) -> Result<Self, ChannelError> {
        let connection = ClientConnection::new(config, server_name());
        let mut connection = connection.map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Self::new(StreamOwned::new(connection, socket), longest))
    }
}

impl Channel<ServerStream> {
    /// The server's side of a connection: makes the handshake with the configuration of an identity
    /// ([`crate::Identity::server_config`]). Messages have at most `longest` bytes.
    ///
    /// The time-outs of a socket hold for each read: close the socket from elsewhere to bound the whole handshake.
    ///
    /// # Errors
    /// When the client has no token of this server, or is silent.
    pub fn accept(
        mut socket: TcpStream,
        config: Arc<ServerConfig>,
        longest: usize,
    ) -> Result<Self, ChannelError> {
        let connection = ServerConnection::new(config);
        let mut connection = connection.map_err(io::Error::other)?;
        while connection.is_handshaking() {
            if let Err(error) = connection.complete_io(&mut socket) {
                part(&mut socket);
                return Err(error.into());
            }
        }
        Ok(Self::new(StreamOwned::new(connection, socket), longest))
    }
}

impl<S> Channel<S> {
    /// Messages of at most `longest` bytes, over any stream.
    pub fn new(stream: S, longest: usize) -> Self {
        Self {
            stream,
            decoder: Decoder::new(longest),
            longest,
        }
    }

    /// The stream, for its time-outs.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// The same, for streams that are changed by it.
    pub fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The stream, for another channel. What was received of a message and not read is lost: after a handshake that is nothing.
    pub fn into_stream(self) -> S {
        self.stream
    }
}

impl<S: Read + Write> Channel<S> {
    /// Sends a message.
    ///
    /// # Errors
    /// When it is too long, or the connection failed; after that the channel is of no use.
    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), ChannelError> {
        let payload = serde_json::to_vec(message).map_err(ChannelError::Write)?;
        let mut bytes = Vec::with_capacity(payload.len() + 4);
        frame::encode(&payload, self.longest, &mut bytes)?;
        self.stream.write_all(&bytes)?;
        self.stream.flush()?;
        Ok(())
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// [`ChannelError::Silent`] where the stream's time-out passed: a further call goes on. Any other: the channel has ended.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<T, ChannelError> {
        let mut buffer = [0; READ];
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return serde_json::from_slice(frame).map_err(ChannelError::Message);
            }
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ChannelError::Closed),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.decoder.push(&buffer[..count]);
        }
    }
}

/// Lets the alert arrive: a socket that is closed with unread bytes is reset, and a reset overtakes what was sent.
fn part(socket: &mut TcpStream) {
    if socket.shutdown(Shutdown::Write).is_ok() {
        // Whether it ends or fails, nothing is left to do.
        let _ = socket.take(LEFTOVER).read_to_end(&mut Vec::new());
    }
}

/// What a refusal means, and what helps.
fn refusal_text(refusal: TlsRefusal) -> &'static str {
    match refusal {
        TlsRefusal::OtherCertificate => {
            "it has another certificate than the invitation names: check the address, or take a new token from there"
        }
        TlsRefusal::UnknownToken => "it does not know the token; take a new one from there",
        TlsRefusal::ExpiredToken => "the token has expired by its clock; take a new one from there",
        TlsRefusal::NotTls => {
            "what listens there does not speak TLS 1.3; check the address and the port"
        }
    }
}
