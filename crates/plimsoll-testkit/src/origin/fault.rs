//! Servers that misbehave in one named way.
//!
//! Each connection has a thread, which is simple and enough for tests: up to [`CONNECTION_COUNT_MAX`] at a time,
//! further ones are closed at once. Every wait ends when the origin stops.

mod answer;
mod session;
mod tls;

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_model::lock::lock;
use socket2::{Domain, SockAddr, Socket, Type};

use self::session::FaultSession;
pub(super) use self::tls::Identity;

/// Most concurrent connections of one fault origin.
pub const CONNECTION_COUNT_MAX: usize = 1_024;

/// Length of response bodies, in bytes, before any coding.
pub const BODY_LEN: usize = 1_000;

/// Stack size of a connection's thread, in bytes; rustls needs the most of it.
const STACK_SIZE: usize = 256 * 1024;

/// The one way in which an origin misbehaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginFault {
    /// None: responds with `200` and [`BODY_LEN`] bytes.
    None,
    /// The port is closed: connections are refused.
    Refuses,
    /// Listens and never accepts; the backlog is full, so a connect only ends when the client times out.
    FullBacklog,
    /// Accepts and closes at once.
    ClosesAtOnce,
    /// Reads the request, then resets the connection.
    Resets,
    /// Responds with bytes that are not HTTP.
    Garbage,
    /// Announces [`BODY_LEN`] bytes, sends half of them, closes.
    ClosesInBody,
    /// Reads requests and never responds.
    NeverAnswers,
    /// Sends the body one byte at a time, with this pause before each.
    SlowBody(Duration),
    /// Waits before the first byte, and again in the middle of the body.
    LateAnswer {
        /// Before the first byte.
        first_byte: Duration,
        /// Before the second half of the body.
        rest: Duration,
    },
    /// Redirects every path to itself.
    RedirectLoop,
    /// Redirects to this location.
    RedirectTo(String),
    /// Every path has this status.
    Status(u16),
    /// Statuses in turn, over all connections; must not be empty.
    Alternating(Vec<u16>),
    /// Responds with this many headers beside those of every response, such as `X-7: value`.
    Headers(usize),
    /// The body in chunks of at most this many bytes.
    Chunked(usize),
    /// The body coded with gzip.
    Gzip,
    /// The body coded with brotli.
    Brotli,
    /// HTTP/1.0 without a length: the end of the connection ends the body.
    Http10Close,
    /// Responds properly this many times, then closes as a keep-alive time-out does.
    ClosesAfter(u32),
    /// Responds over TLS with a self-signed certificate for these names.
    Tls(Vec<String>),
}

/// State the threads and the handle share.
struct FaultOriginState {
    fault: OriginFault,
    identity: Option<Identity>,
    stop: AtomicBool,
    accepted: AtomicU64,
    requests: AtomicU64,
    /// Active connections; each is shut down on stop, which ends its thread.
    open: Mutex<Vec<(u64, Socket)>>,
    /// Notified when the origin stops.
    bell: Condvar,
}

/// A running fault origin; stops when dropped.
pub struct FaultOrigin {
    address: Option<SocketAddr>,
    listener: Arc<Socket>,
    shared: Arc<FaultOriginState>,
    thread: Option<JoinHandle<()>>,
    /// Connections that keep the backlog full.
    fillers: Vec<Socket>,
}

/// Starts an origin with `fault` on a free port of 127.0.0.1.
///
/// # Errors
/// When a socket, certificate or thread is not available.
pub fn start(fault: OriginFault) -> io::Result<FaultOrigin> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    listen(fault, Domain::IPV4, &address.into())
}

/// Starts an origin with `fault` on a unix socket at `path`, which must not exist yet.
///
/// # Errors
/// When the path is in use or too long, or a socket, certificate or thread is not available.
pub fn start_unix(fault: OriginFault, path: &Path) -> io::Result<FaultOrigin> {
    listen(fault, Domain::UNIX, &SockAddr::unix(path)?)
}

