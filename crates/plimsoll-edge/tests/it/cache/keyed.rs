//! What is forwarded matches the key: no client can choose what others receive by something outside the key.

use std::net::SocketAddr;

use plimsoll_config::edge::{CacheQuery, Caching, EdgeConfig, Network};

use super::{before, cached, origin, page, request, status, value};
use crate::frames;
use crate::support::{Afloat, Scripted, send_request, start, status_and_body};

/// A server whose pages echo the request, and vary by the fields in `vary`.
fn echo(vary: &'static str) -> Scripted {
    origin(move |head, _| {
        let vary = if vary.is_empty() {
            String::new()
        } else {
            format!("\nVary: {vary}")
        };
        page(&format!("Cache-Control: max-age=600{vary}"), head)
    })
}

fn with_route(server: SocketAddr, change: impl FnOnce(&mut EdgeConfig)) -> Afloat {
    let mut edge = cached(server);
    change(&mut edge);
    start(&edge)
}

/// An edge whose clients are all trusted proxies.
fn trusting(server: SocketAddr) -> Afloat {
    with_route(server, |edge| {
        edge.trusted = vec![Network::parse("127.0.0.1").unwrap()];
    })
}

/// The request as echoed by a page, in lower case.
fn echoed_request(answer: &str) -> String {
    assert_eq!(status_and_body(answer).0, 200, "{answer}");
    status_and_body(answer).1.to_ascii_lowercase()
}

#[test]
fn a_field_that_connection_names_selects_no_copy() {
    let origin = echo("Origin, Accept-Language, Accept-Encoding, Cookie, X-Shop");
    let edge = before(origin.address);
    for (named, honest) in [
        ("origin", "Origin: https://b.example"),
        ("Accept-Language", "Accept-Language: de"),
        ("accept-encoding", "Accept-Encoding: gzip"),
        ("cookie", "Cookie: shop=1"),
        ("X-Shop", "X-Shop: 7"),
    ] {
        let line = format!("GET /{named}");
        let attack = format!("Connection: {named}\n{honest}");
        let bare = format!("close, {named}");
        assert!(
            !echoed_request(&request(edge.address, &line, &attack))
                .contains(&honest.to_ascii_lowercase())
        );
        let answer = request(edge.address, &line, honest);
        assert!(
            echoed_request(&answer).contains(&honest.to_ascii_lowercase()),
            "{bare}: {answer}"
        );
        // The stored response serves requests without it.
        let answer = request(edge.address, &line, "");
        if named != "cookie" {
            assert_eq!(status(&answer), "plimsoll; hit", "{named}: {answer}");
        }
    }
}

#[test]
fn a_port_that_the_scheme_has_anyway_reaches_no_server() {
    let origin = echo("");
    let edge = before(origin.address);
    for host in ["b.example:80", "b.example:", "B.Example", "B.EXAMPLE:80"] {
        let target = format!("/{}", host.replace(':', "_"));
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let first = send_request(edge.address, &bytes);
        let hosts: Vec<_> = status_and_body(&first)
            .1
            .lines()
            .filter(|line| line.contains('.'))
            .collect();
        for line in hosts
            .iter()
            .filter(|line| line.to_ascii_lowercase().contains("host"))
        {
            assert!(
                line.contains("b.example") && !line.contains("b.example:"),
                "{line}"
            );
        }
        let absolute = format!(
            "GET http://{host}{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            status(&send_request(edge.address, absolute)),
            "plimsoll; hit",
            "{host}"
        );
        let plain =
            format!("GET {target} HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n");
        assert_eq!(
            status(&send_request(edge.address, plain)),
            "plimsoll; hit",
            "{host}"
        );
        let (_, by_frames) = frames::fetch(edge.address, &target, host, &[]);
        assert_eq!(by_frames, status_and_body(&first).1, "{host} over HTTP/2");
    }
    // Another port is another origin.
    let bytes = "GET /p HTTP/1.1\r\nHost: b.example:443\r\nConnection: close\r\n\r\n";
    assert!(
        echoed_request(&send_request(edge.address, bytes)).contains("\r\nhost: b.example:443\r\n")
    );
}

