//! Clients that try to get the history, presence, positions or rights of others.

use std::io::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use plimsoll_config::edge::{HubConfig, HubKey, HubRule};
use ring::hmac;
use serde_json::{Value, json};

use super::{error, patient};
use crate::hub::tokens::{SECRET, SHORT_S, in_s, signed, with_tokens};
use crate::hub::{HubClient, only_hub, publish};
use crate::support::{Afloat, connect, send_request, start, status_and_body};

/// A hub with a restricted channel and its history.
fn guarded() -> (Afloat, Value) {
    let hub = HubConfig {
        mercure: true,
        channels: vec![HubRule {
            presence: true,
            replay: 10,
            clients_publish: true,
            ..HubRule::of("*")
        }],
        ..patient()
    };
    let edge = start(&with_tokens(HubKey::Secret(SECRET.to_owned()), hub));
    let reply = publish(&edge, "user-17", &json!("a secret"));
    (edge, reply)
}

fn token(claims: &Value) -> String {
    let mut all = json!({ "exp": in_s(600.0) });
    for (name, value) in claims.as_object().unwrap() {
        all[name] = value.clone();
    }
    signed(&all)
}

/// A request whose response ends, or is an event stream of which only the head is read.
fn head(edge: &Afloat, path: &str, headers: &str) -> String {
    let address = edge.address;
    let mut stream = connect(address);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    crate::support::read_until(&mut stream, "\r\n\r\n")
}

#[test]
fn nobody_has_what_others_may_read_by_any_way() {
    let (edge, reply) = guarded();
    let (epoch, offset) = (
        reply["epoch"].as_u64().unwrap(),
        reply["offset"].as_u64().unwrap(),
    );
    let mine = token(&json!({ "sub": "18", "subscribe": ["user-18"], "publish": ["user-18"] }));
    let mut client = HubClient::open(edge.address);
    client.send(&json!({ "token": mine, "subscribe": ["user-18"], "id": 1 }));
    assert_eq!(client.receive()["subscribed"], "user-18");
    for wanted in [
        json!("user-17"),
        json!({ "channel": "user-17", "epoch": epoch, "offset": 0 }),
        json!({ "channel": "user-17", "epoch": epoch, "offset": offset - 1 }),
        json!("user-*"),
        json!("*"),
        json!("user-1{id}"),
        json!("user-17 "),
    ] {
        client.send(&json!({ "subscribe": [wanted], "id": 2 }));
        assert_eq!(
            error(&client.receive()),
            "reading this channel is not permitted",
            "{wanted}"
        );
    }
    client.send(&json!({ "presence": ["user-17"] }));
    assert_eq!(
        error(&client.receive()),
        "reading this channel is not permitted"
    );
    client.send(&json!({ "publish": { "channel": "user-17", "data": "forged" } }));
    assert!(error(&client.receive()).contains("may not publish"));
    let bearer = format!("Authorization: Bearer {mine}\r\n");
    let back = format!("{bearer}Last-Event-ID: {epoch}:0\r\n");
    for path in [
        "/live?channel=user-17",
        "/live?channel=user-18&channel=user-17",
        "/live?channel=user%2D17",
        "/.well-known/mercure?topic=user-17",
        "/.well-known/mercure?topic=*",
        "/.well-known/mercure?topic=user-%7Bid%7D",
    ] {
        let response = head(&edge, path, &back);
        assert_eq!(status_and_body(&response).0, 403, "{path}: {response}");
    }
    // Nor by the position of a message of another channel: all share one sequence.
    let mut own = connect(edge.address);
    let request = format!(
        "GET /live?channel=user-18 HTTP/1.1\r\nHost: {}\r\n{back}\r\n",
        edge.address
    );
    own.write_all(request.as_bytes()).unwrap();
    assert!(crate::support::read_until(&mut own, "\r\n\r\n").starts_with("HTTP/1.1 200 "));
    publish(&edge, "user-18", &json!("mine"));
    let event = crate::support::read_until(&mut own, "\n\n");
    assert!(
        event.contains("user-18") && !event.contains("a secret"),
        "{event}"
    );
    assert_eq!(client.receive()["data"], "mine");
    client.settle();
}

#[test]
fn places_that_nobody_was_told_harm_only_who_made_them_up() {
    let edge = start(&only_hub(patient()));
    let epoch = publish(&edge, "a", &json!(1))["epoch"].as_u64().unwrap();
    let mut good = HubClient::open(edge.address);
    good.subscribe("a");
    for (epoch, offset) in [
        (0, 0),
        (u64::MAX, u64::MAX),
        (epoch, u64::MAX),
        (epoch, 1_000),
        (epoch + 1, 1),
        (1 << 53, 1 << 53),
    ] {
        let mut client = HubClient::open(edge.address);
        let since = json!({ "channel": "a", "epoch": epoch, "offset": offset });
        client.send(&json!({ "subscribe": [since] }));
        let reply = client.receive();
        assert_eq!(reply["recovered"], false, "{epoch} {offset}: {reply}");
        // Its position is the common one.
        publish(&edge, "a", &json!([epoch, offset]));
        assert_eq!(client.receive()["data"], json!([epoch, offset]));
        assert_eq!(good.receive()["data"], json!([epoch, offset]));
    }
    for id in [
        "18446744073709551616:1",
        "-1:-1",
        ":",
        "x",
        "1:2:3",
        &"9".repeat(5000),
    ] {
        let response = head(
            &edge,
            "/live?channel=a",
            &format!("Last-Event-ID: {id}\r\n"),
        );
        assert_eq!(status_and_body(&response).0, 200, "{response}");
    }
}

