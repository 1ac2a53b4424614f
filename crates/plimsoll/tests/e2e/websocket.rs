//! `plimsoll run --ws` against servers on Node's `ws` that lose, double, swap, delay, refuse and die as planned.

mod cuts;
pub(crate) mod plans;
mod polling;
mod presets;
mod processes;
pub(crate) mod server;

use serde_json::{Value, json};

use self::server::WebSocketServer;
use crate::support::{CommandOutput, Sandbox, count, number};

pub(crate) fn run(place: &Sandbox, url: &str, more: &[&str]) -> CommandOutput {
    place.run(&[&["run", url, "--ws", "--json"][..], more].concat())
}

/// Broadcasts of a plan; nothing was refused, closed or lost except as planted.
fn broadcast(clients: u32, paths: &[&str], publish: &Value, more: &[&str]) -> Value {
    let mut publish = publish.clone();
    publish["when"] = all_know(clients);
    let server = WebSocketServer::start(clients, &json!({ "publish": publish }));
    let place = Sandbox::new();
    std::fs::write(place.path().join("urls"), paths.join("\n")).unwrap();
    let connections = clients.to_string();
    let output = run(
        &place,
        &server.url("/"),
        &[
            &[
                "--urls",
                "urls",
                "--connections",
                &connections,
                "--connect-rate",
                "500/s",
                "--hold",
                "14s",
            ],
            more,
        ]
        .concat(),
    );
    // A late generator voids latencies, not the received messages.
    assert!([0, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    let websocket = &json["websocket"];
    let counts = server.counts();
    assert_eq!(
        count(websocket, "connected"),
        u64::from(clients),
        "{json:#}"
    );
    assert_eq!(
        count(websocket, "messages_in"),
        count(&counts, "sent"),
        "{json:#}"
    );
    assert_eq!(
        (count(websocket, "failed"), count(websocket, "closed")),
        (0, 0),
        "{json:#}"
    );
    json
}

/// So many clients know that they are open, or in their room: what is published a second later is expected by all.
fn all_know(clients: u32) -> Value {
    json!({ "pongs": clients })
}

const MARKS: [&str; 4] = [
    "--broadcast-stamp",
    "$.data.at",
    "--broadcast-seq",
    "$.data.seq",
];

/// Losses, duplicates and swaps that were planted are counted exactly, over both loops and in each channel.
#[test]
fn what_was_planted_is_counted() {
    let publish = json!({
        "after_ms": 2000, "every_ms": 50, "count": 40,
        "lost": [[0, 5], [0, 6], [3, 20], [7, 20], [9, 39]],
        "doubled": [[1, 7], [2, 8], [2, 9]],
        "swapped": [[4, 10], [5, 12]],
    });
    let cores = ["--cores", "2"];
    // Three channels over two loops: each loop receives all of them.
    let paths = ["/a", "/b", "/c"];
    let json = broadcast(30, &paths, &publish, &[&MARKS[..], &cores].concat());
    let websocket = &json["websocket"];
    // Clients 0 to 9 of each channel: what was planted happened in all.
    let expected = 30 * 40;
    assert_eq!(count(websocket, "expected"), expected, "{websocket:#}");
    assert_eq!(
        count(websocket, "received"),
        expected - 3 * 5,
        "{websocket:#}"
    );
    let reach = number(websocket, "reach");
    assert!((reach - 1185.0 / 1200.0).abs() < 1e-12, "{reach}");
    assert_eq!(count(websocket, "broadcasts"), 3 * 40);
    // The last that client 9 got but one was 38, and then 40.
    assert_eq!(count(websocket, "gaps"), 3 * 5);
    assert_eq!(count(websocket, "duplicates"), 3 * 3);
    assert_eq!(count(websocket, "reordered"), 3 * 2);
    for (index, name) in paths.iter().enumerate() {
        let channel = &websocket["channels"][index];
        assert_eq!(channel["channel"], *name);
        assert_eq!(
            (count(channel, "expected"), count(channel, "received")),
            (400, 395)
        );
        assert_eq!(
            (
                count(channel, "gaps"),
                count(channel, "duplicates"),
                count(channel, "reordered")
            ),
            (5, 3, 2)
        );
    }
}

/// A warm-up that has all handshakes leaves the broadcasts to be judged. A bound on requests has nothing to judge then.
#[test]
fn a_warm_up_hides_no_lost_broadcast() {
    let publish = json!({
        "when": all_know(4), "after_ms": 2000, "every_ms": 50, "count": 40, "lost": [[0, 5], [2, 20]],
    });
    let server = WebSocketServer::start(4, &json!({ "publish": publish }));
    let place = Sandbox::new();
    let flags = ["--connections", "4", "--hold", "14s", "--warmup", "5s"];
    let run_with = |objective: &str| {
        let objective = ["--objective", objective];
        let more = [&flags[..], &MARKS, &objective].concat();
        run(&place, &server.url("/a"), &more)
    };
    let output = run_with("p95 < 500ms, reach > 99.9%");
    assert_eq!(output.code, 2, "{output:?}");
    for part in [
        "all 4 handshakes are due within the warm-up of 5 s",
        "a shorter --warmup",
    ] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
    assert!(place.run_files().is_empty(), "nothing was sent");
    let output = run_with("reach > 99.9%");
    let Some(json) = output.measured() else {
        return;
    };
    assert_eq!(output.code, 3, "{json:#}");
    let answer = json["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("Missed (reach > 99.9%): ") && answer.contains("all in the warm-up"),
        "{answer}"
    );
    let websocket = &json["websocket"];
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (160, 158),
        "{json:#}"
    );
    assert_eq!(count(&json, "requests"), 0, "{json:#}");
}

/// The same within compressed messages, whether the server keeps its window or not; and what was not asked for is not
/// agreed to.
#[test]
fn compressed_messages_are_read_and_written() {
    for deflate in ["anew", "kept"] {
        let publish = json!({
            "when": all_know(6), "after_ms": 2000, "every_ms": 50, "count": 20,
            "lost": [[0, 5], [3, 20]], "doubled": [[1, 7]],
        });
        let server = WebSocketServer::start(6, &json!({ "publish": publish, "deflate": deflate }));
        let place = Sandbox::new();
        let flags = ["--ws-compress", "--connections", "6", "--hold", "13s"];
        let output = run(
            &place,
            &server.url("/echo-1"),
            &[&flags[..], &MARKS].concat(),
        );
        assert!([0, 6].contains(&output.code), "{output:?}");
        let (json, counts) = (output.json(), server.counts());
        let websocket = &json["websocket"];
        assert_eq!(count(&counts, "deflated"), 6, "{counts:#}");
        assert_eq!(
            (count(websocket, "expected"), count(websocket, "received")),
            (120, 118),
            "{deflate}: {json:#}"
        );
        assert_eq!(
            (count(websocket, "duplicates"), count(websocket, "gaps")),
            (1, 1),
            "{deflate}: {json:#}"
        );
        assert!(number(websocket, "bytes_in") > 6.0 * 18.0 * 100.0);
    }
    let server = WebSocketServer::start(2, &json!({ "deflate": "anew" }));
    let flags = [
        "--connections",
        "2",
        "--hold",
        "7s",
        "--send",
        "a",
        "--every",
        "200ms",
    ];
    let json = run(&Sandbox::new(), &server.url("/echo-1"), &flags).json();
    assert_eq!(count(&server.counts(), "deflated"), 0);
    assert!(count(&json, "websocket.answered") > 0, "{json:#}");
    let flags = [&flags[..], &["--ws-compress"]].concat();
    let json = run(&Sandbox::new(), &server.url("/echo-1"), &flags).json();
    assert_eq!(count(&server.counts(), "deflated"), 2);
    assert!(count(&json, "websocket.answered") > 0, "{json:#}");
}

/// Streams of Server-Sent Events are measured like WebSockets.
#[test]
fn streams_of_events_are_heard_too() {
    // They never answer: a machine that is busy has five seconds until all of them know that they are open.
    let publish = json!({
        "after_ms": 7000, "every_ms": 50, "count": 40, "ago_ms": 250,
        "lost": [[0, 5], [0, 6], [3, 20]], "doubled": [[1, 7]], "swapped": [[4, 10]],
    });
    let server = WebSocketServer::start(8, &json!({ "publish": publish }));
    let flags = [
        "--connections",
        "8",
        "--connect-rate",
        "500/s",
        "--hold",
        "18s",
        "--cores",
        "2",
    ];
    let place = Sandbox::new();
    let url = server.url("/events").replace("ws://", "http://");
    let all = [&["run", &url, "--sse", "--json"][..], &flags, &MARKS].concat();
    let output = place.run(&all);
    assert!([0, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), 8, "{json:#}");
    assert_eq!(
        count(websocket, "messages_in"),
        count(&server.counts(), "sent")
    );
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (320, 317),
        "{json:#}"
    );
    assert_eq!(
        (
            count(websocket, "gaps"),
            count(websocket, "duplicates"),
            count(websocket, "reordered")
        ),
        (3, 1, 1),
        "{json:#}"
    );
    assert!(number(websocket, "broadcast_ms.p50") >= 249.0, "{json:#}");
    assert_eq!(count(&json, "status.200"), 8);
    let other = server.url("/counts").replace("ws://", "http://");
    let output = place.run(&[
        "run",
        &other,
        "--sse",
        "--json",
        "--connections",
        "2",
        "--hold",
        "1s",
    ]);
    assert_eq!(
        output.json()["websocket"]["failures"],
        json!({ "not switched": 2 }),
        "{output:?}"
    );
}