/// Names that applications trust from proxies; few of them are on any list.
const STEERING: [&str; 26] = [
    "X-Forwarded-Ssl",
    "Front-End-Https",
    "X-Forwarded-Protocol",
    "X-Url-Scheme",
    "X-Forwarded-Uri",
    "X-Forwarded-Path",
    "X-Forwarded-Context",
    "X-Script-Name",
    "X-Forwarded-Script-Name",
    "X-Original-Uri",
    "X-HTTP-Host-Override",
    "X-Forwarded",
    "X-Forwarded-Port",
    "X-Forwarded-Server",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-HTTP-Method-Override",
    "X-Forwarded-Whatever",
    "X-Envoy-Original-Path",
    "X-Accel-Mapping",
    "X_Forwarded_Ssl",
    "x_script_name",
    "FRONT_END_HTTPS",
    "X.Forwarded.Prefix",
    "X-Real-IP",
    "CF-Connecting-IP",
];

#[test]
fn steering_headers_of_strangers_reach_no_server() {
    let origin = echo("");
    let edge = before(origin.address);
    let mut uncached = cached(origin.address);
    uncached.routes[0].cache = None;
    let uncached = start(&uncached);
    for name in STEERING {
        let line = format!("GET /{}", name.to_ascii_lowercase());
        for edge in [&uncached, &edge] {
            let answer = request(edge.address, &line, &format!("{name}: poison"));
            assert!(
                !echoed_request(&answer).contains("poison"),
                "{name}: {answer}"
            );
        }
        let target = format!("/h2-{}", name.to_ascii_lowercase());
        let lower = name.to_ascii_lowercase();
        let (_, body) = frames::fetch(edge.address, &target, "a", &[(&lower, "poison")]);
        assert!(!body.contains("poison"), "{name} over HTTP/2: {body}");
    }
}

#[test]
fn what_a_route_lets_through_is_in_the_key() {
    let origin = echo("");
    let edge = with_route(origin.address, |edge| {
        edge.routes[0].steering_headers =
            vec!["X-Forwarded-Prefix".to_owned(), "api_key".to_owned()];
    });
    for (name, other_spelling) in [
        ("X-Forwarded-Prefix", "X_Forwarded_Prefix"),
        ("api_key", "Api-Key"),
    ] {
        let line = format!("GET /{name}");
        for value in ["/one", "/two"] {
            for expected in ["plimsoll; fwd=uri-miss; stored", "plimsoll; hit"] {
                let answer = request(edge.address, &line, &format!("{name}: {value}"));
                let expected = match (value, expected) {
                    ("/two", "plimsoll; fwd=uri-miss; stored") => "plimsoll; fwd=vary-miss; stored",
                    (_, expected) => expected,
                };
                assert_eq!(status(&answer), expected, "{name}: {value}: {answer}");
                assert!(echoed_request(&answer).contains(value), "{answer}");
            }
        }
        let answer = request(edge.address, &line, &format!("{other_spelling}: /three"));
        assert!(echoed_request(&answer).contains("/three"), "{answer}");
        assert!(!echoed_request(&request(edge.address, &line, "")).contains("/three"));
    }
    // A name that servers merge with another is in no key unless a route allows it.
    for _ in 0..2 {
        let answer = request(edge.address, "GET /other", "x_other: 1");
        assert_eq!(
            status(&answer),
            "plimsoll; fwd=request; detail=steering-field",
            "{answer}"
        );
        assert!(echoed_request(&answer).contains("x_other: 1"));
    }
}

