//! Channels that two edges share through a real NATS, which goes and comes back.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{Edge, Hub, HubShared, HubSharedKind};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Nats;
use serde_json::{Value, json};

use super::shared::{JOINED, return_to};
use super::{Browser, live, only_hub, publish, publish_as};
use crate::support::{Afloat, Telling, connect, read_until, wait_for};

const RULES: &str = "authorization { user: u, password: a-secret }\nmax_payload: 8192";

fn sharing(nats: SocketAddr) -> Edge {
    only_hub(Hub {
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

/// Asks the server; its answer.
fn say(address: SocketAddr, subject: &str, data: &str) -> Value {
    let mut stream = connect(address);
    let said = format!(
        "CONNECT {{\"verbose\":false,\"user\":\"u\",\"pass\":\"a-secret\"}}\r\nSUB a 1\r\nPUB {subject} a {}\r\n{data}\r\n",
        data.len()
    );
    stream.write_all(said.as_bytes()).unwrap();
    read_until(&mut stream, "MSG a 1 ");
    read_until(&mut stream, "\r\n");
    serde_json::from_str(read_until(&mut stream, "\r\n").trim()).unwrap()
}

#[test]
fn what_is_published_to_one_edge_reaches_the_clients_of_all_through_nats() {
    let nats = Nats::streaming_at(port::unused(), RULES);
    let (first, second) = (start(nats.address), start(nats.address));
    let mut here = Browser::open(first.address);
    let mut there = Browser::open(second.address);
    for channel in ["chat \"1\"", "game"] {
        here.subscribe(channel);
        there.subscribe(channel);
    }
    let mut last = json!(null);
    for number in 0..20 {
        let edge = [&first, &second][number % 2];
        let place = publish(edge, ["game", "chat \"1\""][number % 3 % 2], &json!(number));
        let (one, other) = (here.hear(), there.hear());
        assert_eq!(one, other);
        assert_eq!(
            (&one["data"], &one["offset"], &one["epoch"]),
            (&json!(number), &place["offset"], &place["epoch"])
        );
        last = one;
    }
    // Longer than the server takes: it is refused, and those beside it are not.
    let long = json!({ "channel": "game", "data": "x".repeat(9000) });
    let (status, said) = publish_as(&first, None, &long.to_string());
    assert_eq!(status, 413, "{said}");
    for data in [1, 2] {
        publish(&second, "game", &json!(data));
    }
    for edge in [&first, &second] {
        wait_for(edge, "plimsoll_edge_hub_shared_read_total", 22.0);
    }
    // Its own edge is gone: at the other one, and at one that has only just come, it gets what it missed.
    drop((here, first));
    let third = start(nats.address);
    for edge in [&second, &third] {
        let (mut client, told) = return_to(edge, "game", &last);
        assert_eq!(told["recovered"], true, "{told}");
        for data in [1, 2] {
            assert_eq!(client.hear()["data"], data);
        }
        client.settle();
    }
    // Of many messages NATS holds the last.
    for number in 0..110 {
        publish(&second, "game", &json!(number));
    }
    let told = say(nats.address, "$JS.API.STREAM.INFO.live", "");
    assert_eq!(told["state"]["messages"], 100, "{told}");
}

#[test]
fn nats_goes_and_comes_back() {
    let address = port::unused();
    // Without streams nothing can be shared.
    let nats = Nats::start_at(address, RULES);
    let telling = Telling::start(&sharing(address));
    let told = telling.told("which the hub shares, is not there");
    assert!(told.contains("it keeps no streams"), "{told}");
    drop(nats);
    let nats = Nats::streaming_at(address, RULES);
    telling.told("the hub shares NATS at");
    let mut client = Browser::open(telling.edge.address);
    client.subscribe("a");
    let before = publish(&telling.edge, "a", &json!(1));
    assert_eq!(client.hear()["data"], 1);
    drop(nats);
    telling.told("is not there");
    let body = r#"{"channel":"a","data":1}"#;
    assert_eq!(publish_as(&telling.edge, None, body).0, 503);
    // Those who are there stay, and others may come; a new one begins where this edge is.
    let (other, told) = return_to(&telling.edge, "a", &before);
    assert_eq!(told["recovered"], true);
    drop(other);
    let _nats = Nats::streaming_at(address, RULES);
    telling.told("messages that NATS");
    telling.told("the hub shares NATS at");
    let lost = client.hear();
    assert_eq!(
        (&lost["subscribed"], &lost["recovered"]),
        (&json!("a"), &json!(false))
    );
    assert_ne!(lost["epoch"], before["epoch"]);
    let after = publish(&telling.edge, "a", &json!(2));
    assert_eq!(client.hear()["data"], 2);
    assert_eq!(after["epoch"], lost["epoch"]);
    // Somebody ends the order.
    say(address, "$JS.API.STREAM.DELETE.live", "");
    let lost = client.hear();
    assert_eq!(lost["recovered"], false, "{lost}");
    assert_ne!(lost["epoch"], after["epoch"]);
    wait_for(&telling.edge, JOINED, 1.0);
    publish(&telling.edge, "a", &json!(3));
    assert_eq!(client.hear()["data"], 3);
    wait_for(&telling.edge, "plimsoll_edge_hub_shared_losses_total", 2.0);
    // What stands there that no edge wrote is told of, and the order is begun anew by whoever ends it.
    let subject = format!("live.order.{}", lost["epoch"]);
    say(address, &subject, "nonsense");
    telling.told("stands what no edge wrote");
}