/// Those that are cut off come back, are sent what they are to be sent, and count apart from the handshakes.
#[test]
fn lost_ones_come_back() {
    let publish = json!({ "when": all_know(12), "after_ms": 2000, "every_ms": 50, "count": 20 });
    let cut = json!({ "when": { "received": 6, "pongs": 6 }, "after_ms": 1500 });
    let server = WebSocketServer::start(6, &json!({ "publish": publish, "cut": cut }));
    let flags = [
        "--ws-reconnect",
        "--connections",
        "6",
        "--hold",
        "14s",
        "--send",
        "join",
    ];
    let output = run(
        &Sandbox::new(),
        &server.url("/live"),
        &[&flags[..], &MARKS].concat(),
    );
    assert!([0, 6].contains(&output.code), "{output:?}");
    let (json, counts) = (output.json(), server.counts());
    let websocket = &json["websocket"];
    assert_eq!(
        (
            count(websocket, "connected"),
            count(websocket, "reconnected")
        ),
        (6, 6),
        "{json:#}"
    );
    assert_eq!(
        (count(&counts, "opened"), count(&counts, "received")),
        (12, 12)
    );
    assert_eq!(count(&json, "requests"), 6, "{json:#}");
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (120, 120),
        "{json:#}"
    );
    assert!(number(websocket, "reconnect_ms.p50") >= 250.0, "{json:#}");
}

