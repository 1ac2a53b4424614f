//! Hits, misses, variants, renewals, and responses that are never stored.

use std::io::Write as _;

use plimsoll_config::edge::{Caching, EdgeConfig};

use super::{before, cached, check, origin, page, request, status, value};
use crate::support::{connect, get, read_all, read_until, start, status_and_body};

#[test]
fn a_fresh_copy_answers_without_the_server() {
    let origin = origin(|_, _| page("Cache-Control: max-age=60\nX-Page: 1", "hello"));
    let edge = before(origin.address);
    let first = get(edge.address, "/a");
    check(&first, (200, "hello"), "plimsoll; fwd=uri-miss; stored");
    let second = get(edge.address, "/a");
    check(&second, (200, "hello"), "plimsoll; hit");
    // Seconds may pass between the two on a busy machine.
    assert!(value(&second, "age").parse::<u32>().unwrap() < 60);
    assert_eq!(value(&second, "x-page"), "1");
    assert_eq!(origin.requests().len(), 1);
    // Another path, another query, another host and another scheme are other pages.
    get(edge.address, "/a?b");
    request(edge.address, "GET /a", "X-Other: 1");
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn one_copy_answers_heads_conditions_and_ranges() {
    let lines = "Cache-Control: max-age=60\nETag: \"v1\"\nContent-Type: text/plain";
    let origin = origin(move |_, _| page(lines, "0123456789"));
    let edge = before(origin.address);
    // A condition of the first client does not prevent storing.
    let first = request(edge.address, "GET /a", "If-None-Match: \"v1\"");
    check(&first, (304, ""), "plimsoll; fwd=uri-miss; stored");
    assert!(!origin.requests()[0].contains("If-None-Match"));
    let head = request(edge.address, "HEAD /a", "");
    check(&head, (200, ""), "plimsoll; hit");
    assert_eq!(value(&head, "content-length"), "10");
    let known = request(edge.address, "GET /a", "If-None-Match: \"v0\", W/\"v1\"");
    check(&known, (304, ""), "plimsoll; hit");
    assert_eq!(value(&known, "etag"), "\"v1\"");
    let partial = request(edge.address, "GET /a", "Range: bytes=2-4");
    check(&partial, (206, "234"), "plimsoll; hit");
    assert_eq!(value(&partial, "content-range"), "bytes 2-4/10");
    let beyond = request(edge.address, "GET /a", "Range: bytes=10-");
    check(&beyond, (416, ""), "plimsoll; hit");
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn a_connection_goes_on_after_a_hit() {
    let origin = origin(|head, _| {
        let body = if head.starts_with("GET /a ") {
            "aaa"
        } else {
            "b"
        };
        page("Cache-Control: max-age=60", body)
    });
    let edge = before(origin.address);
    get(edge.address, "/a");
    get(edge.address, "/b");
    let mut stream = connect(edge.address);
    let ahead = "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n\
                 GET /b HTTP/1.1\r\nHost: a.example\r\n\r\n\
                 GET /a HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    stream.write_all(ahead.as_bytes()).unwrap();
    let all = read_all(&mut stream);
    assert_eq!(all.matches("HTTP/1.1 200 OK").count(), 3, "{all}");
    assert!(all.ends_with("aaa"), "{all}");
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn variants_are_told_apart_by_what_they_vary_by() {
    let origin = origin(|head, _| {
        let german = head.contains("Accept-Language: de");
        let body = if german { "Guten Tag" } else { "hello" };
        page("Cache-Control: max-age=60\nVary: Accept-Language", body)
    });
    let edge = before(origin.address);
    let fetch_in = |language: &str| {
        let line = format!("Accept-Language: {language}");
        request(edge.address, "GET /", &line)
    };
    check(
        &fetch_in("en"),
        (200, "hello"),
        "plimsoll; fwd=uri-miss; stored",
    );
    check(
        &fetch_in("de"),
        (200, "Guten Tag"),
        "plimsoll; fwd=vary-miss; stored",
    );
    check(&fetch_in("EN"), (200, "hello"), "plimsoll; hit");
    check(&fetch_in("de"), (200, "Guten Tag"), "plimsoll; hit");
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn the_only_copy_in_the_preferred_language_is_as_good() {
    let origin = origin(|head, _| {
        let accepted = value(head, "accept-language").to_owned();
        let own = if accepted.starts_with("de") {
            "de"
        } else {
            "en"
        };
        let lines =
            format!("Cache-Control: max-age=60\nVary: Accept-Language\nContent-Language: {own}");
        page(&lines, &accepted)
    });
    let edge = before(origin.address);
    let fetch_in = |language: &str| {
        let line = format!("Accept-Language: {language}");
        request(edge.address, "GET /", &line)
    };
    let missed = "plimsoll; fwd=vary-miss; stored";
    check(
        &fetch_in("de, en"),
        (200, "de, en"),
        "plimsoll; fwd=uri-miss; stored",
    );
    check(
        &fetch_in("fr;q=0.5, DE;q=1.0"),
        (200, "de, en"),
        "plimsoll; hit",
    );
    // A request with equal or higher preferences for another language is for the origin to decide.
    check(&fetch_in("fr, de"), (200, "fr, de"), missed);
    check(
        &fetch_in("fr;q=0.9, de;q=0.8"),
        (200, "fr;q=0.9, de;q=0.8"),
        missed,
    );
    // Two pages claim to be in English: one of them might not be.
    check(&fetch_in("en, fr;q=0.1"), (200, "en, fr;q=0.1"), missed);
}

#[test]
fn a_copy_that_has_not_changed_is_renewed() {
    let origin = origin(|head, number| {
        if head.contains("If-None-Match: \"v1\"") {
            let fresh = "Cache-Control: max-age=60\r\nX-Seen: again";
            return format!("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n{fresh}\r\n\r\n");
        }
        assert_eq!(number, 0, "{head}");
        page(
            "Cache-Control: max-age=10\nAge: 20\nETag: \"v1\"\nX-Seen: once",
            "hello",
        )
    });
    let edge = before(origin.address);
    get(edge.address, "/");
    let renewed = get(edge.address, "/");
    check(
        &renewed,
        (200, "hello"),
        "plimsoll; fwd=stale; fwd-status=304",
    );
    assert_eq!(value(&renewed, "x-seen"), "again");
    check(&get(edge.address, "/"), (200, "hello"), "plimsoll; hit");
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn what_is_somebodys_own_is_not_kept() {
    let origin = origin(|head, _| {
        let line = head.lines().next().unwrap_or_default().to_owned();
        let headers = match line.split(['/', ' ']).nth(2).unwrap_or_default() {
            "private" => "Cache-Control: private, max-age=60",
            "never" => "Cache-Control: no-store",
            "cookie" => "Cache-Control: max-age=60\nSet-Cookie: a=b",
            "silent" => "X-Nothing: said",
            _ => "Cache-Control: max-age=60",
        };
        page(headers, "mine")
    });
    let edge = before(origin.address);
    for (path, why) in [
        ("/private", "private"),
        ("/never", "no-store"),
        ("/cookie", "set-cookie"),
        ("/silent", "no-lifetime"),
    ] {
        for _ in 0..2 {
            let expected = format!("plimsoll; fwd=uri-miss; detail={why}");
            check(&get(edge.address, path), (200, "mine"), &expected);
        }
    }
    assert_eq!(origin.requests().len(), 8);
    let known = "Authorization: Basic eDp5";
    for _ in 0..2 {
        let answer = request(edge.address, "GET /page", known);
        check(
            &answer,
            (200, "mine"),
            "plimsoll; fwd=uri-miss; detail=authorization",
        );
    }
    get(edge.address, "/page");
    // A public response is still not for authenticated requests.
    let answer = request(edge.address, "GET /page", known);
    assert!(status(&answer).contains("fwd=request"), "{answer}");
    assert_eq!(origin.requests().len(), 12);
}

#[test]
fn requests_that_steer_the_server_are_everybodys() {
    let origin = origin(|head, _| {
        let evil = head.to_ascii_lowercase().contains("x-original-url");
        page(
            "Cache-Control: max-age=60",
            if evil { "evil" } else { "good" },
        )
    });
    let edge = before(origin.address);
    let evil = request(edge.address, "GET /", "X-Original-URL: /evil");
    check(&evil, (200, "good"), "plimsoll; fwd=uri-miss; stored");
    check(&get(edge.address, "/"), (200, "good"), "plimsoll; hit");
    // Headers about the forwarded client are written by the edge: no client can select the page by them.
    let named = request(edge.address, "GET /", "X-Forwarded-Host: evil.example");
    check(&named, (200, "good"), "plimsoll; hit");
}

#[test]
fn a_changed_page_is_asked_for_anew() {
    let origin = origin(|head, number| {
        let lines = if head.starts_with("POST") {
            "Location: /b"
        } else {
            "Cache-Control: max-age=60"
        };
        page(lines, &number.to_string())
    });
    let edge = before(origin.address);
    assert_eq!(status_and_body(&get(edge.address, "/a")).1, "0");
    assert_eq!(status_and_body(&get(edge.address, "/b")).1, "1");
    assert_eq!(status_and_body(&get(edge.address, "/c")).1, "2");
    let posted = request(edge.address, "POST /a", "Content-Length: 0");
    check(&posted, (200, "3"), "plimsoll; fwd=method; detail=method");
    assert_eq!(status_and_body(&get(edge.address, "/a")).1, "4");
    assert_eq!(status_and_body(&get(edge.address, "/b")).1, "5");
    assert_eq!(status_and_body(&get(edge.address, "/c")).1, "2");
}

#[test]
fn a_least_lifetime_is_for_pages_of_nobody_in_particular() {
    let origin = origin(|head, number| {
        let sets = head.contains("GET /login");
        let lines = if sets {
            "Set-Cookie: session=1"
        } else {
            "X-Plain: 1"
        };
        page(lines, &number.to_string())
    });
    let mut edge = cached(origin.address);
    edge.routes[0].cache = Some(Caching {
        ttl: Some(std::time::Duration::from_mins(1)),
        ignore_cookies: vec!["_ga".to_owned()],
        ..Caching::default()
    });
    let edge = start(&edge);
    assert_eq!(status_and_body(&get(edge.address, "/")).1, "0");
    assert_eq!(status_and_body(&get(edge.address, "/")).1, "0");
    let counted = request(edge.address, "GET /", "Cookie: _ga=7");
    assert_eq!(status_and_body(&counted).1, "0");
    // A logged-in client sees its own page, and leaves nothing of it to others.
    let named = request(edge.address, "GET /", "Cookie: session=1");
    assert_eq!(status_and_body(&named).1, "1");
    assert_eq!(status_and_body(&get(edge.address, "/")).1, "0");
    assert_eq!(status_and_body(&get(edge.address, "/login")).1, "2");
    assert_eq!(status_and_body(&get(edge.address, "/login")).1, "3");
}

#[test]
fn a_cache_that_is_off_says_nothing() {
    let origin = origin(|_, _| page("Cache-Control: max-age=60", "hello"));
    let edge = start(&EdgeConfig {
        cache: None,
        ..cached(origin.address)
    });
    for _ in 0..2 {
        check(&get(edge.address, "/"), (200, "hello"), "");
    }
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn a_body_in_chunks_is_kept_whole() {
    let origin = origin(|_, _| {
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
            .to_owned()
    });
    let edge = before(origin.address);
    get(edge.address, "/");
    let hit = get(edge.address, "/");
    check(&hit, (200, "hello world"), "plimsoll; hit");
    assert_eq!(value(&hit, "content-length"), "11");
    let mut stream = connect(edge.address);
    stream
        .write_all(b"GET / HTTP/1.0\r\nHost: a.example\r\n\r\n")
        .unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.contains("Connection: close"), "{head}");
    assert_eq!(read_all(&mut stream), "hello world");
}

#[test]
fn an_answer_that_breaks_off_is_not_kept() {
    let origin = crate::support::Scripted::start(|mut connection| {
        let number = connection.number;
        if connection.head().is_some() {
            let body = if number == 0 { "hel" } else { "hello" };
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\n{body}"
            ));
        }
    });
    let edge = before(origin.address);
    let broken = get(edge.address, "/");
    assert!(status_and_body(&broken).1.len() < 5, "{broken}");
    check(
        &get(edge.address, "/"),
        (200, "hello"),
        "plimsoll; fwd=uri-miss; stored",
    );
    check(&get(edge.address, "/"), (200, "hello"), "plimsoll; hit");
}
