//! Presets of plans, against real servers of the protocols.

use serde_json::Value;

use super::plans::{carry_out, step};
use super::server::WebSocketServer;
use crate::support::{count, number};

const USERS: u32 = 5;

/// Runs steps of a protocol: every user sends a request, if the protocol has one, and receives all broadcasts.
fn run_protocol(protocol: &str, steps: &str) -> Value {
    let server = match protocol {
        "centrifugo" => WebSocketServer::of_centrifuge(USERS),
        _ => WebSocketServer::of_preset(protocol, USERS),
    };
    let plan = format!("load: {{ users: {USERS}, hold: 60s }}\niterations: 1\nsteps:\n{steps}");
    let json = carry_out(&server, &plan).json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), u64::from(USERS), "{json:#}");
    assert_eq!(count(websocket, "closed"), 0, "{json:#}");
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (u64::from(USERS) * 20, u64::from(USERS) * 20),
        "{json:#}"
    );
    assert_eq!(
        (count(websocket, "gaps"), count(websocket, "duplicates")),
        (0, 0)
    );
    let latency = number(websocket, "broadcast_ms.p50");
    assert!((0.0..60_000.0).contains(&latency), "{websocket:#}");
    json
}

/// Packets are numbered, pings are texts, and acknowledgements come back by number.
#[test]
fn socket_io_is_spoken() {
    let steps = r#"
  - ws: /socket.io/
    preset: socket.io
  - send: '421["ask",{"n":21}]'
    await: '431[{"twice":42}]'
    label: ask
  - subscribe:
      channel: game
      seq: $[1].seq
      stamp: $[1].at
      send: '42["join","game"]'
      await: '42["joined","game"]'
    label: join
  - hold: 17s
  - close: normal
"#;
    let json = run_protocol("socket.io", steps);
    for label in ["ask", "join"] {
        assert_eq!(count(step(&json, label), "samples"), 5, "{json:#}");
        assert_eq!(count(step(&json, label), "outcomes.ok"), 5, "{json:#}");
    }
}

#[test]
fn graphql_is_spoken() {
    let steps = r#"
  - ws: /graphql
    preset: graphql
  - send: { json: { id: "1", type: subscribe, payload: { query: "{ twice(n: 21) }" } } }
    await: { json: { $.id: "1", $.type: next, $.payload.data.twice: "42" } }
    label: ask
  - subscribe:
      channel: odds
      seq: $.payload.data.odds.seq
      stamp: $.payload.data.odds.at
      send: { json: { id: "2", type: subscribe, payload: { query: "subscription { odds { seq at } }" } } }
  - hold: 17s
  - close: normal
"#;
    let json = run_protocol("graphql", steps);
    assert_eq!(count(step(&json, "ask"), "samples"), 5, "{json:#}");
    assert_eq!(count(step(&json, "ask"), "outcomes.ok"), 5, "{json:#}");
}

#[test]
fn stomp_is_spoken() {
    let steps = r#"
  - ws: /stomp
    preset: stomp
  - subscribe:
      channel: odds
      seq: $.seq
      stamp: $.at
      send: "SUBSCRIBE\nid:0\ndestination:/topic/odds\n\n\0"
  - hold: 17s
  - close: normal
"#;
    run_protocol("stomp", steps);
}

/// Commands are numbered, pings are empty, and broadcasts come as pushes.
#[test]
fn centrifugo_is_spoken() {
    let steps = r#"
  - ws: /connection/websocket
    preset: centrifugo
  - send: '{"id":2,"rpc":{"method":"odds","data":{}}}'
    await: { json: { $.id: "2", $.rpc.data.asked: odds } }
    label: ask
  - subscribe:
      channel: odds
      seq: $.push.pub.data.seq
      stamp: $.push.pub.data.at
      send: '{"id":3,"subscribe":{"channel":"odds"}}'
      await: { json: { $.id: "3" } }
    label: join
  - hold: 17s
  - close: normal
"#;
    let json = run_protocol("centrifugo", steps);
    for label in ["ask", "join"] {
        assert_eq!(count(step(&json, label), "samples"), 5, "{json:#}");
        assert_eq!(count(step(&json, label), "outcomes.ok"), 5, "{json:#}");
    }
}
