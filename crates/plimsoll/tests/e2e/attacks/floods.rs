//! Floods over HTTP/2: frames that cost their sender nothing, reset or broken streams, closed windows.

use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

use plimsoll_testkit::frames::kind::{
    CONTINUATION, DATA, GOAWAY, HEADERS, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use plimsoll_testkit::frames::{
    ACK, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, Flood, Http2Frame, RawHttp2Client, frame,
    get_fields, literal, post_fields,
};
use rustix::process::Signal;

use super::process::{AttackedEdge, MIB, PATIENCE, SLOW, ScriptedOrigin, answer, connect, now};
use crate::support::Sandbox;

fn start(origin: &ScriptedOrigin, more: &str) -> AttackedEdge {
    let configuration = format!(
        "listen: 127.0.0.1:0\n{}limits: {{ memory: 128MiB, head_timeout: {SLOW}, body_timeout: {SLOW}, \
         idle_timeout: {SLOW}, write_timeout: {SLOW} }}\n{more}",
        origin.pool()
    );
    AttackedEdge::start(Sandbox::new(), &configuration)
}

/// A request on a new stream, and the frame that its client sends next.
fn spoilt(number: u32, spoil: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let stream = 2 * number + 1;
    let fields = get_fields("/never");
    let mut both = frame(HEADERS, END_HEADERS | END_STREAM, stream, &fields);
    both.extend_from_slice(&spoil(stream));
    both
}

/// Floods on several connections, one after the other, while others are served; what came of each.
fn flood_beside_others(
    edge: &AttackedEdge,
    connections: usize,
    most: u32,
    piece: impl Fn(u32) -> Vec<u8> + Send + Sync,
) -> Vec<Flood> {
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            let floods = (0..connections).map(|_| {
                let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
                client.flood(most, &piece).unwrap()
            });
            floods.collect::<Vec<_>>()
        });
        edge.serves(20);
        flooding.join().unwrap()
    })
}

/// Ways to break a stream.
type Spoil = fn(u32) -> Vec<u8>;

/// Rapid reset (CVE-2023-44487), and streams that the client makes the edge reset (CVE-2025-8671).
#[test]
fn streams_that_are_given_up_or_broken_reach_the_server_a_few_hundred_times() {
    const MOST: u32 = 20_000;
    /// Of the budget for resets, and those that are open when it is used up.
    const REACH_MAX: usize = 200 + 2 * 128;
    let spoilers: [(&str, Spoil); 4] = [
        ("reset", |stream| {
            frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])
        }),
        ("a window of nothing more", |stream| {
            frame(WINDOW_UPDATE, 0, stream, &[0; 4])
        }),
        ("a window beyond all bounds", |stream| {
            frame(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff])
        }),
        ("a body after the end", |stream| {
            frame(DATA, 0, stream, b"x")
        }),
    ];
    for (name, spoil) in spoilers {
        let origin = ScriptedOrigin::with_never();
        let edge = start(&origin, "");
        edge.serves(20);
        let (before, honest) = (edge.memory(), origin.heads());
        let floods = flood_beside_others(&edge, 3, MOST, |number| spoilt(number, spoil));
        for flood in floods {
            // All of it may stand in the system's buffers before the edge has read the first.
            let is_ended = flood.goaway.is_some() || flood.sent < MOST;
            assert!(is_ended, "{name}: {flood:?}");
        }
        let reached = origin.heads() - honest - 20;
        assert!(reached <= 3 * REACH_MAX, "{name}: {reached} requests");
        let grown = edge.memory_peak().saturating_sub(before);
        assert!(grown <= 32 * MIB, "{name}: {grown} bytes");
        edge.wait_for_connections(0.0);
    }
}

/// A server that answers a request when fifty others have come.
fn late() -> ScriptedOrigin {
    let come = Arc::new((Mutex::new(0_u32), Condvar::new()));
    ScriptedOrigin::start(move |head, stream| {
        if !head.contains(" /late") {
            return None;
        }
        let (count, changed) = &*come;
        let mut count = count.lock().unwrap();
        *count += 1;
        let due = *count + 50;
        changed.notify_all();
        let waited = changed.wait_timeout_while(count, PATIENCE, |count| *count < due);
        drop(waited.unwrap());
        Some(std::io::Write::write_all(stream, &answer("", b"ok")).is_ok())
    })
}

