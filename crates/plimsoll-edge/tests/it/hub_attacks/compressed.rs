//! Compressed client messages: odd negotiation; small ones that inflate to large ones, and large ones that cost much
//! and inflate to nothing.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use plimsoll_config::edge::{HubConfig, Rate};
use plimsoll_wire::websocket::deflate::Deflater;
use serde_json::json;

use super::SOCKETS;
use crate::hub::abuse::{HANDSHAKE, masked, raw, read_frames};
use crate::hub::{HubClient, live, only_hub, publish};
use crate::support::{Afloat, connect, read_until, start, wait_for};

fn compressing() -> Afloat {
    start(&only_hub(HubConfig {
        compress: true,
        ..live()
    }))
}

/// Sends this offer; the connection, and the negotiated extension.
fn offering(address: SocketAddr, offer: &str) -> (TcpStream, Option<String>) {
    let mut stream = connect(address);
    let offer = match offer {
        "" => String::new(),
        offer => format!("Sec-WebSocket-Extensions: {offer}\r\n"),
    };
    let request = format!("GET /live HTTP/1.1\r\nHost: {address}\r\n{HANDSHAKE}{offer}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let agreed = head
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Extensions: "));
    (stream, agreed.map(str::to_owned))
}

/// A connection with compression.
fn agreed(address: SocketAddr) -> TcpStream {
    offering(address, "permessage-deflate").0
}

fn deflated(deflater: &mut Deflater, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    deflater.deflate(text.as_bytes(), &mut out);
    out
}

#[test]
fn windows_are_agreed_on_in_one_way_only() {
    const BOTH_ANEW: &str =
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
    let edge = compressing();
    let many = vec!["permessage-deflate; server_max_window_bits=8"; 100].join(", ");
    for (offer, taken) in [
        ("permessage-deflate", true),
        ("permessage-deflate; client_max_window_bits", true),
        ("permessage-deflate; client_max_window_bits=8", true),
        ("permessage-deflate; server_max_window_bits=15", true),
        // Unsupported window sizes, and invalid ones.
        ("permessage-deflate; server_max_window_bits=8", false),
        ("permessage-deflate; server_max_window_bits=7", false),
        ("permessage-deflate; server_max_window_bits=16", false),
        ("permessage-deflate; server_max_window_bits", false),
        (
            "permessage-deflate; client_max_window_bits=99999999999",
            false,
        ),
        ("permessage-deflate; server_no_context_takeover=1", false),
        (
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            false,
        ),
        ("permessage-deflate; mystery", false),
        ("permessage-bzip2", false),
        (many.as_str(), false),
    ] {
        let (_stream, agreed) = offering(edge.address, offer);
        // No context takeover, whatever was offered.
        assert_eq!(agreed.as_deref(), taken.then_some(BOTH_ANEW), "{offer}");
    }
}

#[test]
fn bits_that_were_not_agreed_on_end_who_sent_them() {
    let edge = compressing();
    let packed = deflated(&mut Deflater::new(6, false), r#"{"subscribe":["a"]}"#);
    for (what, offer, bytes) in [
        ("not offered", "", raw(0xc1, &packed)),
        (
            "not agreed to",
            "permessage-deflate; server_max_window_bits=8",
            raw(0xc1, &packed),
        ),
        ("another bit", "permessage-deflate", raw(0xa1, &packed)),
        ("a third bit", "permessage-deflate", raw(0x91, &packed)),
        ("on a ping", "permessage-deflate", raw(0xc9, b"")),
        (
            "on a later piece",
            "permessage-deflate",
            [raw(0x41, &packed[..2]), raw(0xc0, &packed[2..])].concat(),
        ),
    ] {
        let (mut stream, _) = offering(edge.address, offer);
        stream.write_all(&bytes).unwrap();
        assert_eq!(read_frames(stream), (Vec::new(), Some(1002)), "{what}");
    }
}

/// One inflater serves all clients of a loop: earlier messages of this or another client are not available to a message
/// that refers to them.
#[test]
fn nobody_reads_from_the_window_of_another() {
    let mut config = only_hub(HubConfig {
        compress: true,
        ..live()
    });
    // Both are clients of one loop.
    config.cores = Some(1);
    let edge = start(&config);
    let secret = r#"{"subscribe":["a-secret-channel-of-some-length"]}"#;
    let mut keeping = Deflater::new(9, true);
    let first = deflated(&mut keeping, secret);
    let second = deflated(&mut keeping, secret);
    assert!(second.len() < first.len() / 2, "it refers to the first");
    let mut victim = agreed(edge.address);
    victim.write_all(&raw(0xc1, &first)).unwrap();
    wait_for(&edge, super::CHANNELS, 1.0);
    // The referenced data is not there: the result is something else, and not a command.
    let farewell = masked(8, &1000_u16.to_be_bytes());
    let mut stranger = agreed(edge.address);
    for stream in [&mut stranger, &mut victim] {
        stream.write_all(&raw(0xc1, &second)).unwrap();
        stream.write_all(&farewell).unwrap();
    }
    for stream in [stranger, victim] {
        let (texts, code) = read_frames(stream);
        let last = texts.last().unwrap();
        assert_eq!(code, Some(1000), "{last}");
        assert!(last.contains("not a command"), "{last}");
        assert!(!last.contains("secret"), "{last}");
    }
    wait_for(&edge, SOCKETS, 0.0);
}

#[test]
fn bombs_in_pieces_of_many_clients_end_who_sent_them() {
    const BOMBERS: usize = 30;
    let edge = compressing();
    let mut good = HubClient::open(edge.address);
    good.subscribe("a");
    // 64 MiB in 64 KiB: a thousandth.
    let bomb = deflated(&mut Deflater::new(9, false), &" ".repeat(60 << 20));
    assert!(bomb.len() < 64 << 10, "{}", bomb.len());
    let pieces: Vec<&[u8]> = bomb.chunks(bomb.len().div_ceil(50)).collect();
    let mut frames = raw(0x41, pieces[0]);
    for (number, piece) in pieces.iter().enumerate().skip(1) {
        let is_last = number == pieces.len() - 1;
        frames.extend(raw(if is_last { 0x80 } else { 0 }, piece));
    }
    let streams: Vec<TcpStream> = (0..BOMBERS)
        .map(|_| {
            let mut stream = agreed(edge.address);
            stream.write_all(&frames).unwrap();
            stream
        })
        .collect();
    for stream in streams {
        assert_eq!(read_frames(stream), (Vec::new(), Some(1009)));
    }
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
}

/// Empty blocks cost hundreds of times as much to inflate as text does, and so do blocks marked as final. The cost is
/// bounded by the received bytes.
#[test]
fn messages_that_cost_much_and_become_nothing_count_by_their_length() {
    const LEN: usize = 32 << 10;
    const BURST: u32 = 100;
    /// Commands beyond its rate after which a client is disconnected.
    const STRIKES: usize = 100;
    let edge = start(&only_hub(HubConfig {
        compress: true,
        commands: Rate {
            per_second: 0.001,
            burst: BURST,
        },
        ..live()
    }));
    let mut good = HubClient::open(edge.address);
    good.subscribe("a");
    let mut stream = agreed(edge.address);
    let _ = stream.write_all(&raw(0xc1, &b"\x03\x00".repeat(LEN / 2)));
    assert_eq!(read_frames(stream), (Vec::new(), Some(1007)), "last blocks");
    // Ten bits each: not final, fixed codes, end of block.
    let empty = empty_blocks(LEN);
    let mut stream = agreed(edge.address);
    // Each counts as one command plus one per KiB.
    let allowed = BURST as usize / (1 + LEN / 1024) + 1;
    // Exactly what leads to the end: a reset for what nobody reads any more would overtake its reason.
    let _ = stream.write_all(&raw(0xc1, &empty).repeat(allowed + STRIKES));
    let (texts, code) = read_frames(stream);
    let inflated = texts.iter().filter(|text| text.contains("not a command"));
    assert_eq!((inflated.count(), code), (allowed, Some(1008)));
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
}

fn empty_blocks(len: usize) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    while bytes.len() < len {
        bits |= 0b10 << count;
        count += 10;
        while count >= 8 {
            bytes.push(bits.to_le_bytes()[0]);
            bits >>= 8;
            count -= 8;
        }
    }
    bytes
}

#[test]
fn who_keeps_to_the_rules_is_understood() {
    let edge = compressing();
    let mut stream = agreed(edge.address);
    let mut deflater = Deflater::new(6, false);
    let long = format!(
        r#"{{"unsubscribe":["{}"],"id":"long"}}"#,
        "x".repeat(50_000)
    );
    for text in [r#"{"subscribe":["a"],"id":1}"#, &long] {
        stream
            .write_all(&raw(0xc1, &deflated(&mut deflater, text)))
            .unwrap();
    }
    stream
        .write_all(&masked(8, &1000_u16.to_be_bytes()))
        .unwrap();
    // Short replies are sent uncompressed.
    let (texts, code) = read_frames(stream);
    assert!(texts[0].contains(r#""subscribed":"a""#), "{texts:?}");
    assert_eq!(texts[1], r#"{"id":"long","done":true}"#);
    assert_eq!(code, Some(1000));
}
