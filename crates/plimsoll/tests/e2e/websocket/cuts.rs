//! WebSockets of users that are cut from their side, against Node's `ws`.

use serde_json::json;

use super::plans::{carry_out, step};
use super::server::WebSocketServer;
use crate::support::{count, number};

/// All are cut at a moment without a close frame, come back by the back-off, and are counted apart from what the target ends.
#[test]
fn a_mass_disconnect_brings_a_storm_of_reconnects() {
    let server = WebSocketServer::start(6, &json!({}));
    let plan = r"
load: { users: 6, hold: 60s }
iterations: 1
steps:
  - ws: /desk
    reconnect: { after: 200ms, up_to: 1s, times: 20 }
    disconnect: { at: 6s, share: 100% }
  - hold: 9s
  - close: normal
";
    let json = carry_out(&server, plan).json();
    let (websocket, counts) = (&json["websocket"], server.counts());
    let storm = &websocket["disconnects"][0];
    assert_eq!(
        number(storm, "at_s").to_bits(),
        6.0_f64.to_bits(),
        "{json:#}"
    );
    assert_eq!(
        (count(storm, "cut"), count(storm, "back")),
        (6, 6),
        "{json:#}"
    );
    assert_eq!(count(storm, "attempts"), 6 + count(storm, "failed"));
    assert!((1..=6).contains(&count(storm, "attempts_per_second_max")));
    // A pause is drawn from half its mean on.
    assert!(number(storm, "back_ms_p50") >= 100.0, "{json:#}");
    assert!(number(storm, "back_ms_p99") >= number(storm, "back_ms_p50"));
    assert_eq!(
        counts["closed"],
        json!({ "1006": 6, "1000": 6 }),
        "{counts:#}"
    );
    assert_eq!(count(&counts, "opened"), 12, "{counts:#}");
    assert_eq!(
        (
            count(websocket, "connected"),
            count(websocket, "reconnected")
        ),
        (6, 0),
        "{json:#}"
    );
    assert_eq!(websocket["close_codes"], json!({}), "{json:#}");
    assert_eq!(
        count(&json, "requests"),
        6,
        "only the first handshakes: {json:#}"
    );
}

/// Users drop out abruptly, one by one, and each comes back and goes on where it was.
#[test]
fn users_drop_and_return() {
    let server = WebSocketServer::start(4, &json!({}));
    let plan = r"
load: { users: 4, hold: 60s }
iterations: 1
steps:
  - ws: /desk
    drop: 50%/s
    for: 200ms..400ms
    reconnect: { after: 200ms, up_to: 1s, times: 20 }
  - hold: 8s
  - send: hello
    await: you said hello
    label: last
    timeout: 20s
  - close: normal
";
    let json = carry_out(&server, plan).json();
    let (websocket, counts) = (&json["websocket"], server.counts());
    let dropped = &websocket["dropped"];
    let cut = count(dropped, "cut");
    // Each is open for two seconds on average.
    assert!(cut >= 2, "{json:#}");
    assert_eq!(count(dropped, "back"), cut, "{json:#}");
    assert_eq!(count(&counts["closed"], "1006"), cut, "{counts:#}");
    assert_eq!(count(&counts, "opened"), 4 + cut, "{counts:#}");
    assert_eq!(websocket["disconnects"], json!([]), "{json:#}");
    // Who was away when the message was due sends it later; only one that drops between both loses it.
    assert_eq!(count(step(&json, "last"), "samples"), 4, "{json:#}");
}