/// Without sequence numbers messages are identified by their content.
#[test]
fn losses_are_counted_without_numbers() {
    let publish = json!({
        "after_ms": 2000, "every_ms": 50, "count": 20,
        "lost": [[0, 5], [3, 1], [3, 20]], "doubled": [[1, 7]],
    });
    let json = broadcast(10, &["/ms"], &publish, &[]);
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "expected"), 200, "{websocket:#}");
    assert_eq!(count(websocket, "received"), 197, "{websocket:#}");
    assert_eq!(
        (count(websocket, "duplicates"), count(websocket, "gaps")),
        (1, 0)
    );
    assert!(websocket["broadcast_ms"]["p50"].is_null());
}

/// A subscriber that receives nothing counts with all expected messages.
#[test]
fn nobody_is_forgotten() {
    let all: Vec<Value> = (1..=20).map(|seq| json!([2, seq])).collect();
    let publish = json!({ "after_ms": 2000, "every_ms": 50, "count": 20, "lost": all });
    let json = broadcast(4, &["/ms"], &publish, &MARKS);
    let websocket = &json["websocket"];
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (80, 60)
    );
    assert_eq!(count(websocket, "unreached"), 1);
}

/// A message published a quarter of a second before it was sent has that latency, in every unit of the stamp.
#[test]
fn stamps_are_understood_in_every_unit() {
    let publish = json!({ "after_ms": 2000, "every_ms": 50, "count": 20, "ago_ms": 250 });
    let json = broadcast(8, &["/s", "/ms", "/us", "/ns"], &publish, &MARKS);
    for index in 0..4 {
        let channel = &json["websocket"]["channels"][index];
        let p50 = number(channel, "broadcast_ms.p50");
        assert!(p50 >= 249.0, "{channel:#}");
        // A server without CPU sends later than its stamp, and a client without it reads later.
        assert!(p50 < 60_000.0, "another unit: {channel:#}");
    }
    assert_eq!(count(&json, "websocket.ahead"), 0);
}

