//! Mercure's protocol with a third-party client: curl reads and publishes.

mod subscriptions;
mod updates;

use std::process::Command;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubKey, HubTokens};
use serde_json::{Value, json};

use super::events::Curl;
use super::tokens::{SECRET, in_s, signed};
use super::{HubClient, live, only_hub, publish};
use crate::support::{Afloat, start, wait_for};

const READERS: &str = "plimsoll_edge_hub_connections{kind=\"mercure\"}";
const BOOKS: &str = "https://a.example/books/";

fn served() -> EdgeConfig {
    only_hub(HubConfig {
        mercure: true,
        tokens: Some(HubTokens {
            key: HubKey::Secret(SECRET.to_owned()),
            audience: None,
            public: vec![format!("{BOOKS}*"), "news".to_owned()],
        }),
        origins: vec!["https://page.example".to_owned()],
        ..live()
    })
}

fn token(claims: &Value) -> String {
    signed(&json!({ "exp": in_s(600.0), "mercure": claims }))
}

/// A client with rights of its own.
fn claims() -> Value {
    json!({ "subscribe": ["/users/{id}"], "publish": ["/users/5"] })
}

fn publisher() -> String {
    token(&json!({ "publish": ["*"] }))
}

fn url(edge: &Afloat, topics: &[&str]) -> String {
    let topics: Vec<String> = topics
        .iter()
        .map(|topic| {
            let topic = topic.replace('{', "%7B").replace('}', "%7D");
            format!("topic={topic}")
        })
        .collect();
    format!(
        "http://{}/.well-known/mercure?{}",
        edge.address,
        topics.join("&")
    )
}

/// curl's response: status and body.
fn curl(arguments: &[&str], url: &str) -> (u16, String) {
    let done = Command::new("curl")
        .args(["-sS", "--max-time", "60", "-w", "\n%{http_code}"])
        .args(arguments)
        .arg(url)
        .output()
        .expect("curl is installed: apt-get install curl");
    let output = String::from_utf8(done.stdout).unwrap();
    let (body, status) = output.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// Posts a form with a token.
fn post(edge: &Afloat, token: &str, fields: &[&str]) -> (u16, String) {
    let bearer = format!("Authorization: Bearer {token}");
    let mut arguments = vec!["-H", &*bearer];
    for field in fields {
        arguments.extend(["--data-urlencode", field]);
    }
    let url = format!("http://{}/.well-known/mercure", edge.address);
    curl(&arguments, &url)
}

/// Publishes successfully; the id.
#[track_caller]
fn update(edge: &Afloat, topic: &str, data: &str) -> String {
    let (topic, data) = (format!("topic={topic}"), format!("data={data}"));
    let (status, id) = post(edge, &publisher(), &[&topic, &data]);
    assert_eq!(status, 200, "{id}");
    id
}

/// Publishes one update of several topics; the id.
#[track_caller]
fn update_all(edge: &Afloat, topics: &[&str], data: &str) -> String {
    let mut fields: Vec<String> = topics
        .iter()
        .map(|topic| format!("topic={topic}"))
        .collect();
    fields.push(format!("data={data}"));
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let (status, id) = post(edge, &publisher(), &fields);
    assert_eq!(status, 200, "{id}");
    id
}

/// Opens a reader that is subscribed when this returns, and the value of its `Last-Event-ID`.
#[track_caller]
fn subscribed(url: &str, arguments: &[&str]) -> (Curl, Option<String>) {
    let (reader, head) = Curl::open_with_head(url, &[arguments, &["-g"]].concat());
    assert!(head[0].contains(" 200"), "{head:?}");
    let named = head.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("last-event-id")
            .then(|| value.to_owned())
    });
    (reader, named)
}

/// Opens a reader and waits until the number of subscribed channels grows by one.
fn read(edge: &Afloat, topics: &[&str], arguments: &[&str]) -> Curl {
    let before = crate::support::metric(edge, READERS).unwrap();
    let reader = Curl::open(&url(edge, topics), arguments);
    wait_for(edge, READERS, before + 1.0);
    reader
}

