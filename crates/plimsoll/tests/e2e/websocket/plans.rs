//! WebSocket steps of plan files against Node's `ws`: asked and answered by id, subscribed to, lost and opened again.

use serde_json::{Value, json};

use super::all_know;
use super::server::WebSocketServer;
use crate::support::{CommandOutput, Sandbox, count, number};

/// Carries out a plan of steps at a server.
pub(crate) fn carry_out(server: &WebSocketServer, plan: &str) -> CommandOutput {
    let place = Sandbox::new();
    let target = server.url("").replace("ws://", "http://");
    let text = format!("target: {target}\n{plan}");
    std::fs::write(place.path().join("plan.yaml"), text).unwrap();
    let output = place.run(&["run", "plan.yaml", "--json"]);
    // A late generator voids latencies, not the received messages.
    assert!([0, 3, 6].contains(&output.code), "{output:?}");
    output
}

/// The row of a step.
pub(crate) fn step<'a>(json: &'a Value, label: &str) -> &'a Value {
    let mut steps = json["steps"].as_array().unwrap().iter();
    steps
        .find(|step| step["label"] == label)
        .unwrap_or_else(|| panic!("no step {label} in {json:#}"))
}

const REQUESTS_PLAN: &str = r#"
load: { users: 10, connect: 50/s, hold: 20s }
iterations: 1
once: [{ get: /login }]
steps:
  - ws: /desk
    protocol: [live.v2, live.v1]
    timeout: 15s
  - set: { id: "{{ uuid() }}" }
  - send: { json: { id: "{{ id }}", n: 21, name: 'say "hi"', after_ms: 80 } }
    await: { json: { $.id: "{{ id }}" } }
    label: ask
    timeout: 15s
    capture: { twice: { json: $.twice }, name: { json: $.name } }
  - if: "{{ twice }} == 42"
    then: [{ send: "{{ name }}", await: 'you said say "hi"', label: right }]
    else: [{ send: wrong, await: any, label: wrong }]
  - send: { binary: AAEC/w== }
    await: { regex: '^bytes 000102ff$' }
    label: bytes
  - send: later
  - think: 300ms
  - await: you said later
    label: kept
  - close: 4001
"#;

/// The answer is the one with the id that was asked by, however many others come before it; what stands in it is kept;
/// cookies of the user go with the handshake; and a message that came while its user was thinking is not lost.
#[test]
fn users_ask_and_get_their_own_answers() {
    let server = WebSocketServer::start(10, &json!({}));
    let output = carry_out(&server, REQUESTS_PLAN);
    let (json, counts) = (output.json(), server.counts());
    assert_eq!(count(&json, "websocket.connected"), 10, "{json:#}");
    assert_eq!(count(&json, "outcomes.ok"), 50, "{json:#}");
    for label in ["WS /desk", "ask", "right", "bytes", "kept"] {
        let step = step(&json, label);
        assert_eq!(
            (count(step, "samples"), count(step, "outcomes.ok")),
            (10, 10),
            "{step:#}"
        );
    }
    assert_eq!(count(step(&json, "wrong"), "samples"), 0, "{json:#}");
    // Timers of Node are whole milliseconds, and may end one early.
    let asked = number(step(&json, "ask"), "p50");
    assert!(asked >= 79.0, "another's answer was taken: {asked}");
    assert_eq!(counts["closed"], json!({ "4001": 10 }), "{counts:#}");
    assert_eq!(count(&counts, "pongs"), 10, "{counts:#}");
    assert_eq!(
        count(&counts, "received"),
        count(&json, "websocket.messages_out")
    );
    assert_eq!(
        count(&counts, "sent"),
        count(&json, "websocket.messages_in")
    );
    for (list, what) in [("cookies", "sid=abc"), ("protocols", "live.v1")] {
        let values = counts[list].as_array().unwrap();
        assert_eq!(values.len(), 10);
        assert!(values.iter().all(|value| value == what), "{counts:#}");
    }
}