/// Each stream is given up only when the edge has taken it up, and the server answers all the same: no queue ever grows.
#[test]
fn streams_that_are_given_up_one_by_one_use_up_the_same_budget() {
    let origin = late();
    let edge = start(&origin, "");
    let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
    let (mut number, mut code) = (0, None);
    'all: while number < 3_000 {
        let stream = 2 * number + 1;
        let flags = END_HEADERS | END_STREAM;
        let mut request = frame(HEADERS, flags, stream, &get_fields("/late"));
        request.extend_from_slice(&frame(PING, 0, 0, &u64::from(number).to_be_bytes()));
        // Whether or not it can still be sent: what the edge said before it closed is there to be read.
        client.send(&request);
        // When the ping is answered, the head was read.
        loop {
            let Some(frame) = client.read_frame() else {
                break 'all;
            };
            code = frame.goaway().or(code);
            if frame.kind == PING && frame.flags & ACK != 0 {
                break;
            }
        }
        client.send(&frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]));
        number += 1;
    }
    assert_eq!(code, Some(ENHANCE_YOUR_CALM), "after {number}");
    // The budget, the requests that a connection may have at once (the server's threads may answer late), and two more
    // for each of eight seconds.
    assert!(
        origin.heads() <= 200 + 384 + 16,
        "{} requests",
        origin.heads()
    );
    edge.serves(5);
}

#[test]
fn a_client_that_resets_some_of_many_streams_goes_on() {
    let origin = ScriptedOrigin::with_never();
    let edge = start(&origin, "");
    let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
    // As who types into a search field: every other request is given up, a thousand times.
    for number in 0..500 {
        let (given_up, kept) = (4 * number + 1, 4 * number + 3);
        let flags = END_HEADERS | END_STREAM;
        assert!(client.send(&frame(HEADERS, flags, given_up, &get_fields("/never"))));
        assert!(client.send(&frame(RST_STREAM, 0, given_up, &[0, 0, 0, 8])));
        assert!(client.send(&frame(HEADERS, flags, kept, &get_fields("/"))));
        loop {
            let frame = client.read_frame().expect("it goes on");
            assert_eq!(frame.goaway(), None, "after {number}");
            if frame.stream == kept && frame.flags & END_STREAM != 0 {
                break;
            }
        }
    }
}

/// A flood of frames that ask for nothing: what opens it, what follows for ever, and how many make one piece.
struct IdleFlood {
    name: &'static str,
    opening: Vec<u8>,
    piece: Vec<u8>,
}

fn idle_floods() -> Vec<IdleFlood> {
    let idle = |name, opening: Vec<u8>, frame: Vec<u8>| IdleFlood {
        name,
        opening,
        piece: frame.repeat(100),
    };
    let head = || frame(HEADERS, END_STREAM, 1, &get_fields("/"));
    let body = || frame(HEADERS, END_HEADERS, 1, &post_fields("/never"));
    let streams = |path: &str| {
        let request_frame = |number: u32| {
            let flags = END_HEADERS | END_STREAM;
            frame(HEADERS, flags, 2 * number + 1, &get_fields(path))
        };
        (0..100).flat_map(request_frame).collect::<Vec<u8>>()
    };
    let settings = |id: u8, value: u32| {
        let value = value.to_be_bytes();
        let payload = [&[0, id][..], &value].concat();
        frame(SETTINGS, 0, 0, &payload)
    };
    let more = literal("x-more", &"y".repeat(100));
    let windows = [settings(4, 1), settings(4, 0x7fff_ffff)].concat();
    vec![
        idle("settings", Vec::new(), settings(3, 100)),
        idle("windows of all streams", streams("/never"), windows),
        idle("tables", Vec::new(), settings(1, 0)),
        idle("pings", Vec::new(), frame(PING, 0, 0, &[7; 8])),
        idle("answers to pings", Vec::new(), frame(PING, ACK, 0, &[7; 8])),
        idle(
            "priorities",
            Vec::new(),
            frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 16]),
        ),
        idle("farewells", Vec::new(), frame(GOAWAY, 0, 0, &[0; 8])),
        idle("unknown frames", Vec::new(), frame(0xfa, 0, 0, &[0; 100])),
        idle(
            "room",
            Vec::new(),
            frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        ),
        idle("empty pieces of a body", body(), frame(DATA, 0, 1, &[])),
        idle("pieces of one byte", body(), frame(DATA, 0, 1, b"x")),
        idle("heads again", body(), frame(HEADERS, END_HEADERS, 1, &[])),
        idle(
            "a head without end",
            head(),
            frame(CONTINUATION, 0, 1, &more),
        ),
        idle(
            "a head of empty pieces",
            head(),
            frame(CONTINUATION, 0, 1, &[]),
        ),
    ]
}

