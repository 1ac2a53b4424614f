//! The hub with third-party clients (tungstenite, curl), and with clients that send anything.

pub(crate) mod abuse;
mod events;
mod hooks;
mod mercure;
mod redis;
mod secure;
mod shared;
mod shared_nats;
mod slow;
pub(crate) mod sources;
mod staying;
pub(crate) mod tokens;

use std::net::{SocketAddr, TcpStream};

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubRule};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Message, WebSocket};

use crate::support::{
    Afloat, Scripted, connect, get, metric, open_admin, plain, pool, send_request, start,
    status_and_body, wait_for,
};

/// A well-behaved WebSocket client.
pub(crate) struct HubClient {
    socket: WebSocket<TcpStream>,
}

/// An edge with only a hub, on two event loops.
pub(crate) fn only_hub(hub: HubConfig) -> EdgeConfig {
    EdgeConfig {
        cores: Some(2),
        admin: Some(open_admin()),
        ..EdgeConfig::only_hub(SocketAddr::from(([127, 0, 0, 1], 0)), hub)
    }
}

pub(crate) fn live() -> HubConfig {
    HubConfig::at("/live").unwrap()
}

/// With one rule for some channels.
pub(crate) fn with(rule: HubRule) -> HubConfig {
    HubConfig {
        channels: vec![rule],
        ..live()
    }
}

impl HubClient {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let (socket, answer) =
            tungstenite::client(format!("ws://{address}/live"), connect(address)).unwrap();
        // Compression is negotiated only if it is enabled.
        assert!(!answer.headers().contains_key("sec-websocket-extensions"));
        Self { socket }
    }

    /// With a cookie.
    pub(crate) fn open_as(address: SocketAddr, cookie: &str) -> Self {
        let mut request = format!("ws://{address}/live")
            .into_client_request()
            .unwrap();
        let headers = request.headers_mut();
        headers.insert("cookie", cookie.parse().unwrap());
        let (socket, _) = tungstenite::client(request, connect(address)).unwrap();
        Self { socket }
    }

    pub(crate) fn send(&mut self, command: &Value) {
        self.socket
            .send(Message::text(command.to_string()))
            .unwrap();
    }

    /// The next message received.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Value {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Ok(Message::Ping(_)) => {}
                other => panic!("no message: {other:?}"),
            }
        }
    }

    /// The same; `None` at the end of the connection.
    pub(crate) fn receive_or_close(&mut self) -> Option<Value> {
        loop {
            match self.socket.read().ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                Message::Ping(_) => {}
                _ => return None,
            }
        }
    }

    /// Subscribes and waits for the confirmation; the position.
    #[track_caller]
    pub(crate) fn subscribe(&mut self, channel: &str) -> Value {
        self.send(&json!({ "subscribe": [channel], "id": channel }));
        let reply = self.receive();
        assert_eq!(
            (&reply["id"], &reply["subscribed"]),
            (&json!(channel), &json!(channel))
        );
        reply
    }

    /// Waits until all earlier commands were handled.
    pub(crate) fn settle(&mut self) {
        self.send(&json!({ "unsubscribe": [], "id": "settled" }));
        assert_eq!(self.receive(), json!({ "id": "settled", "done": true }));
    }

    /// The close frame: its code and reason.
    #[track_caller]
    pub(crate) fn receive_close(&mut self) -> (u16, String) {
        loop {
            match self.socket.read() {
                Ok(Message::Close(Some(close))) => {
                    return (close.code.into(), close.reason.to_string());
                }
                Ok(Message::Text(_) | Message::Ping(_)) => {}
                other => panic!("no close frame: {other:?}"),
            }
        }
    }
}

