//! Users who fetch messages by short and by long polling, against Node's `http`.

use serde_json::{Value, json};

use super::plans::{carry_out, step};
use super::server::WebSocketServer;
use crate::support::{count, number};

const PLAN: &str = r#"
load: { users: 4, hold: 40s }
journeys:
  short:
    iterations: 1
    steps:
      - set: { since: "0" }
      - poll: "/poll?since={{ since }}"
        every: 500ms
        for: 9s
        messages: { at: '$.items[*]', seq: $.seq, stamp: $.at, channel: short }
        capture: { since: { json: $.last } }
        label: short
  long:
    iterations: 1
    steps:
      - set: { since: "0" }
      - poll: "/wait?since={{ since }}"
        for: 9s
        timeout: 20s
        messages: { at: '$.items[*]', seq: $.seq, stamp: $.at, channel: long }
        capture: { since: { json: $.last } }
        label: long
"#;

fn channel<'a>(websocket: &'a Value, name: &str) -> &'a Value {
    let mut channels = websocket["channels"].as_array().unwrap().iter();
    channels
        .find(|channel| channel["channel"] == name)
        .unwrap_or_else(|| panic!("no {name} in {websocket:#}"))
}

/// Each of the thirty messages reaches every user; a long poll has it at once, a short one within its interval; and the wait of
/// a long poll is no response time.
#[test]
fn messages_come_by_short_and_by_long_polling() {
    let publish = json!({ "when": { "polls": 8 }, "after_ms": 1500, "every_ms": 100, "count": 30 });
    let server = WebSocketServer::start(4, &json!({ "publish": publish }));
    let json = carry_out(&server, PLAN).json();
    let websocket = &json["websocket"];
    assert_eq!(
        (
            count(websocket, "messages_in"),
            count(websocket, "duplicates")
        ),
        (120, 0),
        "{json:#}"
    );
    for name in ["short", "long"] {
        let channel = channel(websocket, name);
        assert_eq!(
            (count(channel, "expected"), count(channel, "received")),
            (60, 60),
            "{websocket:#}"
        );
    }
    let latency = |name: &str| number(channel(websocket, name), "broadcast_ms.p50");
    assert!(latency("long") < latency("short"), "{websocket:#}");
    let samples = |label: &str| count(step(&json, label), "samples");
    // Two users, twice a second for nine seconds.
    assert!(
        samples("short") <= 2 * 19 && samples("long") > 2,
        "{json:#}"
    );
    assert_eq!(count(&json, "requests"), samples("short"), "{json:#}");
    assert_eq!(count(&json, "users.lost"), 0, "{json:#}");
}