#[test]
fn floods_of_frames_end_their_connection_and_take_no_memory() {
    const MOST: u32 = 20_000;
    let origin = ScriptedOrigin::with_never();
    let edge = start(&origin, "");
    edge.serves(20);
    let before = edge.memory();
    for IdleFlood {
        name,
        opening,
        piece,
    } in idle_floods()
    {
        let flood = std::thread::scope(|scope| {
            let flooding = scope.spawn(|| {
                let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
                assert!(client.send(&opening));
                client.flood(MOST, |_| piece.clone()).unwrap()
            });
            edge.serves(5);
            flooding.join().unwrap()
        });
        assert!(flood.sent < MOST, "{name} may go on: {flood:?}");
    }
    let grown = edge.memory_peak().saturating_sub(before);
    assert!(grown <= 32 * MIB, "{grown} bytes");
    // Streams of 100 requests and three bodies reached it, besides those who were served.
    assert!(
        origin.heads() <= 20 + 14 * 5 + 100 + 3,
        "{}",
        origin.heads()
    );
    edge.wait_for_connections(0.0);
}

/// A head of 3,000 bytes that every further byte names again: 16 KiB that say 48 MiB, on each of many streams.
#[test]
fn heads_that_swell_are_refused_before_they_take_memory() {
    let origin = ScriptedOrigin::with_never();
    let edge = start(&origin, "");
    edge.serves(20);
    let (before, honest) = (edge.memory(), origin.heads());
    let mut first = get_fields("/");
    first.extend_from_slice(&[0x40, 1, b'x', 0x7f, 128 + 57, 22]);
    first.extend_from_slice(&[b'y'; 3000]);
    let again = [&get_fields("/")[..], &[0xbe; 16_000]].concat();
    let floods = flood_beside_others(&edge, 3, 2_000, |number| {
        let fields = if number == 0 { &first } else { &again };
        frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, fields)
    });
    // Each is refused by an answer or a reset; whoever goes on sending them is cut off, or has sent all for nothing.
    assert_eq!(floods.len(), 3);
    let reached = origin.heads() - honest - 20;
    assert!(reached <= 3, "{reached} swollen heads reached the server");
    let grown = edge.memory_peak().saturating_sub(before);
    assert!(grown <= 32 * MIB, "{grown} bytes");
}

fn with_big() -> ScriptedOrigin {
    let big = answer("", &vec![b'x'; 1 << 20]);
    ScriptedOrigin::start(move |head, stream| {
        head.contains(" /big")
            .then(|| std::io::Write::write_all(stream, &big).is_ok())
    })
}

/// Asks for so many big answers at once.
fn request_big(client: &mut RawHttp2Client, streams: u32) {
    for number in 0..streams {
        let flags = END_HEADERS | END_STREAM;
        client.send(&frame(HEADERS, flags, 2 * number + 1, &get_fields("/big")));
    }
}

/// Windows of nothing: answers wait at the server, not in the edge; each stream is reset in time, and then they end.
#[test]
fn windows_that_stay_shut_hold_little_and_not_for_long() {
    let origin = with_big();
    let edge = start(&origin, "");
    edge.serves(20);
    let before = edge.memory();
    let began = now();
    let mut clients: Vec<RawHttp2Client> = (0..10)
        .map(|_| {
            let mut client = RawHttp2Client::open(edge.address(), &[0, 4, 0, 0, 0, 0]).unwrap();
            request_big(&mut client, 100);
            client
        })
        .collect();
    edge.serves(20);
    for client in &mut clients {
        let mut resets = 0;
        while let Some(frame) = client.read_frame() {
            assert_ne!(frame.kind, DATA);
            resets += u32::from(frame.kind == RST_STREAM);
        }
        assert_eq!(resets, 100);
    }
    assert!(began.elapsed() < PATIENCE);
    let grown = edge.memory_peak().saturating_sub(before);
    assert!(grown <= 160 * MIB, "{grown} bytes for 1000 streams");
}

