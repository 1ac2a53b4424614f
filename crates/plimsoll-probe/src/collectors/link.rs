//! The single connection to a component: opened on demand, kept alive where the component allows it, and never
//! waited for beyond the deadline of a scrape.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use plimsoll_model::component::ComponentAddress;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::{self, BodyLength};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::clock;
use crate::untrusted::credentials::connect_as;
use crate::untrusted::{Credentials, NamedFile, OpenError, path_of};

/// Longest response accepted, bytes.
const ANSWER_LEN_MAX: usize = 4 << 20;
/// Bytes accepted for one scrape, in any number of responses.
const RECEIVED_LEN_MAX: usize = 32 << 20;
/// Longest head of an HTTP response, bytes.
const HEAD_LEN_MAX: usize = 64 << 10;
/// Bytes of one read.
const CHUNK_LEN: usize = 16 << 10;
/// The system treats a time-out of zero as none.
const PATIENCE_MIN: Duration = Duration::from_millis(1);

/// Why a component could not be scraped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScrapeError {
    /// Nothing listens there.
    Absent(String),
    /// It closed the connection without a response.
    Closed,
    /// It did not respond in time.
    Late,
    /// It denied access.
    Denied(String),
    /// Its response was unexpected.
    Strange(String),
    /// It is a file that is not read.
    NotRead(String),
    /// Messages would arrive here, but listening here failed.
    CannotListen(String),
}

impl ScrapeError {
    /// Key of the kind, so that each is reported once.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Absent(_) => "absent",
            Self::Closed => "closed",
            Self::Late => "late",
            Self::Denied(_) => "denied",
            Self::Strange(_) => "strange",
            Self::NotRead(_) => "not read",
            Self::CannotListen(_) => "no listener",
        }
    }
}

impl fmt::Display for ScrapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(why) => write!(f, "nothing answers there ({why})"),
            Self::Closed => write!(f, "it closes the connection without a response"),
            Self::Late => write!(f, "it does not respond in time"),
            Self::Denied(why) => write!(f, "it denies access ({why})"),
            Self::Strange(why) => write!(f, "unexpected response ({why})"),
            Self::NotRead(why) => f.write_str(why),
            Self::CannotListen(why) => write!(f, "cannot listen there ({why})"),
        }
    }
}

impl From<io::Error> for ScrapeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Self::Late,
            ErrorKind::InvalidData => Self::Strange(error.to_string()),
            ErrorKind::PermissionDenied => Self::Denied(error.to_string()),
            ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Absent(error.to_string()),
        }
    }
}

impl From<OpenError> for ScrapeError {
    fn from(error: OpenError) -> Self {
        if error.is_plain() || matches!(error, OpenError::Late | OpenError::Other(_)) {
            io::Error::from(error).into()
        } else {
            Self::NotRead(error.to_string())
        }
    }
}

