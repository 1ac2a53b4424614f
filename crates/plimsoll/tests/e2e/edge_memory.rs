//! Memory of the edge with many clients: idle ones, and those that read and write as slowly as permitted.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::edge::get;
use crate::support::Sandbox;

/// Time-out of each wait.
const PATIENCE: Duration = Duration::from_mins(1);

/// These tests have more descriptors than others, and share them with nobody.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An edge by its file, and where it listens.
struct MeasuredEdge {
    process: Child,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Drop for MeasuredEdge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl MeasuredEdge {
    /// Starts it with at most so many bytes of memory of its own, if they are said.
    fn start(place: &Sandbox, configuration: &str, memory_max: Option<u64>) -> Self {
        std::fs::write(place.path().join("edge.yaml"), configuration).unwrap();
        let limit = memory_max.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let mut process = Command::new("prlimit")
            .arg(format!("--data={limit}"))
            .arg("--")
            .arg(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["edge", "--config", "edge.yaml"])
            .current_dir(place.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("prlimit is installed: apt-get install util-linux");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut address_after = |words: &str| -> SocketAddr {
            let line = lines
                .by_ref()
                .map_while(Result::ok)
                .find(|line| line.starts_with(words))
                .expect("it says where it is");
            let address = line[words.len()..].split([',', ' ']).next().unwrap();
            address.trim_end_matches(':').parse().unwrap()
        };
        let address = address_after("edge at http://");
        let admin = address_after("admin at http://");
        // Drain its output, or it would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            address,
            admin,
        }
    }

    /// Bytes of memory that are its own and in use.
    fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let kib: u64 = line
            .trim()
            .strip_suffix(" kB")
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        kib * 1024
    }

    /// Answers of its own, for this reason.
    fn own_answers(&self, reason: &str) -> u64 {
        let text = get(self.admin, "/metrics");
        let start = format!("plimsoll_edge_own_answers_total{{reason=\"{reason}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap().parse().unwrap()
    }

    /// Waits until what the edge keeps of its last hour has its memory: it takes that with the first seconds.
    fn wait_for_history(&self) {
        let lines = BufReader::new(self.watch()).lines().map(Result::unwrap);
        let documents = lines.filter(|line| line.starts_with("data:")).take(4);
        assert_eq!(documents.count(), 4, "the edge sends one each second");
    }

    /// A viewer of its page: the stream of documents, of which the first has come.
    fn watch(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", self.admin);
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
        stream
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

/// A server that reads heads and gives a body of this length to each, as fast as it is taken; a path of `/slow` is
/// never answered, and the body behind it never read.
fn origin(body_len: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let thread = std::thread::Builder::new().stack_size(64 * 1024);
            let _ = thread.spawn(move || serve(&stream, body_len));
        }
    });
    address
}

fn serve(stream: &TcpStream, body_len: usize) {
    // Two writes make an answer: the second must not wait for the other side.
    let _ = stream.set_nodelay(true);
    let mut lines = BufReader::with_capacity(1024, stream).lines();
    let mut writing = stream;
    while let Some(Ok(first)) = lines.next() {
        if !lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.is_empty())
        {
            return;
        }
        if first.contains(" /slow") {
            // Held until the other side gives up.
            let _ = stream.set_read_timeout(None);
            let mut reading = stream;
            let _ = io::copy(&mut reading, &mut io::sink());
            return;
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_len}\r\n\r\n");
        if writing.write_all(head.as_bytes()).is_err() {
            return;
        }
        let piece = [b'x'; 4096];
        let mut left = body_len;
        while left > 0 {
            let count = left.min(piece.len());
            if writing.write_all(&piece[..count]).is_err() {
                return;
            }
            left -= count;
        }
    }
}

