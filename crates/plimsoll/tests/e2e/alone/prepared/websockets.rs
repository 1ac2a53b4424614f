//! Times of messages over WebSockets.

use std::time::Duration;

use plimsoll_testkit::turns::{measuring, quietly};
use serde_json::{Value, json};

use crate::support::{Sandbox, count, is_late, number};
use crate::websocket::plans::{carry_out, step};
use crate::websocket::run;
use crate::websocket::server::WebSocketServer;

/// Whether the server was late by more than this: its answers prove nothing then.
fn is_server_late(counts: &Value, at_most: Duration) -> bool {
    is_late(Duration::from_millis(count(counts, "late_ms")), at_most)
}

#[test]
fn requests_take_as_long_as_their_answers() {
    let _turn = measuring();
    let server = WebSocketServer::start(20, &json!({}));
    let place = Sandbox::new();
    let flags = [
        "--connections",
        "20",
        "--hold",
        "5s",
        "--send",
        "odds?",
        "--every",
        "500ms",
    ];
    let output = quietly(|| run(&place, &server.url("/echo-80"), &flags));
    assert!([0, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    let websocket = &json["websocket"];
    let counts = server.counts();
    assert_eq!(
        count(&counts, "received"),
        count(websocket, "messages_out"),
        "{json:#}"
    );
    assert_eq!(count(&counts, "bytes"), count(websocket, "bytes_out"));
    let answered = count(websocket, "answered");
    assert_eq!(
        answered + count(websocket, "unanswered"),
        count(websocket, "messages_out")
    );
    assert!(answered > 20, "{websocket:#}");
    // Timers of Node are whole milliseconds, and may end one early.
    assert!(number(websocket, "request_ms.p50") >= 79.0, "{websocket:#}");
    assert!(
        websocket["reach"].is_null(),
        "echoes are no broadcasts: {websocket:#}"
    );
    assert_eq!(
        count(&json, "requests"),
        20 + count(websocket, "messages_out")
    );
    assert_eq!(count(&json, "status.101"), 20);
    // Less than half of them can be late then.
    let is_late = is_server_late(&counts, Duration::from_secs(2));
    if output.measured().is_some() && !is_late {
        assert!(number(websocket, "request_ms.p50") < 300.0, "{websocket:#}");
    }
}

/// Rounds come once in each interval until their time is over.
#[test]
fn users_speak_at_intervals() {
    let _turn = measuring();
    let server = WebSocketServer::start(4, &json!({}));
    let plan = r#"
load: { users: 4, hold: 20s }
iterations: 1
steps:
  - ws: /echo-10
  - every: 250ms
    for: 2s
    steps: [{ send: "odds {{ user }}", await: "odds {{ user }}", label: odds }]
  - close: normal
"#;
    let output = quietly(|| carry_out(&server, plan));
    let json = output.json();
    let asked = count(step(&json, "odds"), "samples");
    let counts = server.counts();
    assert_eq!(count(&counts, "received"), asked, "{json:#}");
    assert!((4..=32).contains(&asked), "{asked}");
    let is_late = is_server_late(&counts, Duration::from_millis(100));
    if output.measured().is_some() && !is_late {
        assert!(asked >= 28, "{asked} of 4 times 8");
    }
    assert!(number(step(&json, "odds"), "p50") >= 9.0);
}
