//! Reloads under attack: hundreds of them while slow clients and floods of resets keep the loop busy. Previous
//! configurations are freed, requests in flight continue, and an invalid configuration changes nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_testkit::frames::kind::{HEADERS, RST_STREAM};
use plimsoll_testkit::frames::{END_HEADERS, END_STREAM, RawHttp2Client, frame, get_fields};
use rustix::process::Signal;

use super::encryption::certificate;
use super::process::{AttackedEdge, MIB, PATIENCE, ScriptedOrigin, connect, exchange, get, now};
use crate::support::Sandbox;

/// Marks responses, to identify the configuration in use.
fn configuration(origin: &ScriptedOrigin, mark: &str, place: &Sandbox) -> String {
    let (cert, key) = (
        place.path().join("cert.pem").display().to_string(),
        place.path().join("key.pem").display().to_string(),
    );
    format!(
        "listen:\n  - 127.0.0.1:0\n  - {{ address: \"127.0.0.2:0\", tls: [ {{ cert: {cert}, key: {key} }} ] }}\n{}\
         routes: [ {{ pool: app, answer_headers: {{ X-Mark: {mark} }} }} ]\n\
         limits: {{ head_timeout: 10m, idle_timeout: 10m, memory: 64MiB }}\n",
        origin.pool().replace("tunnel: 2s", "tunnel: 10m")
    )
}

fn write(edge: &AttackedEdge, text: &str) {
    let text = format!("cores: 1\nadmin: 127.0.0.1:0\naccess_log: off\n{text}");
    // Put there in one step: half a file would be a wrong one.
    let beside = edge.place.path().join("beside.yaml");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, edge.place.path().join("edge.yaml")).unwrap();
}

/// A tunnel through the edge to the server and back.
fn tunnel(edge: &AttackedEdge) -> TcpStream {
    let mut stream = connect(edge.address());
    stream
        .write_all(
            b"GET /talk HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
        .unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    stream
}

fn goes_on(tunnel: &mut TcpStream) {
    tunnel.write_all(b"still here").unwrap();
    let mut back = [0; 10];
    tunnel.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"still here");
}

/// Resets streams on one connection after the other.
fn reset_for_ever(edge: &AttackedEdge, is_enough: &AtomicBool) {
    while !is_enough.load(Ordering::Relaxed) {
        let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
        let flood = client.flood(20_000, |number| {
            let stream = 2 * number + 1;
            let fields = get_fields("/never");
            let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields);
            both.extend_from_slice(&frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
            both
        });
        let flood = flood.unwrap();
        assert!(flood.goaway.is_some() || flood.sent < 20_000, "{flood:?}");
    }
}

fn reload(edge: &AttackedEdge) -> String {
    let admin = edge.admin;
    let request = format!(
        "POST /reload HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\
         Connection: close\r\n\r\n{{}}"
    );
    String::from_utf8(exchange(admin, &request)).unwrap()
}

#[test]
fn hundreds_of_reloads_in_a_flood_leave_nothing_behind() {
    const ORDERS: usize = 100;
    const SIGNALS: usize = 500;
    let origin = ScriptedOrigin::with_never();
    let place = Sandbox::new();
    certificate(&place);
    let first = configuration(&origin, "first", &place);
    let edge = AttackedEdge::start(place, &first);
    edge.serves(20);
    let descriptors = edge.descriptors();
    let mut tunnels: Vec<TcpStream> = (0..10).map(|_| tunnel(&edge)).collect();
    // Slow ones of both listeners, who are in the middle of a head or of a handshake when the configuration changes.
    let slow: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = connect(edge.addresses[number % 2]);
            stream.write_all(b"\x16\x03\x01\x02\x00\x01").unwrap();
            stream
        })
        .collect();
    let is_enough = AtomicBool::new(false);
    let mut before = (0, 0);
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| reset_for_ever(&edge, &is_enough));
        let reload_with = |mark: &str| {
            write(&edge, &configuration(&origin, mark, &edge.place));
            let done = reload(&edge);
            assert!(done.contains("the new configuration is in use"), "{done}");
        };
        // What is kept for later is there after some of them.
        for number in 0..ORDERS {
            reload_with(&number.to_string());
            if number == ORDERS / 4 {
                before = (edge.memory(), edge.threads());
            }
            if number % 10 == 0 {
                edge.serves(1);
            }
        }
        // Signals that come faster than they are followed become fewer.
        for _ in 0..SIGNALS {
            edge.signal(Signal::HUP);
        }
        edge.serves(20);
        reload_with("last");
        is_enough.store(true, Ordering::Relaxed);
        flooding.join().unwrap();
    });
    let began = now();
    while !contains(&get(edge.address(), "/"), "X-Mark: last\r\n") {
        assert!(began.elapsed() < PATIENCE, "the last one is not followed");
    }
    tunnels.iter_mut().for_each(goes_on);
    let followed = edge.drain_lines();
    let followed = followed.iter().filter(|line| line.contains("is in use"));
    assert!(followed.count() <= ORDERS + SIGNALS + 1);
    drop((slow, tunnels));
    edge.wait_for_connections(0.0);
    let (memory, threads) = before;
    assert_eq!(edge.threads(), threads);
    edge.wait_for_descriptors(descriptors + 16);
    let grown = edge.memory().saturating_sub(memory);
    assert!(grown <= 32 * MIB, "{grown} bytes");
}

fn contains(answer: &[u8], words: &str) -> bool {
    String::from_utf8_lossy(answer).contains(words)
}

#[test]
fn wrong_configurations_in_a_flood_change_nothing() {
    let origin = ScriptedOrigin::with_never();
    let place = Sandbox::new();
    certificate(&place);
    let first = configuration(&origin, "first", &place);
    let edge = AttackedEdge::start(place, &first);
    edge.serves(20);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("  - {}\npools:", taken.local_addr().unwrap());
    let second = configuration(&origin, "second", &edge.place);
    let wrong = [
        second.replace("answer_headers", "answr_headers"),
        second.replace("cert.pem", "none.pem"),
        second.replacen("pools:", &taken, 1),
        second.replace("cores: 1", "cores: 2") + "cores: 2\n",
        "{".repeat(100_000),
        "\0".repeat(1000),
        String::new(),
    ];
    let (memory, threads, descriptors) = (edge.memory(), edge.threads(), edge.descriptors());
    let is_enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| reset_for_ever(&edge, &is_enough));
        for _ in 0..5 {
            for text in &wrong {
                write(&edge, text);
                let done = reload(&edge);
                assert!(done.starts_with("HTTP/1.1 422 "), "{done}");
                assert!(contains(&get(edge.address(), "/"), "X-Mark: first\r\n"));
            }
            edge.signal(Signal::HUP);
            edge.wait_for_line("the old configuration stays in use");
        }
        is_enough.store(true, Ordering::Relaxed);
        flooding.join().unwrap();
    });
    edge.wait_for_connections(0.0);
    assert_eq!(edge.threads(), threads);
    edge.wait_for_descriptors(descriptors + 16);
    let grown = edge.memory().saturating_sub(memory);
    assert!(grown <= 32 * MIB, "{grown} bytes");
}