#[test]
fn updates_reach_readers_as_they_were_published() {
    let edge = start(&served());
    let topic = format!("{BOOKS}1");
    let mut reader = read(&edge, &[&topic, "news"], &[]);
    let mut native = HubClient::open(edge.address);
    native.subscribe(&topic);
    for data in [
        r#"{"title": "a"}"#,
        "plain text",
        r#""in quotes""#,
        "two\nlines",
        "5",
        "ä",
    ] {
        let id = update(&edge, &topic, data);
        assert_eq!(reader.receive_text(), (id, data.to_owned()));
        let received = native.receive();
        let expected = match data {
            r#"{"title": "a"}"# => json!({ "title": "a" }),
            "5" => json!(5),
            text => json!(text),
        };
        assert_eq!(
            (&received["channel"], &received["data"]),
            (&json!(topic), &expected)
        );
    }
    // Messages published otherwise reach them too.
    publish(&edge, "news", &json!([1]));
    assert_eq!(reader.receive_text().1, "[1]");
    let id = update(&edge, "news", "");
    assert_eq!(reader.receive_text(), (id, String::new()));
    drop(reader);
    wait_for(&edge, READERS, 0.0);
}

#[test]
fn one_id_recovers_all_topics() {
    let edge = start(&served());
    let topics = [format!("{BOOKS}1"), format!("{BOOKS}2"), "news".to_owned()];
    let all: Vec<&str> = topics.iter().map(String::as_str).collect();
    let mut reader = read(&edge, &all, &[]);
    let first = update(&edge, all[1], "first");
    assert_eq!(reader.receive_text(), (first.clone(), "first".to_owned()));
    drop(reader);
    wait_for(&edge, READERS, 0.0);
    let mut missed = Vec::new();
    for (number, topic) in all.iter().cycle().take(7).enumerate() {
        let data = number.to_string();
        missed.push((update(&edge, topic, &data), data));
    }
    for how in ["header", "query"] {
        let mut url = url(&edge, &all);
        let header = format!("Last-Event-ID: {first}");
        let mut arguments = vec!["-H", &*header];
        if how == "query" {
            arguments.clear();
            url.extend(["&lastEventID=%23", &first[1..]]);
        }
        let mut reader = Curl::open(&url, &arguments);
        let mut received: Vec<_> = missed.iter().map(|_| reader.receive_text()).collect();
        // Topic by topic.
        received.sort_by_key(|(id, _)| id.split(':').nth(1).unwrap().parse::<u64>().unwrap());
        assert_eq!(received, missed, "by {how}");
    }
    // Another run of the hub: missed messages are unknown, and that is reported.
    let mut reader = Curl::open(&url(&edge, &["news"]), &["-H", "Last-Event-ID: #5:1"]);
    let (kind, event) = reader.receive_text();
    assert!(
        kind == "plimsoll" && event.contains("\"recovered\":false"),
        "{kind} {event}"
    );
    let id = update(&edge, "news", "new");
    assert_eq!(reader.receive_text(), (id, "new".to_owned()));
}

#[test]
fn templates_mean_what_they_may_become() {
    let edge = start(&served());
    let template = format!("{BOOKS}{{id}}");
    let mut reader = read(&edge, &[&template], &["-g"]);
    wait_for(&edge, "plimsoll_edge_hub_channels", 1.0);
    update(&edge, &format!("{BOOKS}1/secret"), "another");
    let id = update(&edge, &format!("{BOOKS}1"), "one");
    assert_eq!(reader.receive_text(), (id.clone(), "one".to_owned()));
    drop(reader);
    wait_for(&edge, READERS, 0.0);
    update(&edge, &format!("{BOOKS}2"), "two");
    let header = format!("Last-Event-ID: {id}");
    let mut reader = Curl::open(&url(&edge, &[&template]), &["-g", "-H", &header]);
    assert_eq!(reader.receive_text().1, "two");
    // All topics, for readers with that right.
    let everything = token(&json!({ "subscribe": ["*"] }));
    assert_eq!(curl(&[], &url(&edge, &["*"])).0, 401);
    let bearer = format!("Authorization: Bearer {everything}");
    let mut all = read(&edge, &["*"], &["-H", &bearer]);
    // The two readers of templates.
    wait_for(&edge, "plimsoll_edge_hub_channels", 5.0);
    update(&edge, "hidden", "three");
    assert_eq!(all.receive_text().1, "three");
    update(&edge, &format!("{BOOKS}3"), "four");
    assert_eq!(
        (all.receive_text().1, reader.receive_text().1),
        ("four".to_owned(), "four".to_owned())
    );
}

