//! Slow clients in every phase of a connection, hundreds concurrently: each is disconnected by the time-out of its phase,
//! uses bounded memory until then, and releases its descriptors.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::encryption::certificate;
use super::process::{
    AttackedEdge, KIB, PATIENCE, SLOW, ScriptedOrigin, answer, connect, now, stays,
};
use crate::support::Sandbox;

/// Clients of each phase.
const EACH: usize = 40;
/// Memory that one may take, bytes: what waits for it, and its buffers.
const EACH_MAX: u64 = 96 * KIB;
/// A byte comes so often from those who send one by one.
const PACE: Duration = Duration::from_millis(50);

/// What a client does.
struct SlowPhase {
    name: &'static str,
    listener: usize,
    /// Said at once.
    opening: Vec<u8>,
    /// Said byte by byte for ever; nothing from those who are silent.
    dribble: &'static [u8],
    /// Whether it reads what it is answered.
    reads: bool,
}

fn phases() -> Vec<SlowPhase> {
    let phase = |name, listener, opening: &[u8], dribble| SlowPhase {
        name,
        listener,
        opening: opening.to_vec(),
        dribble,
        reads: true,
    };
    let never = b"POST /never HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nabc";
    let chunks = b"POST /never HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let in_chunk = [&chunks[..], b"10000\r\nabc"].concat();
    let upgrade =
        b"GET /talk HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    let once = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    vec![
        phase("silence", 0, b"", b""),
        phase("a request line", 0, b"GE", b"T"),
        phase("a head", 0, b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"x"),
        phase("a body", 0, never, b"x"),
        phase("a body that stops", 0, never, b""),
        phase("the size of a chunk", 0, chunks, b"0"),
        phase("a chunk", 0, &in_chunk, b"x"),
        phase("between requests", 0, once, b""),
        phase("a tunnel in which nothing moves", 0, upgrade, b""),
        phase("a preface of frames", 0, b"PRI * HTTP/2.0\r\n\r\n", b""),
        phase("frames without any stream", 0, preface, b""),
        phase("a hello", 1, b"\x16\x03\x01\x02\x00\x01", b"\x00"),
        phase("no hello", 1, b"", b""),
        phase("a line of a proxy", 2, b"PROXY TC", b"P"),
        phase("a binary header of a proxy", 2, b"\r\n\r\n\0\r\nQUI", b""),
        SlowPhase {
            reads: false,
            ..phase(
                "an answer that is not taken",
                0,
                b"GET /huge HTTP/1.1\r\nHost: a\r\n\r\n",
                b"",
            )
        },
    ]
}

/// Answers `/huge` without end, and `/talk` by a tunnel that gives everything back.
fn origin() -> ScriptedOrigin {
    ScriptedOrigin::start(|head, stream| {
        if head.contains(" /huge") {
            let piece = vec![b'x'; 64 * 1024];
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n");
            while stream.write_all(&piece).is_ok() {}
            Some(false)
        } else {
            stays(head, stream)
        }
    })
}

fn start(origin: &ScriptedOrigin) -> AttackedEdge {
    let place = Sandbox::new();
    let (cert, key) = certificate(&place);
    let configuration = format!(
        "listen:\n  - 127.0.0.1:0\n  - {{ address: \"127.0.0.2:0\", tls: [ {{ cert: {cert}, key: {key} }} ] }}\n  \
         - {{ address: \"127.0.0.3:0\", proxy_protocol: true }}\ntrusted: 127.0.0.0/8\n{}\
         limits: {{ head_timeout: {SLOW}, body_timeout: {SLOW}, idle_timeout: {SLOW}, write_timeout: {SLOW} }}\n",
        origin.pool()
    );
    AttackedEdge::start(place, &configuration)
}

/// Sends a byte to each at intervals, until stopped.
fn dribble(clients: Vec<(TcpStream, &'static [u8])>, is_enough: &Arc<AtomicBool>) {
    let (_sender, pace) = sync_channel::<()>(1);
    let mut clients = clients;
    // Nothing ever comes: the time-out is the pace.
    while pace.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout)
        && !is_enough.load(Ordering::Relaxed)
    {
        clients.retain_mut(|(stream, byte)| stream.write_all(byte).is_ok());
    }
}

