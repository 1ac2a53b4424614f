//! HTTP/2 attacks: frame floods, resets, and header bombs; the connection ends and no other client is affected.

mod memory;
mod paths;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::support::{EarlyClients, Scripted, before, connect, get, impatient, status_and_body};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// A client that can send any frame.
struct FrameClient {
    stream: TcpStream,
}

/// Received frames.
#[derive(Debug, PartialEq, Eq)]
struct ReceivedFrame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![len[1], len[2], len[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header encoded without any table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        assert!(text.len() < 127);
        bytes.push(u8::try_from(text.len()).unwrap());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// The fields of `GET / HTTP/2` of host `a`, from the static table where it has them.
fn get_fields() -> Vec<u8> {
    [&[0x82, 0x84, 0x86][..], &literal(":authority", "a")].concat()
}

/// What every connection begins with.
fn opening(settings: &[u8]) -> Vec<u8> {
    let preface = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..];
    [preface, &frame(SETTINGS, 0, 0, settings)].concat()
}

impl FrameClient {
    fn open(address: SocketAddr, settings: &[u8]) -> Self {
        let mut stream = connect(address);
        stream.write_all(&opening(settings)).unwrap();
        Self { stream }
    }

    /// A client that has sent these frames after its settings, and more only if it is told to.
    fn early(clients: &EarlyClients, settings: &[u8], frames: &[Vec<u8>]) -> Self {
        let bytes = [opening(settings), frames.concat()].concat();
        Self {
            stream: clients.send(bytes),
        }
    }

    /// Whether the write succeeded: a flooding client may be disconnected in the middle.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; len as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some(ReceivedFrame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        })
    }

    /// Receives up to the next frame of this kind.
    fn wait_for(&mut self, kind: u8) {
        while self.receive().unwrap().kind != kind {}
    }

    /// Floods until the connection is closed; the number of pieces sent.
    fn flood(&mut self, most: u32, mut piece: impl FnMut(u32) -> Vec<u8>) -> u32 {
        // Unread data would block the peer's writes, and then its reads.
        let mut incoming = self.stream.try_clone().unwrap();
        let reader = std::thread::spawn(move || std::io::copy(&mut incoming, &mut std::io::sink()));
        let mut sent = 0;
        while sent < most && self.send(&piece(sent)) {
            sent += 1;
        }
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let _ = reader.join().unwrap();
        sent
    }
}

/// The response to a GET with these additional fields: encoded head bytes, and body.
pub(crate) fn fetch(
    address: SocketAddr,
    path: &str,
    authority: &str,
    fields: &[(&str, &str)],
) -> (Vec<u8>, String) {
    let mut client = FrameClient::open(address, &[]);
    let mut head = vec![0x82, 0x86];
    for (name, value) in [(":path", path), (":authority", authority)] {
        head.extend(literal(name, value));
    }
    for (name, value) in fields {
        head.extend(literal(name, value));
    }
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &head));
    let (mut packed, mut body) = (Vec::new(), Vec::new());
    while let Some(frame) = client.receive() {
        match frame.kind {
            HEADERS => packed = frame.payload,
            DATA => body.extend_from_slice(&frame.payload),
            _ => continue,
        }
        if frame.flags & END_STREAM != 0 {
            break;
        }
    }
    (packed, String::from_utf8(body).unwrap())
}

#[test]
fn a_request_in_frames_is_served_without_encryption() {
    let server = Scripted::always(OK);
    let edge = before(server.address);
    let mut client = FrameClient::open(edge.address, &[]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get_fields()));
    let mut body = Vec::new();
    while let Some(frame) = client.receive() {
        if frame.kind == DATA {
            body.extend_from_slice(&frame.payload);
            if frame.flags & END_STREAM != 0 {
                break;
            }
        }
    }
    assert_eq!(body, b"ok");
    assert!(server.requests()[0].starts_with("GET / HTTP/1.1\r\nhost: a\r\n"));
}

#[test]
fn requests_that_are_reset_at_once_end_the_connection() {
    // Many more bytes than the kernel buffers (some 3 MB) while no thread of the edge reads.
    const MOST: u32 = 500_000;
    // No request is ever answered: only the resets make room for new streams.
    let server = Scripted::start(|mut connection| while connection.head().is_some() {});
    let edge = before(server.address);
    let mut client = FrameClient::open(edge.address, &[]);
    let sent = client.flood(MOST, |number| {
        let stream = 2 * number + 1;
        let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get_fields());
        both.extend_from_slice(&frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
        both
    });
    assert!(sent < MOST, "it was let go on for {sent} resets");
    assert!(
        server.requests().len() < 5_000,
        "{} requests reached the server",
        server.requests().len()
    );
}

