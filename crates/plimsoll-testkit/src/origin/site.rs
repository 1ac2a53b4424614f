//! A small site for user journeys: a login by form and cookie, forms with tokens, JSON, pages with resources.
//!
//! | path | answer |
//! |---|---|
//! | `GET /login` | a form with a token; a cookie `visit` |
//! | `POST /login` | `302` to `/home` with a cookie `sid` when name, password (`secret`) and token are right, else to `/login?failed` |
//! | `GET /home` | `Hello NAME`, or `302` to `/login` without a session |
//! | `GET /form` | a form whose token is good once, or `302` to `/login` |
//! | `POST /save` | JSON `{"saved":NUMBER}` for a good token, else `403` |
//! | `GET /items` | JSON, a list of items |
//! | `GET /page` | a page that names a style, a script, two images and one on another host |
//! | `GET /asset/NAME` | 100 bytes with an `ETag`, fresh for as many seconds as `?age=N` says; `304` when it matches |
//! | `GET /status/N`, `GET /slow/MS`, `GET /loop` | that status, so late, a redirect to itself |
//! | `GET /away`, `GET /failing` | a redirect to another host, to a status of 500 |
//! | `GET /gzip` | `Hello gzip`, coded |
//! | `* /echo` | the request as it came, as text |
//!
//! Each connection has a thread, as for [`super::fault`].

mod pages;

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_model::lock::lock;

use super::request::{Front, REQUEST_SIZE_MAX, front};

/// Most concurrent connections; further ones are closed at once.
pub const CONNECTION_COUNT_MAX: usize = 1_024;

/// The stack of a connection's thread, bytes.
const STACK_SIZE: usize = 256 * 1024;

/// A visitor, logged in or about to.
#[derive(Debug, Default)]
struct SiteSession {
    name: Option<String>,
    token: String,
    saved: u64,
}

#[derive(Default)]
struct SiteState {
    stop: AtomicBool,
    accepted: AtomicU64,
    next: AtomicU64,
    sessions: Mutex<HashMap<String, SiteSession>>,
    /// Request lines, without the version.
    log: Mutex<Vec<String>>,
    /// Active connections; each is shut down on stop, which ends its thread.
    open: Mutex<Vec<TcpStream>>,
    bell: Condvar,
}

/// A running site; stops when dropped.
pub struct TestSite {
    address: SocketAddr,
    shared: Arc<SiteState>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a site on a free port of 127.0.0.1.
///
/// # Errors
/// When a socket or thread is not available.
pub fn start() -> io::Result<TestSite> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let shared = Arc::new(SiteState::default());
    let thread = std::thread::Builder::new().name("site".to_owned()).spawn({
        let shared = Arc::clone(&shared);
        move || accept(&listener, &shared)
    })?;
    Ok(TestSite {
        address,
        shared,
        thread: Some(thread),
    })
}

impl TestSite {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Acquire)
    }

    /// Requests so far, as `GET /path?query`, in the order in which they were read.
    pub fn log(&self) -> Vec<String> {
        lock(&self.shared.log).clone()
    }

    /// Requests so far whose line starts with `start`.
    pub fn count(&self, start: &str) -> u64 {
        let log = lock(&self.shared.log);
        log.iter().filter(|line| line.starts_with(start)).count() as u64
    }
}

impl Drop for TestSite {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for socket in lock(&self.shared.open).iter() {
            // Already closed by the peer is as good.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.shared.bell.notify_all();
        // Wakes the accept loop.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.expect("the accept loop does not panic");
            }
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<SiteState>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while let Ok((socket, _)) = listener.accept() {
        if shared.stop.load(Ordering::Acquire) {
            break;
        }
        shared.accepted.fetch_add(1, Ordering::AcqRel);
        threads.retain(|thread| !thread.is_finished());
        let Ok(copy) = socket.try_clone() else {
            continue;
        };
        if threads.len() >= CONNECTION_COUNT_MAX {
            continue;
        }
        lock(&shared.open).push(copy);
        let builder = std::thread::Builder::new().stack_size(STACK_SIZE);
        let shared = Arc::clone(shared);
        // The peer's end of the connection is data for the test, not a failure of the site.
        if let Ok(thread) = builder.spawn(move || drop(serve(socket, &shared))) {
            threads.push(thread);
        }
    }
    for thread in threads {
        // A panic has been printed, and its test sees a broken connection.
        let _ = thread.join();
    }
}

fn serve(mut socket: TcpStream, shared: &SiteState) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut unread = Vec::new();
    let mut scratch = [0; 4096];
    loop {
        if let Front::Request {
            size, keep_alive, ..
        } = front(&unread)
        {
            let bytes: Vec<u8> = unread.drain(..size).collect();
            let answer = answer(&bytes, shared);
            socket.write_all(&answer)?;
            if !keep_alive {
                return socket.shutdown(Shutdown::Both);
            }
            continue;
        }
        let size = socket.read(&mut scratch)?;
        if size == 0 || unread.len() + size > REQUEST_SIZE_MAX {
            return socket.shutdown(Shutdown::Both);
        }
        unread.extend_from_slice(&scratch[..size]);
    }
}

/// A request as the pages use it.
struct SiteRequest<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    /// Head and body as received.
    bytes: &'a [u8],
    body: String,
    sid: Option<String>,
    if_none_match: Option<String>,
}

fn answer(bytes: &[u8], shared: &SiteState) -> Vec<u8> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let Ok(httparse::Status::Complete(head_len)) = request.parse(bytes) else {
        return pages::plain(400, "unreadable");
    };
    let header = |name: &str| {
        let mut all = request.headers.iter();
        let found = all.find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(found.value).into_owned())
    };
    let target = request.path.unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let method = request.method.unwrap_or("GET");
    lock(&shared.log).push(format!("{method} {target}"));
    let cookies = header("cookie").unwrap_or_default();
    let sid = cookies
        .split("; ")
        .find_map(|pair| pair.strip_prefix("sid=").map(str::to_owned));
    let asked = SiteRequest {
        method,
        path,
        query,
        bytes,
        body: String::from_utf8_lossy(&bytes[head_len..]).into_owned(),
        sid,
        if_none_match: header("if-none-match"),
    };
    pages::answer(&asked, shared)
}

impl SiteState {
    /// Waits for `pause`, or less if the site stops.
    fn wait(&self, pause: Duration) {
        let guard = lock(&self.open);
        let goes_on = |_: &mut Vec<TcpStream>| !self.stop.load(Ordering::Acquire);
        drop(self.bell.wait_timeout_while(guard, pause, goes_on));
    }

    /// A unique number.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::AcqRel) + 1
    }
}