#[test]
fn slow_clients_of_every_phase_are_put_out_in_time() {
    let origin = origin();
    let edge = start(&origin);
    edge.serves(20);
    let (memory, descriptors) = (edge.memory(), edge.descriptors());
    let began = now();
    let mut clients = Vec::new();
    let mut slow = Vec::new();
    for phase in phases() {
        for _ in 0..EACH {
            let mut stream = connect(edge.addresses[phase.listener]);
            stream.write_all(&phase.opening).unwrap();
            if !phase.dribble.is_empty() {
                let other = stream.try_clone().unwrap();
                slow.push((other, phase.dribble));
            }
            clients.push((phase.name, phase.reads, stream));
        }
    }
    let count = clients.len() as u64;
    let is_enough = Arc::new(AtomicBool::new(false));
    let enough = Arc::clone(&is_enough);
    let dribbling = std::thread::spawn(move || dribble(slow, &enough));
    // All of them are there.
    edge.serves(50);
    for (name, reads, stream) in &mut clients {
        if *reads {
            let mut answer = Vec::new();
            // An end or a reset; whoever is not put out makes this wait as long as patience lasts.
            let read = stream.read_to_end(&mut answer);
            let is_late = read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
            assert!(!is_late, "`{name}` stays for {:?}", began.elapsed());
        }
    }
    // Those who take nothing are still connected as far as they know; the edge has let them go.
    edge.wait_for_connections(0.0);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    is_enough.store(true, Ordering::Relaxed);
    dribbling.join().unwrap();
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(
        grown <= count * EACH_MAX,
        "{} bytes for each of {count}",
        grown / count
    );
    drop(clients);
    // Some connections to the server are kept for the next request.
    edge.wait_for_descriptors(descriptors + 64);
    edge.serves(20);
}

/// Whoever reads a byte now and then is as slow as whoever reads none: the system gives room only by the piece.
#[test]
fn an_answer_that_is_read_byte_by_byte_is_broken_off() {
    let origin = origin();
    let edge = start(&origin);
    edge.serves(20);
    let memory = edge.memory();
    let began = now();
    let mut clients: Vec<TcpStream> = (0..100).map(|_| slow_reader(edge.address())).collect();
    let is_enough = Arc::new(AtomicBool::new(false));
    let mut taken = 0;
    std::thread::scope(|scope| {
        let enough = Arc::clone(&is_enough);
        let readers = &mut clients;
        let reading = scope.spawn(move || {
            let (_sender, pace) = sync_channel::<()>(1);
            let mut taken = 0;
            // Once in any case: what was sent to a client can be read when the edge has let it go, too.
            loop {
                for stream in readers.iter_mut() {
                    taken += stream.read(&mut [0]).unwrap_or(0);
                }
                if pace.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout)
                    || enough.load(Ordering::Relaxed)
                {
                    return taken;
                }
            }
        });
        edge.serves(20);
        edge.wait_for_connections(0.0);
        is_enough.store(true, Ordering::Relaxed);
        taken = reading.join().unwrap();
    });
    assert!(taken >= 100, "nobody read anything: {taken}");
    assert!(began.elapsed() < PATIENCE);
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(grown <= 100 * 160 * KIB, "{} bytes for each", grown / 100);
}

fn slow_reader(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    stream
        .write_all(b"GET /huge HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    stream
}

/// The same for answers of the edge's own making, which come from memory: they end, too.
#[test]
fn a_copy_that_is_not_taken_is_broken_off() {
    let body = vec![b'x'; 32 << 20];
    let origin = ScriptedOrigin::start(move |head, stream| {
        head.contains(" /kept").then(|| {
            stream
                .write_all(&answer("Cache-Control: max-age=60\r\n", &body))
                .is_ok()
        })
    });
    let place = Sandbox::new();
    let configuration = format!(
        "listen: 127.0.0.1:0\npools: {{ app: {{ servers: [\"http://{}\"] }} }}\n\
         cache: {{ size: 1GiB }}\n\
         limits: {{ head_timeout: {SLOW}, idle_timeout: {SLOW}, write_timeout: {SLOW} }}\n",
        origin.address
    );
    let edge = AttackedEdge::start(place, &configuration);
    assert!(super::process::get(edge.address(), "/kept").len() > 32 << 20);
    let memory = edge.memory();
    let clients: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = connect(edge.address());
            stream
                .write_all(b"GET /kept HTTP/1.1\r\nHost: a\r\n\r\n")
                .unwrap();
            stream
        })
        .collect();
    edge.serves(20);
    edge.wait_for_connections(0.0);
    // One copy for all of them.
    let grown = edge.memory_peak().saturating_sub(memory);
    assert!(grown <= 100 * 96 * KIB, "{} bytes for each", grown / 100);
    assert!(origin.heads() <= 22, "{} fetches", origin.heads());
    drop(clients);
}
