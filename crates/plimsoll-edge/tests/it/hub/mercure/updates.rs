//! Updates of several topics, and readers that return: after an id, from the earliest update, or after an unknown one.

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubShared, HubSharedKind};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Redis;
use serde_json::json;

use super::super::events::Curl;
use super::super::shared::JOINED;
use super::super::{HubClient, publish};
use super::{BOOKS, served, subscribed, token, update, update_all, url};
use crate::support::{start, wait_for};

/// A reader of everything.
fn everything() -> String {
    let token = token(&json!({ "subscribe": ["*"] }));
    format!("Authorization: Bearer {token}")
}

/// The next events are these ids and data, one each.
#[track_caller]
fn expect(reader: &mut Curl, updates: &[(String, &str)]) {
    for (id, data) in updates {
        assert_eq!(reader.receive_text(), (id.clone(), (*data).to_owned()));
    }
}

#[test]
fn an_update_of_several_topics_reaches_each_reader_once() {
    let edge = start(&served());
    let [book, shelf] = ["1", "shelf"].map(|name| format!("{BOOKS}{name}"));
    let template = format!("{BOOKS}{{id}}");
    let bearer = everything();
    let arguments = ["-H", &*bearer];
    let readers = [
        vec![&*book, &*shelf],
        vec![&*template, &*book],
        vec![&*template, "*", &*shelf],
        vec!["*"],
        vec![&*book, &*book],
    ];
    let mut readers = readers.map(|topics| subscribed(&url(&edge, &topics), &arguments).0);
    let mut native = HubClient::open(edge.address);
    native.subscribe(&book);
    native.subscribe(&shelf);
    let mut updates = Vec::new();
    for data in ["one", "two"] {
        updates.push((update_all(&edge, &[&book, &shelf, &book], data), data));
        updates.push((update_all(&edge, &[&shelf, &book], data), data));
    }
    updates.push((update(&edge, &book, "last"), "last"));
    for reader in &mut readers {
        expect(reader, &updates);
    }
    // In the hub's own protocol each channel has its message, at the same offset.
    let (first, second) = (native.receive(), native.receive());
    assert_eq!(
        (&first["channel"], &second["channel"]),
        (&json!(book), &json!(shelf))
    );
    assert_eq!(first["offset"], second["offset"]);
    // It is remembered once, too.
    let (before, rest) = (&updates[0].0, &updates[1..]);
    for topics in [vec![&*book, &*shelf], vec![&*template, &*shelf, "*"]] {
        let header = format!("Last-Event-ID: {before}");
        let arguments = ["-H", &*bearer, "-H", &*header];
        let (mut reader, named) = subscribed(&url(&edge, &topics), &arguments);
        assert_eq!(named.as_ref(), Some(before));
        expect(&mut reader, rest);
    }
}

#[test]
fn all_topics_of_an_update_get_it_or_none() {
    let edge = start(&served());
    let book = format!("{BOOKS}1");
    let (mut reader, _) = subscribed(&url(&edge, &[&book]), &[]);
    let long = format!("topic={}", "x".repeat(300));
    let fields = [&*format!("topic={book}"), &*long, "data=lost"];
    let (status, why) = super::post(&edge, &super::publisher(), &fields);
    assert!(
        status == 400 && why.contains("longer than 200 bytes"),
        "{status} {why}"
    );
    let id = update(&edge, &book, "first");
    assert_eq!(reader.receive_text(), (id, "first".to_owned()));
}

#[test]
fn earliest_brings_all_that_is_remembered() {
    let edge = start(&served());
    let topics = [format!("{BOOKS}1"), format!("{BOOKS}2"), "news".to_owned()];
    let all: Vec<&str> = topics.iter().map(String::as_str).collect();
    let data = ["one", "two\nlines", "three", "four", "five"];
    let updates: Vec<_> = data
        .iter()
        .zip(all.iter().cycle())
        .map(|(data, topic)| (update(&edge, topic, data), *data))
        .collect();
    let bearer = everything();
    let template = format!("{BOOKS}{{id}}");
    let books = [0, 1, 3, 4].map(|index| updates[index].clone());
    for (topics, expected) in [
        (&all[..], &updates[..]),
        // Templates that nobody has read before.
        (&["*"], &updates),
        (&[&*template], &books),
        (&[&*template, all[0], "*"], &updates),
    ] {
        let asked = url(&edge, topics);
        for (header, query) in [
            ("Last-Event-ID: earliest", ""),
            ("X: y", "&lastEventID=earliest"),
            ("X: y", "&Last-Event-ID=earliest"),
            ("Last-Event-ID;", "&lastEventID=earliest"),
        ] {
            let arguments = ["-H", &*bearer, "-H", header];
            let (mut reader, named) = subscribed(&format!("{asked}{query}"), &arguments);
            assert_eq!(named.as_deref(), Some("earliest"), "{header} {query}");
            expect(&mut reader, expected);
        }
    }
    // The header has precedence, and nothing is named to those who name nothing.
    let header = format!("Last-Event-ID: {}", updates[3].0);
    let asked = format!("{}&lastEventID=earliest", url(&edge, &all));
    let (mut reader, named) = subscribed(&asked, &["-H", &header]);
    assert_eq!(named.as_ref(), Some(&updates[3].0));
    expect(&mut reader, &updates[4..]);
    assert_eq!(subscribed(&url(&edge, &all), &[]).1, None);
    // Over HTTP/2 it is the same.
    let arguments = ["--http2-prior-knowledge", "-H", "Last-Event-ID: earliest"];
    let (mut reader, named) = subscribed(&url(&edge, &all), &arguments);
    assert_eq!(named.as_deref(), Some("earliest"));
    expect(&mut reader, &updates);
}

