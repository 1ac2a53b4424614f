//! Test support: an edge on a free port, scripted servers, and a raw client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use plimsoll_config::edge::{
    Admin, Ceiling, Check, EdgeConfig, EdgeLimits, Endpoint, PoolConfig, ServerConfig,
};
use plimsoll_edge::{EdgeHandle, Handed, HandedClock, Hooks, IdleHook};

/// Longest wait of a test: reached only for what never comes, so it may be long on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// An edge that ends with the test.
pub(crate) struct Afloat {
    running: Option<EdgeHandle>,
    pub(crate) address: SocketAddr,
    turns: Arc<Turns>,
}

/// How often a thread of the edge was about to wait.
#[derive(Default)]
struct Turns {
    count: Mutex<u64>,
    grown: Condvar,
}

impl Turns {
    fn hook(self: &Arc<Self>) -> IdleHook {
        let turns = Arc::clone(self);
        Arc::new(move || {
            *turns.count.lock().unwrap() += 1;
            turns.grown.notify_all();
        })
    }
}

impl Drop for Afloat {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.drain(Duration::ZERO);
        }
    }
}

impl Afloat {
    pub(crate) fn start(edge: &EdgeConfig, hooks: Hooks) -> Self {
        Self::start_with(edge, hooks, Vec::new())
    }

    fn start_with(edge: &EdgeConfig, hooks: Hooks, handed: Vec<Handed>) -> Self {
        let turns = Arc::<Turns>::default();
        let hooks = Hooks {
            idle: Some(turns.hook()),
            ..hooks
        };
        let running = plimsoll_edge::start_with(edge, hooks, handed).unwrap();
        let address = running.addresses()[0];
        Self {
            running: Some(running),
            address,
            turns,
        }
    }

    /// Waits until something holds, which is looked at again whenever a thread of the edge has done its work.
    #[track_caller]
    pub(crate) fn wait_until(&self, awaited: &str, mut holds: impl FnMut() -> bool) {
        let patience = Patience::start();
        loop {
            let before = *self.turns.count.lock().unwrap();
            if holds() {
                return;
            }
            patience.check(awaited);
            let count = self.turns.count.lock().unwrap();
            let waited = self
                .turns
                .grown
                .wait_timeout_while(count, PATIENCE, |count| *count == before);
            drop(waited.unwrap());
        }
    }

    pub(crate) fn reload(&self) -> Result<String, String> {
        self.running.as_ref().unwrap().reload()
    }

    pub(crate) fn reopen_log(&self) {
        self.running.as_ref().unwrap().reopen_log();
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        self.running.as_ref().and_then(EdgeHandle::admin).unwrap()
    }

    /// Shuts it down gracefully; the thread ends with the edge.
    pub(crate) fn drain(mut self, at_most: Duration) -> std::thread::JoinHandle<()> {
        let running = self.running.take().unwrap();
        std::thread::spawn(move || running.drain(at_most))
    }
}

/// Deadline of a loop that waits for what another program does.
pub(crate) struct Patience(std::time::Instant);

impl Patience {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now() + PATIENCE)
    }

    /// Fails when the deadline has passed.
    #[track_caller]
    pub(crate) fn check(&self, awaited: &str) {
        assert!(std::time::Instant::now() < self.0, "{awaited}: not in time");
    }
}

pub(crate) fn server(address: SocketAddr) -> ServerConfig {
    ServerConfig::at(address)
}

/// Asks a server for `/health` so often that a test soon sees it out or back in.
pub(crate) fn quick_check() -> Check {
    Check {
        path: Some("/health".to_owned()),
        every: Duration::from_millis(50),
        timeout: PATIENCE,
        fall: 2,
        rise: 2,
    }
}

/// An endpoint of a hook or webhook, in clear text and without headers of its own.
pub(crate) fn endpoint(address: SocketAddr, target: &str) -> Endpoint {
    Endpoint {
        secure: false,
        host: address.ip().to_string(),
        port: address.port(),
        target: target.to_owned(),
        headers: Vec::new(),
    }
}

/// A pool without limits of its own.
pub(crate) fn pool(servers: &[SocketAddr]) -> PoolConfig {
    PoolConfig {
        ceiling: Ceiling::Fixed(10_000),
        ..PoolConfig::new("app", servers.iter().copied().map(server).collect())
    }
}

