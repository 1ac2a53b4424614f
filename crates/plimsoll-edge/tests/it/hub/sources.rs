//! Message sources with the real programs: Redis, NATS and PostgreSQL, stopped and restarted.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubRule, HubSource, HubSourceKind};
use plimsoll_testkit::port;
use plimsoll_testkit::program::databases::Postgres;
use plimsoll_testkit::program::{Nats, Redis};
use serde_json::{Value, json};

use super::{HubClient, live, only_hub};
use crate::support::{ObservedEdge, connect, read_until, start, wait_for};

pub(crate) fn source(kind: HubSourceKind, at: SocketAddr, names: &[&str]) -> HubSource {
    HubSource {
        kind,
        host: at.ip().to_string(),
        port: at.port(),
        user: None,
        password: None,
        tls: None,
        names: names.iter().map(|&name| name.to_owned()).collect(),
        channel: "*".to_owned(),
    }
}

/// Listens to one source; subscribers receive the history.
pub(crate) fn with_source(source: HubSource) -> EdgeConfig {
    only_hub(HubConfig {
        sources: vec![source],
        channels: vec![HubRule {
            replay: 10,
            ..HubRule::of("*")
        }],
        ..live()
    })
}

/// A metric of a source.
pub(crate) fn of(name: &str, source: &HubSource) -> String {
    let title = format!("{}: {}", source.title(), source.names.join(" ")).replace('"', "\\\"");
    format!("plimsoll_edge_hub_source_{name}{{source=\"{title}\"}}")
}

/// Sends a command to Redis; the first line of its reply.
pub(super) fn redis(at: SocketAddr, command: &str) -> String {
    let mut stream = connect(at);
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .unwrap();
    read_until(&mut stream, "\r\n")
}

/// Publishes to NATS, and waits until the server has accepted it.
pub(super) fn nats(at: SocketAddr, subject: &str, data: &str) {
    let mut stream = connect(at);
    let commands = format!(
        "CONNECT {{\"verbose\":false,\"user\":\"u\",\"pass\":\"a-secret\"}}\r\nPUB {subject} {}\r\n{data}\r\nPING\r\n",
        data.len()
    );
    stream.write_all(commands.as_bytes()).unwrap();
    read_until(&mut stream, "PONG\r\n");
}

#[track_caller]
pub(super) fn expect_message(client: &mut HubClient, channel: &str, data: &Value) {
    let message = client.receive();
    assert_eq!(
        (&message["channel"], &message["data"]),
        (&json!(channel), data)
    );
}

#[test]
fn what_is_added_to_a_stream_comes_when_the_edge_is_back() {
    let server = Redis::start("appendonly no");
    let at = server.address;
    let group = "edge-1".to_owned();
    let source = source(
        HubSourceKind::RedisStream { group },
        at,
        &["updates", "more"],
    );
    let edge = start(&with_source(source.clone()));
    wait_for(&edge, &of("connected", &source), 1.0);
    let mut client = HubClient::open(edge.address);
    for channel in ["updates", "game-1"] {
        client.subscribe(channel);
    }
    for (command, channel, data) in [
        (
            r#"XADD updates * data "{\"odds\":[1.5]}""#,
            "updates",
            json!({ "odds": [1.5] }),
        ),
        (
            "XADD more * channel game-1 data plain",
            "game-1",
            json!("plain"),
        ),
        (
            "XADD updates * a 1 b two",
            "updates",
            json!({ "a": "1", "b": "two" }),
        ),
    ] {
        redis(at, command);
        expect_message(&mut client, channel, &data);
    }
    wait_for(&edge, &of("messages_total", &source), 3.0);
    drop(edge);
    for data in ["4", "5"] {
        redis(at, &format!("XADD updates * data {data}"));
    }
    // Entries read but not acknowledged before the edge died.
    redis(at, "XREADGROUP GROUP edge-1 edge COUNT 1 STREAMS updates >");
    let edge = start(&with_source(source.clone()));
    wait_for(&edge, &of("messages_total", &source), 2.0);
    let mut client = HubClient::open(edge.address);
    client.subscribe("updates");
    for data in [4, 5] {
        expect_message(&mut client, "updates", &json!(data));
    }
    // Everything is acknowledged: nothing arrives again.
    let pending = || {
        let mut stream = connect(at);
        stream.write_all(b"XPENDING updates edge-1\r\n").unwrap();
        read_until(&mut stream, "\r\n");
        read_until(&mut stream, "\r\n")
    };
    edge.wait_until("all is acknowledged", || pending() == ":0\r\n");
}

