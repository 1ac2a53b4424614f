//! Channels that two edges share through a real Redis that is stopped and restarted.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubRule, HubShared, HubSharedKind};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Redis;
use serde_json::{Value, json};

use super::{HubClient, live, only_hub, publish, publish_as, with};
use crate::support::{Afloat, ObservedEdge, connect, get, read_until, status_and_body, wait_for};

pub(super) const JOINED: &str = "plimsoll_edge_hub_shared_joined";

fn redis_at(address: SocketAddr) -> Redis {
    Redis::start_at(address, "appendonly no\nrequirepass a-secret")
}

/// Sends a command to Redis.
fn send_command(address: SocketAddr, command: &str) -> String {
    let mut stream = connect(address);
    let commands = format!("AUTH a-secret\r\n{command}\r\n");
    stream.write_all(commands.as_bytes()).unwrap();
    assert_eq!(read_until(&mut stream, "\r\n"), "+OK\r\n");
    read_until(&mut stream, "\r\n")
}

fn sharing(hub: HubConfig, redis: SocketAddr) -> EdgeConfig {
    only_hub(HubConfig {
        shared: Some(HubShared {
            kind: HubSharedKind::Redis,
            host: redis.ip().to_string(),
            port: redis.port(),
            user: None,
            password: Some("a-secret".to_owned()),
            tls: None,
            name: "live".to_owned(),
            messages_max: 100,
            bytes_max: 1 << 20,
        }),
        ..hub
    })
}

fn start(hub: HubConfig, redis: SocketAddr) -> Afloat {
    let edge = crate::support::start(&sharing(hub, redis));
    wait_for(&edge, JOINED, 1.0);
    edge
}

/// Subscribes from an earlier position.
pub(super) fn return_to(edge: &Afloat, channel: &str, at: &Value) -> (HubClient, Value) {
    let mut client = HubClient::open(edge.address);
    let since = json!({ "channel": channel, "epoch": at["epoch"], "offset": at["offset"] });
    client.send(&json!({ "subscribe": [since], "id": 1 }));
    let reply = client.receive();
    assert_eq!(reply["subscribed"], channel, "{reply}");
    (client, reply)
}

#[test]
fn what_is_published_to_one_edge_reaches_the_clients_of_all() {
    let redis = redis_at(port::unused());
    let rule = || {
        with(HubRule {
            clients_publish: true,
            ..HubRule::of("chat")
        })
    };
    let (first, second) = (start(rule(), redis.address), start(rule(), redis.address));
    let mut here = HubClient::open(first.address);
    let mut there = HubClient::open(second.address);
    for channel in ["chat", "game"] {
        here.subscribe(channel);
        there.subscribe(channel);
    }
    let mut last = json!(null);
    for number in 0..20 {
        let edge = [&first, &second][number % 2];
        let place = publish(edge, ["game", "chat"][number % 3 % 2], &json!(number));
        let (received, other) = (here.receive(), there.receive());
        assert_eq!(received, other);
        assert_eq!(
            (&received["data"], &received["offset"]),
            (&json!(number), &place["offset"])
        );
        assert_eq!(received["epoch"], place["epoch"]);
        last = received;
    }
    // A client receives its confirmation when the message has its offset.
    here.send(&json!({ "publish": { "channel": "chat", "data": "hello" }, "id": 7 }));
    let mut received = [here.receive(), here.receive()];
    received.sort_by_key(|message| message["id"].is_null());
    assert_eq!(received[0], json!({ "id": 7, "done": true }));
    assert_eq!(received[1]["data"], "hello");
    assert_eq!(there.receive(), received[1]);
    here.send(&json!({ "publish": { "channel": "game", "data": "cheat" } }));
    assert!(
        here.receive()["error"]
            .as_str()
            .unwrap()
            .contains("may not")
    );
    let long = json!({ "channel": "game", "data": "x".repeat(70_000) });
    assert_eq!(publish_as(&first, None, &long.to_string()).0, 413);
    let (status, reply) = publish_as(
        &second,
        None,
        r#"[{"channel":"game","data":1},{"channel":"game","data":2}]"#,
    );
    assert_eq!(
        (status, reply["published"].as_array().unwrap().len()),
        (200, 2)
    );
    for edge in [&first, &second] {
        wait_for(edge, "plimsoll_edge_hub_shared_read_total", 23.0);
    }
    // Its own edge is gone: at the other one, and at a newly started one, it receives what it missed.
    drop((here, first));
    let third = start(rule(), redis.address);
    for edge in [&second, &third] {
        let (mut client, reply) = return_to(edge, "game", &last);
        assert_eq!(reply["recovered"], true, "{reply}");
        for data in [1, 2] {
            assert_eq!(client.receive()["data"], data);
        }
        client.settle();
    }
    // A client with an older position receives the history of each channel.
    let begin = json!({ "epoch": last["epoch"], "offset": 0 });
    let (mut client, reply) = return_to(&third, "chat", &begin);
    assert_eq!(reply["recovered"], true, "{reply}");
    assert_eq!(client.receive()["data"], 1);
}