/// All the windows in the world, and a client that never reads its socket: nothing that the edge writes can go out,
/// not even that a stream was reset.
#[test]
fn whoever_never_reads_is_cut_off_with_all_streams() {
    let origin = with_big();
    let edge = start(&origin, "");
    edge.serves(20);
    let before = edge.memory();
    let clients: Vec<RawHttp2Client> = (0..5)
        .map(|_| {
            let window = [0, 4, 0x7f, 0xff, 0xff, 0xff];
            let mut client = RawHttp2Client::open(edge.address(), &window).unwrap();
            let more = (0x7fff_ffff_u32 - 65_535).to_be_bytes();
            assert!(client.send(&frame(WINDOW_UPDATE, 0, 0, &more)));
            request_big(&mut client, 100);
            client
        })
        .collect();
    edge.serves(20);
    // Their sockets stay open and unread all the time.
    edge.wait_for_connections(0.0);
    let grown = edge.memory_peak().saturating_sub(before);
    assert!(grown <= 160 * MIB, "{grown} bytes for 500 streams");
    drop(clients);
}

/// The edge has said that it ends; a client that opens stream after stream all the same does not keep it.
#[test]
fn whoever_ignores_a_farewell_does_not_keep_the_edge() {
    let origin = ScriptedOrigin::with_never();
    let mut edge = start(&origin, "drain: 10m\n");
    let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
    let flags = END_HEADERS | END_STREAM;
    let (mut number, mut codes) = (0, Vec::new());
    let began = now();
    'all: loop {
        let stream = 2 * number + 1;
        if !client.send(&frame(HEADERS, flags, stream, &get_fields("/"))) {
            break;
        }
        loop {
            let Some(frame) = client.read_frame() else {
                break 'all;
            };
            codes.extend(frame.goaway());
            assert_ne!(
                frame.kind, RST_STREAM,
                "a request that had come was dropped"
            );
            if frame.stream == stream && frame.flags & END_STREAM != 0 {
                break;
            }
        }
        if number == 10 {
            edge.signal(Signal::TERM);
        }
        number += 1;
        assert!(began.elapsed() < PATIENCE, "it keeps the edge");
    }
    assert_eq!(codes, [0, ENHANCE_YOUR_CALM], "after {:?}", began.elapsed());
    edge.wait_for_end();
}

/// Bodies of which nothing comes any more hold a place with the server no longer than their time-out.
#[test]
fn streams_with_bodies_that_stop_are_refused_in_time() {
    let origin = ScriptedOrigin::with_never();
    let edge = start(&origin, "");
    edge.serves(20);
    let before = edge.memory();
    let mut clients: Vec<RawHttp2Client> = (0..3)
        .map(|_| {
            let mut client = RawHttp2Client::open(edge.address(), &[]).unwrap();
            for number in 0..100 {
                let stream = 2 * number + 1;
                let fields = post_fields("/never");
                client.send(&frame(HEADERS, END_HEADERS, stream, &fields));
                client.send(&frame(DATA, 0, stream, b"x"));
            }
            client
        })
        .collect();
    edge.serves(20);
    for client in &mut clients {
        assert_eq!(ended_streams(&mut client.stream), 100);
    }
    let grown = edge.memory_peak().saturating_sub(before);
    assert!(grown <= 32 * MIB, "{grown} bytes for 300 streams");
    // Their connections are idle then, and end.
    edge.wait_for_connections(0.0);
    drop(connect(edge.address()));
}

/// How many streams the edge ended before it ended the connection.
fn ended_streams(stream: &mut TcpStream) -> usize {
    let mut ended = std::collections::HashSet::new();
    while let Some(frame) = Http2Frame::read(stream) {
        let ends = frame.flags & END_STREAM != 0 && matches!(frame.kind, DATA | HEADERS);
        if frame.stream > 0 && (frame.kind == RST_STREAM || ends) {
            ended.insert(frame.stream);
        }
    }
    ended.len()
}