#[test]
fn subjects_of_nats_go_to_the_hub() {
    let at = port::unused();
    let rules = "authorization { user: u, password: a-secret }";
    let server = Nats::start_at(at, rules);
    let source = HubSource {
        user: Some("u".to_owned()),
        password: Some("a-secret".to_owned()),
        channel: "live-*".to_owned(),
        ..source(HubSourceKind::Nats, at, &["game.>", "news"])
    };
    let observed = ObservedEdge::start(&with_source(source.clone()));
    observed.wait_for_message("messages from NATS at");
    let edge = &observed.edge;
    let mut client = HubClient::open(edge.address);
    for channel in ["live-game.1.odds", "live-news", "live-other"] {
        client.subscribe(channel);
    }
    for (subject, data, expected) in [
        ("game.1.odds", r#"{"odds": 2}"#, json!({ "odds": 2 })),
        ("news", "no JSON\r\nat all", json!("no JSON\r\nat all")),
        ("game.1.odds", "", json!("")),
    ] {
        nats(at, subject, data);
        expect_message(&mut client, &format!("live-{subject}"), &expected);
    }
    nats(at, "other", "1");
    nats(at, "news", &"x".repeat(70_000));
    let message = observed.wait_for_message("to the channel `live-news` was not published");
    assert!(message.contains("longer than 65536 bytes"), "{message}");
    nats(at, "news", "2");
    expect_message(&mut client, "live-news", &json!(2));
    wait_for(edge, &of("messages_total", &source), 4.0);
    wait_for(edge, &of("refused_total", &source), 1.0);
    // A reload without changes interrupts nothing.
    observed.reload(&with_source(source.clone())).unwrap();
    wait_for(edge, &of("messages_total", &source), 4.0);
    drop(server);
    observed.wait_for_message("is unavailable");
    wait_for(edge, &of("connected", &source), 0.0);
    let _server = Nats::start_at(at, rules);
    observed.wait_for_message("messages from NATS at");
    nats(at, "news", "3");
    expect_message(&mut client, "live-news", &json!(3));
    let wrong = HubSource {
        password: Some("another".to_owned()),
        ..source
    };
    observed.reload(&with_source(wrong)).unwrap();
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("Authorization"), "{message}");
    observed.reload(&only_hub(live())).unwrap();
    super::publish(edge, "live-news", &json!("still here"));
    expect_message(&mut client, "live-news", &json!("still here"));
}

#[test]
fn notifications_of_postgres_go_to_the_hub() {
    let server = Postgres::start("");
    server.execute("CREATE ROLE plimsoll LOGIN PASSWORD 'a-secret'");
    let database = "postgres".to_owned();
    let source = HubSource {
        user: Some("plimsoll".to_owned()),
        password: Some("a-secret".to_owned()),
        ..source(
            HubSourceKind::Postgres { database },
            server.address,
            &["odds", "a \"name\""],
        )
    };
    let observed = ObservedEdge::start(&with_source(source.clone()));
    observed.wait_for_message("messages from PostgreSQL at");
    let edge = &observed.edge;
    let mut client = HubClient::open(edge.address);
    for channel in ["odds", "a \"name\""] {
        client.subscribe(channel);
    }
    server.execute(
        "NOTIFY odds, '{\"x\":[1]}'; NOTIFY \"a \"\"name\"\"\", 'text'; NOTIFY other, '1'",
    );
    expect_message(&mut client, "odds", &json!({ "x": [1] }));
    expect_message(&mut client, "a \"name\"", &json!("text"));
    server.execute("SELECT pg_notify('odds', repeat('x', 7999))");
    expect_message(&mut client, "odds", &json!("x".repeat(7999)));
    // The session is terminated, and the next one listens again.
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plimsoll'";
    server.execute(ended);
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("terminating connection"), "{message}");
    observed.wait_for_message("messages from PostgreSQL at");
    server.execute("NOTIFY odds, '2'");
    expect_message(&mut client, "odds", &json!(2));
    wait_for(edge, &of("messages_total", &source), 4.0);
    wait_for(edge, &of("losses_total", &source), 1.0);
    let wrong = HubSource {
        password: Some("another".to_owned()),
        ..source
    };
    observed.reload(&with_source(wrong)).unwrap();
    let message = observed.wait_for_message("is unavailable");
    assert!(
        message.contains("password authentication failed"),
        "{message}"
    );
}
