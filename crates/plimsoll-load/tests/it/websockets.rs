//! WebSockets: opened when due, with requests and broadcasts, and closed correctly; and targets that violate the
//! protocol.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use plimsoll_load::{Job, LoadError, RunningLoad, start};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::websocket::{WebSocketLoad, WebSocketMessage, WebSocketWindow};
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_wire::websocket::deflate::{Agreement, Deflater};
use plimsoll_wire::websocket::handshake;

use crate::trial::{UNTIL_STOPPED, begin, ms, plan, run, stop_when, total, windows, windows_until};

/// The target's output after the handshake: given the key, all bytes that it writes. It then reads to the end and
/// closes; its thread returns what it read.
type Responder = fn(&str) -> Vec<u8>;

/// A target of this many consecutive connections.
struct FakeTarget {
    address: SocketAddr,
    thread: std::thread::JoinHandle<Vec<Vec<u8>>>,
}

fn target(connections: usize, responder: Responder) -> FakeTarget {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let sockets: Vec<_> = (0..connections)
            .map(|_| listener.accept().unwrap().0)
            .collect();
        let threads: Vec<_> = sockets
            .into_iter()
            .map(|socket| std::thread::spawn(move || serve(socket, responder)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    FakeTarget { address, thread }
}

fn serve(mut socket: TcpStream, responder: Responder) -> Vec<u8> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read(&mut byte).unwrap_or(0) == 0 {
            return Vec::new();
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
    socket.write_all(&responder(key.unwrap())).unwrap();
    let mut read = Vec::new();
    let mut buffer = [0; 1024];
    // A client that fails the connection resets it.
    while let Ok(count @ 1..) = socket.read(&mut buffer) {
        read.extend_from_slice(&buffer[..count]);
        if close_code(&read).is_some() || is_empty_close(&read) {
            break;
        }
    }
    read
}

/// Whether a client's bytes end with an empty close frame.
fn is_empty_close(bytes: &[u8]) -> bool {
    let start = bytes.len().checked_sub(6);
    start.is_some_and(|start| bytes[start..].starts_with(&[0x88, 0x80]))
}

fn opens(key: &str, frames: &[u8]) -> Vec<u8> {
    let accept = handshake::accept(key);
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    [head.as_bytes(), frames].concat()
}

fn load(connections: u32, hold: Duration) -> WebSocketLoad {
    WebSocketLoad {
        connections,
        per_second: 1000.0,
        hold,
        message: None,
        timestamp: None,
        sequence: None,
        compress: false,
        is_stream: false,
        reconnect: None,
    }
}

fn websocket_window(total: &Window) -> &WebSocketWindow {
    total.websocket.as_deref().unwrap()
}

/// A count of a load that may not have begun yet.
fn messages(total: &Window, count: impl Fn(&WebSocketWindow) -> u64) -> u64 {
    total.websocket.as_deref().map_or(0, count)
}

/// Begins to open four WebSockets, with or without an offer of compression, to a target with this output.
fn begin_four(responder: Responder, compress: bool) -> (RunningLoad, FakeTarget) {
    let target = target(4, responder);
    let load = Load::WebSockets(WebSocketLoad {
        compress,
        ..load(4, UNTIL_STOPPED)
    });
    let mut plan = plan(target.address);
    plan.transport.body_len_max = 1000;
    (begin(plan, load), target)
}

/// Opens four WebSockets to a target with this output, which makes the client or the target close them.
fn four(responder: Responder) -> (Window, Vec<Vec<u8>>) {
    four_with(responder, false)
}

/// The same, with or without an offer of compression.
fn four_with(responder: Responder, compress: bool) -> (Window, Vec<Vec<u8>>) {
    let (mut running, target) = begin_four(responder, compress);
    // The load is stopped once the target has read all to the end: before, it would close them itself.
    let read = target.thread.join().unwrap();
    running.stop();
    (total(&windows(&mut running)), read)
}

/// Opens four to a target that refuses them, with this cause.
fn refused(responder: Responder, cause: &str, outcome: Outcome) {
    let (total, _) = four(responder);
    assert_eq!(
        websocket_window(&total).failed,
        BTreeMap::from([(cause.to_owned(), 4)])
    );
    assert_eq!(
        (
            websocket_window(&total).connected,
            total.outcomes.get(outcome)
        ),
        (0, 4)
    );
}

/// Opens four to a target that then violates the protocol, and receives this close code.
fn check_protocol_error(responder: Responder, error: &str, code: u16) {
    check_error_result(four(responder), error, code);
}

fn check_error_result((total, read): (Window, Vec<Vec<u8>>), error: &str, code: u16) {
    assert_eq!(
        (
            websocket_window(&total).connected,
            total.outcomes.get(Outcome::Ok)
        ),
        (4, 4)
    );
    assert_eq!(
        websocket_window(&total).protocol_errors,
        BTreeMap::from([(error.to_owned(), 4)])
    );
    assert!(websocket_window(&total).closed.is_empty());
    for read in read {
        assert_eq!(close_code(&read), Some(code), "{read:?}");
    }
}

/// The code of the masked close frame at the end of a client's bytes.
fn close_code(bytes: &[u8]) -> Option<u16> {
    let (head, rest) = bytes
        .get(bytes.len().checked_sub(8)?..)?
        .split_first_chunk::<2>()?;
    let (mask, code) = rest.split_first_chunk::<4>()?;
    (*head == [0x88, 0x82]).then(|| u16::from_be_bytes([code[0] ^ mask[0], code[1] ^ mask[1]]))
}

#[test]
fn handshakes_are_refused_for_a_cause() {
    refused(
        |_| b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "status 403",
        Outcome::WrongStatus,
    );
    refused(
        |_| opens("dGhlIHNhbXBsZSBub25jZQ==", b""),
        "wrong accept key",
        Outcome::Protocol,
    );
    refused(
        |_| b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(),
        "not HTTP",
        Outcome::Protocol,
    );
    refused(
        |_| {
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
                .to_vec()
        },
        "not switched",
        Outcome::Protocol,
    );
}

#[test]
fn nobody_there_is_a_refused_connection() {
    let origin = fault::start(OriginFault::Refuses).unwrap();
    let total = run(plan(origin.address()), Load::WebSockets(load(5, ms(10))));
    assert_eq!(
        websocket_window(&total).failed,
        BTreeMap::from([("connect_refused".to_owned(), 5)])
    );
}

#[test]
fn rules_that_are_broken_are_told_with_their_code() {
    check_protocol_error(
        |key| opens(key, b"\x81\x82abcd\x09\x0b"),
        "a server's frame is masked",
        1002,
    );
    check_protocol_error(
        |key| opens(key, b"\x81\x02\xc3\x28"),
        "text is not UTF-8",
        1007,
    );
    check_protocol_error(
        |key| opens(key, b"\xc1\x01x"),
        "a reserved bit is set",
        1002,
    );
    check_protocol_error(
        |key| opens(key, b"\x82\x7e\x03\xe9"),
        "a message is longer than 1000 bytes",
        1009,
    );
    check_protocol_error(
        |key| opens(key, b"\x09\x01x"),
        "a control frame is fragmented",
        1002,
    );
    check_protocol_error(
        |key| opens(key, b"\x89\x7e\x00\x7e"),
        "a control frame is longer than 125 bytes",
        1002,
    );
    check_protocol_error(
        |key| opens(key, &[&b"\x02\x00"[..], &b"\x00\x00".repeat(5000)].concat()),
        "a message has more than 4096 fragments",
        1008,
    );
}

/// Half a mebibyte in some hundred bytes.
#[test]
fn a_compression_bomb_is_not_inflated() {
    let responder: Responder = |key| {
        let mut bomb = Vec::new();
        Deflater::new(9, false).deflate(&b"\0".repeat(1 << 19), &mut bomb);
        let mut frame = vec![0xc2, 0x7e];
        frame.extend_from_slice(&u16::try_from(bomb.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(&bomb);
        let agreed = Agreement {
            server_begins_anew: true,
            ..Agreement::default()
        };
        let opened = String::from_utf8(opens(key, b"")).unwrap();
        let extension = format!("\r\nSec-WebSocket-Extensions: {}\r\n\r\n", agreed.header());
        let head = opened.replace("\r\n\r\n", &extension);
        [head.as_bytes(), &frame].concat()
    };
    let outcome = four_with(responder, true);
    check_error_result(outcome, "a message is longer than 1000 bytes", 1009);
}

#[test]
fn what_comes_with_the_handshake_is_heard_and_a_ping_is_answered() {
    let responder: Responder = |key| opens(key, b"\x81\x02hi\x89\x03abc\x82\x01\x00");
    let (mut running, target) = begin_four(responder, false);
    let total = total(&stop_when(&mut running, |total| {
        messages(total, |window| window.messages_in) == 8
    }));
    let read = target.thread.join().unwrap();
    assert_eq!(
        (
            websocket_window(&total).messages_in,
            websocket_window(&total).bytes_in
        ),
        (8, 12)
    );
    for read in read {
        assert_eq!(
            read[..2],
            [0x8a, 0x83],
            "a masked pong of three bytes: {read:?}"
        );
        assert_eq!(close_code(&read), Some(1000), "{read:?}");
    }
    assert!(websocket_window(&total).closed.is_empty(), "we ended it");
    assert_eq!(total.status, BTreeMap::from([(101, 4)]));
}

#[test]
fn codes_with_which_a_target_ends_are_counted() {
    let (total, _) = four(|key| opens(key, b"\x88\x02\x0f\xa1"));
    assert_eq!(websocket_window(&total).closed, BTreeMap::from([(4001, 4)]));
    let (total, read) = four(|key| opens(key, b"\x88\x00"));
    assert_eq!(websocket_window(&total).closed, BTreeMap::from([(1005, 4)]));
    for read in read {
        assert_eq!(
            read[..2],
            [0x88, 0x80],
            "an empty close answers an empty one: {read:?}"
        );
    }
}

/// Echoes each text frame of less than 126 bytes.
fn echo(address: &TcpListener, connections: usize) {
    std::thread::scope(|scope| {
        for _ in 0..connections {
            let (mut socket, _) = address.accept().unwrap();
            scope.spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") {
                    socket.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let key = head
                    .lines()
                    .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
                socket.write_all(&opens(key.unwrap(), b"")).unwrap();
                let mut frame_head = [0; 6];
                while socket.read_exact(&mut frame_head).is_ok() {
                    let mut payload = vec![0; usize::from(frame_head[1] & 0x7f)];
                    socket.read_exact(&mut payload).unwrap();
                    for (byte, mask) in payload.iter_mut().zip(frame_head[2..].iter().cycle()) {
                        *byte ^= mask;
                    }
                    let head = [frame_head[0], u8::try_from(payload.len()).unwrap()];
                    if socket.write_all(&[&head[..], &payload].concat()).is_err() || head[0] == 0x88
                    {
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn messages_are_sent_when_due_and_their_answers_timed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || echo(&listener, 10));
    let load = WebSocketLoad {
        message: Some(WebSocketMessage {
            text: "ping me".to_owned(),
            every: Some(ms(100)),
        }),
        ..load(10, UNTIL_STOPPED)
    };
    let mut plan = plan(address);
    plan.cores = 2;
    let mut running = begin(plan, Load::WebSockets(load));
    let all = stop_when(&mut running, |total| {
        messages(total, |window| window.messages_out) >= 40
    });
    let total = total(&all);
    server.join().unwrap();
    let window = websocket_window(&total);
    assert_eq!((window.connected, window.handshake.count()), (10, 10));
    // Each has its first within a tenth of a second, and then one in each until the end.
    let most = 10 * (1 + 10 * all.len() as u64);
    assert!(
        (40..=most).contains(&window.messages_out),
        "{}",
        window.messages_out
    );
    assert!(window.messages_in <= window.messages_out);
    assert_eq!(
        window.request.count() + window.unanswered,
        window.messages_out
    );
    assert_eq!(
        (window.bytes_in, window.bytes_out),
        (7 * window.messages_in, 7 * window.messages_out)
    );
    assert_eq!(total.offered, 10 + window.messages_out);
    assert!(
        window
            .channels
            .values()
            .all(|channel| channel.sightings.is_empty()),
        "echoes are answers"
    );
}

#[test]
fn answers_that_never_come_have_failed() {
    let target = target(2, |key| opens(key, b""));
    let load = WebSocketLoad {
        message: Some(WebSocketMessage {
            text: "anybody?".to_owned(),
            every: Some(ms(1100)),
        }),
        ..load(2, UNTIL_STOPPED)
    };
    let mut plan = plan(target.address);
    plan.transport.timeout = ms(1000);
    let mut running = begin(plan, Load::WebSockets(load));
    let total = total(&stop_when(&mut running, |total| {
        messages(total, |window| window.unanswered) >= 2
    }));
    let window = websocket_window(&total);
    if window.connected < 2 {
        // The time-out is that of the handshakes, too.
        return plimsoll_testkit::not_tried::disturbed(format_args!("{window:?}"));
    }
    assert!(window.messages_out >= 2, "{}", window.messages_out);
    assert_eq!(
        (window.unanswered, window.request.count()),
        (window.messages_out, 0)
    );
    assert_eq!(total.outcomes.get(Outcome::Timeout), window.messages_out);
    assert_eq!(total.outcomes.get(Outcome::Ok), 2, "the handshakes");
    target.thread.join().unwrap();
}

#[test]
fn a_text_without_an_interval_is_sent_once() {
    let target = target(3, |key| opens(key, b""));
    let load = WebSocketLoad {
        message: Some(WebSocketMessage {
            text: "subscribe".to_owned(),
            every: None,
        }),
        ..load(3, UNTIL_STOPPED)
    };
    let mut running = begin(plan(target.address), Load::WebSockets(load));
    let total = total(&stop_when(&mut running, |total| {
        messages(total, |window| window.messages_out) == 3
    }));
    assert_eq!(
        (
            websocket_window(&total).messages_out,
            websocket_window(&total).unanswered
        ),
        (3, 0)
    );
    assert_eq!((total.offered, total.outcomes.get(Outcome::Ok)), (3, 3));
    for read in target.thread.join().unwrap() {
        assert_eq!(read[..2], [0x81, 0x80 | 9], "{read:?}");
    }
}

#[test]
fn a_stop_closes_them_before_their_time() {
    let target = target(3, |key| opens(key, b"\x81\x02hi"));
    let mut running = begin(
        plan(target.address),
        Load::WebSockets(load(3, Duration::from_mins(1))),
    );
    let all = stop_when(&mut running, |total| {
        messages(total, |window| window.connected) == 3
    });
    assert_eq!(websocket_window(&total(&all)).messages_in, 3);
    for read in target.thread.join().unwrap() {
        assert_eq!(close_code(&read), Some(1000), "{read:?}");
    }
}

#[test]
fn an_abort_leaves_nobody_behind() {
    let target = target(3, |key| opens(key, b""));
    let mut running = begin(
        plan(target.address),
        Load::WebSockets(load(3, Duration::from_mins(1))),
    );
    let first = windows_until(&mut running, |total| {
        messages(total, |window| window.connected) == 3
    });
    running.abort();
    let rest: Vec<Window> = std::iter::from_fn(|| running.next_window()).collect();
    // Otherwise it would go on for a minute.
    assert!(
        rest.len() < 10,
        "an abort does not drain: {} more seconds",
        rest.len()
    );
    let all = total(&[first, rest].concat());
    let channel = &websocket_window(&all).channels[&0];
    assert_eq!(
        channel.stays.len() as u64,
        websocket_window(&all).connected,
        "all have ceased to listen"
    );
}

#[test]
fn more_than_may_be_open_is_said_before_the_load() {
    let wanted = 16_000_000;
    let address = "127.0.0.1:9".parse().unwrap();
    let error = refused_at_start(plan(address), load(wanted, ms(10)));
    let LoadError::Descriptors {
        required: needed,
        limit,
    } = &error
    else {
        // A machine without such a limit has no error, and would begin.
        panic!("{error}");
    };
    assert!(*needed > u64::from(wanted) && limit < needed, "{error}");
    assert!(
        error.to_string().contains(&format!("ulimit -n {needed}")),
        "{error}"
    );
}

#[test]
fn values_out_of_their_range_are_named() {
    let address = "127.0.0.1:9".parse().unwrap();
    let mut slow = load(1, ms(10));
    slow.per_second = 0.0;
    let error = refused_at_start(plan(address), slow);
    assert!(error.to_string().contains("rate of handshakes"), "{error}");
    let mut pathless = load(1, ms(10));
    pathless.sequence = Some("seq".to_owned());
    let error = refused_at_start(plan(address), pathless);
    assert!(
        error.to_string().contains("broadcast's sequence number"),
        "{error}"
    );
}

fn refused_at_start(plan: Plan, load: WebSocketLoad) -> LoadError {
    #[expect(clippy::disallowed_methods, reason = "a job needs a start")]
    let epoch = std::time::Instant::now();
    crate::trial::share();
    start(Job {
        seed: plan.seed,
        plan: plan.into(),
        load: Load::WebSockets(load),
        epoch,
        start_second: 0,
        inputs: std::sync::Arc::default(),
    })
    .unwrap_err()
}