/// Everything to one pool, on one loop, without a cache: each request reaches the server.
pub(crate) fn plain(pool: PoolConfig) -> EdgeConfig {
    EdgeConfig {
        cores: Some(1),
        cache: None,
        ..EdgeConfig::single_pool(SocketAddr::from(([127, 0, 0, 1], 0)), pool)
    }
}

/// Short limits, so that the test is fast. A test thread may stand still for longer: see [`EarlyClients`].
pub(crate) fn impatient(server: SocketAddr) -> EdgeConfig {
    let mut edge = plain(pool(&[server]));
    let short = Duration::from_secs(1);
    edge.limits = EdgeLimits {
        head_timeout: short,
        body_timeout: short,
        idle_timeout: short,
        write_timeout: short,
        ..edge.limits
    };
    edge
}

/// Clients that have sent all they will send before the edge starts: it waits in the kernel. So no time limit of the edge
/// begins while a thread of the test still has to act.
pub(crate) struct EarlyClients(TcpListener);

impl EarlyClients {
    pub(crate) fn bind() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// Connects and sends.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) -> TcpStream {
        let mut stream = connect(self.0.local_addr().unwrap());
        stream.write_all(bytes.as_ref()).unwrap();
        stream
    }

    /// Starts the edge that accepts them.
    pub(crate) fn serve(self, mut edge: EdgeConfig) -> Afloat {
        edge.listen[0].address = self.0.local_addr().unwrap();
        let handed = Handed {
            name: "early".to_owned(),
            listener: self.0,
        };
        Afloat::start_with(&edge, Hooks::none(), vec![handed])
    }
}

/// An admin address without a token.
pub(crate) fn open_admin() -> Admin {
    Admin {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        must_bind: true,
        token: None,
    }
}

/// The value of a metric, by its name with labels.
pub(crate) fn metric(edge: &Afloat, name: &str) -> Option<f64> {
    let metrics = edge.running.as_ref().unwrap().metrics_reader()().unwrap();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

/// Waits until a metric has this value.
#[track_caller]
pub(crate) fn wait_for(edge: &Afloat, name: &str, value: f64) {
    edge.wait_until(name, || metric(edge, name) == Some(value));
}

pub(crate) fn start(edge: &EdgeConfig) -> Afloat {
    Afloat::start(edge, Hooks::none())
}

/// An edge whose clock stands still: none of its times passes, however long a thread of the test does.
pub(crate) fn start_at_rest(edge: &EdgeConfig) -> Afloat {
    ObservedEdge::start_with_clock(edge).0.edge
}

/// An edge whose notices and configuration a test controls.
pub(crate) struct ObservedEdge {
    pub(crate) edge: Afloat,
    pub(crate) messages: std::sync::mpsc::Receiver<String>,
    next: Arc<Mutex<Result<EdgeConfig, String>>>,
}

impl ObservedEdge {
    pub(crate) fn start(edge: &EdgeConfig) -> Self {
        Self::start_with(edge, None)
    }

    /// The same with a clock that the test lets go on.
    pub(crate) fn start_with_clock(edge: &EdgeConfig) -> (Self, HandedClock) {
        let clock = HandedClock::at_rest();
        (Self::start_with(edge, Some(clock)), clock)
    }

    fn start_with(edge: &EdgeConfig, clock: Option<HandedClock>) -> Self {
        let (sender, messages) = std::sync::mpsc::sync_channel(1000);
        let next = Arc::new(Mutex::new(Ok(edge.clone())));
        let from = Arc::clone(&next);
        let hooks = Hooks {
            report: Arc::new(move |what: &str| {
                let _ = sender.send(what.to_owned());
            }),
            read_again: Arc::new(move || from.lock().unwrap().clone()),
            clock,
            ..Hooks::none()
        };
        Self {
            edge: Afloat::start(edge, hooks),
            messages,
            next,
        }
    }

    /// Waits for a notice that contains these words.
    pub(crate) fn wait_for_message(&self, words: &str) -> String {
        let patience = Patience::start();
        let mut before = Vec::new();
        loop {
            match self.messages.recv_timeout(PATIENCE) {
                Ok(message) if message.contains(words) => return message,
                Ok(message) => before.push(message),
                Err(error) => panic!("`{words}` is not told: {error} after {before:?}"),
            }
            patience.check(words);
        }
    }

    /// Reloads with another configuration.
    pub(crate) fn reload(&self, edge: &EdgeConfig) -> Result<String, String> {
        *self.next.lock().unwrap() = Ok(edge.clone());
        self.edge.running.as_ref().unwrap().reload()
    }

    /// Repeats the request until a response has this body: each loop follows a change in its own time.
    #[track_caller]
    pub(crate) fn answers(&self, body: &str) {
        self.edge.wait_until(body, || {
            status_and_body(&get(self.edge.address, "/")).1 == body
        });
    }

    /// Repeats the request until a response has this status.
    #[track_caller]
    pub(crate) fn answers_with(&self, status: u16) {
        self.edge.wait_until(&status.to_string(), || {
            status_and_body(&get(self.edge.address, "/")).0 == status
        });
    }
}

/// An edge with all defaults before one server.
pub(crate) fn before(server: SocketAddr) -> Afloat {
    start(&plain(pool(&[server])))
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends bytes and reads to the end of the connection.
pub(crate) fn send_request(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = connect(address);
    // A client that is rejected early may find the connection closed before all was sent.
    let _ = stream.write_all(bytes.as_ref());
    read_all(&mut stream)
}

pub(crate) fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A GET on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    send_request(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"),
    )
}

/// Reads up to `end`; what was read.
pub(crate) fn read_until(stream: &mut impl Read, end: &str) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(end.as_bytes()) {
        match stream.read(&mut byte) {
            Ok(1) => read.push(byte[0]),
            other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&read)),
        }
    }
    String::from_utf8(read).unwrap()
}