/// A machine with other work may take its time to accept thousands of connections.
fn configuration(origin: SocketAddr, limits: &str) -> String {
    format!(
        "listen: 127.0.0.1:0\ncores: 1\nadmin: 127.0.0.1:0\naccess_log: off\n\
         pools: {{ app: {{ servers: [\"http://{origin}\"], max_in_flight: 10000, timeouts: {{ connect: 30s }} }} }}\n\
         limits: {limits}\n"
    )
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Asks for the small page and reads all of it.
fn fetch(stream: &mut TcpStream) {
    stream.write_all(GET).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 512];
    while !answer.ends_with(b"\r\n\r\nxx") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..count]);
    }
}

#[test]
fn an_idle_client_costs_two_kibibytes_at_most() {
    const CLIENTS: usize = 10_000;
    let _alone = alone();
    let place = Sandbox::new();
    let edge = MeasuredEdge::start(
        &place,
        &configuration(origin(2), "{ idle_timeout: 10m, head_timeout: 10m }"),
        None,
    );
    // Some come and go first: what is kept for later is not what idle clients cost.
    let mut first: Vec<TcpStream> = (0..100).map(|_| edge.connect()).collect();
    first.iter_mut().for_each(fetch);
    drop(first);
    fetch(&mut edge.connect());
    let before = edge.memory();
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| edge.connect()).collect();
    // They are accepted one after the other: when the last is served, all are there.
    fetch(clients.last_mut().unwrap());
    let each = |now: u64| now.saturating_sub(before) / CLIENTS as u64;
    let fresh = each(edge.memory());
    assert!(
        fresh <= 2048,
        "{fresh} bytes for each that has said nothing"
    );
    clients.iter_mut().for_each(fetch);
    let used = each(edge.memory());
    assert!(
        used <= 2048,
        "{used} bytes for each that waits with its next request"
    );
}

/// Opens a WebSocket at the hub, and subscribes to a channel.
fn subscribe(stream: &mut TcpStream) {
    let command = br#"{"subscribe":["all"],"id":1}"#;
    let len = u8::try_from(command.len()).unwrap();
    // A mask of zeros leaves it as it is.
    let frame = [&[0x81, 0x80 | len, 0, 0, 0, 0][..], command].concat();
    let handshake = b"GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream
        .write_all(&[&handshake[..], &frame].concat())
        .unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 512];
    while !answer.ends_with(b"\"offset\":0}") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..count]);
    }
}

#[test]
fn a_client_of_the_hub_costs_one_and_a_half_kibibytes_at_most() {
    const CLIENTS: usize = 10_000;
    let _alone = alone();
    let place = Sandbox::new();
    let edge = MeasuredEdge::start(
        &place,
        "listen: 127.0.0.1:0\ncores: 1\nadmin: 127.0.0.1:0\naccess_log: off\nhub: { path: /live, ping: 10m }\n\
         limits: { head_timeout: 10m }\n",
        None,
    );
    // Some come and go first: what is kept for later is not what clients cost.
    let mut first: Vec<TcpStream> = (0..100).map(|_| edge.connect()).collect();
    first.iter_mut().for_each(subscribe);
    drop(first);
    subscribe(&mut edge.connect());
    edge.wait_for_history();
    let before = edge.memory();
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| edge.connect()).collect();
    clients.iter_mut().for_each(subscribe);
    let each = edge.memory().saturating_sub(before) / CLIENTS as u64;
    assert!(each <= 1536, "{each} bytes for each client");
}

#[test]
fn viewers_of_the_page_that_do_not_read_cost_little_and_hold_nobody_up() {
    // Two less than there may be.
    const VIEWERS: usize = 30;
    let _alone = alone();
    let place = Sandbox::new();
    let edge = MeasuredEdge::start(
        &place,
        &configuration(origin(2), "{ head_timeout: 10m }"),
        None,
    );
    fetch(&mut edge.connect());
    edge.wait_for_history();
    let before = edge.memory();
    let viewers: Vec<TcpStream> = (0..VIEWERS).map(|_| edge.watch()).collect();
    // What this one reads was handed to the others, too.
    edge.wait_for_history();
    let mut client = edge.connect();
    for _ in 0..100 {
        fetch(&mut client);
    }
    let status = get(edge.admin, "/status");
    assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
    let each = edge.memory().saturating_sub(before) / VIEWERS as u64;
    assert!(
        each <= 256 << 10,
        "{each} bytes for each that does not read"
    );
    drop(viewers);
}

