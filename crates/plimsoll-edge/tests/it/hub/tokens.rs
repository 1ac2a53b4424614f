//! Signed tokens: the rights they grant, and their validity.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use plimsoll_config::edge::{EdgeConfig, HubConfig, HubKey, HubRule, HubTokens};
use ring::hmac;
use serde_json::{Value, json};

use super::{HubClient, live, only_hub, publish, with};
use crate::support::{
    ObservedEdge, connect, metric, read_until, send_request, start, status_and_body, wait_for,
};

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

pub(crate) fn with_tokens(key: HubKey, hub: HubConfig) -> EdgeConfig {
    only_hub(HubConfig {
        tokens: Some(HubTokens {
            key,
            audience: None,
            public: vec!["news".to_owned()],
        }),
        ..hub
    })
}

fn with_secret() -> EdgeConfig {
    let chat = with(HubRule {
        clients_publish: true,
        ..HubRule::of("chat-*")
    });
    with_tokens(HubKey::Secret(SECRET.to_owned()), chat)
}

/// How long a token is valid whose end a test awaits, s: everything before that end happens within it, also on a machine
/// where a thread stands still for seconds.
pub(crate) const SHORT_S: f64 = 12.0;

/// Now in seconds since 1970, plus an offset.
pub(crate) fn in_s(more: f64) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs_f64() + more
}

fn signing_input(algorithm: &str, claims: &Value) -> String {
    let header = json!({ "alg": algorithm }).to_string();
    let claims = claims.to_string();
    format!("{}.{}", BASE64.encode(header), BASE64.encode(claims))
}

pub(crate) fn signed(claims: &Value) -> String {
    let input = signing_input("HS256", claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, input.as_bytes());
    format!("{input}.{}", BASE64.encode(tag))
}

fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is installed: apt-get install openssl");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{arguments:?}");
    done.stdout
}

#[test]
fn clients_do_what_their_token_says() {
    let edge = start(&with_secret());
    let mut client = HubClient::open(edge.address);
    client.subscribe("news");
    let refused = |channel: &str| json!({ "channel": channel, "error": "reading this channel is not permitted" });
    client.send(&json!({ "subscribe": ["game-1"] }));
    assert_eq!(client.receive(), refused("game-1"));
    client.send(&json!({ "publish": { "channel": "chat-1", "data": 1 } }));
    assert!(
        client.receive()["error"]
            .as_str()
            .unwrap()
            .contains("may not publish")
    );
    client.send(&json!({ "token": "nonsense", "id": 1 }));
    assert_eq!(
        client.receive(),
        json!({ "id": 1, "error": "the token is not a signed JWT" })
    );
    let claims = json!({
        "exp": in_s(600.0), "subscribe": ["game-*", "chat-1"], "publish": ["chat-1", "game-1"],
    });
    client.send(&json!({ "token": signed(&claims), "subscribe": ["game-1", "chat-1", "odds"] }));
    assert_eq!(client.receive(), refused("odds"));
    publish(&edge, "game-1", &json!(7));
    assert_eq!(client.receive()["data"], 7);
    client.send(&json!({ "publish": { "channel": "chat-1", "data": "hello" } }));
    assert_eq!(client.receive()["data"], "hello");
    // The channel's rule must allow it, too.
    for channel in ["game-1", "chat-2"] {
        client.send(&json!({ "publish": { "channel": channel, "data": 1 } }));
        let reply = client.receive();
        assert!(
            reply["error"].as_str().unwrap().contains("may not publish"),
            "{reply}"
        );
    }
    // A new token replaces it, and channels that it does not grant are unsubscribed.
    let claims = json!({ "exp": in_s(600.0), "subscribe": ["chat-1"] });
    client.send(&json!({ "token": signed(&claims) }));
    assert_eq!(client.receive(), refused("game-1"));
    publish(&edge, "game-1", &json!(8));
    publish(&edge, "chat-1", &json!(9));
    assert_eq!(client.receive()["data"], 9);
    publish(&edge, "news", &json!("for all"));
    assert_eq!(client.receive()["data"], "for all");
}

