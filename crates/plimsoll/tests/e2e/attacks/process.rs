//! An edge in a separate process with its use of memory and descriptors, and a counting server behind it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::support::{self, Sandbox};

/// Time-out of a test; long, since the machine may have other work.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);
/// Time-out of the edge for a client that is slow: it expires while a test waits for it, several times in a row within
/// [`PATIENCE`], and is longer than an honest client stands still on a busy machine between two things that it does.
pub(super) const SLOW: &str = "8s";
pub(super) const MIB: u64 = 1 << 20;
pub(super) const KIB: u64 = 1 << 10;

#[expect(clippy::disallowed_methods, reason = "a test that gives up")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// An edge that ends with the test.
pub(super) struct AttackedEdge {
    child: Child,
    /// Where clients come in, in the order of the configuration.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) admin: SocketAddr,
    lines: Mutex<StderrLines>,
    pub(super) place: Sandbox,
}

/// Its output.
struct StderrLines {
    coming: Receiver<String>,
    /// Lines received that no test has waited for.
    passed: Vec<String>,
}

impl StderrLines {
    /// The next line that contains these words; it may have been received already.
    #[track_caller]
    fn find(&mut self, words: &str) -> String {
        if let Some(at) = self.passed.iter().position(|line| line.contains(words)) {
            return self.passed.remove(at);
        }
        loop {
            match self.coming.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => self.passed.push(line),
                Err(error) => panic!("`{words}` is not said: {error} after {:?}", self.passed),
            }
        }
    }
}

impl Drop for AttackedEdge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl AttackedEdge {
    /// Starts `plimsoll edge` with one loop and this configuration.
    pub(super) fn start(place: Sandbox, configuration: &str) -> Self {
        let hosts = configuration.split("127.0.0.").skip(1);
        let listeners = hosts.filter(|rest| rest[1..].starts_with(":0")).count();
        let text = format!("cores: 1\nadmin: 127.0.0.1:0\naccess_log: off\n{configuration}");
        std::fs::write(place.path().join("edge.yaml"), text).unwrap();
        let mut child = place
            .command(&["edge", "--config", "edge.yaml"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let read = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, lines) = sync_channel(10_000);
        std::thread::spawn(move || {
            for line in read.map_while(Result::ok) {
                // Unread lines are dropped: the edge must not block on a full pipe.
                let _ = sender.try_send(line);
            }
        });
        let mut process = Self {
            child,
            addresses: Vec::new(),
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
            lines: Mutex::new(StderrLines {
                coming: lines,
                passed: Vec::new(),
            }),
            place,
        };
        for _ in 0..listeners {
            let line = process.wait_for_line("edge at http");
            process.addresses.push(address_in(&line));
        }
        process.admin = address_in(&process.wait_for_line("admin at http"));
        process
    }

    /// The first listener.
    pub(super) fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Waits for a line that contains these words.
    #[track_caller]
    pub(super) fn wait_for_line(&self, words: &str) -> String {
        self.lines.lock().unwrap().find(words)
    }

    /// All output that no test has waited for.
    pub(super) fn drain_lines(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap();
        let mut drained = std::mem::take(&mut lines.passed);
        drained.extend(lines.coming.try_iter());
        drained
    }

    fn status(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let value = line.and_then(|line| line.split_whitespace().next());
        value.and_then(|value| value.parse().ok()).unwrap()
    }

    /// Bytes of memory that are in use.
    pub(super) fn memory(&self) -> u64 {
        self.status("VmRSS:") * KIB
    }

    /// Bytes of memory that were in use at most.
    pub(super) fn memory_peak(&self) -> u64 {
        self.status("VmHWM:") * KIB
    }

    pub(super) fn threads(&self) -> u64 {
        self.status("Threads:")
    }

    pub(super) fn descriptors(&self) -> usize {
        let path = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(path).unwrap().count()
    }

    pub(super) fn signal(&self, signal: Signal) {
        support::signal(&self.child, signal);
    }

    /// Waits until it has ended; how it did.
    #[track_caller]
    pub(super) fn wait_for_end(&mut self) -> ExitStatus {
        let pid = Pid::from_child(&self.child);
        let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let ended = &mut [PollFd::new(&process, PollFlags::IN)];
        assert_eq!(poll(ended, Some(&patience)), Ok(1), "the edge does not end");
        self.child.wait().unwrap()
    }

    pub(super) fn metric(&self, name: &str) -> f64 {
        let text = exchange(
            self.admin,
            &format!(
                "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                self.admin
            ),
        );
        let text = String::from_utf8_lossy(&text);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no metric {name}"))
    }

    /// Waits until it has so many connections with clients.
    #[track_caller]
    pub(super) fn wait_for_connections(&self, count: f64) {
        let began = now();
        while (self.metric("plimsoll_edge_connections") - count).abs() > 0.5 {
            assert!(began.elapsed() < PATIENCE, "connections stay");
        }
    }

    /// Waits until it has no more descriptors than so many: connections to servers end a moment after their clients.
    #[track_caller]
    pub(super) fn wait_for_descriptors(&self, most: usize) {
        let began = now();
        while self.descriptors() > most {
            let count = self.descriptors();
            assert!(began.elapsed() < PATIENCE, "{count} descriptors stay");
        }
    }

    /// Asks for the small page on so many connections of its own, one after the other: each must be answered.
    #[track_caller]
    pub(super) fn serves(&self, count: usize) {
        for number in 0..count {
            let answer = get(self.address(), "/");
            let text = String::from_utf8_lossy(&answer);
            assert!(
                text.starts_with("HTTP/1.1 200 ") && text.ends_with("\r\n\r\nok"),
                "honest request {number}: {text}"
            );
        }
    }
}

fn address_in(line: &str) -> SocketAddr {
    let rest = line.split("://").nth(1).unwrap();
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ':'))
        .unwrap_or(rest.len());
    rest[..end].trim_end_matches(':').parse().unwrap()
}

pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends a request, and reads to the end of the connection.
pub(super) fn exchange(address: SocketAddr, request: &str) -> Vec<u8> {
    let mut stream = connect(address);
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A GET on a new connection.
pub(super) fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    exchange(address, &request)
}

/// A server that responds with `ok`, or as a test defines for a path; it counts requests.
pub(super) struct ScriptedOrigin {
    pub(super) address: SocketAddr,
    heads: Arc<AtomicUsize>,
}

/// A test's response to a request head; returns whether the connection continues.
type RequestHandler = dyn Fn(&str, &mut TcpStream) -> bool + Send + Sync;

/// An answer with a body.
pub(super) fn answer(lines: &str, body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n{lines}\r\n");
    [head.as_bytes(), body].concat()
}

impl ScriptedOrigin {
    /// `says` is called first; if it returns `None`, the response is `ok`.
    pub(super) fn start(
        handler: impl Fn(&str, &mut TcpStream) -> Option<bool> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heads);
        let handler: Arc<RequestHandler> = Arc::new(move |head: &str, stream: &mut TcpStream| {
            handler(head, stream).unwrap_or_else(|| stream.write_all(&answer("", b"ok")).is_ok())
        });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handler, count) = (Arc::clone(&handler), Arc::clone(&count));
                let thread = std::thread::Builder::new().stack_size(128 * 1024);
                let _ = thread.spawn(move || serve(stream, &*handler, &count));
            }
        });
        Self { address, heads }
    }

    /// One that does not let go of whoever asks it for what stays.
    pub(super) fn with_never() -> Self {
        Self::start(stays)
    }

    /// Heads of requests that have come.
    pub(super) fn heads(&self) -> usize {
        self.heads.load(Ordering::SeqCst)
    }

    /// A pool of this server alone, in the words of a configuration.
    /// The pool of this server; a machine with other work may take its time to accept.
    pub(super) fn pool(&self) -> String {
        format!(
            "pools: {{ app: {{ servers: [\"http://{}\"], max_in_flight: 10000, timeouts: {{ connect: 30s, tunnel: 2s }} }} }}\ncache: off\n",
            self.address
        )
    }
}

/// `/never` is never answered, and what comes behind such a request is read to its end; `/talk` is a tunnel that gives
/// everything back.
pub(super) fn stays(head: &str, stream: &mut TcpStream) -> Option<bool> {
    let mut other: Box<dyn std::io::Write> = if head.contains(" /never") {
        Box::new(std::io::sink())
    } else if head.contains(" /talk") {
        let _ = stream.write_all(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        );
        Box::new(stream.try_clone().unwrap())
    } else {
        return None;
    };
    let _ = std::io::copy(stream, &mut other);
    Some(false)
}

fn serve(mut stream: TcpStream, handler: &RequestHandler, count: &AtomicUsize) {
    let _ = stream.set_nodelay(true);
    let mut head = Vec::new();
    let mut byte = [0];
    while let Ok(1) = stream.read(&mut byte) {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            count.fetch_add(1, Ordering::SeqCst);
            let text = String::from_utf8_lossy(&head).into_owned();
            head.clear();
            if !handler(&text, &mut stream) {
                return;
            }
        }
    }
}
