//! Attacks on the cache: poisoning it, reading others' pages, evicting what is in use, and occupying memory.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::sync_channel;

use plimsoll_config::edge::{Caching, EdgeConfig};
use serde_json::Value;

use super::{before, cached, check, open, origin, page, request, shown, value};
use crate::support::{
    Afloat, PATIENCE, Scripted, connect, get, read_until, send_request, start, status_and_body,
};

/// A server whose pages echo the request.
fn echo() -> Scripted {
    origin(|head, _| page("Cache-Control: max-age=600", head))
}

#[test]
fn a_field_that_is_no_part_of_the_key_leaves_nothing_in_a_page() {
    let origin = echo();
    let edge = before(origin.address);
    let fields = [
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-For",
        "X-Forwarded-Server",
        "X-Forwarded-Scheme",
        "X-Forwarded-Prefix",
        "X-Original-URL",
        "X-Original-Host",
        "X-Rewrite-URL",
        "X-Host",
        "X-HTTP-Method",
        "X-HTTP-Method-Override",
        "X-Method-Override",
        "x_http_method_override",
        "Forwarded",
        "Range",
        "If-None-Match",
        "If-Modified-Since",
        "If-Range",
        "If-Match",
        "If-Unmodified-Since",
        "Authorization",
        "Proxy-Authorization",
        "Connection",
        "Upgrade",
        "TE",
        "Trailer",
        "X-Plimsoll",
    ];
    for field in fields {
        let line = format!("GET /{field}");
        request(edge.address, &line, &format!("{field}: poison"));
        let answer = request(edge.address, &line, "");
        let (status, body) = status_and_body(&answer);
        assert_eq!(status, 200, "{field}: {answer}");
        assert!(!body.contains("poison"), "{field}: {answer}");
        let again = request(edge.address, &line, "");
        check(&again, (200, body), "plimsoll; hit");
    }
}

#[test]
fn pages_of_other_methods_hosts_ports_paths_and_queries_stay_apart() {
    let origin = echo();
    let edge = before(origin.address);
    let targets = [
        "/",
        "//",
        "/a",
        "/A",
        "/a/",
        "/a//",
        "/./a",
        "/a/../a",
        "/%61",
        "/%2561",
        "/a%2f",
        "/a%00",
        "/a;b",
        "/a?",
        "/a?b",
        "/a?b=",
        "/a?b=1",
        "/a?b=1&b=2",
        "/a?b=2&b=1",
        "/a?b=1;b=2",
        "/a?B=1",
        "/a?b=%31",
        "/a?utm_source=x",
        "/a?callback=x",
        "/a%3fb=1",
        "/a\\",
    ];
    for round in 0..2 {
        for target in targets {
            let answer = request(edge.address, &format!("GET {target}"), "");
            if status_and_body(&answer).0 == 400 {
                // Two possible readings: rejected.
                continue;
            }
            let first = status_and_body(&answer)
                .1
                .lines()
                .next()
                .unwrap_or_default();
            let asked = format!("GET {target} HTTP/1.1");
            assert_eq!(first, asked, "{round}");
        }
    }
    for host in ["a.example", "a.example:81", "b.example", "a.example."] {
        for _ in 0..2 {
            let asked = format!("GET /host HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let answer = send_request(edge.address, asked);
            let body = status_and_body(&answer).1.to_ascii_lowercase();
            assert!(body.contains(&format!("host: {host}\r\n")), "{answer}");
        }
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        request(
            edge.address,
            &format!("{method} /method"),
            "Content-Length: 0",
        );
        let answer = request(edge.address, "GET /method", "");
        assert!(
            status_and_body(&answer).1.starts_with("GET /method "),
            "{method}: {answer}"
        );
    }
}

#[test]
fn what_hides_in_the_body_of_a_get_is_in_nobodys_page() {
    let origin = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let mut body = vec![0; value(&head, "content-length").parse().unwrap_or_default()];
            connection.stream.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            connection.send(page("Cache-Control: max-age=600", &format!("said: {body}")));
        }
    });
    let edge = before(origin.address);
    let fat =
        "GET / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 6\r\nConnection: close\r\n\r\npoison";
    assert_eq!(
        status_and_body(&send_request(edge.address, fat)),
        (200, "said: poison")
    );
    let answer = request(edge.address, "GET /", "");
    check(&answer, (200, "said: "), "plimsoll; fwd=uri-miss; stored");
    // Nor does the stored response answer such a request.
    assert_eq!(
        status_and_body(&send_request(edge.address, fat)),
        (200, "said: poison")
    );
    check(
        &request(edge.address, "GET /", ""),
        (200, "said: "),
        "plimsoll; hit",
    );
}