#[test]
fn who_stays_longer_than_its_token_is_sent_away() {
    let edge = start(&with_secret());
    let token = |seconds: f64| signed(&json!({ "exp": in_s(seconds), "subscribe": ["game-*"] }));
    let mut leaves = HubClient::open(edge.address);
    let mut stays = HubClient::open(edge.address);
    let begun = in_s(0.0);
    for client in [&mut leaves, &mut stays] {
        client.send(&json!({ "token": token(SHORT_S), "subscribe": ["game-1"], "id": 1 }));
        assert_eq!(client.receive()["subscribed"], "game-1");
    }
    stays.send(&json!({ "token": token(600.0), "id": 2 }));
    assert_eq!(stays.receive(), json!({ "id": 2, "done": true }));
    // A reader of events cannot be notified; its stream ends.
    let mut reader = connect(edge.address);
    let request = format!(
        "GET /live?channel=game-1&token={} HTTP/1.1\r\nHost: {}\r\n\r\n",
        token(SHORT_S),
        edge.address
    );
    reader.write_all(request.as_bytes()).unwrap();
    assert!(read_until(&mut reader, "\r\n\r\n").starts_with("HTTP/1.1 200 "));
    let closed = leaves.receive_close();
    assert_eq!(closed, (1008, "the token has expired".to_owned()));
    assert!(in_s(0.0) - begun >= SHORT_S, "not before");
    crate::support::read_all(&mut reader);
    publish(&edge, "game-1", &json!("still there"));
    assert_eq!(stays.receive()["data"], "still there");
    let mut late = HubClient::open(edge.address);
    late.send(&json!({ "token": token(-1.0), "subscribe": ["news"] }));
    assert_eq!(late.receive(), json!({ "error": "the token has expired" }));
}

#[test]
fn tokens_say_who_is_there() {
    let chat = with(HubRule {
        presence: true,
        ..HubRule::of("chat")
    });
    let edge = start(&with_tokens(HubKey::Secret(SECRET.to_owned()), chat));
    let enter = |user: &str| {
        let mut client = HubClient::open(edge.address);
        let claims = json!({ "exp": in_s(600.0), "sub": user, "subscribe": ["*"] });
        client.send(&json!({ "token": signed(&claims), "subscribe": ["chat"], "id": 1 }));
        assert_eq!(client.receive()["subscribed"], "chat");
        client
    };
    let (mut adam, eve, _other) = (enter("adam"), enter("eve"), enter("eve"));
    let query_presence = |client: &mut HubClient| {
        client.send(&json!({ "presence": ["chat"], "id": 2 }));
        client.receive()
    };
    let presence = |users: Value, count: u32| json!({ "id": 2, "presence": "chat", "subscribers": count, "users": users, "all": true });
    assert_eq!(
        query_presence(&mut adam),
        presence(json!({ "adam": 1, "eve": 2 }), 3)
    );
    drop(eve);
    wait_for(
        &edge,
        "plimsoll_edge_hub_connections{kind=\"websocket\"}",
        2.0,
    );
    assert_eq!(
        query_presence(&mut adam),
        presence(json!({ "adam": 1, "eve": 1 }), 2)
    );
    // The identity cannot change within a channel.
    let claims = json!({ "exp": in_s(600.0), "sub": "eve", "subscribe": ["*"] });
    adam.send(&json!({ "token": signed(&claims) }));
    assert!(
        adam.receive()["error"]
            .as_str()
            .unwrap()
            .contains("sub differs")
    );
    publish(&edge, "chat", &json!(1));
    adam.receive();
    let line = |name: &str| {
        metric(
            &edge,
            &format!("plimsoll_edge_hub_channel_{name}{{channel=\"chat\"}}"),
        )
    };
    assert_eq!(line("subscribers"), Some(2.0));
    assert_eq!(line("messages_total"), Some(1.0));
    assert_eq!(line("deliveries_total"), Some(2.0));
}

