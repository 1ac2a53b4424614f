//! The publish endpoint: unauthorized publishers, and denial of service.

use std::io::Write as _;
use std::net::TcpStream;

use plimsoll_config::edge::HubConfig;
use serde_json::json;

use crate::hub::{HubClient, live, only_hub, publish_as};
use crate::support::{Afloat, connect, metric, send_request, start, status_and_body};

const TOKEN: &str = "a-publish-token-of-some-length";

fn with_token() -> Afloat {
    start(&only_hub(HubConfig {
        publish_token: Some(TOKEN.to_owned()),
        ..live()
    }))
}

/// Publish requests with these header lines and a body: the status.
fn order(edge: &Afloat, line: &str, headers: &str, body: &str) -> u16 {
    let admin = edge.admin();
    let headers = headers.replace("{admin}", &admin.to_string());
    let len = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{headers}Content-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    );
    status_and_body(&send_request(admin, request)).0
}

const BODY: &str = r#"{"channel":"a","data":1}"#;
const HOST: &str = "Host: {admin}\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

fn bearer() -> String {
    format!("Authorization: Bearer {TOKEN}\r\n")
}

/// Nothing was published so far; an authorized publisher succeeds, and subscribers receive that.
fn only_who_may_publishes(edge: &Afloat, mut client: HubClient) {
    let published = metric(edge, "plimsoll_edge_hub_published_total");
    assert_eq!(published, Some(0.0));
    assert_eq!(publish_as(edge, Some(TOKEN), BODY).0, 200);
    assert_eq!(client.receive()["data"], 1);
}

#[test]
fn who_may_not_publish_does_not() {
    let edge = with_token();
    let mut client = HubClient::open(edge.address);
    client.subscribe("a");
    let bearer = bearer();
    for (status, line, headers) in [
        // Wrong tokens: a prefix, an extension, another case, another kind, another place.
        (401, "POST /publish", String::new()),
        (
            401,
            "POST /publish",
            format!("Authorization: Bearer {}\r\n", &TOKEN[1..]),
        ),
        (
            401,
            "POST /publish",
            format!("Authorization: Bearer {}\r\n", &TOKEN[..TOKEN.len() - 1]),
        ),
        (
            401,
            "POST /publish",
            format!("Authorization: Bearer {TOKEN}x\r\n"),
        ),
        (
            401,
            "POST /publish",
            format!("Authorization: Bearer {}\r\n", TOKEN.to_uppercase()),
        ),
        (
            401,
            "POST /publish",
            "Authorization: Bearer \r\n".to_owned(),
        ),
        (
            401,
            "POST /publish",
            format!("Authorization: Basic {TOKEN}\r\n"),
        ),
        (401, "POST /publish", format!("X-Token: {TOKEN}\r\n")),
        (
            401,
            "POST /publish?token=a-publish-token-of-some-length",
            String::new(),
        ),
        // The publish token is valid for publishing only.
        (405, "GET /publish", bearer.clone()),
        (405, "PUT /publish", bearer.clone()),
        // Foreign pages in a browser that has access.
        (
            403,
            "POST /publish",
            format!("{bearer}Origin: http://evil.example\r\n"),
        ),
        (403, "POST /publish", format!("{bearer}Origin: null\r\n")),
    ] {
        let headers = format!("{HOST}{JSON}{headers}");
        assert_eq!(
            order(&edge, line, &headers, BODY),
            status,
            "{line} {headers}"
        );
    }
    only_who_may_publishes(&edge, client);
}

/// Requests that a foreign page triggers in the browser of an authorized publisher.
#[test]
fn pages_of_others_do_not_publish() {
    let edge = with_token();
    let mut client = HubClient::open(edge.address);
    client.subscribe("a");
    let bearer = bearer();
    // A foreign name that resolves to this address (DNS rebinding).
    for name in [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.:{port}",
    ] {
        let name = name.replace("{port}", &edge.admin().port().to_string());
        let headers = format!("Host: {name}\r\n{JSON}{bearer}");
        assert_eq!(order(&edge, "POST /publish", &headers, BODY), 421, "{name}");
    }
    // Content types that a form can send without a preflight.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
    ] {
        let headers = format!("{HOST}Content-Type: {kind}\r\n{bearer}");
        assert_eq!(order(&edge, "POST /publish", &headers, BODY), 415, "{kind}");
    }
    only_who_may_publishes(&edge, client);
}

#[test]
fn orders_are_bounded_in_length_number_and_depth() {
    let edge = with_token();
    let publication = r#"{"channel":"a","data":1}"#;
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    for (status, body) in [
        (413, " ".repeat((4 << 20) + 1)),
        (
            422,
            format!(
                "[{}{publication}]",
                format!("{publication},").repeat(10_000)
            ),
        ),
        (422, deep(1_000_000)),
        (
            422,
            format!(r#"{{"channel":"a","data":{}"#, "[".repeat(1_000_000)),
        ),
        (
            413,
            format!(r#"{{"channel":"a","data":{}}}"#, deep(100_000)),
        ),
        (
            422,
            format!(r#"{{"channel":"{}","data":1}}"#, "x".repeat(1 << 20)),
        ),
        (422, r#"{"channel":"a\r\nb","data":1}"#.to_owned()),
        (422, "\u{feff}{}".to_owned()),
    ] {
        let (answered, _) = publish_as(&edge, Some(TOKEN), &body);
        let begin: String = body.chars().take(40).collect();
        assert_eq!(answered, status, "{begin}");
    }
    assert_eq!(publish_as(&edge, Some(TOKEN), publication).0, 200);
}

/// There are 64 connections. Unfinished bodies hold each of them for 5 s, not forever.
#[test]
fn bodies_that_never_end_keep_publishers_out_for_seconds() {
    let edge = with_token();
    let admin = edge.admin();
    let begun = std::time::Instant::now();
    let streams: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = connect(admin);
            let head = format!(
                "POST /publish HTTP/1.1\r\nHost: {admin}\r\nAuthorization: Bearer {TOKEN}\r\n\
                 Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n["
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let (status, reply) = publish_as(&edge, Some(TOKEN), r#"{"channel":"a","data":1}"#);
    assert_eq!((status, &reply["offset"]), (200, &json!(1)));
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    for mut stream in streams {
        let response = crate::support::read_all(&mut stream);
        assert_eq!(
            status_and_body(&response),
            (408, "the body did not arrive within 5 s\n")
        );
    }
}