#[test]
fn readers_and_publishers_do_what_their_token_says() {
    let edge = start(&served());
    let token = token(&claims());
    let bearer = format!("Authorization: Bearer {token}");
    let cookie = format!("mercureAuthorization={token}");
    let asked = url(&edge, &["/users/5"]);
    assert_eq!(curl(&[], &asked).0, 401);
    assert_eq!(curl(&["-H", "Authorization: Bearer x"], &asked).0, 401);
    assert_eq!(
        curl(&["-H", &bearer], &url(&edge, &["/users/5/cards"])).0,
        403
    );
    let by_query = format!("{asked}&authorization={token}");
    let mut readers = [
        Curl::open(&asked, &["-H", &bearer]),
        Curl::open(&asked, &["-b", &cookie]),
        Curl::open(&by_query, &[]),
        Curl::open(
            &asked,
            &["-b", &cookie, "-H", "Origin: https://page.example"],
        ),
    ];
    wait_for(&edge, READERS, 4.0);
    let (status, id) = post(
        &edge,
        &token,
        &["topic=/users/5", "data=secret", "private=on"],
    );
    assert_eq!(status, 200, "{id}");
    for reader in &mut readers {
        assert_eq!(reader.receive_text(), (id.clone(), "secret".to_owned()));
    }
}

#[test]
fn what_is_no_update_is_refused() {
    let edge = start(&served());
    let (token, publisher) = (token(&claims()), publisher());
    for (token, fields, status, why) in [
        ("x", &["topic=news"][..], 401, "not a signed JWT"),
        (
            &*token,
            &["topic=/users/6"],
            403,
            "does not allow publishing to /users/6",
        ),
        (
            &*publisher,
            &["topic=news", "private=on"],
            403,
            "news is `public`",
        ),
        (
            &*publisher,
            &["topic=news", "type=x"],
            400,
            "`type` is not supported",
        ),
        (&*publisher, &["data=x"], 400, "`topic` is missing"),
        (
            &*publisher,
            &[&*format!("topic={}", "x".repeat(300))],
            400,
            "longer than 200 bytes",
        ),
        (
            &*publisher,
            &["topic=news", &*format!("data={}", "x".repeat(70_000))],
            413,
            "longer than",
        ),
    ] {
        let (answered, body) = post(&edge, token, fields);
        assert!(
            answered == status && body.contains(why),
            "{answered} {body}"
        );
    }
}

#[test]
fn publishers_come_by_every_way_that_is_safe() {
    let edge = start(&served());
    let token = token(&claims());
    let bearer = format!("Authorization: Bearer {token}");
    let cookie = format!("mercureAuthorization={token}");
    let endpoint = format!("http://{}/.well-known/mercure", edge.address);
    let form = ["-d", "topic=/users/5"];
    for (arguments, status, why) in [
        (&[][..], 401, "a token with mercure.publish"),
        (&["-b", &*cookie], 403, "requires an Origin"),
        (
            &["-b", &*cookie, "-H", "Origin: https://evil.example"],
            403,
            "nor one of the hub's allowed origins",
        ),
        (
            &["-b", &*cookie, "-H", "Origin: https://page.example"],
            200,
            "#",
        ),
        (
            &["-H", &*bearer, "-H", "Content-Type: application/json"],
            400,
            "unsupported content type",
        ),
        (&["-H", &*bearer, "-X", "PUT"], 405, "POST to publish"),
        (&["-H", &*bearer, "--http2-prior-knowledge"], 200, "#"),
        (
            &["-H", &*bearer, "-H", "Transfer-Encoding: chunked"],
            200,
            "#",
        ),
        (&["-H", &*bearer, "-H", "Expect: 100-continue"], 200, "#"),
    ] {
        let (answered, body) = curl(&[&form[..], arguments].concat(), &endpoint);
        assert!(
            answered == status && body.contains(why),
            "{arguments:?} {answered} {body}"
        );
    }
}

#[test]
fn pages_of_other_origins_ask_before() {
    let edge = start(&served());
    let endpoint = format!("http://{}/.well-known/mercure", edge.address);
    // A browser sends a preflight before a page of another origin may send a token.
    let (status, response) = curl(
        &["-i", "-X", "OPTIONS", "-H", "Origin: https://page.example"],
        &endpoint,
    );
    assert_eq!(status, 200);
    for line in [
        "Access-Control-Allow-Origin: https://page.example",
        "Access-Control-Allow-Credentials: true",
        "Access-Control-Allow-Headers: authorization,",
    ] {
        assert!(response.contains(line), "{line}: {response}");
    }
    // No response for an origin that is not listed.
    let plain = start(&only_hub(live()));
    let endpoint = format!("http://{}/.well-known/mercure?topic=a", plain.address);
    assert_eq!(curl(&[], &endpoint).0, 404);
}