#[test]
fn a_head_that_never_ends_ends_the_connection() {
    let server = Scripted::always(OK);
    let edge = before(server.address);
    let mut client = FrameClient::open(edge.address, &[]);
    client.send(&frame(HEADERS, END_STREAM, 1, &get_fields()));
    let more = literal("x-more", &"y".repeat(100));
    let sent = client.flood(100_000, |_| frame(CONTINUATION, 0, 1, &more));
    assert!(sent < 100_000);
    // Empty frames cost the sender nothing and the reader a little each.
    let mut client = FrameClient::open(edge.address, &[]);
    client.send(&frame(HEADERS, END_STREAM, 1, &get_fields()));
    let sent = client.flood(1_000_000, |_| frame(CONTINUATION, 0, 1, &[]));
    assert!(sent < 1_000_000);
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn a_head_that_swells_when_it_is_unpacked_is_refused() {
    let server = Scripted::always(OK);
    let edge = before(server.address);
    let mut client = FrameClient::open(edge.address, &[]);
    // One header of 3,000 bytes is put into the table, then referenced by one byte repeatedly.
    let mut fields = get_fields();
    fields.extend_from_slice(&[0x40, 1, b'x', 0x7f]);
    // 3000 - 127 = 22 * 128 + 57, seven bits at a time; the first byte says that another follows.
    fields.extend_from_slice(&[128 + 57, 22]);
    fields.extend_from_slice(&[b'y'; 3000]);
    fields.extend_from_slice(&[0xbe; 10_000]);
    client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &fields));
    // Rejected by a response, a stream reset, or the end of the connection; never forwarded.
    let mut was_refused = false;
    while let Some(frame) = client.receive() {
        if frame.stream == 1 || frame.kind == GOAWAY {
            was_refused = true;
            break;
        }
    }
    assert!(was_refused);
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn pieces_of_a_body_without_content_end_the_connection() {
    // The server reads the head and never the body.
    let server = Scripted::start(|mut connection| {
        if let Some(head) = connection.head()
            && head.starts_with("POST ")
        {
            while connection.head().is_some() {}
        }
        connection.send(OK);
    });
    let edge = before(server.address);
    let post = [&[0x83, 0x84, 0x86][..], &literal(":authority", "a")].concat();
    for content in [&b""[..], b"x"] {
        let mut client = FrameClient::open(edge.address, &[]);
        client.send(&frame(HEADERS, END_HEADERS, 1, &post));
        let pieces = frame(DATA, 0, 1, content).repeat(100);
        let sent = client.flood(20_000, |_| pieces.clone());
        assert!(sent < 20_000, "{content:?}");
    }
    assert_eq!(status_and_body(&get(edge.address, "/")), (200, "ok"));
}

#[test]
fn frames_that_bring_nothing_forward_end_the_connection() {
    let server = Scripted::always(OK);
    let edge = before(server.address);
    let window = [0, 0, 0, 1];
    for (name, piece) in [
        ("pings", frame(PING, 0, 0, &[7; 8])),
        ("answers to pings", frame(PING, ACK, 0, &[7; 8])),
        ("settings", frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])),
        ("priorities", frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 16])),
        ("unknown frames", frame(0xfa, 0, 0, &[0; 100])),
    ] {
        let mut client = FrameClient::open(edge.address, &[]);
        let pieces = piece.repeat(100);
        let sent = client.flood(20_000, |_| pieces.clone());
        assert!(sent < 20_000, "{name} were let go on");
        // Other clients are served meanwhile and afterwards.
        assert_eq!(
            status_and_body(&get(edge.address, "/")),
            (200, "ok"),
            "{name}"
        );
    }
    // Exceeding the maximum window is an immediate error.
    let mut client = FrameClient::open(edge.address, &[]);
    let sent = client.flood(1_000_000, |_| {
        frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff])
    });
    assert!(sent < 1_000_000);
    let mut client = FrameClient::open(edge.address, &[]);
    let pieces = frame(WINDOW_UPDATE, 0, 0, &window).repeat(100);
    assert!(client.flood(20_000, |_| pieces.clone()) < 20_000);
}