#[test]
fn a_clock_that_is_ahead_is_told() {
    let publish = json!({ "after_ms": 2000, "every_ms": 50, "count": 10, "ago_ms": -60_000 });
    let json = broadcast(2, &["/ms"], &publish, &MARKS);
    assert_eq!(count(&json, "websocket.ahead"), 20);
    let most = number(&json, "websocket.ahead_ms_max");
    assert!((50_000.0..=60_000.0).contains(&most), "{most}");
    assert_eq!(count(&json, "websocket.received"), 20);
}

/// Losses are counted, and messages answered, within TLS as well.
#[test]
fn encrypted_ones_do_the_same() {
    let place = Sandbox::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = place.path().join("server.pem");
    let text = made.cert.pem() + &made.signing_key.serialize_pem();
    std::fs::write(&pem, text).unwrap();
    let publish = json!({
        "when": all_know(10), "after_ms": 2000, "every_ms": 50, "count": 20, "lost": [[1, 3]],
    });
    let server = WebSocketServer::start_with(10, &json!({ "publish": publish }), Some(&pem));
    let url = server.url("/echo-20").replace("ws://", "wss://");
    let output = run(
        &place,
        &url,
        &[
            "--insecure",
            "--connections",
            "10",
            "--hold",
            "13s",
            "--broadcast-seq",
            "$.data.seq",
            "--send",
            "odds?",
            "--every",
            "1s",
        ],
    );
    assert!([0, 6].contains(&output.code), "{output:?}");
    let json = output.json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), 10, "{json:#}");
    assert_eq!(
        (count(websocket, "expected"), count(websocket, "received")),
        (200, 199),
        "{json:#}"
    );
    assert_eq!(count(websocket, "gaps"), 1);
    assert!(count(websocket, "answered") > 10, "{json:#}");
    assert!(number(websocket, "request_ms.p50") >= 19.0, "{json:#}");
}

#[test]
fn ends_are_told_with_their_codes() {
    let server = WebSocketServer::start(100, &json!({}));
    let place = Sandbox::new();
    let paths = [
        "/close-4001",
        "/close-1001",
        "/close-none",
        "/close-cut",
        "/stay",
    ];
    std::fs::write(place.path().join("urls"), paths.join("\n")).unwrap();
    let flags = ["--urls", "urls", "--connections", "10", "--hold", "8s"];
    let json = run(&place, &server.url("/"), &flags).json();
    let websocket = &json["websocket"];
    assert_eq!(
        (count(websocket, "connected"), count(websocket, "closed")),
        (10, 8),
        "{json:#}"
    );
    let codes = json!({ "4001": 2, "1001": 2, "1005": 2, "1006": 2 });
    assert_eq!(websocket["close_codes"], codes, "{json:#}");
}

#[test]
fn a_refusal_is_told_with_its_status() {
    let server = WebSocketServer::start(100, &json!({}));
    let place = Sandbox::new();
    let flags = ["--connections", "7", "--hold", "200ms"];
    let output = run(&place, &server.url("/refused"), &flags);
    let json = output.json();
    // Nothing was opened: that is no success, although nothing was to be judged.
    assert!([3, 6].contains(&output.code), "{output:?}");
    let url = server.url("/refused");
    let output = place.run(&[&["run", &url, "--ws"][..], &flags].concat());
    if output.code != 6 {
        assert_eq!(output.code, 3, "{output:?}");
        let words: Vec<&str> = output.stdout.split_whitespace().collect();
        let message =
            "none of 7 WebSockets opened (status 403: 7); does it want a login or an Origin?";
        assert!(words.join(" ").contains(message), "{output:?}");
    }
    let websocket = &json["websocket"];
    assert_eq!(
        (count(websocket, "connected"), count(websocket, "failed")),
        (0, 7),
        "{json:#}"
    );
    assert_eq!(websocket["failures"], json!({ "status 403": 7 }));
    assert_eq!(count(&json, "outcomes.wrong_status"), 7);
}