/// A server with a scripted handler per connection.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    requests: Arc<RequestLog>,
}

/// The heads of a server's requests.
#[derive(Default)]
struct RequestLog {
    heads: Mutex<Vec<String>>,
    /// Notified of each further head.
    grown: Condvar,
}

impl RequestLog {
    fn add(&self, head: String) {
        self.heads.lock().unwrap().push(head);
        self.grown.notify_all();
    }
}

/// One connection of such a server.
pub(crate) struct ScriptedConnection {
    pub(crate) stream: TcpStream,
    /// Number of earlier connections.
    pub(crate) number: usize,
    log: Arc<RequestLog>,
}

impl ScriptedConnection {
    /// Reads the head of the next request; `None` at the end.
    pub(crate) fn head(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return None,
            }
        }
        let head = String::from_utf8(head).unwrap();
        self.log.add(head.clone());
        Some(head)
    }

    /// Reads the body whose length `head` announces; `None` when it does not come whole.
    pub(crate) fn body(&mut self, head: &str) -> Option<Vec<u8>> {
        let lower = head.to_ascii_lowercase();
        let len = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; len.map_or(0, |len| len.parse().unwrap())];
        self.stream.read_exact(&mut body).ok()?;
        Some(body)
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }
}

impl Scripted {
    /// Starts it; `serve` runs for each connection on a thread of its own.
    pub(crate) fn start(serve: impl Fn(ScriptedConnection) + Send + Sync + 'static) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), serve)
    }

    /// Starts it at an address.
    pub(crate) fn start_at(
        address: SocketAddr,
        serve: impl Fn(ScriptedConnection) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<RequestLog>::default();
        let serve = Arc::new(serve);
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (serve, log) = (Arc::clone(&serve), Arc::clone(&log));
                stream.set_nodelay(true).unwrap();
                std::thread::spawn(move || {
                    serve(ScriptedConnection {
                        stream,
                        number,
                        log,
                    });
                });
            }
        });
        Self { address, requests }
    }

    /// One that gives the same response to every request without a body.
    pub(crate) fn always(answer: &'static str) -> Self {
        Self::start(move |mut connection| {
            while connection.head().is_some() {
                connection.send(answer);
            }
        })
    }

    /// One at an address that gives the same body to every request.
    pub(crate) fn named_at(address: SocketAddr, name: &'static str) -> Self {
        Self::start_at(address, move |mut connection| {
            while connection.head().is_some() {
                let length = name.len();
                connection.send(format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}"
                ));
            }
        })
    }

    /// The heads of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.heads.lock().unwrap().clone()
    }

    /// Waits until the heads of its requests are what is awaited; they are looked at when one more has come.
    #[track_caller]
    pub(crate) fn wait_for_requests(&self, awaited: &str, has_come: impl Fn(&[String]) -> bool) {
        let heads = self.requests.heads.lock().unwrap();
        let waited = self
            .requests
            .grown
            .wait_timeout_while(heads, PATIENCE, |heads| !has_come(heads));
        assert!(!waited.unwrap().1.timed_out(), "{awaited}: not in time");
    }
}

/// The status and the body of a response.
pub(crate) fn status_and_body(answer: &str) -> (u16, &str) {
    let status = answer
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body)
}
