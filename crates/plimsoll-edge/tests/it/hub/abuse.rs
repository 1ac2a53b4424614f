//! Protocol violations: each is reported or rejected, and no other client is affected.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use plimsoll_config::edge::{HubConfig, Rate};
use plimsoll_wire::websocket::deflate::Deflater;
use plimsoll_wire::websocket::{Event, Role, WebSocketLimits, WebSocketReader};
use serde_json::json;

use super::{HubClient, live, only_hub, publish};
use crate::support::{connect, read_until, send_request, start, status_and_body};

pub(crate) const HANDSHAKE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A raw connection after the upgrade.
pub(crate) fn open(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    let request = format!("GET /live HTTP/1.1\r\nHost: {address}\r\n{HANDSHAKE}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    stream
}

/// A complete client frame with these low bits in the first byte.
pub(crate) fn masked(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw(0x80 | opcode, payload)
}

/// A client's frame with any first byte.
pub(crate) fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
    const KEY: [u8; 4] = [1, 2, 3, 4];
    let mut frame = vec![first];
    match u16::try_from(payload.len()) {
        Ok(len @ ..=125) => frame.push(0x80 | len.to_be_bytes()[1]),
        Ok(len) => {
            frame.push(0x80 | 0x7e);
            frame.extend_from_slice(&len.to_be_bytes());
        }
        Err(_) => {
            frame.push(0x80 | 0x7f);
            frame.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&KEY);
    frame.extend(payload.iter().zip(KEY.iter().cycle()).map(|(a, b)| a ^ b));
    frame
}

/// Everything received until the end: texts, and the code of the close frame.
pub(crate) fn read_frames(mut stream: TcpStream) -> (Vec<String>, Option<u16>) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let (mut texts, mut code) = (Vec::new(), None);
    let mut reader = WebSocketReader::new(Role::Client, false);
    let mut rest = &mut bytes[..];
    while !rest.is_empty() {
        let (taken, event) = reader.next(rest, &WebSocketLimits::default()).unwrap();
        match event {
            Some(Event::Text(text)) => texts.push(text.into_owned()),
            Some(Event::Close(close)) => code = close.code,
            _ => {}
        }
        rest = &mut rest[taken..];
    }
    (texts, code)
}

#[test]
fn frames_that_break_the_protocol_end_who_sent_them() {
    let edge = start(&only_hub(HubConfig {
        message_len_max: 1000,
        ..live()
    }));
    let mut good = HubClient::open(edge.address);
    good.subscribe("a");
    let unmasked = b"\x81\x02{}".to_vec();
    let fragments = [raw(0x01, b"{"), raw(0x00, b" ").repeat(70)].concat();
    let long_fragments = [raw(0x01, &[b' '; 900]), raw(0x00, &[b' '; 900])].concat();
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("unmasked", unmasked, 1002),
        ("too long", masked(1, &[b' '; 1001]), 1009),
        (
            "said to be too long",
            b"\x81\xff\x00\x00\x00\x00\xff\xff\xff\xffmask".to_vec(),
            1009,
        ),
        (
            "a length of 64 bits",
            b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffmask".to_vec(),
            1002,
        ),
        ("not UTF-8", masked(1, b"\xff\xfe"), 1007),
        ("fragments that are not UTF-8", raw(0x01, b"\xc3\x28"), 1007),
        ("fragments without end", fragments, 1008),
        ("long fragments", long_fragments, 1009),
        ("a fragment of nothing", raw(0x80, b"x"), 1002),
        (
            "a message in a message",
            [raw(0x01, b"{"), masked(1, b"{}")].concat(),
            1002,
        ),
        ("a long ping", masked(9, &[b'x'; 126]), 1002),
        ("a ping in pieces", raw(0x09, b"x"), 1002),
        ("half a close code", masked(8, b"\x03"), 1002),
        (
            "a close code that is none",
            masked(8, &1005_u16.to_be_bytes()),
            1002,
        ),
        ("a reserved opcode", masked(3, b""), 1002),
        ("a reserved bit", raw(0xc1, b"{}"), 1002),
        ("bytes", masked(2, b"{}"), 1003),
    ];
    for (what, bytes, code) in cases {
        let mut stream = open(edge.address);
        stream.write_all(&bytes).unwrap();
        assert_eq!(read_frames(stream), (Vec::new(), Some(code)), "{what}");
    }
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
}