#[test]
fn what_a_trusted_peer_says_twice_or_of_another_place_is_in_nobodys_copy() {
    let origin = echo("");
    let edge = trusting(origin.address);
    let stored = "plimsoll; fwd=uri-miss; stored";
    let bypass = "plimsoll; fwd=request; detail=steering-field";
    for (at, (lines, expected)) in [
        ("X-Forwarded-Proto: https", stored),
        ("X-Forwarded-Proto: https\nX-Forwarded-Proto: http", bypass),
        ("X-Forwarded-Proto: https, http", bypass),
        ("X_Forwarded_Proto: http", bypass),
        ("Forwarded: for=192.0.2.1", stored),
        ("Forwarded: for=192.0.2.1;host=a.example;proto=http", stored),
        ("Forwarded: for=192.0.2.1;host=evil.example", bypass),
        ("Forwarded: proto=https", bypass),
        ("Forwarded: for=\"a\\\"\";host=evil.example", bypass),
        ("X-Forwarded-Proto: https\nForwarded: proto=http", bypass),
        ("X-Forwarded-Proto: https\nForwarded: proto=https", stored),
        ("X-Forwarded-Host: a.example", stored),
        ("X-Forwarded-Host: A.Example:80", stored),
        (
            "X-Forwarded-Host: a.example\nX-Forwarded-Host: evil.example",
            bypass,
        ),
        ("X-Forwarded-Host: evil.example", bypass),
        ("X-Forwarded-Proto: https\nX-Forwarded-Port: 443", stored),
        ("X-Forwarded-Port: 8443", bypass),
        ("X-Forwarded-Ssl: on", bypass),
        ("CF-Visitor: {\"scheme\":\"https\"}", bypass),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = request(edge.address, &format!("GET /{at}"), lines);
        assert_eq!(status(&answer), expected, "{lines}: {answer}");
    }
    // Scheme and host are the same in every header that contains them.
    let answer = request(edge.address, "GET /one", "X-Forwarded-Proto: https");
    let body = echoed_request(&answer);
    assert!(body.contains("\r\nx-forwarded-proto: https\r\n"), "{body}");
    assert!(
        body.contains(";proto=https\r\n") && !body.contains("proto=http\r\n"),
        "{body}"
    );
}

#[test]
fn what_the_key_leaves_out_is_left_out_of_the_request_too() {
    let origin = echo("");
    let edge = with_route(origin.address, |edge| {
        edge.routes[0].cache = Some(Caching {
            query: CacheQuery::Tracking,
            sorted: true,
            ignore_cookies: vec!["theme".to_owned()],
            ..Caching::default()
        });
    });
    let answer = request(
        edge.address,
        "GET /a?b=2&utm_source=poison&a=1",
        "Cookie: theme=poison",
    );
    assert_eq!(status(&answer), "plimsoll; fwd=uri-miss; stored");
    let body = echoed_request(&answer);
    assert!(body.starts_with("get /a?a=1&b=2 http/1.1\r\n"), "{body}");
    assert!(
        !body.contains("poison") && !body.contains("cookie"),
        "{body}"
    );
    assert_eq!(
        status(&request(edge.address, "GET /a?a=1&b=2", "")),
        "plimsoll; hit"
    );
    // A client's own cookies stay.
    let answer = request(
        edge.address,
        "GET /own",
        "Cookie: theme=dark; id=7; theme=x",
    );
    assert_eq!(
        value(status_and_body(&answer).1, "cookie"),
        "id=7",
        "{answer}"
    );
    // An unsafe request is forwarded unchanged.
    let answer = request(
        edge.address,
        "POST /a?b=2&utm_source=x",
        "Cookie: theme=dark\nContent-Length: 0",
    );
    let body = echoed_request(&answer);
    assert!(body.starts_with("post /a?b=2&utm_source=x "), "{body}");
    assert!(body.contains("theme=dark"), "{body}");
}

#[test]
fn a_page_for_one_address_or_trace_is_for_nobody_else() {
    for vary in [
        "X-Forwarded-For",
        "forwarded",
        "X-Real-IP, Accept",
        "traceparent",
    ] {
        let origin = echo(vary);
        let edge = before(origin.address);
        for _ in 0..2 {
            let answer = request(edge.address, "GET /", "");
            assert!(!status(&answer).contains("stored"), "{vary}: {answer}");
            assert!(!status(&answer).contains("hit"), "{vary}: {answer}");
        }
    }
}