/// The beginning of an unexpected response, safe to print.
pub(crate) fn shortly(answer: &str) -> String {
    let line = answer.lines().next().unwrap_or_default();
    let safe = line.chars().filter(|c| !c.is_control()).take(120).collect();
    if line.is_empty() {
        "nothing".to_owned()
    } else {
        safe
    }
}

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
            | ComponentAddress::Figures { host, port, .. } => {
                LinkStream::Tcp(connect_tcp(host, *port, left)?)
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

fn connect_tcp(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    // A name may have many addresses that do not respond: all of them share this time.
    let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
    let deadline_ns = clock::now_ns().saturating_add(patience_ns);
    let mut refused = io::Error::from(ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        let left = Duration::from_nanos(deadline_ns.saturating_sub(clock::now_ns()));
        match TcpStream::connect_timeout(&address, left.max(PATIENCE_MIN)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The standard library's `connect` blocks without limit while the listener's queue is full.
fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let (handle, _) = NamedFile::new(path, None).socket()?;
    let socket = unix_socket(patience)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path_of(&handle))?)?;
    Ok(UnixStream::from(socket))
}

/// The same to a socket that a process names: in its own root, with its rights, and only if that process or another
/// one of its user listens there. Otherwise any user could make this process connect, with its rights, to any
/// socket.
fn connect_named(
    path: &Path,
    pid: u32,
    with_own_rights: bool,
    patience: Duration,
) -> io::Result<UnixStream> {
    let (handle, root) = NamedFile::new(path, Some(pid)).socket()?;
    let socket = unix_socket(patience)?;
    let address = SocketAddrUnix::new(path_of(&handle))?;
    let rights = root.credentials().filter(|_| !with_own_rights);
    connect_as(rights, || Ok(rustix::net::connect(&socket, &address)?))?;
    let peer = getsockopt(&socket, PeerCredentials)?;
    let theirs = Credentials::of(pid);
    let is_same = u32::try_from(peer.pid()).is_ok_and(|peer| peer == pid)
        || theirs.is_some_and(|theirs| theirs.uid == peer.uid());
    if !is_same {
        let text = format!(
            "pid {} of user {} listens there, but pid {pid}, which names it, belongs to another user; to watch it \
             anyway, name it under `watch:`",
            peer.pid(),
            peer.uid()
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    Ok(UnixStream::from(socket))
}

fn unix_socket(patience: Duration) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    Ok(socket)
}

/// The body of a page over HTTP. The connection is kept alive where the response has a known length.
pub(crate) fn page(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    let Some(path) = link.place().path().map(str::to_owned) else {
        return Err(ScrapeError::Strange("no URL".to_owned()));
    };
    get(link, &path)
}

/// The same of any page there.
pub(crate) fn get(link: &mut ComponentLink, path: &str) -> Result<String, ScrapeError> {
    fetch(link, path, "keep-alive")
}

/// The same over a connection that is closed afterwards: for pages without a known length, and where a keep-alive
/// connection would occupy a worker.
pub(crate) fn get_once(link: &mut ComponentLink, path: &str) -> Result<String, ScrapeError> {
    link.close();
    let page = fetch(link, path, "close");
    link.close();
    page
}

fn fetch(link: &mut ComponentLink, path: &str, then: &str) -> Result<String, ScrapeError> {
    let host = match link.place() {
        ComponentAddress::Tcp { host, port }
        | ComponentAddress::Page { host, port, .. }
        | ComponentAddress::Figures { host, port, .. } => {
            let address = ComponentAddress::Tcp {
                host: host.clone(),
                port: *port,
            };
            // IPv6 in brackets.
            address.to_string()
        }
        ComponentAddress::Socket(_)
        | ComponentAddress::File(_)
        | ComponentAddress::Command(_)
        | ComponentAddress::SocketPage { .. } => "localhost".to_owned(),
    };
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: plimsoll\r\nConnection: {then}\r\n\r\n"
    );
    link.open()?;
    link.send(request.as_bytes())?;
    let mut answer = Vec::new();
    let head_len = fill_head(link, &mut answer)?;
    let text = String::from_utf8_lossy(&answer[..head_len]).into_owned();
    let head = head::parse(&answer[..head_len]);
    let head = head.map_err(|_| ScrapeError::Strange(shortly(&text)))?;
    // `fill` limits the length. Some servers respond in chunks to any request, even one of HTTP/1.0.
    let mut reader = BodyReader::new(head.length, u64::MAX);
    let (mut body, mut at) = (Vec::new(), head_len);
    loop {
        let taken = reader.take(&answer[at..], |piece| body.extend_from_slice(piece));
        at += taken.map_err(|error| ScrapeError::Strange(error.to_string()))?;
        if reader.is_complete() {
            break;
        }
        if link.fill(&mut answer)? == 0 {
            if reader.ends_with_connection() {
                break;
            }
            return Err(ScrapeError::Closed);
        }
    }
    let is_sized = matches!(head.length, BodyLength::Sized(_));
    if !is_sized || !text.to_ascii_lowercase().contains("connection: keep-alive") {
        link.close();
    }
    match head.status {
        200 => Ok(String::from_utf8_lossy(&body).into_owned()),
        401 | 403 => Err(ScrapeError::Denied(shortly(&text))),
        _ => Err(ScrapeError::Strange(shortly(&text))),
    }
}

/// Reads until the head of a response is complete; returns its length.
fn fill_head(link: &mut ComponentLink, answer: &mut Vec<u8>) -> Result<usize, ScrapeError> {
    loop {
        if let Some(at) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            return Ok(at + 4);
        }
        if answer.len() > HEAD_LEN_MAX {
            let why = format!("a response head longer than {} KiB", HEAD_LEN_MAX >> 10);
            return Err(ScrapeError::Strange(why));
        }
        if link.fill(answer)? == 0 {
            return Err(if answer.is_empty() {
                ScrapeError::Closed
            } else {
                ScrapeError::Strange(shortly(&String::from_utf8_lossy(answer)))
            });
        }
    }
}

#[cfg(test)]
mod tests;