/// A server of account pages without any cache directive, whatever the path looks like.
fn accounts() -> Scripted {
    origin(|head, _| {
        let head = head.to_ascii_lowercase();
        let who = head
            .split("session=")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next());
        page("Content-Type: text/html", who.unwrap_or("nobody"))
    })
}

#[track_caller]
fn check_deception(edge: SocketAddr) {
    for path in [
        "/account/x.css",
        "/account;x.css",
        "/account%2Fx.js",
        "/account/x.png?v=1",
    ] {
        let line = format!("GET {path}");
        let hers = request(edge, &line, "Cookie: session=anna");
        assert_eq!(status_and_body(&hers).1, "anna");
        for (cookie, expected) in [
            ("", "nobody"),
            ("Cookie: session=bert", "bert"),
            ("Cookie: theme=1", "nobody"),
        ] {
            let answer = request(edge, &line, cookie);
            assert_eq!(
                status_and_body(&answer).1,
                expected,
                "{path}, {cookie}: {answer}"
            );
        }
    }
}

#[test]
fn a_page_that_looks_like_a_style_sheet_is_still_somebodys_own() {
    let origin = accounts();
    check_deception(before(origin.address).address);
    // A minimum lifetime does not make it public either.
    let mut edge = cached(origin.address);
    edge.routes[0].cache = Some(Caching {
        ttl: Some(std::time::Duration::from_mins(10)),
        ..Caching::default()
    });
    check_deception(start(&edge).address);
}

/// Requests one page after the other on one connection; the last response.
fn request_all(stream: &mut TcpStream, lines: impl Iterator<Item = String>) -> String {
    let mut answer = String::new();
    for line in lines {
        stream
            .write_all(format!("{line}\r\n\r\n").as_bytes())
            .unwrap();
        answer = read_until(stream, "\r\n\r\n");
        let len = value(&answer, "content-length").parse().expect("a length");
        let mut body = vec![0; len];
        stream.read_exact(&mut body).unwrap();
    }
    answer
}

fn held(edge: &Afloat) -> (u64, u64) {
    let held: Value = shown(edge, "/cache");
    let of = |word: &str| held[word].as_u64().expect("a number");
    (of("bytes"), of("objects"))
}

/// An edge with the smallest cache.
fn small(server: SocketAddr) -> Afloat {
    start(&EdgeConfig {
        cache: Some(1 << 20),
        ..open(server)
    })
}

#[test]
fn a_flood_of_keys_stays_in_the_budget_and_drives_out_no_hot_page() {
    let origin = origin(|_, _| page("Cache-Control: max-age=600", &"x".repeat(2_000)));
    let edge = small(origin.address);
    let mut stream = connect(edge.address);
    let line = |target: String| format!("GET {target} HTTP/1.1\r\nHost: a.example");
    let hot = || line("/hot".to_owned());
    request_all(&mut stream, (0..5).map(|_| hot()));
    for flood in 0..20 {
        let targets = (0..100).map(|number| line(format!("/?{flood}-{number}")));
        request_all(&mut stream, targets);
        let answer = request_all(&mut stream, std::iter::once(hot()));
        assert!(
            value(&answer, "cache-status").starts_with("plimsoll; hit"),
            "{flood}: {answer}"
        );
        let (bytes, _) = held(&edge);
        assert!(bytes <= 1 << 20, "{bytes} bytes of {}", 1 << 20);
    }
}

#[test]
fn a_flood_of_variants_is_bounded() {
    let origin = origin(|_, _| {
        page(
            "Cache-Control: max-age=600\nVary: User-Agent, X-Any",
            "hello",
        )
    });
    let edge = small(origin.address);
    let mut stream = connect(edge.address);
    let line = |agent: String| format!("GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {agent}");
    for flood in 0..20 {
        request_all(
            &mut stream,
            (0..20).map(|number| line(format!("{flood}-{number}"))),
        );
        request_all(&mut stream, (0..2).map(|_| line("usual".to_owned())));
    }
    let answer = request_all(&mut stream, std::iter::once(line("usual".to_owned())));
    assert!(
        value(&answer, "cache-status").starts_with("plimsoll; hit"),
        "{answer}"
    );
    let (bytes, objects) = held(&edge);
    assert!(
        objects <= 16 && bytes <= 1 << 20,
        "{objects} copies, {bytes} bytes"
    );
}

