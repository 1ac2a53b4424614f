//! Readers that do not read: sockets and events, new and recovered messages.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubRule, HubSlow};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::{EVENTS, SOCKETS, patient};
use crate::hub::abuse::{HANDSHAKE, masked};
use crate::hub::{HubClient, only_hub, publish};
use crate::support::{PATIENCE, metric, read_until, start, wait_for};

const UNRECOVERED: &str = "plimsoll_edge_hub_unrecovered_total";
const RECOVERED: &str = "plimsoll_edge_hub_recovered_total";

/// A connection with a small receive buffer.
fn narrow(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn single_loop(hub: HubConfig) -> EdgeConfig {
    let mut edge = only_hub(hub);
    edge.cores = Some(1);
    edge
}

#[test]
fn readers_of_events_that_never_read_are_held_to_what_may_wait() {
    const MESSAGES: usize = 100;
    const LEN: usize = 30_000;
    const READERS: usize = 20;
    let edge = start(&single_loop(HubConfig {
        slow: HubSlow::Newest,
        waiting_max: 8,
        waiting_bytes_max: 128 << 10,
        ..patient()
    }));
    let mut good = HubClient::open(edge.address);
    good.subscribe("a");
    let readers: Vec<TcpStream> = (0..READERS)
        .map(|_| {
            let mut stream = narrow(edge.address);
            let request = format!(
                "GET /live?channel=a HTTP/1.1\r\nHost: {}\r\n\r\n",
                edge.address
            );
            stream.write_all(request.as_bytes()).unwrap();
            read_until(&mut stream, "\r\n\r\n");
            stream
        })
        .collect();
    for number in 0..MESSAGES {
        publish(&edge, "a", &json!([number, "x".repeat(LEN)]));
        assert_eq!(good.receive()["data"][0], number);
    }
    good.settle();
    // Messages not dropped are in kernel buffers, or among the four that fit into the output limit.
    let dropped = metric(&edge, "plimsoll_edge_hub_dropped_total").unwrap();
    let held = (MESSAGES * READERS) as f64 - dropped;
    let most = (READERS * (4 + (512 << 10) / LEN)) as f64;
    assert!(held <= most, "{held} messages of {most}");
    assert_eq!(metric(&edge, EVENTS), Some(READERS as f64));
    drop(readers);
    wait_for(&edge, EVENTS, 0.0);
}

/// Clients that recover all missed messages and do not read them: the pending data belongs to old histories that
/// nothing else holds. It is counted, for all of them together.
#[test]
fn histories_wait_for_those_who_do_not_read_within_one_bound() {
    const HISTORIES: u64 = 2 << 20;
    const ATTACKERS: usize = 12;
    const CHANNELS: usize = 40;
    let edge = start(&single_loop(HubConfig {
        history_bytes_max: HISTORIES,
        channels: vec![HubRule {
            history_age: std::time::Duration::from_hours(1),
            ..HubRule::of("*")
        }],
        ..patient()
    }));
    let filling = "x".repeat(20_000);
    let mut wanted = Vec::new();
    for number in 0..CHANNELS {
        let channel = format!("c-{number}");
        let first = publish(&edge, &channel, &json!(0));
        publish(&edge, &channel, &json!(filling));
        wanted.push(json!({ "channel": channel, "epoch": first["epoch"], "offset": 1 }));
    }
    let held = metric(&edge, "plimsoll_edge_hub_history_bytes").unwrap();
    assert!(held > 500_000.0 && held <= HISTORIES as f64, "{held}");
    let command = json!({ "subscribe": wanted }).to_string();
    let mut attackers = Vec::new();
    for number in 1..=ATTACKERS {
        let mut stream = narrow(edge.address);
        let request = format!(
            "GET /live HTTP/1.1\r\nHost: {}\r\n{HANDSHAKE}\r\n",
            edge.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, "\r\n\r\n");
        stream.write_all(&masked(1, command.as_bytes())).unwrap();
        attackers.push(stream);
        let done = |edge| metric(edge, RECOVERED).unwrap() + metric(edge, UNRECOVERED).unwrap();
        edge.wait_until("all of its wishes are answered", || {
            done(&edge) >= (number * CHANNELS) as f64
        });
    }
    // The kernel buffers some for each; beyond that no more is pending than all histories may use.
    let recovered = metric(&edge, RECOVERED).unwrap();
    let most = (HISTORIES as f64 + (ATTACKERS * (512 << 10)) as f64) / 20_000.0;
    assert!(recovered <= most, "{recovered} of {most}");
    assert!(
        metric(&edge, UNRECOVERED).unwrap() > 0.0,
        "{recovered} recovered"
    );
    // A client that cannot recover continues as a normal client.
    let mut good = HubClient::open(edge.address);
    good.subscribe("c-0");
    publish(&edge, "c-0", &json!("new"));
    assert_eq!(good.receive()["data"], "new");
    drop((attackers, good));
    wait_for(&edge, SOCKETS, 0.0);
    // When they are gone, others can recover again.
    let mut good = HubClient::open(edge.address);
    good.send(&json!({ "subscribe": [wanted[1]], "id": 1 }));
    let reply: Value = good.receive();
    assert_eq!(reply["recovered"], true, "{reply}");
}