#[test]
fn redis_goes_and_comes_back() {
    let address = port::unused();
    let config = sharing(live(), address);
    let observed = ObservedEdge::start(&config);
    let message = observed.wait_for_message("which the hub shares, is unavailable");
    assert!(message.contains("nothing is published"), "{message}");
    // No client is admitted while positions are unknown.
    let (status, response) = {
        let response = get(observed.edge.address, "/live?channel=a");
        (status_and_body(&response).0, response)
    };
    assert!(
        status == 503 && response.contains("Retry-After: 1\r\n"),
        "{response}"
    );
    let body = r#"{"channel":"a","data":1}"#;
    assert_eq!(publish_as(&observed.edge, None, body).0, 503);
    let redis = redis_at(address);
    observed.wait_for_message("the hub shares Redis at");
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("a");
    let before = publish(&observed.edge, "a", &json!(1));
    assert_eq!(client.receive()["data"], 1);
    drop(redis);
    observed.wait_for_message("is unavailable");
    let (status, reply) = publish_as(&observed.edge, None, body);
    assert_eq!(status, 503);
    assert!(
        reply["fault"].as_str().unwrap().contains("unavailable"),
        "{reply}"
    );
    // Connected clients stay, and others may connect; a new one starts at this edge's position.
    let (other, reply) = return_to(&observed.edge, "a", &before);
    assert_eq!(reply["recovered"], true);
    drop(other);
    let redis = redis_at(address);
    observed.wait_for_message("messages stored in Redis");
    observed.wait_for_message("the hub shares Redis at");
    let lost = client.receive();
    assert_eq!(
        (&lost["subscribed"], &lost["recovered"]),
        (&json!("a"), &json!(false))
    );
    assert_ne!(lost["epoch"], before["epoch"]);
    let after = publish(&observed.edge, "a", &json!(2));
    assert_eq!(client.receive()["data"], 2);
    assert_eq!(after["epoch"], lost["epoch"]);
    let (_, reply) = return_to(&observed.edge, "a", &before);
    assert_eq!(reply["recovered"], false);
    // Offsets without messages: what was stored there is lost.
    assert!(send_command(address, "HINCRBY {live}:order at 5").starts_with(':'));
    publish(&observed.edge, "a", &json!(3));
    assert_eq!(client.receive()["recovered"], false);
    assert_eq!(client.receive()["data"], 3);
    // Redis is wiped.
    assert_eq!(send_command(address, "FLUSHALL"), "+OK\r\n");
    let lost = client.receive();
    assert_eq!(lost["recovered"], false, "{lost}");
    assert_ne!(lost["epoch"], after["epoch"]);
    wait_for(&observed.edge, JOINED, 1.0);
    publish(&observed.edge, "a", &json!(4));
    assert_eq!(client.receive()["data"], 4);
    wait_for(&observed.edge, "plimsoll_edge_hub_shared_losses_total", 3.0);
    drop(redis);
}

#[test]
fn another_order_is_another_hub() {
    let (primary, other) = (redis_at(port::unused()), redis_at(port::unused()));
    let first = sharing(live(), primary.address);
    let observed = ObservedEdge::start(&first);
    observed.wait_for_message("the hub shares Redis at");
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("a");
    observed.reload(&first).unwrap();
    publish(&observed.edge, "a", &json!(1));
    assert_eq!(client.receive()["data"], 1);
    let mut next = sharing(live(), other.address);
    next.listen.clone_from(&first.listen);
    observed.reload(&next).unwrap();
    assert_eq!(
        client.receive_close(),
        (1001, "the hub is closed".to_owned())
    );
    observed.wait_for_message("the hub shares Redis at");
    let mut client = HubClient::open(observed.edge.address);
    client.subscribe("a");
    publish(&observed.edge, "a", &json!(2));
    assert_eq!(client.receive()["offset"], 1);
    // Redis stores the last messages.
    for number in 0..150 {
        publish(&observed.edge, "a", &json!(number));
    }
    assert_eq!(
        send_command(other.address, "XLEN {live}:messages"),
        ":100\r\n"
    );
}
