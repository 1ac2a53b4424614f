//! Slow readers are handled as configured, use bounded memory, and do not affect others.

use std::net::TcpStream;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubSlow};
use serde_json::json;
use socket2::{Domain, Socket, Type};

use super::{HubClient, live, only_hub, publish};
use crate::support::{PATIENCE, metric, start};

/// Longer than all kernel buffers of a connection.
const LEN: usize = 60_000;
const MESSAGES: usize = 150;

fn config(slow: HubSlow) -> EdgeConfig {
    let mut edge = only_hub(HubConfig {
        slow,
        waiting_max: 4,
        ..live()
    });
    // Both are clients of one loop.
    edge.cores = Some(1);
    edge
}

/// A client with a small receive buffer.
fn narrow(address: std::net::SocketAddr) -> HubClient {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(8192).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (socket, _) = tungstenite::client(format!("ws://{address}/live"), stream).unwrap();
    HubClient { socket }
}

#[test]
fn the_newest_wins_for_who_reads_late() {
    let edge = start(&config(HubSlow::Newest));
    let (mut good, mut slow) = (HubClient::open(edge.address), narrow(edge.address));
    good.subscribe("a");
    slow.subscribe("a");
    let filling = "x".repeat(LEN);
    for number in 0..MESSAGES {
        publish(&edge, "a", &json!([number, filling]));
        // A fast reader receives all of them, at once.
        assert_eq!(good.receive()["data"][0], number);
    }
    // The loop replies after all earlier messages.
    good.settle();
    let dropped = metric(&edge, "plimsoll_edge_hub_dropped_total").unwrap();
    assert!(dropped > 0.0 && dropped < MESSAGES as f64, "{dropped}");
    // Received messages are in order and end with the newest; dropped ones are counted.
    let mut offsets = Vec::new();
    while offsets.last() != Some(&(MESSAGES as u64)) {
        let message = slow.receive();
        offsets.push(message["offset"].as_u64().unwrap());
    }
    assert!(offsets.is_sorted());
    assert_eq!(Some((MESSAGES - offsets.len()) as f64), Some(dropped));
    // From then on it behaves like any other.
    publish(&edge, "a", &json!("last"));
    assert_eq!(slow.receive()["data"], "last");
    assert_eq!(good.receive()["data"], "last");
}

#[test]
fn who_is_too_slow_is_disconnected_and_may_return() {
    let edge = start(&config(HubSlow::Disconnect));
    let (mut good, mut slow) = (HubClient::open(edge.address), narrow(edge.address));
    good.subscribe("a");
    let reply = slow.subscribe("a");
    let filling = json!("x".repeat(LEN));
    edge.wait_until("somebody is too slow", || {
        publish(&edge, "a", &filling);
        good.receive();
        metric(&edge, "plimsoll_edge_hub_disconnected_total") != Some(0.0)
    });
    drop(good);
    // It reads what was in flight, and the close reason if it reads soon enough.
    let mut last = reply["offset"].as_u64().unwrap();
    while let Ok(message) = slow.socket.read() {
        if let tungstenite::Message::Text(text) = message {
            let message: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(message["offset"].as_u64(), Some(last + 1));
            last += 1;
        }
    }
    super::wait_for_clients(&edge, 0.0);
    let mut returned = HubClient::open(edge.address);
    let since = json!({ "channel": "a", "epoch": reply["epoch"], "offset": last });
    returned.send(&json!({ "subscribe": [since], "id": 1 }));
    assert_eq!(returned.receive()["subscribed"], "a");
}

#[test]
fn who_does_not_answer_is_gone() {
    let mut edge = config(HubSlow::Newest);
    edge.hub.as_mut().unwrap().ping = std::time::Duration::from_millis(50);
    let edge = start(&edge);
    // A client that neither reads nor answers pings, but whose connection is open.
    let silent = narrow(edge.address);
    super::wait_for_clients(&edge, 0.0);
    drop(silent);
}