/// Publishes at the admin address: status and body.
pub(crate) fn publish_as(edge: &Afloat, token: Option<&str>, body: &str) -> (u16, Value) {
    let admin = edge.admin();
    let token = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let response = send_request(
        admin,
        format!(
            "POST /publish HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\n{token}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    );
    let (status, body) = status_and_body(&response);
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Publishes successfully; the body.
#[track_caller]
pub(crate) fn publish(edge: &Afloat, channel: &str, data: &Value) -> Value {
    let body = json!({ "channel": channel, "data": data });
    let (status, reply) = publish_as(edge, None, &body.to_string());
    assert_eq!(status, 200, "{reply}");
    reply
}

#[test]
fn what_is_published_reaches_everybody_who_subscribed() {
    let edge = start(&only_hub(live()));
    let mut clients: Vec<HubClient> = (0..20).map(|_| HubClient::open(edge.address)).collect();
    let (other, players) = clients.split_last_mut().unwrap();
    for client in &mut *players {
        client.subscribe("game-1");
    }
    other.subscribe("game-2");
    let first = publish(&edge, "game-1", &json!({ "odds": [1.5, 2] }));
    let (status, reply) = publish_as(
        &edge,
        None,
        r#"[{"channel":"game-1","data":2},{"channel":"game-2","data":3},{"channel":"game-1","data":"4"}]"#,
    );
    assert_eq!(status, 200, "{reply}");
    let epoch = &first["epoch"];
    for client in &mut *players {
        for (offset, data) in [
            (1, json!({ "odds": [1.5, 2] })),
            (2, json!(2)),
            (3, json!("4")),
        ] {
            assert_eq!(
                client.receive(),
                json!({ "channel": "game-1", "offset": offset, "epoch": epoch, "data": data })
            );
        }
    }
    assert_eq!(other.receive()["data"], 3);
    // No messages after unsubscribing.
    players[0].send(&json!({ "unsubscribe": ["game-1"] }));
    players[0].settle();
    publish(&edge, "game-1", &json!(5));
    assert_eq!(players[1].receive()["data"], 5);
    players[0].settle();
    wait_for(&edge, "plimsoll_edge_hub_deliveries_total", 76.0);
    assert_eq!(metric(&edge, "plimsoll_edge_hub_messages_total"), Some(5.0));
    assert_eq!(
        metric(&edge, "plimsoll_edge_hub_published_total"),
        Some(5.0)
    );
    assert_eq!(metric(&edge, "plimsoll_edge_hub_channels"), Some(2.0));
    let sockets = "plimsoll_edge_hub_connections{kind=\"websocket\"}";
    assert_eq!(metric(&edge, sockets), Some(20.0));
    drop(clients);
    wait_for(&edge, sockets, 0.0);
}

#[test]
fn who_returns_gets_what_it_missed_or_is_told_that_it_cannot() {
    let edge = start(&only_hub(with(HubRule {
        history_max: 3,
        ..HubRule::of("short")
    })));
    let mut client = HubClient::open(edge.address);
    client.subscribe("game-1");
    client.subscribe("short");
    publish(&edge, "short", &json!(0));
    publish(&edge, "game-1", &json!(1));
    let short = client.receive();
    let last = client.receive();
    drop(client);
    for data in 2..=5 {
        publish(&edge, "game-1", &json!(data));
        publish(&edge, "short", &json!(data));
    }
    let mut client = HubClient::open(edge.address);
    let (epoch, offset) = (&last["epoch"], &last["offset"]);
    client
        .send(&json!({ "subscribe": [{ "channel": "game-1", "epoch": epoch, "offset": offset }] }));
    for data in 2..=5 {
        assert_eq!(client.receive()["data"], data);
    }
    // The history is too short, and another epoch of the channel does not match.
    for (channel, epoch) in [("short", &short["epoch"]), ("elsewhere", epoch)] {
        client.send(&json!({ "subscribe": [{ "channel": channel, "epoch": epoch, "offset": 1 }] }));
        let reply = client.receive();
        assert_eq!(
            (&reply["subscribed"], &reply["recovered"]),
            (&json!(channel), &json!(false))
        );
    }
    publish(&edge, "short", &json!("new"));
    assert_eq!(client.receive()["data"], "new");
    wait_for(&edge, "plimsoll_edge_hub_recovered_total", 1.0);
    wait_for(&edge, "plimsoll_edge_hub_unrecovered_total", 2.0);
}

#[test]
fn the_rest_of_the_edge_goes_on_beside_it() {
    let server = Scripted::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let edge = start(&EdgeConfig {
        hub: Some(live()),
        admin: Some(open_admin()),
        ..plain(pool(&[server.address]))
    });
    HubClient::open(edge.address).subscribe("a");
    for path in ["/", "/live/", "/lives", "/live2?channel=a", "/x/live"] {
        assert_eq!(
            status_and_body(&get(edge.address, path)),
            (200, "ok"),
            "{path}"
        );
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|head| !head.contains("GET /live HTTP"))
    );
    // An edge with only a hub serves nothing else.
    let alone = start(&only_hub(live()));
    assert_eq!(status_and_body(&get(alone.address, "/")).0, 404);
}

#[test]
fn publishing_asks_for_its_token() {
    let body = r#"{"channel":"a","data":1}"#;
    let mut config = only_hub(HubConfig {
        publish_token: Some("publish-secret".to_owned()),
        ..live()
    });
    let edge = start(&config);
    assert_eq!(publish_as(&edge, None, body).0, 401);
    assert_eq!(publish_as(&edge, Some("publish-secrets"), body).0, 401);
    assert_eq!(publish_as(&edge, Some("publish-secret"), body).0, 200);
    // The rest of the admin address needs no token, as before.
    assert!(metric(&edge, "plimsoll_edge_hub_channels").is_some());
    config.admin.as_mut().unwrap().token = Some("admin-secret".to_owned());
    let edge = start(&config);
    assert_eq!(publish_as(&edge, Some("publish-secret"), body).0, 200);
    assert_eq!(publish_as(&edge, Some("admin-secret"), body).0, 200);
    // The publish token grants nothing else.
    let admin = edge.admin();
    let response = send_request(
        admin,
        format!(
            "GET /metrics HTTP/1.1\r\nHost: {admin}\r\nAuthorization: Bearer publish-secret\r\n\
             Connection: close\r\n\r\n"
        ),
    );
    assert_eq!(status_and_body(&response).0, 401);
    // Without a hub there is no publish endpoint.
    let server = Scripted::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let edge = start(&EdgeConfig {
        admin: Some(open_admin()),
        ..plain(pool(&[server.address]))
    });
    let (status, reply) = publish_as(&edge, None, body);
    assert_eq!(status, 422);
    assert!(
        reply["fault"].as_str().unwrap().contains("--hub /live"),
        "{reply}"
    );
}

#[test]
fn clients_publish_where_a_rule_lets_them() {
    let edge = start(&only_hub(with(HubRule {
        clients_publish: true,
        ..HubRule::of("chat-*")
    })));
    let (mut writer, mut reader) = (HubClient::open(edge.address), HubClient::open(edge.address));
    reader.subscribe("chat-1");
    writer.send(&json!({ "publish": { "channel": "chat-1", "data": "hello" }, "id": 1 }));
    assert_eq!(writer.receive(), json!({ "id": 1, "done": true }));
    assert_eq!(reader.receive()["data"], "hello");
    writer.send(&json!({ "publish": { "channel": "game-1", "data": "cheat" } }));
    assert_eq!(
        writer.receive(),
        json!({ "channel": "game-1", "error": "clients may not publish to this channel" })
    );
}

#[test]
fn in_an_interval_goes_out_one_message() {
    let interval = std::time::Duration::from_millis(400);
    let edge = start(&only_hub(HubConfig {
        channels: vec![
            HubRule {
                interval: Some(interval),
                ..HubRule::of("newest")
            },
            HubRule {
                interval: Some(interval),
                merges: true,
                ..HubRule::of("merged")
            },
        ],
        ..live()
    }));
    let mut client = HubClient::open(edge.address);
    client.subscribe("newest");
    let begun = std::time::Instant::now();
    for data in 1..=30 {
        publish(&edge, "newest", &json!(data));
    }
    let mut received = vec![client.receive()];
    while received.last().unwrap()["data"] != 30 {
        received.push(client.receive());
    }
    let intervals = begun.elapsed().as_millis() / interval.as_millis() + 2;
    assert!(
        received.len() as u128 <= intervals,
        "{received:?} in {intervals} intervals"
    );
    assert_eq!(received[0]["data"], 1);
    assert!(received.is_sorted_by_key(|message| message["offset"].as_u64()));
    client.send(&json!({ "unsubscribe": ["newest"] }));
    client.subscribe("merged");
    publish(&edge, "merged", &json!({ "a": 0 }));
    for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
        publish(&edge, "merged", &json!({ key: value }));
    }
    let mut whole = json!({});
    while whole != json!({ "a": 3, "b": 2 }) {
        let message = client.receive();
        for (key, value) in message["data"].as_object().unwrap() {
            whole[key] = value.clone();
        }
    }
    assert!(metric(&edge, "plimsoll_edge_hub_conflated_total") > Some(0.0));
}

#[test]
fn messages_are_compressed_where_both_sides_want_it() {
    use plimsoll_wire::websocket::deflate::{Inflater, Offer};
    use plimsoll_wire::websocket::handshake::{ClientHandshake, key, read_answer, request_headers};
    use plimsoll_wire::websocket::{Event, Role, WebSocketLimits, WebSocketReader};
    use std::io::{Read as _, Write as _};

    let edge = start(&only_hub(HubConfig {
        compress: true,
        ..live()
    }));
    // A client that does not offer compression receives none.
    let mut plain = HubClient::open(edge.address);
    plain.subscribe("a");
    let key = key([7; 16]);
    let offer = Some(Offer::default());
    let mut request = format!("GET /live HTTP/1.1\r\nHost: {}\r\n", edge.address);
    for (name, value) in request_headers(&key, "", offer) {
        request = format!("{request}{name}: {value}\r\n");
    }
    let mut stream = connect(edge.address);
    stream
        .write_all(format!("{request}\r\n").as_bytes())
        .unwrap();
    let head = crate::support::read_until(&mut stream, "\r\n\r\n");
    let asked = ClientHandshake {
        key: &key,
        protocols: "",
        offer,
        limits: plimsoll_wire::head::HeadLimits::DEFAULT,
    };
    let opened = read_answer(head.as_bytes(), 0, &asked).unwrap().unwrap();
    assert!(opened.deflate.unwrap().server_begins_anew);
    let command = abuse::masked(1, br#"{"subscribe":["a"],"id":1}"#);
    stream.write_all(&command).unwrap();
    let mut reader = WebSocketReader::new(Role::Client, true);
    let mut inflater = Inflater::new(false);
    let data = "odds ".repeat(100);
    let mut texts = Vec::new();
    let mut lengths = Vec::new();
    let mut bytes = [0; 4096];
    while texts.len() < 3 {
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "{texts:?}");
        lengths.push(count);
        let mut rest = &mut bytes[..count];
        while !rest.is_empty() {
            let (taken, event) = reader.next(rest, &WebSocketLimits::default()).unwrap();
            match event {
                Some(Event::Text(text)) => texts.push(text.into_owned()),
                Some(Event::Deflated(packed)) => {
                    let mut out = Vec::new();
                    let content = packed.inflate(&mut inflater, 10_000, &mut out).unwrap();
                    texts.push(String::from_utf8(content.bytes().to_vec()).unwrap());
                }
                other => panic!("{other:?}"),
            }
            rest = &mut rest[taken..];
        }
        if texts.len() < 3 {
            publish(&edge, "a", &json!(data));
        }
    }
    assert!(lengths[1..].iter().all(|&len| len < 200), "{lengths:?}");
    for text in &texts[1..] {
        let message: Value = serde_json::from_str(text).unwrap();
        assert_eq!(message["data"], data);
        assert_eq!(plain.receive(), message);
    }
}

/// Waits until this many clients are connected.
pub(crate) fn wait_for_clients(edge: &Afloat, count: f64) {
    wait_for(
        edge,
        "plimsoll_edge_hub_connections{kind=\"websocket\"}",
        count,
    );
}

#[test]
fn what_has_changed_is_sent_to_who_wants_it() {
    let edge = start(&only_hub(with(HubRule {
        patches: true,
        ..HubRule::of("odds")
    })));
    let (mut plain, mut patched) = (HubClient::open(edge.address), HubClient::open(edge.address));
    patched.send(&json!({ "patches": true }));
    for client in [&mut plain, &mut patched] {
        client.subscribe("odds");
    }
    let odds = |home: u32| json!({ "home": home, "away": 2, "game": "a name of some length" });
    for home in 1..=2 {
        publish(&edge, "odds", &odds(home));
        let whole = plain.receive();
        assert_eq!(whole["data"], odds(home));
        let received = patched.receive();
        if home == 1 {
            assert_eq!(received, whole);
        } else {
            assert_eq!(
                (&received["patch"], &received["data"]),
                (&json!({ "home": 2 }), &Value::Null)
            );
            assert_eq!(
                (&received["offset"], &received["epoch"]),
                (&json!(2), &whole["epoch"])
            );
        }
    }
}
