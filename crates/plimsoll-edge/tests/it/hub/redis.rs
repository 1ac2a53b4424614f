//! Messages from a real Redis that is stopped and restarted.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{HubConfig, HubRedis};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Redis;
use serde_json::json;

use super::{HubClient, live, only_hub};
use crate::support::{ObservedEdge, connect, read_until};

/// A Redis that asks for a password.
fn start_redis(address: SocketAddr) -> Redis {
    Redis::start_at(address, "requirepass a-secret")
}

/// Publishes; the number of receivers.
fn publish(redis: &Redis, channel: &str, data: &str) -> String {
    let mut stream = connect(redis.address);
    let (channel_len, len) = (channel.len(), data.len());
    let commands = format!(
        "AUTH a-secret\r\n*3\r\n$7\r\nPUBLISH\r\n${channel_len}\r\n{channel}\r\n${len}\r\n{data}\r\n"
    );
    stream.write_all(commands.as_bytes()).unwrap();
    assert_eq!(read_until(&mut stream, "\r\n"), "+OK\r\n");
    read_until(&mut stream, "\r\n")
}

fn listening(address: SocketAddr, password: &str) -> HubConfig {
    HubConfig {
        redis: Some(HubRedis {
            host: address.ip().to_string(),
            port: address.port(),
            user: None,
            password: Some(password.to_owned()),
            tls: None,
            patterns: vec!["game-*".to_owned(), "news".to_owned()],
        }),
        ..live()
    }
}

#[test]
fn what_is_published_at_redis_goes_to_the_hub() {
    let redis = start_redis(port::unused());
    let address = redis.address;
    let config = only_hub(listening(address, "a-secret"));
    let observed = ObservedEdge::start(&config);
    observed.wait_for_message("messages from Redis at");
    let mut client = HubClient::open(observed.edge.address);
    for channel in ["game-1", "news", "other"] {
        client.subscribe(channel);
    }
    for (channel, data, expected) in [
        ("game-1", r#"{"odds": [1.5]}"#, json!({ "odds": [1.5] })),
        ("news", "no JSON \"at all\"", json!("no JSON \"at all\"")),
        ("game-1", "2", json!(2)),
    ] {
        assert_eq!(publish(&redis, channel, data), ":1\r\n");
        let message = client.receive();
        assert_eq!(
            (&message["channel"], &message["data"]),
            (&json!(channel), &expected)
        );
    }
    assert_eq!(publish(&redis, "other", "3"), ":0\r\n");
    // A rejected message is reported once.
    publish(&redis, "game-1", &"x".repeat(70_000));
    let notice =
        observed.wait_for_message("a message from Redis to the channel `game-1` was not published");
    assert!(notice.contains("longer than 65536 bytes"), "{notice}");
    // A reload without changes interrupts nothing; one with another address does.
    observed.reload(&config).unwrap();
    assert_eq!(publish(&redis, "game-1", "4"), ":1\r\n");
    assert_eq!(client.receive()["data"], 4);
    drop(redis);
    observed.wait_for_message("is unavailable");
    let redis = start_redis(address);
    observed.wait_for_message("messages from Redis at");
    publish(&redis, "game-1", "5");
    assert_eq!(client.receive()["data"], 5);
    observed
        .reload(&only_hub(listening(address, "another")))
        .unwrap();
    let notice = observed.wait_for_message("is unavailable");
    assert!(notice.contains("WRONGPASS"), "{notice}");
    observed.reload(&only_hub(live())).unwrap();
    super::publish(&observed.edge, "game-1", &json!("still here"));
    assert_eq!(client.receive()["data"], "still here");
}