#[test]
fn requests_bring_their_token() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut config = with_secret();
    config.access_log = Some(plimsoll_config::edge::AccessLog {
        path: Some(log.path().to_owned()),
        format: plimsoll_config::edge::LogFormat::Json,
    });
    let observed = ObservedEdge::start(&config);
    let address = observed.edge.address;
    let get = |query: &str, header: &str| {
        let mut stream = connect(address);
        let request = format!("GET /live?{query} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, "\r\n\r\n")
    };
    let token = signed(&json!({ "exp": in_s(600.0), "subscribe": ["game-*"] }));
    let bearer = format!("Authorization: Bearer {token}\r\n");
    for (query, header, expected) in [
        ("channel=news".to_owned(), "", 200),
        ("channel=game-1".to_owned(), "", 401),
        ("channel=game-1".to_owned(), bearer.as_str(), 200),
        (format!("channel=game-1&token={token}"), "", 200),
        ("channel=odds".to_owned(), bearer.as_str(), 403),
        ("channel=news&token=x.y.z".to_owned(), "", 401),
        (
            "channel=news".to_owned(),
            "Authorization: Bearer x\r\n",
            401,
        ),
        // Another authorization scheme is ignored.
        (
            "channel=news".to_owned(),
            "Authorization: Basic eA==\r\n",
            200,
        ),
    ] {
        let head = get(&query, header);
        assert_eq!(
            status_and_body(&head).0,
            expected,
            "{query} {header} {head}"
        );
        assert_eq!(
            head.contains("WWW-Authenticate: Bearer\r\n"),
            expected == 401,
            "{head}"
        );
    }
    let response = send_request(
        address,
        format!(
            "GET /live?channel=odds HTTP/1.1\r\nHost: {address}\r\n{bearer}Connection: close\r\n\r\n"
        ),
    );
    assert!(response.contains("does not permit reading"), "{response}");
    drop(observed);
    let written = std::fs::read_to_string(log.path()).unwrap();
    let shown = "channel=game-1&token=[redacted]";
    assert!(written.contains(shown), "{written}");
    assert!(!written.contains(&token));
}

#[test]
fn keys_of_others_sign_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key.pem");
    let file = file.to_str().unwrap();
    std::fs::write(file, openssl(&["genrsa", "2048"], b"")).unwrap();
    let public = openssl(
        &["rsa", "-in", file, "-RSAPublicKey_out", "-outform", "DER"],
        b"",
    );
    let edge = start(&with_tokens(HubKey::Rsa(public), live()));
    let input = signing_input("RS256", &json!({ "exp": in_s(600.0), "subscribe": ["*"] }));
    let signature = openssl(&["dgst", "-sha256", "-sign", file], input.as_bytes());
    let token = format!("{input}.{}", BASE64.encode(signature));
    let mut client = HubClient::open(edge.address);
    client.send(&json!({ "token": token, "subscribe": ["a"], "id": 1 }));
    assert_eq!(client.receive()["subscribed"], "a");
    let other = signed(&json!({ "exp": in_s(600.0), "subscribe": ["*"] }));
    client.send(&json!({ "token": other, "id": 2 }));
    let reply = client.receive();
    assert_eq!(
        reply,
        json!({ "id": 2, "error": "the token is not signed as RS256" })
    );
}

#[test]
fn users_and_tokens_have_so_many_connections() {
    let mut config = with_secret();
    let hub = config.hub.as_mut().unwrap();
    (hub.per_user, hub.per_token) = (Some(2), Some(1));
    let edge = start(&config);
    let end = in_s(600.0);
    let token = |user: &str, number: u32| {
        signed(&json!({ "exp": end, "sub": user, "jti": number, "subscribe": ["game-*"] }))
    };
    let enter = |token: &str| {
        let mut client = HubClient::open(edge.address);
        client.send(&json!({ "token": token, "id": 1 }));
        let reply = client.receive();
        (client, reply)
    };
    let done = json!({ "id": 1, "done": true });
    let (mut first, reply) = enter(&token("eve", 1));
    assert_eq!(reply, done);
    // The same token again on one connection does not count twice.
    first.send(&json!({ "token": token("eve", 2), "id": 1 }));
    assert_eq!(first.receive(), done);
    let why = "too many connections with this token";
    let (_, reply) = enter(&token("eve", 2));
    assert_eq!(reply, json!({ "id": 1, "error": why }));
    let (_second, reply) = enter(&token("eve", 1));
    assert_eq!(reply, done);
    // A plain request counts as well, and is rejected by its status.
    let events = format!("/live?channel=game-1&token={}", token("eve", 3));
    let refused = crate::support::get(edge.address, &events);
    let why = "too many connections of this user\n";
    assert_eq!(status_and_body(&refused), (429, why));
    assert_eq!(enter(&token("adam", 1)).1, done);
    drop(first);
    wait_for(
        &edge,
        "plimsoll_edge_hub_connections{kind=\"websocket\"}",
        1.0,
    );
    assert_eq!(enter(&token("eve", 2)).1, done);
}