/// Half a mebibyte compressed to some hundred bytes, and data that is not a compressed message.
#[test]
fn a_compression_bomb_ends_who_sent_it() {
    let edge = start(&only_hub(HubConfig {
        compress: true,
        message_len_max: 1000,
        ..live()
    }));
    let mut good = HubClient::open(edge.address);
    good.subscribe("a");
    let mut bomb = Vec::new();
    Deflater::new(9, false).deflate(&b" ".repeat(1 << 19), &mut bomb);
    assert!(bomb.len() < 1000, "{}", bomb.len());
    for (payload, code) in [(&bomb[..], 1009), (b"\xff\xff\xff", 1007)] {
        let mut stream = connect(edge.address);
        let request = format!(
            "GET /live HTTP/1.1\r\nHost: {}\r\n{HANDSHAKE}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
            edge.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let head = read_until(&mut stream, "\r\n\r\n");
        assert!(head.contains("permessage-deflate"), "{head}");
        stream.write_all(&raw(0xc1, payload)).unwrap();
        assert_eq!(read_frames(stream), (Vec::new(), Some(code)));
    }
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
}

#[test]
fn whoever_closes_is_closed_with_the_same_code() {
    let edge = start(&only_hub(live()));
    let mut stream = open(edge.address);
    let farewell = [&4321_u16.to_be_bytes()[..], b"bye"].concat();
    stream.write_all(&masked(8, &farewell)).unwrap();
    assert_eq!(read_frames(stream), (Vec::new(), Some(4321)));
    // A ping is answered with its payload, also between the fragments of a message; early data is handled.
    let mut stream = connect(edge.address);
    let request = format!(
        "GET /live HTTP/1.1\r\nHost: {}\r\n{HANDSHAKE}\r\n",
        edge.address
    );
    let early = [
        request.into_bytes(),
        raw(0x01, br#"{"subscribe":["a"],"#),
        masked(9, b"are you there"),
        raw(0x80, br#""id":1}"#),
    ];
    stream.write_all(&early.concat()).unwrap();
    read_until(&mut stream, "\r\n\r\n");
    let mut reader = WebSocketReader::new(Role::Client, false);
    let mut received = Vec::new();
    let mut byte = [0];
    while received.len() < 2 {
        stream.read_exact(&mut byte).unwrap();
        let (_, event) = reader.next(&mut byte, &WebSocketLimits::default()).unwrap();
        received.extend(event.map(Event::into_owned));
    }
    assert_eq!(received[0], Event::Pong(b"are you there"[..].into()));
    assert!(
        matches!(&received[1], Event::Text(text) if text.starts_with(r#"{"id":1,"subscribed":"a","epoch":"#)),
        "{received:?}"
    );
}

#[test]
fn what_is_not_understood_is_told_and_floods_end() {
    let edge = start(&only_hub(HubConfig {
        subscriptions_max: 3,
        commands: Rate {
            per_second: 0.001,
            burst: 5,
        },
        ..live()
    }));
    let mut stream = open(edge.address);
    let text_frame = |text: &str| masked(1, text.as_bytes());
    let frames = [
        text_frame("nonsense"),
        text_frame(r#"{"subscribe":["a","b","c","d","d"]}"#),
        text_frame(r#"{"subscribe":["a"]}"#),
        text_frame(&format!(r#"{{"subscribe":["{}"]}}"#, "x".repeat(300))),
        text_frame(r#"{"publish":{"channel":"a","data":1}}"#),
    ];
    let flood = text_frame(r#"{"subscribe":["e"]}"#).repeat(150);
    stream
        .write_all(&[frames.concat(), flood].concat())
        .unwrap();
    let (texts, code) = read_frames(stream);
    for (text, expected) in texts.iter().zip([
        "not a command: expected ident",
        "the client's limit of subscriptions is reached",
        "the client's limit of subscriptions is reached",
        "the client's limit of subscriptions is reached",
        "the client's limit of subscriptions is reached",
        "clients may not publish",
    ]) {
        assert!(text.contains(expected), "{text} is not {expected}");
    }
    let too_often = texts
        .iter()
        .filter(|text| text.contains("too many commands"));
    assert_eq!((too_often.count(), code), (100, Some(1008)));
    // Pings count, too.
    let mut stream = open(edge.address);
    stream.write_all(&masked(9, b"x").repeat(150)).unwrap();
    assert_eq!(read_frames(stream), (Vec::new(), Some(1008)));
}

#[test]
fn pages_of_other_origins_are_refused() {
    let edge = start(&only_hub(HubConfig {
        origins: vec!["https://a.example".to_owned()],
        ..live()
    }));
    let address = edge.address;
    let origin = |origin: &str, rest: &str| {
        let request = format!(
            "GET /live{rest} HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\n{}\r\n",
            if rest.is_empty() { HANDSHAKE } else { "" }
        );
        let mut stream = connect(address);
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, "\r\n\r\n")
    };
    for good in [format!("http://{address}"), "https://a.example".to_owned()] {
        assert!(origin(&good, "").starts_with("HTTP/1.1 101 "), "{good}");
        assert!(
            origin(&good, "?channel=a").starts_with("HTTP/1.1 200 "),
            "{good}"
        );
    }
    let allowed = origin("https://a.example", "?channel=a");
    assert!(allowed.contains("\r\nAccess-Control-Allow-Origin: https://a.example\r\n"));
    for bad in [
        "https://evil.example",
        "null",
        "https://a.example.evil.example",
        "",
        &format!("http://{address}\r\nOrigin: http://{address}"),
    ] {
        for rest in ["", "?channel=a"] {
            let response = origin(bad, rest);
            assert!(
                response.starts_with("HTTP/1.1 403 Forbidden\r\n"),
                "{bad}: {response}"
            );
            assert!(response.contains("X-Plimsoll: hub\r\n"), "{response}");
        }
    }
}

#[test]
fn requests_that_open_nothing_are_told_what_is_missing() {
    let edge = start(&only_hub(live()));
    let address = edge.address;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let many = format!("GET /live?{}", "channel=a&".repeat(101));
    for (line, headers, status, why) in [
        ("GET /live", String::new(), 400, "?channel=game-1"),
        ("GET /live?chanel=a", String::new(), 400, "?channel=game-1"),
        (many.as_str(), String::new(), 400, "at most 100"),
        ("DELETE /live?channel=a", String::new(), 405, "use GET"),
        (
            "POST /live",
            "Content-Length: 2\r\n".to_owned(),
            400,
            "must have no body",
        ),
        ("GET /live", format!("{upgrade}{key}"), 426, "valid: 13"),
        (
            "GET /live",
            format!("{upgrade}Sec-WebSocket-Version: 8\r\n{key}"),
            426,
            "valid: 13",
        ),
        (
            "GET /live",
            format!("{upgrade}Sec-WebSocket-Version: 13\r\n"),
            400,
            "Sec-WebSocket-Key",
        ),
        (
            "GET /live",
            format!("Sec-WebSocket-Version: 13\r\n{key}"),
            426,
            "not a valid WebSocket upgrade request",
        ),
    ] {
        let response = send_request(
            address,
            format!("{line} HTTP/1.1\r\nHost: {address}\r\n{headers}Connection: close\r\n\r\n"),
        );
        let (answered, body) = status_and_body(&response);
        assert_eq!(answered, status, "{line} {headers}: {response}");
        assert!(body.contains(why), "{line} {headers}: {response}");
    }
}