#[test]
fn who_makes_no_room_for_answers_is_cut_off() {
    let big: &'static str = Box::leak(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{}",
            "x".repeat(100_000)
        )
        .into_boxed_str(),
    );
    let server = Scripted::always(big);
    let clients = EarlyClients::bind();
    let requests: Vec<_> = (0..100)
        .map(|number| 2 * number + 1)
        .map(|stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &get_fields()))
        .collect();
    // A zero window for every stream.
    let mut client = FrameClient::early(&clients, &[0, 4, 0, 0, 0, 0], &requests);
    let _edge = clients.serve(impatient(server.address));
    let mut resets = 0;
    while resets < 100 {
        let frame = client.receive().expect("each stream is reset");
        assert_ne!(frame.kind, DATA);
        if frame.kind == RST_STREAM {
            resets += 1;
        }
    }
}

#[test]
fn slow_frames_have_deadlines() {
    let server = Scripted::start(|mut connection| while connection.head().is_some() {});
    let clients = EarlyClients::bind();
    // Nothing, half a head, a stalled body: each ends.
    let mut silent = clients.send("PRI * HTTP/2.0\r\n\r\n");
    let begun = frame(HEADERS, END_STREAM, 1, &get_fields());
    let mut half = FrameClient::early(&clients, &[], &[begun]);
    let post = [&[0x83, 0x84, 0x86][..], &literal(":authority", "a")].concat();
    let begun = frame(HEADERS, END_HEADERS, 1, &post);
    let mut body = FrameClient::early(&clients, &[], &[begun]);
    let _edge = clients.serve(impatient(server.address));
    let status = loop {
        let frame = body.receive().expect("it is answered");
        if frame.kind == HEADERS {
            break frame.payload;
        }
    };
    // 408 in three digits, Huffman-coded or not, follows the index of `:status`.
    assert_eq!(status[0] & 0x0f, 0x08, "{status:?}");
    crate::support::read_all(&mut silent);
    while half.receive().is_some() {}
}

#[test]
fn what_a_head_may_not_hold_is_refused_in_frames_too() {
    let server = Scripted::always(OK);
    let edge = before(server.address);
    let cases = more_than_a_get().into_iter().chain(other_than_a_get());
    for (name, fields) in cases {
        let mut client = FrameClient::open(edge.address, &[]);
        client.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &fields));
        let answer = loop {
            match client.receive() {
                Some(frame) if frame.stream == 1 || frame.kind == GOAWAY => break Some(frame),
                Some(_) => {}
                None => break None,
            }
        };
        if let Some(ReceivedFrame {
            kind: HEADERS,
            payload,
            ..
        }) = answer
        {
            // 0x88 is `:status: 200`.
            assert_ne!(payload[0], 0x88, "{name}");
        }
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

/// Headers that are forbidden in requests, after those of a GET.
fn more_than_a_get() -> Vec<(&'static str, Vec<u8>)> {
    let with = |name, header: &[u8]| (name, [&get_fields()[..], header].concat());
    let length = |value| literal("content-length", value);
    vec![
        with("an upper-case name", &literal("X-A", "b")),
        with("a line feed in a value", &literal("x", "a\r\nb: c")),
        with("a NUL in a value", &literal("x", "a\0b")),
        with("a colon in a name", &literal("x:y", "a")),
        with("its framing", &literal("transfer-encoding", "chunked")),
        with("a connection header", &literal("connection", "close")),
        with("two lengths", &[length("1"), length("2")].concat()),
        with("a length without a body", &length("5")),
        with("two hosts", &literal("host", "b")),
        with("an upgrade", &literal("upgrade", "websocket")),
    ]
}

/// Requests with an invalid method, path or host.
fn other_than_a_get() -> Vec<(&'static str, Vec<u8>)> {
    // GET, / and http, by the static table.
    const METHOD: &[u8] = &[0x82];
    const PATH: &[u8] = &[0x84];
    const SCHEME: &[u8] = &[0x86];
    let host = |host| [METHOD, PATH, SCHEME, &literal(":authority", host)].concat();
    let authority = literal(":authority", "a");
    let path = |path| [METHOD, SCHEME, &literal(":path", path), &authority].concat();
    let method = literal(":method", "GET / HTTP/1.1\r\nx: y");
    let tunnel = [
        literal(":method", "CONNECT"),
        literal(":authority", "127.0.0.1:22"),
    ];
    vec![
        ("no host", [METHOD, PATH, SCHEME].concat()),
        ("a host with a path", host("a/b")),
        ("somebody at a host", host("u@a")),
        ("a path with dots", path("/a/../b")),
        ("a path with a blank", path("/a b")),
        ("a path that is a target of a proxy", path("http://b/")),
        (
            "a method with a line",
            [PATH, SCHEME, &method, &authority].concat(),
        ),
        ("a tunnel to elsewhere", tunnel.concat()),
    ]
}
