//! Channels that two edges share through a real Redis, which goes and comes back.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{Edge, Hub, HubRule, HubShared, HubSharedKind};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Redis;
use serde_json::{Value, json};

use super::{Browser, live, only_hub, publish, publish_as, with};
use crate::support::{Afloat, Telling, connect, get, parts, read_until, wait_for};

pub(super) const JOINED: &str = "plimsoll_edge_hub_shared_joined";

fn redis_at(address: SocketAddr) -> Redis {
    Redis::start_at(address, "appendonly no\nrequirepass a-secret")
}

/// Says something to Redis.
fn say(address: SocketAddr, command: &str) -> String {
    let mut stream = connect(address);
    let said = format!("AUTH a-secret\r\n{command}\r\n");
    stream.write_all(said.as_bytes()).unwrap();
    assert_eq!(read_until(&mut stream, "\r\n"), "+OK\r\n");
    read_until(&mut stream, "\r\n")
}

fn sharing(hub: Hub, redis: SocketAddr) -> Edge {
    only_hub(Hub {
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

fn start(hub: Hub, redis: SocketAddr) -> Afloat {
    let edge = crate::support::start(&sharing(hub, redis));
    wait_for(&edge, JOINED, 1.0);
    edge
}

/// Subscribes from where somebody was.
pub(super) fn return_to(edge: &Afloat, channel: &str, at: &Value) -> (Browser, Value) {
    let mut client = Browser::open(edge.address);
    let since = json!({ "channel": channel, "epoch": at["epoch"], "offset": at["offset"] });
    client.say(&json!({ "subscribe": [since], "id": 1 }));
    let told = client.hear();
    assert_eq!(told["subscribed"], channel, "{told}");
    (client, told)
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
    let mut here = Browser::open(first.address);
    let mut there = Browser::open(second.address);
    for channel in ["chat", "game"] {
        here.subscribe(channel);
        there.subscribe(channel);
    }
    let mut last = json!(null);
    for number in 0..20 {
        let edge = [&first, &second][number % 2];
        let place = publish(edge, ["game", "chat"][number % 3 % 2], &json!(number));
        let (one, other) = (here.hear(), there.hear());
        assert_eq!(one, other);
        assert_eq!(
            (&one["data"], &one["offset"]),
            (&json!(number), &place["offset"])
        );
        assert_eq!(one["epoch"], place["epoch"]);
        last = one;
    }
    // A client is answered when its message has its place.
    here.say(&json!({ "publish": { "channel": "chat", "data": "hello" }, "id": 7 }));
    let mut heard = [here.hear(), here.hear()];
    heard.sort_by_key(|said| said["id"].is_null());
    assert_eq!(heard[0], json!({ "id": 7, "done": true }));
    assert_eq!(heard[1]["data"], "hello");
    assert_eq!(there.hear(), heard[1]);
    here.say(&json!({ "publish": { "channel": "game", "data": "cheat" } }));
    assert!(here.hear()["error"].as_str().unwrap().contains("may not"));
    let long = json!({ "channel": "game", "data": "x".repeat(70_000) });
    assert_eq!(publish_as(&first, None, &long.to_string()).0, 413);
    let (status, said) = publish_as(
        &second,
        None,
        r#"[{"channel":"game","data":1},{"channel":"game","data":2}]"#,
    );
    assert_eq!(
        (status, said["published"].as_array().unwrap().len()),
        (200, 2)
    );
    for edge in [&first, &second] {
        wait_for(edge, "plimsoll_edge_hub_shared_read_total", 23.0);
    }
    // Its own edge is gone: at the other one, and at one that has only just come, it gets what it missed.
    drop((here, first));
    let third = start(rule(), redis.address);
    for edge in [&second, &third] {
        let (mut client, told) = return_to(edge, "game", &last);
        assert_eq!(told["recovered"], true, "{told}");
        for data in [1, 2] {
            assert_eq!(client.hear()["data"], data);
        }
        client.settle();
    }
    // Who was there before all of it is given what is remembered of each channel.
    let begin = json!({ "epoch": last["epoch"], "offset": 0 });
    let (mut client, told) = return_to(&third, "chat", &begin);
    assert_eq!(told["recovered"], true, "{told}");
    assert_eq!(client.hear()["data"], 1);
}

#[test]
fn redis_goes_and_comes_back() {
    let address = port::unused();
    let config = sharing(live(), address);
    let telling = Telling::start(&config);
    let told = telling.told("which the hub shares, is not there");
    assert!(told.contains("nothing is published"), "{told}");
    // Nobody is let in who would be told nonsense.
    let (status, said) = {
        let said = get(telling.edge.address, "/live?channel=a");
        (parts(&said).0, said)
    };
    assert!(
        status == 503 && said.contains("Retry-After: 1\r\n"),
        "{said}"
    );
    let body = r#"{"channel":"a","data":1}"#;
    assert_eq!(publish_as(&telling.edge, None, body).0, 503);
    let redis = redis_at(address);
    telling.told("the hub shares Redis at");
    let mut client = Browser::open(telling.edge.address);
    client.subscribe("a");
    let before = publish(&telling.edge, "a", &json!(1));
    assert_eq!(client.hear()["data"], 1);
    drop(redis);
    telling.told("is not there");
    let (status, said) = publish_as(&telling.edge, None, body);
    assert_eq!(status, 503);
    assert!(said["fault"].as_str().unwrap().contains("away"), "{said}");
    // Those who are there stay, and others may come; a new one begins where this edge is.
    let (other, told) = return_to(&telling.edge, "a", &before);
    assert_eq!(told["recovered"], true);
    drop(other);
    let redis = redis_at(address);
    telling.told("messages that Redis");
    telling.told("the hub shares Redis at");
    let lost = client.hear();
    assert_eq!(
        (&lost["subscribed"], &lost["recovered"]),
        (&json!("a"), &json!(false))
    );
    assert_ne!(lost["epoch"], before["epoch"]);
    let after = publish(&telling.edge, "a", &json!(2));
    assert_eq!(client.hear()["data"], 2);
    assert_eq!(after["epoch"], lost["epoch"]);
    let (_, told) = return_to(&telling.edge, "a", &before);
    assert_eq!(told["recovered"], false);
    // Numbers that nobody gave a message: what stood there is lost.
    assert!(say(address, "HINCRBY {live}:order at 5").starts_with(':'));
    publish(&telling.edge, "a", &json!(3));
    assert_eq!(client.hear()["recovered"], false);
    assert_eq!(client.hear()["data"], 3);
    // Somebody wipes Redis.
    assert_eq!(say(address, "FLUSHALL"), "+OK\r\n");
    let lost = client.hear();
    assert_eq!(lost["recovered"], false, "{lost}");
    assert_ne!(lost["epoch"], after["epoch"]);
    wait_for(&telling.edge, JOINED, 1.0);
    publish(&telling.edge, "a", &json!(4));
    assert_eq!(client.hear()["data"], 4);
    wait_for(&telling.edge, "plimsoll_edge_hub_shared_losses_total", 3.0);
    drop(redis);
}

#[test]
fn another_order_is_another_hub() {
    let (one, other) = (redis_at(port::unused()), redis_at(port::unused()));
    let first = sharing(live(), one.address);
    let telling = Telling::start(&first);
    telling.told("the hub shares Redis at");
    let mut client = Browser::open(telling.edge.address);
    client.subscribe("a");
    telling.reload(&first).unwrap();
    publish(&telling.edge, "a", &json!(1));
    assert_eq!(client.hear()["data"], 1);
    let mut next = sharing(live(), other.address);
    next.listen.clone_from(&first.listen);
    telling.reload(&next).unwrap();
    assert_eq!(client.hear_close(), (1001, "the hub is closed".to_owned()));
    telling.told("the hub shares Redis at");
    let mut client = Browser::open(telling.edge.address);
    client.subscribe("a");
    publish(&telling.edge, "a", &json!(2));
    assert_eq!(client.hear()["offset"], 1);
    // Of many messages Redis holds the last.
    for number in 0..150 {
        publish(&telling.edge, "a", &json!(number));
    }
    assert_eq!(say(other.address, "XLEN {live}:messages"), ":100\r\n");
}
