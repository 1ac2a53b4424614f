//! Channels that two edges share through a real NATS that is stopped and restarted.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubShared, HubSharedKind};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Nats;
use serde_json::{Value, json};

use super::shared::{JOINED, return_to};
use super::{HubClient, live, only_hub, publish, publish_as};
use crate::support::{Afloat, ObservedEdge, connect, read_until, wait_for};

const RULES: &str = "authorization { user: u, password: a-secret }\nmax_payload: 8192";

fn sharing(nats: SocketAddr) -> EdgeConfig {
    only_hub(HubConfig {
        shared: Some(HubShared {
            kind: HubSharedKind::Nats,
            host: nats.ip().to_string(),
            port: nats.port(),
            user: Some("u".to_owned()),
            password: Some("a-secret".to_owned()),
            tls: None,
            name: "live".to_owned(),
            messages_max: 100,
            bytes_max: 1 << 20,
        }),
        ..live()
    })
}

fn start(nats: SocketAddr) -> Afloat {
    let edge = crate::support::start(&sharing(nats));
    wait_for(&edge, JOINED, 1.0);
    edge
}

/// Sends a request to the server; its reply.
fn nats_request(address: SocketAddr, subject: &str, data: &str) -> Value {
    let mut stream = connect(address);
    let commands = format!(
        "CONNECT {{\"verbose\":false,\"user\":\"u\",\"pass\":\"a-secret\"}}\r\nSUB a 1\r\nPUB {subject} a {}\r\n{data}\r\n",
        data.len()
    );
    stream.write_all(commands.as_bytes()).unwrap();
    read_until(&mut stream, "MSG a 1 ");
    read_until(&mut stream, "\r\n");
    serde_json::from_str(read_until(&mut stream, "\r\n").trim()).unwrap()
}

#[test]
fn what_is_published_to_one_edge_reaches_the_clients_of_all_through_nats() {
    let nats = Nats::streaming_at(port::unused(), RULES);
    let (first, second) = (start(nats.address), start(nats.address));
    let mut here = HubClient::open(first.address);
    let mut there = HubClient::open(second.address);
    for channel in ["chat \"1\"", "game"] {
        here.subscribe(channel);
        there.subscribe(channel);
    }
    let mut last = json!(null);
    for number in 0..20 {
        let edge = [&first, &second][number % 2];
        let place = publish(edge, ["game", "chat \"1\""][number % 3 % 2], &json!(number));
        let (received, other) = (here.receive(), there.receive());
        assert_eq!(received, other);
        assert_eq!(
            (&received["data"], &received["offset"], &received["epoch"]),
            (&json!(number), &place["offset"], &place["epoch"])
        );
        last = received;
    }
    // Above the server's limit: it is rejected, and concurrent messages are not.
    let long = json!({ "channel": "game", "data": "x".repeat(9000) });
    let (status, reply) = publish_as(&first, None, &long.to_string());
    assert_eq!(status, 413, "{reply}");
    for data in [1, 2] {
        publish(&second, "game", &json!(data));
    }
    for edge in [&first, &second] {
        wait_for(edge, "plimsoll_edge_hub_shared_read_total", 22.0);
    }
    // Its own edge is gone: at the other one, and at a newly started one, it receives what it missed.
    drop((here, first));
    let third = start(nats.address);
    for edge in [&second, &third] {
        let (mut client, reply) = return_to(edge, "game", &last);
        assert_eq!(reply["recovered"], true, "{reply}");
        for data in [1, 2] {
            assert_eq!(client.receive()["data"], data);
        }
        client.settle();
    }
    // NATS stores the last messages.
    for number in 0..110 {
        publish(&second, "game", &json!(number));
    }
    let info = nats_request(nats.address, "$JS.API.STREAM.INFO.live", "");
    assert_eq!(info["state"]["messages"], 100, "{info}");
}

#[test]
fn nats_goes_and_comes_back() {
    let address = port::unused();
    // Without JetStream nothing can be shared.
    let nats = Nats::start_at(address, RULES);
    let observed = ObservedEdge::start(&sharing(address));
    let message = observed.wait_for_message("which the hub shares, is unavailable");
    assert!(message.contains("JetStream is not enabled"), "{message}");
    drop(nats);
    let nats = Nats::streaming_at(address, RULES);
    observed.wait_for_message("the hub shares NATS at");
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("a");
    let before = publish(&observed.edge, "a", &json!(1));
    assert_eq!(client.receive()["data"], 1);
    drop(nats);
    observed.wait_for_message("is unavailable");
    let body = r#"{"channel":"a","data":1}"#;
    assert_eq!(publish_as(&observed.edge, None, body).0, 503);
    // Connected clients stay, and others may connect; a new one starts at this edge's position.
    let (other, reply) = return_to(&observed.edge, "a", &before);
    assert_eq!(reply["recovered"], true);
    drop(other);
    let _nats = Nats::streaming_at(address, RULES);
    observed.wait_for_message("messages stored in NATS");
    observed.wait_for_message("the hub shares NATS at");
    let lost = client.receive();
    assert_eq!(
        (&lost["subscribed"], &lost["recovered"]),
        (&json!("a"), &json!(false))
    );
    assert_ne!(lost["epoch"], before["epoch"]);
    let after = publish(&observed.edge, "a", &json!(2));
    assert_eq!(client.receive()["data"], 2);
    assert_eq!(after["epoch"], lost["epoch"]);
    // The stream is deleted.
    nats_request(address, "$JS.API.STREAM.DELETE.live", "");
    let lost = client.receive();
    assert_eq!(lost["recovered"], false, "{lost}");
    assert_ne!(lost["epoch"], after["epoch"]);
    wait_for(&observed.edge, JOINED, 1.0);
    publish(&observed.edge, "a", &json!(3));
    assert_eq!(client.receive()["data"], 3);
    wait_for(&observed.edge, "plimsoll_edge_hub_shared_losses_total", 2.0);
    // A foreign entry is reported; deleting the stream starts anew.
    let subject = format!("live.order.{}", lost["epoch"]);
    nats_request(address, &subject, "nonsense");
    observed.wait_for_message("an entry that no edge wrote");
}
