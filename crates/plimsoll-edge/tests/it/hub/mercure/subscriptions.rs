//! Active subscriptions: their events, and the list.

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubTokens};
use serde_json::{Value, json};

use super::super::events::Curl;
use super::{
    BOOKS, READERS, curl, post, publisher, served, signed, subscribed, token, update, url,
};
use crate::support::{Afloat, metric, start, wait_for};

const PATH: &str = "/.well-known/mercure/subscriptions";
const EVENTS: &str = "/.well-known/mercure/subscriptions/{topic}/{subscriber}";
/// The form of the reference hub's documentation.
const ALL: &str = "/.well-known/mercure/subscriptions{/topic}{/subscriber}";

fn listing(hub: HubConfig) -> EdgeConfig {
    EdgeConfig {
        hub: Some(HubConfig {
            subscription_events: true,
            ..hub
        }),
        ..served()
    }
}

fn hub() -> HubConfig {
    served().hub.unwrap()
}

/// A client that may know of subscriptions.
fn bearer() -> String {
    let token = token(&json!({ "subscribe": [ALL, EVENTS] }));
    format!("Authorization: Bearer {token}")
}

/// The next event about a subscription.
#[track_caller]
fn event(reader: &mut Curl) -> Value {
    let (id, data) = reader.receive_text();
    assert!(id.starts_with('#'), "{id} {data}");
    serde_json::from_str(&data).unwrap()
}

/// The list at a path: status and document.
fn list(edge: &Afloat, path: &str, arguments: &[&str]) -> (u16, Value) {
    let address = format!("http://{}{path}", edge.address);
    let (status, body) = curl(arguments, &address);
    (status, serde_json::from_str(&body).unwrap_or_default())
}