#[test]
fn an_answer_that_never_ends_is_let_go_with_its_last_reader() {
    let (release, released) = sync_channel::<()>(1);
    let origin = Scripted::start(move |mut connection| {
        if connection.head().is_none() {
            return;
        }
        connection.send(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        let piece = format!("10000\r\n{}\r\n", "x".repeat(0x1_0000));
        while connection.stream.write_all(piece.as_bytes()).is_ok() {}
        let _ = release.send(());
    });
    let edge = small(origin.address);
    let mut stream = connect(edge.address);
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        .unwrap();
    let mut piece = vec![0; 4 << 20];
    stream.read_exact(&mut piece).unwrap();
    let (bytes, _) = held(&edge);
    assert!(bytes <= 1 << 20, "{bytes} bytes");
    drop(stream);
    released
        .recv_timeout(PATIENCE)
        .expect("the server is let go");
    edge.wait_until("the end of the fetch", || {
        shown(&edge, "/cache")["fetches"] == 0
    });
}

#[test]
fn lengths_that_lie_leave_no_copy() {
    for lie in [
        "Content-Length: 10\r\n\r\nhello",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nA\r\nhello\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "Content-Length: 99999999999999999999\r\n\r\nhello",
    ] {
        let origin = Scripted::start(move |mut connection| {
            if connection.head().is_some() {
                connection.send(format!(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n{lie}"
                ));
            }
        });
        let edge = before(origin.address);
        for _ in 0..3 {
            let answer = get(edge.address, "/");
            assert!(
                !value(&answer, "cache-status").contains("hit"),
                "{lie:?}: {answer}"
            );
        }
    }
    // Data behind the announced end is no response for anyone.
    let origin = Scripted::start(|mut connection| {
        while connection.head().is_some() {
            connection.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\n\
                 helloHTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 4\r\n\r\nevil",
            );
        }
    });
    let edge = before(origin.address);
    for path in ["/a", "/b", "/a", "/b"] {
        assert_eq!(
            status_and_body(&get(edge.address, path)),
            (200, "hello"),
            "{path}"
        );
    }
}

#[test]
fn huge_heads_are_refused_or_passed_and_never_kept_beyond_the_budget() {
    let origin = origin(|head, _| {
        let len = if head.contains("GET /more ") {
            100_000
        } else {
            50_000
        };
        page(
            &format!("Cache-Control: max-age=600\nX-Huge: {}", "x".repeat(len)),
            "hello",
        )
    });
    let edge = small(origin.address);
    for number in 0..40 {
        let answer = get(edge.address, &format!("/{number}"));
        assert_eq!(status_and_body(&answer), (200, "hello"));
    }
    let (bytes, _) = held(&edge);
    assert!(bytes <= 1 << 20, "{bytes} bytes");
    let answer = get(edge.address, "/more");
    assert_eq!(status_and_body(&answer).0, 502, "{answer}");
    // Unlimited tags are not stored.
    let tagged = super::origin(|_, number| {
        let tags: Vec<String> = (0..5_000).map(|tag| format!("t{tag}")).collect();
        page(
            &format!("Cache-Control: max-age=600\nCache-Tag: {}", tags.join(",")),
            &number.to_string(),
        )
    });
    let edge = before(tagged.address);
    for number in 0..2 {
        assert_eq!(
            status_and_body(&get(edge.address, "/")),
            (200, number.to_string().as_str())
        );
    }
}

#[test]
fn nobody_purges_from_outside() {
    let origin = origin(|_, number| page("Cache-Control: max-age=600", &number.to_string()));
    let edge = start(&open(origin.address));
    assert_eq!(status_and_body(&get(edge.address, "/")).1, "0");
    let order = r#"{"all":true,"hard":true}"#;
    let len = order.len();
    let json = "Content-Type: application/json\r\n";
    let ordered = |to: SocketAddr, host: &str, headers: &str| {
        let head =
            format!("POST /purge HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len}\r\n{headers}");
        status_and_body(&send_request(
            to,
            format!("{head}Connection: close\r\n\r\n{order}"),
        ))
        .0
    };
    // The site's clients can send such a request to its servers, never to the edge itself.
    ordered(edge.address, "a.example", json);
    for method in ["PURGE", "BAN"] {
        request(edge.address, &format!("{method} /other"), "");
    }
    // A request that a site triggers in a browser against loopback addresses is rejected.
    let admin = edge.admin();
    let own = admin.to_string();
    let own = own.as_str();
    for (host, headers) in [
        ("evil.example", json),
        (own, "Content-Type: text/plain\r\n"),
        (own, ""),
        (
            own,
            "Content-Type: application/json\r\nOrigin: http://evil.example\r\n",
        ),
    ] {
        let status = ordered(admin, host, headers);
        assert_eq!(status / 100, 4, "{host}, {headers}");
    }
    assert_eq!(status_and_body(&get(edge.address, "/")).1, "0");
    assert_eq!(ordered(admin, own, json), 200);
    assert_ne!(status_and_body(&get(edge.address, "/")).1, "0");
}