/// Unsigned tokens, or tokens for another purpose.
#[test]
fn forged_tokens_open_nothing() {
    let (edge, _) = guarded();
    let claims = json!({ "exp": in_s(600.0), "sub": "17", "subscribe": ["*"] });
    let encode = |value: &Value| BASE64.encode(value.to_string());
    let signing_input = |header: &Value| format!("{}.{}", encode(header), encode(&claims));
    let tag = |key: &str, input: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        format!(
            "{input}.{}",
            BASE64.encode(hmac::sign(&key, input.as_bytes()))
        )
    };
    let hs256 = json!({ "alg": "HS256" });
    let with_claims =
        |claims: &Value| tag(SECRET, &format!("{}.{}", encode(&hs256), encode(claims)));
    let good = tag(SECRET, &signing_input(&hs256));
    let other = encode(&json!({ "exp": in_s(600.0), "subscribe": ["**"] }));
    let mut segments: Vec<&str> = good.split('.').collect();
    segments[1] = &other;
    let end = good.rfind('.').unwrap();
    let forged = [
        format!("{}.", signing_input(&json!({ "alg": "none" }))),
        tag(SECRET, &signing_input(&json!({ "alg": "none" }))),
        tag(SECRET, &signing_input(&json!({ "alg": "HS512" }))),
        tag(SECRET, &signing_input(&json!({ "alg": "RS256" }))),
        tag(
            SECRET,
            &signing_input(&json!({ "alg": "HS256", "crit": ["x"] })),
        ),
        tag("", &signing_input(&hs256)),
        tag(&SECRET[1..], &signing_input(&hs256)),
        good[..end].to_owned(),
        format!("{}.", &good[..end]),
        good[..good.len() - 4].to_owned(),
        segments.join("."),
        format!("{good}{}", "A".repeat(9000)),
        with_claims(&json!({ "subscribe": ["*"] })),
        with_claims(&json!({ "exp": "never", "subscribe": ["*"] })),
        with_claims(&json!({ "exp": in_s(600.0), "nbf": in_s(500.0), "subscribe": ["*"] })),
    ];
    for token in &forged {
        let mut client = HubClient::open(edge.address);
        client.send(&json!({ "token": token, "subscribe": ["user-17"], "id": 1 }));
        let reply = client.receive();
        assert!(error(&reply).contains("the token"), "{token}: {reply}");
        client.settle();
        let query = format!("/live?channel=user-17&token={token}");
        let response = send_request(
            edge.address,
            format!("GET {query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        );
        assert_eq!(status_and_body(&response).0, 401, "{token}: {response}");
    }
    // The parts they are forged from are valid.
    let mut client = HubClient::open(edge.address);
    client.send(&json!({ "token": good, "subscribe": ["user-17"], "id": 1 }));
    assert_eq!(client.receive()["subscribed"], "user-17");
    assert_eq!(client.receive()["data"], "a secret");
}

#[test]
fn talking_keeps_no_token_alive() {
    let (edge, _) = guarded();
    let end = in_s(SHORT_S);
    let claims = json!({ "exp": end, "sub": "17", "subscribe": ["user-17"] });
    let mut client = HubClient::open(edge.address);
    client.send(&json!({ "token": signed(&claims), "subscribe": ["user-17"], "id": 1 }));
    assert_eq!(client.receive()["subscribed"], "user-17");
    assert_eq!(client.receive()["data"], "a secret");
    // Nothing ever comes: the time-out is the pause between two messages.
    let (_nobody, pace) = std::sync::mpsc::sync_channel::<()>(0);
    let last = loop {
        let _ = pace.recv_timeout(Duration::from_millis(10));
        // It sends all the time, the same token among other things.
        client.send(&json!({ "token": signed(&claims), "unsubscribe": [], "id": 2 }));
        let Some(reply) = client.receive_or_close() else {
            break in_s(0.0);
        };
        if reply["error"] == "the token has expired" {
            break in_s(0.0);
        }
        assert_eq!(reply, json!({ "id": 2, "done": true }));
    };
    assert!(last >= end, "not before");
    publish(&edge, "user-17", &json!("too late"));
    while let Some(reply) = client.receive_or_close() {
        assert_eq!(reply["error"], "the token has expired", "{reply}");
    }
}