const CHANNELS_PLAN: &str = r#"
load: { users: 12, connect: 50/s, hold: 50s }
cores: 2
iterations: 1
thresholds: [reach > 99.9%, broadcast p99 < 10s]
data: { game: { rows: [game-1, game-2, game-3] } }
steps:
  - ws: /desk
    compress: true
  - subscribe:
      channel: "{{ game.value }}"
      seq: $.data.seq
      stamp: $.data.at
      where: { json: { $.room: "{{ game.value }}" } }
      send: { json: { join: "{{ game.value }}" } }
      await: { json: { $.joined: "{{ game.value }}" } }
    label: join
  - hold: 14s
  - close: normal
"#;

/// Each room is a separate channel, received by both loops: planted losses are counted exactly, and miss the threshold.
#[test]
fn reach_is_counted_by_channel() {
    // An answer for the opening, and one for the room.
    let publish = json!({
        "when": all_know(2 * 12), "after_ms": 2500, "every_ms": 50, "count": 40, "ago_ms": 250,
        "lost": [[0, 5], [3, 20], [3, 21]],
    });
    let server = WebSocketServer::start(12, &json!({ "publish": publish, "deflate": "kept" }));
    let output = carry_out(&server, CHANNELS_PLAN);
    let json = output.json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), 12, "{json:#}");
    assert_eq!(count(&server.counts(), "deflated"), 12);
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (480, 477),
        "{json:#}"
    );
    assert_eq!(count(websocket, "gaps"), 3);
    let channels = websocket["channels"].as_array().unwrap();
    let active = channels
        .iter()
        .filter(|channel| count(channel, "broadcasts") > 0);
    let mut names: Vec<&str> = active
        .clone()
        .map(|channel| channel["channel"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["game-1", "game-2", "game-3"], "{websocket:#}");
    assert!(
        active
            .clone()
            .all(|channel| count(channel, "expected") == 160),
        "{websocket:#}"
    );
    let latency = number(websocket, "broadcast_ms.p50");
    assert!((249.0..60_000.0).contains(&latency), "{websocket:#}");
    assert_eq!(count(step(&json, "join"), "samples"), 12);
    let thresholds = json["thresholds"].as_array().unwrap();
    let met = |text: &str| {
        let mut all = thresholds.iter();
        let found = all.find(|threshold| threshold["objective"] == text);
        found.unwrap_or_else(|| panic!("no {text} in {json:#}"))["met"].clone()
    };
    assert_eq!(met("reach > 99.9%"), json!(false));
    assert_eq!(met("broadcast p99 < 10000ms"), json!(true));
}

/// Without `subscribe` the URL is the channel, and every message that is not a response is a broadcast.
#[test]
fn the_url_is_the_channel_where_nothing_else_is_said() {
    let publish = json!({
        "when": all_know(4), "after_ms": 2500, "every_ms": 50, "count": 20, "lost": [[1, 3]],
    });
    let server = WebSocketServer::start(4, &json!({ "publish": publish }));
    let plan = "load: { users: 4, hold: 40s }\niterations: 1\nsteps:\n  - ws: /live?a=b\n  - hold: 12s\n  - close: normal\n";
    let json = carry_out(&server, plan).json();
    let websocket = &json["websocket"];
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (80, 79),
        "{json:#}"
    );
    assert_eq!(websocket["channels"][0]["channel"], "/live");
}

