//! Excessive subscriptions: many channels, long names, repetitions.

use std::io::Write as _;

use plimsoll_config::edge::{HubConfig, HubKey, HubRule, Rate};
use serde_json::{Value, json};

use super::{CHANNELS, SOCKETS, error, patient, wait_for_nobody};
use crate::hub::tokens::{SECRET, in_s, signed, with_tokens};
use crate::hub::{HubClient, live, only_hub, publish, publish_as};
use crate::support::{connect, metric, read_until, start, wait_for};

/// This many unique names.
fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{prefix}-{number}"))
        .collect()
}

#[test]
fn clients_make_so_many_channels_and_no_more() {
    const CHANNELS_MAX: u32 = 64;
    let edge = start(&only_hub(HubConfig {
        channels_max: CHANNELS_MAX,
        ..live()
    }));
    let mut clients: Vec<HubClient> = (0..10).map(|_| HubClient::open(edge.address)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(&json!({ "subscribe": names(&number.to_string(), 100) }));
        client.send(&json!({ "unsubscribe": [], "id": "settled" }));
        let mut reply = client.receive();
        while reply["id"] != "settled" {
            assert!(error(&reply).contains("limit of channels"), "{reply}");
            reply = client.receive();
        }
    }
    let channels = metric(&edge, CHANNELS).unwrap();
    assert!(channels <= f64::from(CHANNELS_MAX), "{channels}");
    // Publishing to another channel is rejected, and may be retried later.
    let body = r#"{"channel":"news","data":1}"#;
    let (status, _) = publish_as(&edge, None, body);
    assert!(status == 503 || status == 200, "{status}");
    drop(clients);
    if status == 503 {
        // Channels without messages keep no state.
        wait_for_nobody(&edge);
        publish(&edge, "news", &json!(1));
    }
}

#[test]
fn subscribing_and_leaving_again_and_again_keeps_nothing() {
    const ROUNDS: usize = 50;
    let edge = start(&only_hub(patient()));
    let channels = names("game", 100);
    for channel in &channels {
        publish(&edge, channel, &json!(1));
    }
    let mut churning = HubClient::open(edge.address);
    let mut good = HubClient::open(edge.address);
    good.subscribe("game-0");
    for _ in 0..ROUNDS {
        churning.send(&json!({ "subscribe": channels, "unsubscribe": channels }));
    }
    churning.settle();
    // Only those with messages: no duplicates, and none kept for the disconnected client.
    assert_eq!(metric(&edge, CHANNELS), Some(100.0));
    let subscribers = "plimsoll_edge_hub_channel_subscribers{channel=\"game-0\"}";
    assert_eq!(metric(&edge, subscribers), Some(1.0));
    publish(&edge, "game-0", &json!("new"));
    assert_eq!(good.receive()["data"], "new");
    churning.settle();
}