fn listen(fault: OriginFault, domain: Domain, address: &SockAddr) -> io::Result<FaultOrigin> {
    let identity = match &fault {
        OriginFault::Tls(names) => Some(Identity::for_names(names)?),
        _ => None,
    };
    let listener = Arc::new(Socket::new(domain, Type::STREAM, None)?);
    listener.bind(address)?;
    let bound = listener.local_addr()?;
    let shared = Arc::new(FaultOriginState {
        fault,
        identity,
        stop: AtomicBool::new(false),
        accepted: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        open: Mutex::new(Vec::new()),
        bell: Condvar::new(),
    });
    let mut fillers = Vec::new();
    let mut thread = None;
    match shared.fault {
        // Bound but not listening: the port stays ours and refuses.
        OriginFault::Refuses => {}
        OriginFault::FullBacklog => {
            listener.listen(0)?;
            fillers = fill_backlog(domain, &bound)?;
        }
        _ => {
            listener.listen(1_024)?;
            let (listener, shared) = (Arc::clone(&listener), Arc::clone(&shared));
            thread = Some(
                std::thread::Builder::new()
                    .name("fault".to_owned())
                    .spawn(move || accept(&listener, &shared))?,
            );
        }
    }
    Ok(FaultOrigin {
        address: bound.as_socket(),
        listener,
        shared,
        thread,
        fillers,
    })
}

/// Connects until the kernel has no room left: a backlog of n holds n + 1 connections.
fn fill_backlog(domain: Domain, address: &SockAddr) -> io::Result<Vec<Socket>> {
    let mut fillers = Vec::new();
    for _ in 0..8 {
        let socket = Socket::new(domain, Type::STREAM, None)?;
        match socket.connect_timeout(address, Duration::from_millis(100)) {
            Ok(()) => fillers.push(socket),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
                ) =>
            {
                return Ok(fillers);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(
        "the backlog of a listener with backlog 0 took 8 connections",
    ))
}

fn accept(listener: &Socket, shared: &Arc<FaultOriginState>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut id = 0;
    while !shared.stop.load(Ordering::Acquire) {
        // An error is the stop, or a peer that disconnected in the backlog; the loop's condition tells which.
        let Ok((socket, _)) = listener.accept() else {
            continue;
        };
        shared.accepted.fetch_add(1, Ordering::Relaxed);
        threads.retain(|thread| !thread.is_finished());
        let Ok(copy) = socket.try_clone() else {
            continue;
        };
        if threads.len() >= CONNECTION_COUNT_MAX {
            continue;
        }
        id += 1;
        {
            let mut open = lock(&shared.open);
            if shared.stop.load(Ordering::Acquire) {
                break;
            }
            open.push((id, copy));
        }
        let session = FaultSession::new(socket, id, Arc::clone(shared));
        let builder = std::thread::Builder::new().stack_size(STACK_SIZE);
        if let Ok(thread) = builder.spawn(move || session.run()) {
            threads.push(thread);
        }
    }
    for thread in threads {
        // A panicked session has printed why, and its test sees a broken connection.
        let _ = thread.join();
    }
}

impl FaultOriginState {
    /// Waits for `pause`, or less if the origin stops; true if it may continue.
    fn wait(&self, pause: Duration) -> bool {
        let guard = lock(&self.open);
        let goes_on = |_: &mut Vec<(u64, Socket)>| !self.stop.load(Ordering::Acquire);
        let outcome = self.bell.wait_timeout_while(guard, pause, goes_on);
        drop(outcome);
        !self.stop.load(Ordering::Acquire)
    }

    fn forget(&self, id: u64) {
        let mut open = lock(&self.open);
        open.retain(|(other, _)| *other != id);
    }
}

impl FaultOrigin {
    /// Its address.
    ///
    /// # Panics
    /// When it listens on a unix socket.
    pub fn address(&self) -> SocketAddr {
        self.address
            .expect("the origin listens on an internet address")
    }

    /// The URL of its root; `https://localhost:PORT/` for [`OriginFault::Tls`].
    ///
    /// # Panics
    /// When it listens on a unix socket.
    pub fn url(&self) -> String {
        if self.shared.identity.is_some() {
            format!("https://localhost:{}/", self.address().port())
        } else {
            format!("http://{}/", self.address())
        }
    }

    /// The certificate of [`OriginFault::Tls`] as PEM, to be used as its own authority.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.shared
            .identity
            .as_ref()
            .map(|identity| identity.pem.as_str())
    }

    /// Connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Acquire)
    }

    /// Requests read in full so far.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Acquire)
    }
}

impl Drop for FaultOrigin {
    fn drop(&mut self) {
        self.fillers.clear();
        {
            let open = lock(&self.shared.open);
            self.shared.stop.store(true, Ordering::Release);
            for (_, socket) in open.iter() {
                // Already closed by the peer is as good.
                let _ = socket.shutdown(Shutdown::Both);
            }
            self.shared.bell.notify_all();
        }
        // Wakes the accept loop.
        let _ = self.listener.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.expect("the accept loop does not panic");
            }
        }
    }
}

#[cfg(test)]
mod tests;