/// A disconnected user reconnects, subscribes again, and is counted separately.
#[test]
fn lost_ones_are_opened_again() {
    // Each answers for its opening and its room, and again when it has come back.
    let publish = json!({ "when": all_know(4 * 6), "after_ms": 2000, "every_ms": 50, "count": 20 });
    let cut = json!({ "when": all_know(2 * 6), "after_ms": 1500 });
    let server = WebSocketServer::start(6, &json!({ "publish": publish, "cut": cut }));
    let plan = r"
load: { users: 6, hold: 60s }
iterations: 1
steps:
  - ws: /desk
    reconnect: { after: 200ms, up_to: 1s, times: 20 }
  - subscribe: { channel: c, seq: $.data.seq, send: { json: { join: c } } }
  - hold: 16s
  - close: normal
";
    let json = carry_out(&server, plan).json();
    let (websocket, counts) = (&json["websocket"], server.counts());
    assert_eq!(count(&counts, "opened"), 12, "{counts:#}");
    assert_eq!(
        count(&counts, "received"),
        12,
        "two subscriptions each: {counts:#}"
    );
    assert_eq!(
        (
            count(websocket, "connected"),
            count(websocket, "reconnected")
        ),
        (6, 6),
        "{json:#}"
    );
    assert_eq!(websocket["close_codes"], json!({ "1006": 6 }), "{json:#}");
    // A pause is drawn from half its mean on.
    assert!(number(websocket, "reconnect_ms.p50") >= 100.0, "{json:#}");
    assert_eq!(
        count(&json, "requests"),
        6,
        "only the first handshakes: {json:#}"
    );
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (120, 120),
        "{json:#}"
    );
    // What the handshake's answer set goes with the next.
    let cookies = counts["cookies"].as_array().unwrap();
    let again = cookies.iter().filter(|cookie| **cookie == "seat=12");
    assert_eq!(again.count(), 6, "{counts:#}");
}

/// A user whose answer never comes has failed by time-out, and its WebSocket stands.
#[test]
fn answers_that_never_come_are_given_up() {
    let server = WebSocketServer::start(3, &json!({}));
    let plan = r#"
load: { users: 3, hold: 20s }
iterations: 2
once: [{ ws: /desk }]
steps:
  - send: '{"never": true}'
    await: any
    timeout: 300ms
    label: never
"#;
    let json = carry_out(&server, plan).json();
    assert_eq!(count(&json, "outcomes.timeout"), 6, "{json:#}");
    assert_eq!(count(&server.counts(), "opened"), 3);
    assert_eq!(count(&json, "websocket.unanswered"), 6);
    assert_eq!(json["websocket"]["close_codes"], json!({}), "{json:#}");
}

/// Refused handshakes are failures of their step, with the status.
#[test]
fn a_refused_user_is_told_with_the_status() {
    let server = WebSocketServer::start(3, &json!({}));
    let plan = "load: { users: 3, hold: 20s }\niterations: 1\nsteps: [{ ws: /refused }, { send: a, await: any }]\n";
    let json = carry_out(&server, plan).json();
    assert_eq!(
        json["websocket"]["failures"],
        json!({ "status 403": 3 }),
        "{json:#}"
    );
    assert_eq!(
        count(step(&json, "WS /refused"), "outcomes.wrong_status"),
        3,
        "{json:#}"
    );
    assert_eq!(count(step(&json, "SEND a"), "samples"), 0, "{json:#}");
}

/// A stream that is cut reconnects with its last id.
#[test]
fn a_stream_comes_back_with_its_last_id() {
    let publish = json!({ "after_ms": 1000, "every_ms": 50, "count": 20 });
    let cut = json!({ "when": { "published": 20 }, "after_ms": 1500 });
    let server = WebSocketServer::start(3, &json!({ "publish": publish, "cut": cut }));
    let plan = r"
load: { users: 3, hold: 50s }
iterations: 1
steps:
  - sse: /events
    reconnect: { after: 200ms, up_to: 1s, times: 20 }
  - subscribe: { channel: odds, seq: $.data.seq, stamp: $.data.at }
  - hold: 13s
  - close: normal
";
    let json = carry_out(&server, plan).json();
    let (websocket, counts) = (&json["websocket"], server.counts());
    assert_eq!(
        (
            count(websocket, "connected"),
            count(websocket, "reconnected")
        ),
        (3, 3),
        "{json:#}"
    );
    assert_eq!(count(&counts, "opened"), 6, "{counts:#}");
    let last_ids = counts["last_ids"].as_array().unwrap();
    let known = last_ids
        .iter()
        .filter(|id| id.as_str().is_some_and(|id| !id.is_empty()));
    assert_eq!(known.count(), 3, "{counts:#}");
    assert_eq!(count(websocket, "messages_in"), 60, "{json:#}");
    assert_eq!(count(step(&json, "SSE /events"), "samples"), 3, "{json:#}");
}