#[test]
fn names_are_short_plain_and_nothing_but_themselves() {
    let edge = start(&only_hub(patient()));
    let mut client = HubClient::open(edge.address);
    let long = "x".repeat(60_000);
    for name in [
        "",
        &"x".repeat(201),
        &long,
        "a\r\nb",
        "a\u{0}",
        "a\u{1b}[2J",
    ] {
        client.send(&json!({ "subscribe": [name], "id": 1 }));
        assert!(error(&client.receive()).contains("the channel name"));
    }
    assert_eq!(metric(&edge, CHANNELS), Some(0.0));
    // A pattern of a rule is a plain name in a command.
    for name in ["*", "game-*", "game.>", "game.*", "{id}", "$SYS.>"] {
        client.subscribe(name);
    }
    for channel in ["game-1", "game.1", "$SYS.1"] {
        publish(&edge, channel, &json!("for others"));
    }
    client.settle();
    // An invalid command is echoed only up to its beginning.
    client.send(&json!({ &long: 1 }));
    let reply = client.receive();
    assert!(error(&reply).len() < 400, "{}", error(&reply).len());
    // Names in a request's query cannot end the response head.
    let mut stream = connect(edge.address);
    let request = format!(
        "GET /live?channel=a%0d%0aX-Evil:%201 HTTP/1.1\r\nHost: {}\r\n\r\n",
        edge.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    let event = read_until(&mut stream, "\n\n");
    assert!(
        !head.contains("X-Evil") && !event.contains("\nX-Evil"),
        "{head}{event}"
    );
    assert!(event.contains("contains a control character"), "{event}");
}

#[test]
fn who_is_there_is_told_within_a_bound_however_often_it_is_asked() {
    const USERS: usize = 30;
    let hub = HubConfig {
        channels: vec![HubRule {
            presence: true,
            ..HubRule::of("chat")
        }],
        // All of it fits into the output limit, so that no other bound applies.
        waiting_max: 100_000,
        waiting_bytes_max: 64 << 20,
        ..patient()
    };
    let edge = start(&with_tokens(HubKey::Secret(SECRET.to_owned()), hub));
    let mut clients: Vec<HubClient> = (0..USERS)
        .map(|number| {
            let user = format!("{number}-{}", "u".repeat(150));
            let claims = json!({ "exp": in_s(600.0), "sub": user, "subscribe": ["chat"] });
            let mut client = HubClient::open(edge.address);
            client.send(&json!({ "token": signed(&claims), "subscribe": ["chat"], "id": 1 }));
            assert_eq!(client.receive()["subscribed"], "chat");
            client
        })
        .collect();
    let client = &mut clients[0];
    client.send(&json!({ "presence": vec!["chat"; 1000] }));
    let answers: Vec<Value> = (0..1000).map(|_| client.receive()).collect();
    let users = |answer: &Value| answer["users"].as_object().unwrap().len();
    assert_eq!(answers.iter().map(users).sum::<usize>(), 1000);
    assert_eq!(users(&answers[0]), USERS);
    // Omitted members are not hidden: each reply has the total, and a mark that the list is incomplete.
    assert!(answers.iter().all(|answer| answer["subscribers"] == USERS));
    assert_eq!(answers[999]["all"], false);
    let bytes: usize = answers.iter().map(|answer| answer.to_string().len()).sum();
    assert!(bytes < 400_000, "{bytes}");
}

#[test]
fn clients_that_come_and_go_leave_nothing() {
    let edge = start(&only_hub(live()));
    for _ in 0..10 {
        let clients: Vec<HubClient> = (0..30)
            .map(|number| {
                let mut client = HubClient::open(edge.address);
                client.subscribe(&format!("game-{number}"));
                client
            })
            .collect();
        drop(clients);
    }
    wait_for_nobody(&edge);
    // Neither do clients that disconnect before a complete message.
    for _ in 0..100 {
        let mut stream = crate::hub::abuse::open(edge.address);
        stream.write_all(b"\x81\xfe\xff").unwrap();
    }
    wait_for(&edge, SOCKETS, 0.0);
    assert_eq!(
        metric(&edge, "plimsoll_edge_hub_published_total"),
        Some(0.0)
    );
}

#[test]
fn what_one_command_names_is_bounded() {
    let edge = start(&only_hub(HubConfig {
        commands: Rate {
            per_second: 0.001,
            burst: 10,
        },
        subscriptions_max: 5,
        ..live()
    }));
    let mut client = HubClient::open(edge.address);
    for word in ["subscribe", "unsubscribe", "presence"] {
        client.send(&json!({ word: vec!["a"; 1001] }));
        assert!(error(&client.receive()).contains("more than 1000 channels"));
    }
    // Nesting costs nothing: published data is passed on verbatim, and only its reader must parse it.
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let command = format!(r#"{{"publish":{{"channel":"a","data":{deep}}}}}"#);
    let mut stream = crate::hub::abuse::open(edge.address);
    let frame = crate::hub::abuse::masked(1, command.as_bytes());
    let close = crate::hub::abuse::masked(8, b"");
    std::io::Write::write_all(&mut stream, &[frame, close].concat()).unwrap();
    let (texts, _) = crate::hub::abuse::read_frames(stream);
    assert!(
        texts.iter().any(|text| text.contains("may not publish")),
        "{texts:?}"
    );
    client.settle();
}
