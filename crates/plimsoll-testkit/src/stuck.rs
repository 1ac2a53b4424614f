//! Listeners that never accept: their queue is full, or holds requests without a response.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::listen;

/// Time of an attempt to fill a queue; a full one does not respond.
const PATIENCE: Duration = Duration::from_millis(200);
/// Attempts to fill a queue with room for one.
const ATTEMPTS: usize = 4;

/// A TCP listener with a full queue: every connect waits.
#[derive(Debug)]
pub struct FullTcp {
    /// Its address.
    pub address: SocketAddr,
    _listener: TcpListener,
    _inside: Vec<TcpStream>,
}

impl FullTcp {
    /// Listens, and fills its queue.
    ///
    /// # Panics
    /// When no port is free.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listen(&listener, 0).expect("a listener's queue may be shortened");
        let address = listener.local_addr().expect("it has an address");
        let attempts = (0..ATTEMPTS).map(|_| TcpStream::connect_timeout(&address, PATIENCE));
        Self {
            address,
            _inside: attempts.map_while(Result::ok).collect(),
            _listener: listener,
        }
    }
}

/// A listener on a Unix socket with a full queue: a connect fails with `EAGAIN`.
#[derive(Debug)]
pub struct FullUnix {
    _listener: UnixListener,
    _inside: UnixStream,
}

impl FullUnix {
    /// Listens at a path, and fills its queue.
    ///
    /// # Panics
    /// When the path is not usable.
    #[must_use]
    pub fn start(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("the path is free");
        listen(&listener, 0).expect("a listener's queue may be shortened");
        let inside = UnixStream::connect(path).expect("the queue has room for one");
        Self {
            _listener: listener,
            _inside: inside,
        }
    }
}