#[test]
fn subscriptions_are_told_and_listed() {
    let edge = start(&listing(hub()));
    let bearer = bearer();
    let authorized = ["-H", &*bearer];
    let (mut watcher, _) = subscribed(&url(&edge, &[EVENTS]), &authorized);
    let payload = json!({ "user": "eve", "n": 18_446_744_073_709_551_615_u64 });
    let claims = json!({ "subscribe": ["/users/{id}"], "payload": payload });
    let reading = format!("Authorization: Bearer {}", token(&claims));
    let template = format!("{BOOKS}{{id}}");
    let (reader, _) = subscribed(&url(&edge, &["/users/5", &template]), &["-H", &reading]);
    let begun = [event(&mut watcher), event(&mut watcher)];
    let subscriber = begun[0]["subscriber"].as_str().unwrap();
    assert!(subscriber.starts_with("urn:uuid:"), "{subscriber}");
    for (event, topic, path) in [
        (&begun[0], "/users/5", "%2Fusers%2F5"),
        (
            &begun[1],
            &*template,
            "https%3A%2F%2Fa.example%2Fbooks%2F%7Bid%7D",
        ),
    ] {
        let id = format!("{PATH}/{path}/{}", subscriber.replace(':', "%3A"));
        let expected = json!({
            "@context": "https://mercure.rocks/", "id": id, "type": "Subscription", "topic": topic,
            "subscriber": subscriber, "active": true, "payload": payload,
        });
        assert_eq!(*event, expected);
        // The same under its own path, with the last event.
        let (status, mut document) = list(&edge, &id, &authorized);
        let last = document["lastEventID"].take();
        assert!(
            status == 200 && last.as_str().unwrap().starts_with('#'),
            "{status} {last}"
        );
        document.as_object_mut().unwrap().remove("lastEventID");
        assert_eq!(document, expected);
        let (_, of_topic) = list(&edge, &format!("{PATH}/{path}"), &authorized);
        assert_eq!(
            of_topic["subscriptions"].as_array().unwrap().len(),
            1,
            "{of_topic}"
        );
    }
    let (status, all) = list(&edge, PATH, &authorized);
    assert_eq!(
        (status, &all["type"], &all["id"]),
        (200, &json!("Subscriptions"), &json!(PATH))
    );
    let topics: Vec<&Value> = all["subscriptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subscription| &subscription["topic"])
        .collect();
    assert_eq!(topics, [EVENTS, "/users/5", &*template]);
    assert_eq!(
        metric(&edge, "plimsoll_edge_hub_active_subscriptions"),
        Some(3.0)
    );
    drop(reader);
    for begun in begun {
        let mut ended = event(&mut watcher);
        assert_eq!(ended["active"], false);
        ended["active"] = json!(true);
        assert_eq!(ended, begun);
        let (status, _) = list(&edge, begun["id"].as_str().unwrap(), &authorized);
        assert_eq!(status, 404);
    }
    let (_, all) = list(&edge, PATH, &authorized);
    assert_eq!(all["subscriptions"].as_array().unwrap().len(), 1, "{all}");
}

#[test]
fn who_comes_with_the_id_of_a_list_misses_nothing() {
    let edge = start(&listing(hub()));
    let bearer = bearer();
    let authorized = ["-H", &*bearer];
    let (_, all) = list(&edge, PATH, &authorized);
    assert_eq!(
        (&all["lastEventID"], &all["subscriptions"]),
        (&json!("earliest"), &json!([]))
    );
    let (_first, _) = subscribed(&url(&edge, &["news"]), &[]);
    let (_, all) = list(&edge, PATH, &authorized);
    let last = all["lastEventID"].as_str().unwrap().to_owned();
    let book = format!("{BOOKS}1");
    let (second, _) = subscribed(&url(&edge, &[&book]), &[]);
    drop(second);
    wait_for(&edge, READERS, 1.0);
    // Also by a template that is new, and with updates in between.
    update(&edge, "news", "an update");
    let header = format!("Last-Event-ID: {last}");
    for template in [EVENTS, ALL] {
        let asked = url(&edge, &[template]);
        let (mut watcher, named) = subscribed(&asked, &["-H", &*bearer, "-H", &*header]);
        assert_eq!(named.as_deref(), Some(&*last), "{template}");
        // Its own subscription is received before it reads.
        let wanted = [(&*book, true), (&*book, false), (template, true)];
        let mut received = Vec::new();
        let is_missing = |received: &[Value]| {
            wanted.iter().any(|(topic, is_active)| {
                let is_it = |it: &Value| it["topic"] == *topic && it["active"] == *is_active;
                !received.iter().any(is_it)
            })
        };
        while is_missing(&received) {
            received.push(event(&mut watcher));
        }
        drop(watcher);
        wait_for(&edge, READERS, 1.0);
    }
}

#[test]
fn only_those_who_may_know_are_told() {
    let open = HubTokens {
        public: vec!["*".to_owned()],
        ..hub().tokens.unwrap()
    };
    let edge = start(&listing(HubConfig {
        tokens: Some(open),
        ..hub()
    }));
    let other = token(&json!({ "subscribe": ["/users/{id}"] }));
    let other = format!("Authorization: Bearer {other}");
    let single = format!("{PATH}/news/urn%3Ax");
    for path in [PATH, &*format!("{PATH}/news"), &*single] {
        assert_eq!(list(&edge, path, &[]).0, 401, "{path}");
        assert_eq!(list(&edge, path, &["-H", &other]).0, 403, "{path}");
    }
    for topic in [EVENTS, &*single] {
        assert_eq!(curl(&["-g"], &url(&edge, &[topic])).0, 401, "{topic}");
        assert_eq!(
            curl(&["-g", "-H", &other], &url(&edge, &[topic])).0,
            403,
            "{topic}"
        );
    }
    // Readers of what is public are not, although the template means all.
    let (mut anyone, _) = subscribed(&url(&edge, &["*"]), &[]);
    let (_reader, _) = subscribed(&url(&edge, &["news"]), &[]);
    let id = update(&edge, "news", "an update");
    assert_eq!(anyone.receive_text(), (id, "an update".to_owned()));
    // Nobody else may publish events.
    for topic in [&*single, PATH] {
        let (status, why) = post(&edge, &publisher(), &[&*format!("topic={topic}"), "data=x"]);
        assert!(
            status == 403 && why.contains("own events"),
            "{status} {why}"
        );
    }
    let bearer = bearer();
    assert_eq!(list(&edge, &format!("{PATH}/%zz"), &["-H", &bearer]).0, 404);
    assert_eq!(list(&edge, PATH, &["-H", &bearer, "-X", "POST"]).0, 405);
    // A hub without them has no list.
    let plain = start(&served());
    assert_eq!(list(&plain, PATH, &["-H", &bearer]).0, 404);
}

#[test]
fn the_number_of_subscriptions_is_bounded() {
    let edge = start(&listing(HubConfig {
        active_subscriptions_max: 2,
        ..hub()
    }));
    let book = format!("{BOOKS}1");
    assert_eq!(curl(&[], &url(&edge, &["news", &book, "news2"])).0, 401);
    let (reader, _) = subscribed(&url(&edge, &["news", &book]), &[]);
    let (status, why) = curl(&[], &url(&edge, &["news"]));
    assert!(
        status == 503 && why.contains("active subscriptions"),
        "{status} {why}"
    );
    drop(reader);
    wait_for(&edge, "plimsoll_edge_hub_active_subscriptions", 0.0);
    subscribed(&url(&edge, &["news"]), &[]);
}

#[test]
fn a_token_tells_of_one_topic_only_what_it_may() {
    let edge = start(&listing(hub()));
    let path = format!("{PATH}/news");
    let claims = json!({ "exp": super::in_s(600.0), "mercure": { "subscribe": [path] } });
    let bearer = format!("Authorization: Bearer {}", signed(&claims));
    assert_eq!(list(&edge, &path, &["-H", &bearer]).0, 200);
    assert_eq!(list(&edge, PATH, &["-H", &bearer]).0, 403);
}