#[test]
fn who_names_an_unknown_id_learns_of_a_gap() {
    let edge = start(&served());
    let known = update(&edge, "news", "old");
    let (epoch, offset) = known[1..].split_once(':').unwrap();
    let offset: u64 = offset.parse().unwrap();
    for unknown in [
        "urn:uuid:5e94c686-2c0b-4f9b-958c-92ccc3bbb4eb",
        "#5:1",
        &format!("#{epoch}:{}", offset + 1000),
        &format!("#{epoch}:{}", u64::MAX),
        "\u{e4}",
    ] {
        let header = format!("Last-Event-ID: {unknown}");
        let (mut reader, named) = subscribed(&url(&edge, &["news"]), &["-H", &header]);
        assert_eq!(named.as_deref(), Some("earliest"), "{unknown}");
        let (kind, event) = reader.receive_text();
        assert_eq!(kind, "plimsoll", "{unknown}: {event}");
        assert!(event.contains(r#""recovered":false"#), "{unknown}: {event}");
        let id = update(&edge, "news", "new");
        assert_eq!(reader.receive_text(), (id, "new".to_owned()), "{unknown}");
    }
    // In the hub's own events, too.
    for unknown in ["1:1", "anything", "#"] {
        let header = format!("Last-Event-ID: {unknown}");
        let address = format!("http://{}/live?channel=news", edge.address);
        let (mut reader, _) = subscribed(&address, &["-H", &header]);
        let (_, event) = reader.receive_text();
        let event: serde_json::Value = serde_json::from_str(&event).unwrap();
        assert_eq!(
            (&event["subscribed"], &event["recovered"]),
            (&json!("news"), &json!(false)),
            "{unknown}"
        );
        publish(&edge, "news", &json!(1));
        assert!(reader.receive_text().1.contains(r#""data":1"#), "{unknown}");
    }
    // And a known one of which all is there is named.
    let newest = update(&edge, "news", "newest");
    let header = format!("Last-Event-ID: {newest}");
    let (_, named) = subscribed(&url(&edge, &["news"]), &["-H", &header]);
    assert_eq!(named, Some(newest));
}

#[test]
fn pages_of_other_origins_may_read_the_id() {
    let edge = start(&served());
    let arguments = [
        "-H",
        "Origin: https://page.example",
        "-H",
        "Last-Event-ID: earliest",
    ];
    let (_reader, head) = Curl::open_with_head(&url(&edge, &["news"]), &arguments);
    let head = head.join("\n").to_ascii_lowercase();
    for line in [
        "last-event-id: earliest",
        "access-control-expose-headers: last-event-id",
        "access-control-allow-origin: https://page.example",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
}

#[test]
fn edges_that_share_channels_share_updates() {
    let redis = Redis::start_at(port::unused(), "appendonly no");
    let hub = served().hub.unwrap();
    let shared = EdgeConfig {
        hub: Some(HubConfig {
            shared: Some(HubShared {
                kind: HubSharedKind::Redis,
                host: redis.address.ip().to_string(),
                port: redis.address.port(),
                user: None,
                password: None,
                tls: None,
                name: "live".to_owned(),
                messages_max: 100,
                bytes_max: 1 << 20,
            }),
            ..hub
        }),
        ..served()
    };
    let edges = [start(&shared), start(&shared)];
    for edge in &edges {
        wait_for(edge, JOINED, 1.0);
    }
    let [book, shelf] = ["1", "shelf"].map(|name| format!("{BOOKS}{name}"));
    let template = format!("{BOOKS}{{id}}");
    let open = |edge| subscribed(&url(edge, &[&book, &template, &shelf]), &[]).0;
    let mut readers = [open(&edges[0]), open(&edges[1])];
    let mut updates = Vec::new();
    for edge in [&edges[0], &edges[1], &edges[0]] {
        updates.push((update_all(edge, &[&book, &shelf], "both"), "both"));
        updates.push((update(edge, &shelf, "one"), "one"));
    }
    for reader in &mut readers {
        expect(reader, &updates);
    }
    // What one edge has sent, another recovers, once, also by a template that is new there.
    let header = format!("Last-Event-ID: {}", updates[0].0);
    let asked = url(&edges[1], &[&shelf, &book, "https://a.example/{a}/{b}"]);
    let bearer = everything();
    let (mut reader, named) = subscribed(&asked, &["-H", &header, "-H", &bearer]);
    assert_eq!(named.as_ref(), Some(&updates[0].0));
    expect(&mut reader, &updates[1..]);
}
