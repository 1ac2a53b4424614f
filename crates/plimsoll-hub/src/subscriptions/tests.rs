use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// The subscriber of the draft's examples.
const SUBSCRIBER: &str = "urn:uuid:bb3de268-05b0-4c65-b44e-8f9acefc29d6";
/// The path of its subscription there.
const EXAMPLE: &str = "/.well-known/mercure/subscriptions/https%3A%2F%2Fexample.com%2F%7Bselector%7D/urn%3Auuid%3Abb3de268-05b0-4c65-b44e-8f9acefc29d6";
const LAST: &str = "urn:uuid:5e94c686-2c0b-4f9b-958c-92ccc3bbb4eb";

fn subscriber(id: &str, topics: &[&str], payload: Option<&str>) -> Arc<ActiveSubscriber> {
    let topics = topics.iter().map(|&topic| topic.to_owned()).collect();
    let payload = payload.map(|payload| RawValue::from_string(payload.to_owned()).unwrap());
    Arc::new(ActiveSubscriber::new(id.to_owned(), topics, payload))
}

/// The subscribers of the draft's examples.
fn examples() -> Vec<Arc<ActiveSubscriber>> {
    let selector = "https://example.com/{selector}";
    vec![
        subscriber(SUBSCRIBER, &[selector], Some(r#"{"foo": "bar"}"#)),
        subscriber(
            "urn:uuid:1e0cba4c-4bcd-44f0-ae8a-7b76f7ef1280",
            &["https://example.com/a-topic"],
            Some(r#"{"baz": "bat"}"#),
        ),
        subscriber(
            "urn:uuid:a6c49794-5f74-4723-999c-3a7e33e51d49",
            &[selector],
            Some(r#"{"foo": "bap"}"#),
        ),
    ]
}

fn document(payload: &Value) -> Value {
    json!({
        "id": EXAMPLE, "type": "Subscription", "topic": "https://example.com/{selector}",
        "subscriber": SUBSCRIBER, "active": true, "payload": payload,
    })
}

fn asked(path: &str) -> Option<Value> {
    let selection = Selection::read(path)?;
    let response = response(&examples(), &selection, (path, LAST))?;
    Some(serde_json::from_str(&response).unwrap())
}

#[test]
fn events_are_as_in_the_draft() {
    let examples = examples();
    for is_active in [true, false] {
        let [event] = &examples[0].events(is_active)[..] else {
            panic!("one subscription");
        };
        assert_eq!(event.topic, EXAMPLE);
        let mut expected = document(&json!({ "foo": "bar" }));
        expected["active"] = json!(is_active);
        expected["@context"] = json!("https://mercure.rocks/");
        let document: Value = serde_json::from_str(&event.document).unwrap();
        assert_eq!(document, expected);
    }
    // Without a payload there is none.
    let plain = subscriber("urn:x", &["a", "b"], None);
    let events = plain.events(true);
    assert_eq!(events.len(), 2);
    assert!(!events[0].document.contains("payload"), "{events:?}");
}

#[test]
fn lists_are_as_in_the_draft() {
    let path = "/.well-known/mercure/subscriptions";
    let all = asked(path).unwrap();
    assert_eq!(
        (
            &all["@context"],
            &all["id"],
            &all["type"],
            &all["lastEventID"]
        ),
        (
            &json!("https://mercure.rocks/"),
            &json!(path),
            &json!("Subscriptions"),
            &json!(LAST)
        )
    );
    assert_eq!(all["subscriptions"].as_array().unwrap().len(), 3);
    assert_eq!(all["subscriptions"][0], document(&json!({ "foo": "bar" })));
    let path = "/.well-known/mercure/subscriptions/https%3A%2F%2Fexample.com%2F%7Bselector%7D";
    let some = asked(path).unwrap();
    assert_eq!(some["id"], path);
    let payloads: Vec<&Value> = some["subscriptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subscription| &subscription["payload"]["foo"])
        .collect();
    assert_eq!(payloads, ["bar", "bap"]);
    let mut expected = document(&json!({ "foo": "bar" }));
    expected["@context"] = json!("https://mercure.rocks/");
    expected["lastEventID"] = json!(LAST);
    assert_eq!(asked(EXAMPLE), Some(expected));
    let none = asked("/.well-known/mercure/subscriptions/other").unwrap();
    assert_eq!(none["subscriptions"], json!([]));
}

#[test]
fn what_is_not_there_is_not_found() {
    for path in [
        "/.well-known/mercure/subscriptions/",
        "/.well-known/mercure/subscriptions//x",
        "/.well-known/mercure/subscriptions/x/",
        "/.well-known/mercure/subscriptions/x/y/z",
        "/.well-known/mercure/subscriptions/%zz",
        "/.well-known/mercure/subscriptions/%",
        "/.well-known/mercure/subscriptions/%ff",
        "/.well-known/mercure/subscriptionsx",
        "/.well-known/mercure",
    ] {
        assert_eq!(Selection::read(path), None, "{path}");
    }
    assert_eq!(
        asked("/.well-known/mercure/subscriptions/other/urn%3Ax"),
        None
    );
}

#[test]
fn the_list_is_bounded() {
    let limits = ActiveLimits {
        subscriptions_max: 3,
        bytes_max: 2000,
    };
    let mut active = ActiveSubscriptions::default();
    let two = subscriber("urn:a", &["a", "b"], None);
    let key = active.enter(limits, &two).unwrap();
    assert_eq!(active.enter(limits, &two), None);
    let single = subscriber("urn:b", &["a"], None);
    active.enter(limits, &single).unwrap();
    assert_eq!((active.size().0, active.all().len()), (3, 2));
    active.leave(&key);
    assert_eq!(active.size(), (1, single.size()));
    // Payloads count.
    let heavy = format!("\"{}\"", "x".repeat(2000));
    let heavy = subscriber("urn:c", &["a"], Some(&heavy));
    assert_eq!(active.enter(limits, &heavy), None);
    assert_eq!(active.size(), (1, single.size()));
}

#[test]
fn events_have_topics_of_their_own() {
    assert!(is_reserved(EXAMPLE) && is_reserved(EVENTS) && is_reserved(PATH));
    assert!(is_reserved(
        "/.well-known/mercure/subscriptions{/topic}{/subscriber}"
    ));
    assert!(!is_reserved("/.well-known/mercure") && !is_reserved("*"));
}

proptest! {
    #[test]
    fn every_subscription_is_found_under_its_id(topic in ".{1,30}", id in ".{1,30}") {
        let all = [subscriber(&id, &[&topic], None)];
        let event = &all[0].events(true)[0];
        let selection = Selection::read(&event.topic);
        let expected = Selection::One { topic, subscriber: id };
        prop_assert_eq!(selection.as_ref(), Some(&expected));
        let found = response(&all, &expected, (&event.topic, LAST)).unwrap();
        let found: Value = serde_json::from_str(&found).unwrap();
        prop_assert_eq!(&found["id"], &json!(event.topic));
        prop_assert!(event.topic.is_ascii());
    }
}
