//! Endless sequences of valid frames: control frames, fragments, unsolicited messages.

use std::io::Write as _;
use std::net::TcpStream;

use plimsoll_config::edge::{EdgeConfig, EdgeLimits, HubConfig};
use serde_json::json;

use super::{SOCKETS, wait_for_nobody};
use crate::hub::abuse::{HANDSHAKE, masked, open, raw, read_frames};
use crate::hub::{HubClient, live, only_hub, publish};
use crate::support::{connect, metric, read_until, start, wait_for};

/// A well-behaved client beside the attackers.
fn honest(address: std::net::SocketAddr) -> HubClient {
    let mut good = HubClient::open(address);
    good.subscribe("a");
    good
}

#[test]
fn control_frames_count_as_commands() {
    let edge = start(&only_hub(live()));
    let mut good = honest(edge.address);
    let answers = masked(10, b"x").repeat(1000);
    let pings = masked(9, b"x").repeat(1000);
    // Between the fragments of a message they count as well.
    let between = [raw(0x01, b"{"), answers.clone()].concat();
    for (what, flood) in [
        ("pongs", &answers),
        ("pings", &pings),
        ("between", &between),
    ] {
        let mut stream = open(edge.address);
        // The rest meets a closed connection.
        let _ = stream.write_all(flood);
        assert_eq!(read_frames(stream).1, Some(1008), "{what}");
    }
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
}

#[test]
fn who_says_on_after_its_farewell_is_not_heard() {
    let edge = start(&only_hub(live()));
    let mut good = honest(edge.address);
    let mut stream = open(edge.address);
    let publishing = masked(1, br#"{"subscribe":["b"],"id":1}"#).repeat(100);
    let _ = stream.write_all(&[masked(8, &1000_u16.to_be_bytes()), publishing].concat());
    assert_eq!(read_frames(stream), (Vec::new(), Some(1000)));
    wait_for(&edge, SOCKETS, 1.0);
    assert_eq!(metric(&edge, super::CHANNELS), Some(1.0));
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
}

/// Unfinished messages count into the memory of the edge: at the limit, their senders are disconnected.
#[test]
fn messages_in_pieces_count_into_the_memory_of_the_edge() {
    const MEMORY_MAX: u64 = 2 << 20;
    const ATTACKERS: usize = 60;
    let edge = start(&EdgeConfig {
        cores: Some(1),
        limits: EdgeLimits {
            memory_max: MEMORY_MAX,
            ..EdgeLimits::default()
        },
        ..only_hub(HubConfig {
            message_len_max: 64 << 10,
            ..live()
        })
    });
    let mut good = honest(edge.address);
    let piece = vec![b' '; 60_000];
    let mut streams: Vec<TcpStream> = Vec::new();
    for _ in 0..ATTACKERS {
        let mut stream = connect(edge.address);
        let request = format!("GET /live HTTP/1.1\r\nHost: a\r\n{HANDSHAKE}\r\n");
        // Two fragments of a message that never ends; clients without room have been rejected.
        let pieces = [raw(0x01, &piece), raw(0x00, b" ")].concat();
        let _ = stream.write_all(&[request.into_bytes(), pieces].concat());
        streams.push(stream);
    }
    for stream in &mut streams {
        let head = read_until(stream, "\r\n\r\n");
        let status = head.get(9..12);
        assert!(matches!(status, Some("101" | "503")), "{head}");
    }
    // This many fit, and no more: the others are disconnected. Each is checked when it sends; the traffic is far below
    // its rate limit.
    let fit = MEMORY_MAX / 60_000;
    let mut rounds = 0;
    edge.wait_until("those beyond the memory are sent away", || {
        rounds += 1;
        for stream in streams.iter_mut().filter(|_| rounds <= 50) {
            let _ = stream.write_all(&masked(10, b""));
        }
        metric(&edge, SOCKETS).unwrap() <= fit as f64 + 2.0
    });
    good.settle();
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
    drop(streams);
    drop(good);
    wait_for(&edge, SOCKETS, 0.0);
}

#[test]
fn heads_of_frames_that_never_come_whole_hold_nobody_up() {
    let edge = start(&only_hub(live()));
    let mut good = honest(edge.address);
    let streams: Vec<TcpStream> = (0..50)
        .map(|number| {
            let mut stream = open(edge.address);
            let frame = masked(1, br#"{"subscribe":["b"]}"#);
            stream.write_all(&frame[..=number % 10]).unwrap();
            stream
        })
        .collect();
    publish(&edge, "a", &json!("still here"));
    assert_eq!(good.receive()["data"], "still here");
    assert_eq!(metric(&edge, SOCKETS), Some(51.0));
    drop((streams, good));
    wait_for(&edge, SOCKETS, 0.0);
}

#[test]
fn half_a_handshake_is_no_client() {
    let edge = start(&only_hub(live()));
    let mut streams = Vec::new();
    for _ in 0..50 {
        let mut stream = connect(edge.address);
        let _ = stream.write_all(b"GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n");
        streams.push(stream);
    }
    assert_eq!(metric(&edge, SOCKETS), Some(0.0));
    drop(streams);
    wait_for_nobody(&edge);
}