#[test]
fn a_server_that_dies_has_closed_all() {
    let server = WebSocketServer::start(
        20,
        &json!({ "die": { "when": all_know(20), "after_ms": 500 } }),
    );
    let flags = [
        "--connections",
        "20",
        "--hold",
        "8s",
        "--send",
        "?",
        "--every",
        "200ms",
    ];
    let json = run(&Sandbox::new(), &server.url("/echo-5000"), &flags).json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), 20, "{json:#}");
    assert_eq!(websocket["close_codes"], json!({ "1006": 20 }), "{json:#}");
    assert_eq!(count(websocket, "answered"), 0);
    assert_eq!(
        count(websocket, "unanswered"),
        count(websocket, "messages_out")
    );
}

#[test]
fn the_screen_and_the_report_say_it_too() {
    let server = WebSocketServer::start(5, &json!({}));
    let place = Sandbox::new();
    let url = server.url("/close-4001");
    let output = place.run(&[
        "run",
        &url,
        "--ws",
        "--connections",
        "5",
        "--hold",
        "8s",
        "--report",
    ]);
    assert!([0, 6].contains(&output.code), "{output:?}");
    let words: Vec<&str> = output.stdout.split_whitespace().collect();
    let screen = words.join(" ");
    for word in [
        "websockets 5 opened",
        "5 closed by the target (code 4001: 5)",
    ] {
        assert!(screen.contains(word), "no `{word}` in {output:?}");
    }
    let file = place.run_files().pop().unwrap();
    let html = std::fs::read_to_string(file.with_extension("html")).unwrap();
    assert!(html.contains("id=\"websockets-heading\""));
    let again = place
        .run(&["report", file.to_str().unwrap(), "--json"])
        .json();
    assert_eq!(again["websocket"]["close_codes"], json!({ "4001": 5 }));
}

#[test]
fn what_does_not_fit_is_refused() {
    let place = Sandbox::new();
    let plan = "target: http://127.0.0.1:9/\nload: { connections: 1, for: 1s }\n";
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    for (arguments, word) in [
        (&["run", "ws://127.0.0.1:9/"][..], "--ws"),
        (&["limit", "ws://127.0.0.1:9/"], "unsupported URL scheme"),
        (&["run", "plan.yaml", "--ws"], "plan file"),
        (
            &["run", "http://127.0.0.1:9/", "--ws", "--rate", "5/s"],
            "--rate",
        ),
        (&["run", "http://127.0.0.1:9/", "--hold", "5s"], "--ws"),
        (
            &["run", "http://127.0.0.1:9/", "--ws", "--every", "5s"],
            "--send",
        ),
        (
            &[
                "run",
                "http://127.0.0.1:9/",
                "--ws",
                "--broadcast-seq",
                "seq",
            ],
            "RFC 9535",
        ),
        (
            &[
                "run",
                "http://127.0.0.1:9/",
                "--ws",
                "--connect-rate",
                "9e9/s",
            ],
            "--connect-rate",
        ),
        (
            &["run", "http://127.0.0.1:9/", "--ws", "-H", "Upgrade: x"],
            "handshake",
        ),
    ] {
        let output = place.run(arguments);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(word), "no `{word}` in {output:?}");
    }
}

#[test]
fn the_object_keeps_to_its_schema() {
    let server = WebSocketServer::start(3, &json!({}));
    let place = Sandbox::new();
    let json = run(
        &place,
        &server.url("/echo-1"),
        &["--connections", "3", "--hold", "1s"],
    )
    .json();
    let schema = place.run(&["generate", "schema", "run"]).stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?} in {json:#}");
    assert!(json["websocket"].is_object());
}
