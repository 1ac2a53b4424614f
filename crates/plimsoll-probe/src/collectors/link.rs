//! The single connection to a component: opened on demand, kept alive where the component allows it, and never
//! waited for beyond the deadline of a scrape.

mod connect;
mod error;
mod http;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use plimsoll_model::component::ComponentAddress;

use crate::clock;
use crate::untrusted::Credentials;
use connect::{connect_named, connect_tcp, connect_unix};
pub(crate) use error::{ScrapeError, shortly};
pub(crate) use http::{get, get_once, page};

/// Longest response accepted, bytes.
const ANSWER_LEN_MAX: usize = 4 << 20;
/// Bytes accepted for one scrape, in any number of responses.
const RECEIVED_LEN_MAX: usize = 32 << 20;
/// Bytes of one read.
const CHUNK_LEN: usize = 16 << 10;
/// The system treats a time-out of zero as none.
const PATIENCE_MIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
enum LinkStream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// The connection.
#[derive(Debug)]
pub(crate) struct ComponentLink {
    place: ComponentAddress,
    /// The process that names the address, if it was discovered.
    named_by: Option<u32>,
    /// The rights of that process do not suffice, and the own ones are used.
    with_own_rights: bool,
    stream: Option<LinkStream>,
    /// The address of the host at the last connection over TCP.
    peer: Option<IpAddr>,
    deadline_ns: u64,
    /// Bytes received since the scrape began.
    received: usize,
}

impl ComponentLink {
    /// To an address from the configuration.
    pub(crate) fn new(place: ComponentAddress) -> Self {
        Self::to(place, None)
    }

    /// To an address that a process names, if one does.
    pub(crate) fn to(place: ComponentAddress, named_by: Option<u32>) -> Self {
        Self {
            place,
            named_by,
            with_own_rights: false,
            stream: None,
            peer: None,
            deadline_ns: 0,
            received: 0,
        }
    }

    pub(crate) fn place(&self) -> &ComponentAddress {
        &self.place
    }

    /// Starts a scrape with this time-out.
    pub(crate) fn begin(&mut self, patience: Duration) {
        let patience = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        self.deadline_ns = clock::now_ns().saturating_add(patience);
        self.received = 0;
    }

    fn left(&self) -> io::Result<Duration> {
        match self.deadline_ns.saturating_sub(clock::now_ns()) {
            0 => Err(ErrorKind::TimedOut.into()),
            left => Ok(Duration::from_nanos(left).max(PATIENCE_MIN)),
        }
    }

    /// How much of a question's time is left.
    pub(crate) fn patience(&self) -> io::Result<Duration> {
        self.left()
    }

    /// Whether so much of a question's time is left.
    pub(crate) fn has_time(&self, at_least: Duration) -> bool {
        self.left().is_ok_and(|left| left >= at_least)
    }

    /// The address of the host at the last connection; `None` before the first one, and of sockets and files.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    pub(crate) fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    /// The process whose rights root uses to connect to a socket, if not its own.
    pub(crate) fn acts_as(&self) -> Option<u32> {
        if self.with_own_rights || !rustix::process::geteuid().is_root() {
            return None;
        }
        let is_path = matches!(
            self.place,
            ComponentAddress::Socket(_) | ComponentAddress::SocketPage { .. }
        );
        let theirs = self
            .named_by
            .filter(|_| is_path)
            .and_then(Credentials::of)?;
        (theirs.uid != 0).then_some(theirs.uid)
    }

    /// Uses the own rights from now on.
    pub(crate) fn take_own_rights(&mut self) {
        self.close();
        self.with_own_rights = true;
    }

    /// Opens the connection unless it is open; returns whether it is a new one.
    pub(crate) fn open(&mut self) -> io::Result<bool> {
        if self.stream.is_some() {
            return Ok(false);
        }
        let left = self.left()?;
        self.stream = Some(match &self.place {
            ComponentAddress::File(_) | ComponentAddress::Command(_) => {
                return Err(ErrorKind::Unsupported.into());
            }
            ComponentAddress::Socket(path) | ComponentAddress::SocketPage { socket: path, .. } => {
                let socket = match self.named_by {
                    Some(pid) => connect_named(path, pid, self.with_own_rights, left)?,
                    None => connect_unix(path, left)?,
                };
                LinkStream::Unix(socket)
            }
            ComponentAddress::Tcp { host, port }
            | ComponentAddress::Page { host, port, .. }
            | ComponentAddress::Figures { host, port, .. }
            | ComponentAddress::Machine { host, port, .. } => {
                let stream = connect_tcp(host, *port, left)?;
                self.peer = stream.peer_addr().ok().map(|peer| peer.ip());
                LinkStream::Tcp(stream)
            }
        });
        Ok(true)
    }

    /// Sends everything; the deadline also holds for a peer that reads slowly.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let left = Some(self.left()?);
            let count = match &mut self.stream {
                Some(LinkStream::Unix(stream)) => {
                    stream.set_write_timeout(left)?;
                    stream.write(bytes)?
                }
                Some(LinkStream::Tcp(stream)) => {
                    stream.set_write_timeout(left)?;
                    stream.write(bytes)?
                }
                None => return Err(ErrorKind::NotConnected.into()),
            };
            if count == 0 {
                return Err(ErrorKind::BrokenPipe.into());
            }
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Appends the next bytes to `answer`; returns 0 at the end.
    pub(crate) fn fill(&mut self, answer: &mut Vec<u8>) -> io::Result<usize> {
        if answer.len() >= ANSWER_LEN_MAX {
            let reason = "a response longer than 4 MiB";
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        // A database responds in many short messages.
        if self.received >= RECEIVED_LEN_MAX {
            let reason = "responses longer than 32 MiB in total";
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        let left = Some(self.left()?);
        let mut chunk = [0; CHUNK_LEN];
        let count = match &mut self.stream {
            Some(LinkStream::Unix(stream)) => {
                stream.set_read_timeout(left)?;
                stream.read(&mut chunk)?
            }
            Some(LinkStream::Tcp(stream)) => {
                stream.set_read_timeout(left)?;
                stream.read(&mut chunk)?
            }
            None => return Err(ErrorKind::NotConnected.into()),
        };
        answer.extend_from_slice(&chunk[..count]);
        self.received = self.received.saturating_add(count);
        Ok(count)
    }

    /// Everything up to the end of the connection, which is closed then.
    pub(crate) fn rest(&mut self, answer: &mut Vec<u8>) -> io::Result<()> {
        while self.fill(answer)? > 0 {}
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