/// Everything at once that makes a proxy hold memory, by more clients than it is to take: it may hold 64 MiB for them,
/// and the process may have 300 MiB, of which threads and the allocator take their part.
#[test]
fn the_data_path_lives_within_its_memory() {
    let _alone = alone();
    let place = Sandbox::new();
    let edge = MeasuredEdge::start(
        &place,
        &configuration(
            origin(1 << 20),
            "{ connections: 5500, memory: 64MiB, head_timeout: 10m, body_timeout: 10m, write_timeout: 10m, idle_timeout: 10m }",
        ),
        Some(300 << 20),
    );
    let mut friend = edge.connect();
    let mut held = Vec::new();
    let mut open =
        |count, chunks: &[&[u8]]| held.extend((0..count).map(|_| half_sent(&edge, chunks)));
    let large_head = [
        &b"GET / HTTP/1.1\r\nHost: a\r\nX: "[..],
        &vec![b'x'; 30_000],
    ]
    .concat();
    let large_body = vec![b'x'; 200_000];
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0";
    let streams = twenty_streams();
    // Heads that never end, answers that nobody takes, bodies that no server takes, streams without a window.
    open(1500, &[&large_head]);
    open(1500, &[GET]);
    open(
        1000,
        &[
            b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n",
            &large_body,
        ],
    );
    open(50, &[preface, &streams]);
    open(1000, &[]);
    // Served, or refused with a reason; nobody waits for nothing.
    let answer = || {
        let mut stream = edge.connect();
        let last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(last);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    };
    for _ in 0..20 {
        let answer = answer();
        let is_shed = answer.starts_with(b"HTTP/1.1 503 ");
        assert!(is_shed || answer.len() > 1 << 20, "{} bytes", answer.len());
    }
    assert!(
        edge.own_answers("shed") > 0,
        "it never had too much to hold"
    );
    // Those beyond the limit are turned away, and nobody else notices. Some of the others are refused and closed only when
    // their bytes or their answers come: their places are taken, too.
    let mut beyond = Vec::new();
    let is_turned_away = (0..22).any(|_| {
        beyond.extend((0..500).map(|_| edge.connect()));
        answer().is_empty()
    });
    assert!(is_turned_away, "there is always a place");
    assert!(edge.memory() < 300 << 20, "{}", edge.memory());
    drop(beyond);
    drop(held);
    // When they have left, there is room again: each refusal on the way there is an answer.
    let is_served = (0..100_000).any(|_| {
        friend.write_all(GET).unwrap();
        take(&mut friend) > 1 << 19
    });
    assert!(is_served, "it is never served again");
}

/// A client that sends as much of `chunks` as is taken at once, and stays.
fn half_sent(edge: &MeasuredEdge, chunks: &[&[u8]]) -> TcpStream {
    let mut stream = edge.connect();
    stream
        .set_write_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    for bytes in chunks {
        // More than is taken is not waited for.
        let _ = stream.write_all(bytes);
    }
    stream
}

/// HEADERS frames of twenty requests.
fn twenty_streams() -> Vec<u8> {
    let mut streams = Vec::new();
    for number in 0..20_u32 {
        streams.extend_from_slice(b"\0\0\x07\x01\x05");
        streams.extend_from_slice(&(2 * number + 1).to_be_bytes());
        // GET / of host `a`, by the static table.
        streams.extend_from_slice(&[0x82, 0x84, 0x86, 0x01, 1, b'a', 0x90]);
    }
    streams
}

/// Takes a whole answer; the length of its body.
fn take(stream: &mut TcpStream) -> usize {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "it goes on being answered"
        );
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    body.len()
}
