//! A connection to an agent, over TLS or over `ssh`, up to its welcome.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use plimsoll_model::agent::{AgentAddress, is_machine_name};
use plimsoll_names::host;
use plimsoll_peer::{Channel, ChannelError, ClientStream, TlsRefusal, Token};
use plimsoll_ssh::SentProgram;

use super::AgentSpec;
use super::ssh;
use crate::clock;
use crate::error::AgentError;
use crate::message::{AgentMessage, GreetingError, MESSAGE_MAX, greet_agent};

/// How long an agent may be silent: it sends something every second.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(5);

/// How long it may take to look around when it begins: it discovers the components of the service.
pub(super) const BEGIN_MAX: Duration = Duration::from_secs(30);

/// A stream of either kind.
pub(super) enum AgentStream {
    Tls(Box<ClientStream>),
    Ssh(SentProgram),
}

impl AgentStream {
    /// How long a read waits.
    pub(super) fn set_time_out(&self, time_out: Duration) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.sock.set_read_timeout(Some(time_out)),
            Self::Ssh(stream) => stream.socket().set_read_timeout(Some(time_out)),
        }
    }
}

impl Read for AgentStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.read(buffer),
            Self::Ssh(stream) => stream.socket().read(buffer),
        }
    }
}

impl Write for AgentStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tls(stream) => stream.write(buffer),
            Self::Ssh(stream) => stream.socket().write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.flush(),
            Self::Ssh(stream) => stream.socket().flush(),
        }
    }
}

/// Ends a connection from another thread.
#[derive(Debug)]
pub(super) enum Closer {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// It could not be prepared: the time-outs of the connection end it.
    None,
}

impl Closer {
    /// Reads and writes of the connection end at once. It may have ended already.
    pub(super) fn close(&self) {
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
            Self::None => Ok(()),
        };
    }
}

/// A connection to an agent that serves.
pub(super) struct Connection {
    channel: Channel<AgentStream>,
    name: String,
    /// The agent is on this machine.
    is_near: bool,
}

impl Connection {
    /// Connects, and waits for the welcome.
    pub(super) fn open(spec: &AgentSpec) -> Result<Self, AgentError> {
        match &spec.address {
            AgentAddress::Listening { host, port } => {
                let (stream, ip) = tls(spec, host, *port)?;
                let stream = AgentStream::Tls(Box::new(stream));
                welcomed(&spec.address, stream, ip.is_loopback())
            }
            AgentAddress::Ssh(destination) => {
                let stream = ssh::start(destination).map_err(|source| AgentError::Ssh {
                    address: spec.address.clone(),
                    source,
                })?;
                welcomed(&spec.address, AgentStream::Ssh(stream), false)
            }
        }
    }

    /// Name of the agent's machine.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Ends this connection from elsewhere.
    pub(super) fn closer(&self) -> Closer {
        match self.channel.stream() {
            AgentStream::Tls(stream) => stream.sock.try_clone().map_or(Closer::None, Closer::Tcp),
            AgentStream::Ssh(stream) => stream
                .socket()
                .try_clone()
                .map_or(Closer::None, Closer::Unix),
        }
    }

    /// Messages from and to the agent.
    pub(super) fn channel(&mut self) -> &mut Channel<AgentStream> {
        &mut self.channel
    }

    /// The address of the target as the agent knows it: loopback is another machine there.
    pub(super) fn address_there(&self, target: Option<SocketAddr>) -> Option<SocketAddr> {
        target.filter(|target| self.is_near || !target.ip().is_loopback())
    }
}

/// TLS with the token that fits, and the address that answered.
fn tls(spec: &AgentSpec, host: &str, port: u16) -> Result<(ClientStream, IpAddr), AgentError> {
    if spec.tokens.is_empty() {
        return Err(AgentError::NoToken(spec.address.clone()));
    }
    let mut last = None;
    for token in &spec.tokens {
        if let Err(source) = token.check(clock::unix_s()) {
            last = Some(AgentError::Token {
                address: spec.address.clone(),
                source,
            });
            continue;
        }
        match tls_with(spec, (host, port), token) {
            // Of another agent: each is tried.
            Err(
                error @ AgentError::Channel {
                    source: ChannelError::Refused(TlsRefusal::OtherCertificate),
                    ..
                },
            ) => last = Some(error),
            ended => return ended,
        }
    }
    Err(last.unwrap_or_else(|| AgentError::NoToken(spec.address.clone())))
}

fn tls_with(
    spec: &AgentSpec,
    (host, port): (&str, u16),
    token: &Token,
) -> Result<(ClientStream, IpAddr), AgentError> {
    let unreachable = |source| AgentError::Unreachable {
        address: spec.address.clone(),
        source,
    };
    let socket = connect(host, port).map_err(unreachable)?;
    let ip = socket.peer_addr().map_err(unreachable)?.ip();
    let channel = Channel::<ClientStream>::connect(socket, token.client_config()?, MESSAGE_MAX);
    let channel = channel.map_err(|source| AgentError::Channel {
        address: spec.address.clone(),
        source,
    })?;
    Ok((channel.into_stream(), ip))
}

/// A socket to the first address that accepts.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in host::resolve(host, port)? {
        match TcpStream::connect_timeout(&address, SILENCE_MAX) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(SILENCE_MAX))?;
                socket.set_write_timeout(Some(SILENCE_MAX))?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The first messages.
fn welcomed(
    address: &AgentAddress,
    stream: AgentStream,
    is_near: bool,
) -> Result<Connection, AgentError> {
    let failed = |source| AgentError::Channel {
        address: address.clone(),
        source,
    };
    let mut channel = Channel::new(stream, MESSAGE_MAX);
    greet_agent(&mut channel).map_err(|error| match error {
        GreetingError::Channel(source) => failed(source),
        GreetingError::Refusal(source) => AgentError::Version {
            address: address.clone(),
            source,
        },
    })?;
    let refused = |reason: String| AgentError::Refused {
        address: address.clone(),
        reason,
    };
    match channel.receive::<AgentMessage>().map_err(failed)? {
        AgentMessage::Welcome { name } if is_machine_name(&name) => Ok(Connection {
            channel,
            name,
            is_near,
        }),
        AgentMessage::Welcome { .. } => Err(refused("its machine has no valid name".to_owned())),
        AgentMessage::Refused { reason } => Err(refused(plain(&reason))),
        _ => Err(refused("it does not begin with a welcome".to_owned())),
    }
}

/// Text of another machine for a terminal.
fn plain(text: &str) -> String {
    let text = text.chars().filter(|c| !c.is_control());
    text.take(500).collect()
}
