//! Purges: by page, by prefix, by tag and of everything; and queries about stored responses.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Instant;

use super::{check, open, origin, page, request, value, with_admin};
use crate::support::{
    Afloat, Scripted, connect, get, read_until, send_request, start, status_and_body,
};

pub(super) fn order(admin: SocketAddr, path: &str, order: &str) -> (u16, String) {
    let len = order.len();
    let answer = send_request(
        admin,
        format!(
            "POST {path} HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\nContent-Length: {len}\r\n\
             Connection: close\r\n\r\n{order}"
        ),
    );
    let (status, body) = status_and_body(&answer);
    (status, body.to_owned())
}

/// A server of pages that count their requests, and an edge with three of them cached.
fn with_pages() -> (Scripted, Afloat) {
    let origin = origin(|head, number| {
        let tag = if head.contains("/news/") {
            "news"
        } else {
            "other"
        };
        page(
            &format!("Cache-Control: max-age=600\nCache-Tag: {tag}, all"),
            &number.to_string(),
        )
    });
    let edge = with_admin(origin.address);
    for path in ["/news/a", "/news/b", "/c"] {
        get(edge.address, path);
    }
    (origin, edge)
}

#[track_caller]
fn check_purge(what: &str, expected: [&str; 3]) {
    let (_origin, edge) = with_pages();
    let (status, body) = order(edge.admin(), "/purge", what);
    assert_eq!(status, 200, "{body}");
    let bodies = ["/news/a", "/news/b", "/c"].map(|path| get(edge.address, path));
    let bodies = bodies.each_ref().map(|answer| status_and_body(answer).1);
    assert_eq!(bodies, expected, "{what}");
}

#[test]
fn what_is_purged_for_good_is_fetched_anew() {
    check_purge(
        r#"{"url": "http://a.example/news/b", "hard": true}"#,
        ["0", "3", "2"],
    );
    check_purge(
        r#"{"prefix": "http://a.example/news/", "hard": true}"#,
        ["3", "4", "2"],
    );
    check_purge(r#"{"tag": "other", "hard": true}"#, ["0", "1", "3"]);
    check_purge(r#"{"all": true, "hard": true}"#, ["3", "4", "5"]);
    // Another host's pages are not touched.
    check_purge(
        r#"{"prefix": "http://a.example.org/", "hard": true}"#,
        ["0", "1", "2"],
    );
}

#[test]
fn what_is_purged_softly_is_served_while_it_is_renewed() {
    let (origin, edge) = with_pages();
    assert_eq!(order(edge.admin(), "/purge", r#"{"all": true}"#).0, 200);
    let cache_status = "plimsoll; hit; detail=purged";
    check(&get(edge.address, "/c"), (200, "2"), cache_status);
    edge.wait_until("the new page", || {
        status_and_body(&get(edge.address, "/c")).1 != "2"
    });
    check(&get(edge.address, "/c"), (200, "3"), "plimsoll; hit");
    assert_eq!(origin.requests().len(), 4);
}

#[test]
fn a_purge_of_everything_is_spread_over_the_origin() {
    let origin = origin(|_, number| page("Cache-Control: max-age=600", &number.to_string()));
    let edge = with_admin(origin.address);
    let mut stream = connect(edge.address);
    let mut fetch_all = || {
        for number in 0..300 {
            let request = format!("GET /{number} HTTP/1.1\r\nHost: a.example\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let head = read_until(&mut stream, "\r\n\r\n");
            let len = value(&head, "content-length").parse().unwrap();
            stream.read_exact(&mut vec![0; len]).unwrap();
        }
    };
    fetch_all();
    let began = Instant::now();
    assert_eq!(order(edge.admin(), "/purge", r#"{"all": true}"#).0, 200);
    fetch_all();
    let lasted = began.elapsed().as_secs_f64();
    let renewed = origin.requests().len() - 300;
    // A few at once, at half the usual rate: no more than three hundred a second.
    let most = 38.0 + (lasted + 1.0) * 150.0;
    assert!(renewed as f64 <= most, "{renewed} of {most}");
    origin.wait_for_requests("the first renewals", |heads| heads.len() >= 332);
}

#[test]
fn orders_that_say_nothing_are_refused_with_the_remedy() {
    let (_origin, edge) = with_pages();
    let (status, body) = order(edge.admin(), "/purge", r#"{"page": "/"}"#);
    assert_eq!(status, 422);
    assert!(body.contains("valid:"), "{body}");
    let get = send_request(
        edge.admin(),
        format!(
            "GET /purge HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            edge.admin()
        ),
    );
    assert_eq!(status_and_body(&get).0, 405);
}

#[test]
fn a_copy_is_explained() {
    let (_origin, edge) = with_pages();
    let why = |url: &str| {
        let (status, body) = order(edge.admin(), "/why", &format!(r#"{{"url": "{url}"}}"#));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    let known = why("http://a.example/c");
    assert_eq!(known["copies"][0]["state"], "fresh", "{known}");
    assert_eq!(known["copies"][0]["lifetime_from"], "max-age", "{known}");
    assert_eq!(known["copies"][0]["key"], "http://a.example/c", "{known}");
    let header = "Cache-Control: max-age=600";
    assert_eq!(known["copies"][0]["header"], header, "{known}");
    assert_eq!(known["verdict"], "a stored response is served", "{known}");
    let unknown = why("http://a.example/d");
    assert_eq!(
        unknown["copies"].as_array().map(Vec::len),
        Some(0),
        "{unknown}"
    );
}

#[test]
fn an_answer_that_was_not_kept_is_explained() {
    let origin = origin(|head, _| {
        let headers = if head.starts_with("GET /login") {
            "Cache-Control: max-age=60\nSet-Cookie: session=secret; HttpOnly"
        } else {
            "Cache-Control: private, max-age=60"
        };
        page(headers, "mine")
    });
    let edge = with_admin(origin.address);
    let check = |path: &str, word: &str, header: &str| {
        get(edge.address, path);
        let (_, body) = order(
            edge.admin(),
            "/why",
            &format!(r#"{{"url": "http://a.example{path}"}}"#),
        );
        let explanation: serde_json::Value = serde_json::from_str(&body).unwrap();
        let refused = &explanation["refused"][0];
        assert_eq!(
            explanation["verdict"], "the last response was not stored",
            "{explanation}"
        );
        assert_eq!(
            refused["key"],
            format!("http://a.example{path}"),
            "{explanation}"
        );
        assert_eq!(refused["word"], word, "{explanation}");
        assert_eq!(refused["header"], header, "{explanation}");
        assert!(!explanation.to_string().contains("secret"), "{explanation}");
    };
    check("/a", "private", "Cache-Control: private, max-age=60");
    check("/login", "set-cookie", "Set-Cookie: session…");
}

#[test]
fn a_page_is_purged_by_its_method_with_the_token() {
    let origin = origin(|_, number| page("Cache-Control: max-age=600", &number.to_string()));
    let mut settings = open(origin.address);
    let admin = settings.admin.as_mut().unwrap();
    admin.token = Some("a-long-token".to_owned());
    let edge = start(&settings);
    let purge = |headers: &str| {
        let line = "PURGE /news?page=2";
        status_and_body(&request(edge.address, line, headers)).0
    };
    let body = || {
        status_and_body(&get(edge.address, "/news?page=2"))
            .1
            .to_owned()
    };
    assert_eq!(body(), "0");
    assert_eq!(purge(""), 401);
    assert_eq!(purge("Authorization: Bearer a-long-tokem"), 401);
    assert_eq!(body(), "0");
    let hard = "Authorization: Bearer a-long-token\nX-Plimsoll-Purge: hard";
    assert_eq!(purge(hard), 200);
    assert_eq!(body(), "1");
    assert_eq!(purge("Authorization: Bearer a-long-token"), 200);
    let cache_status = "plimsoll; hit; detail=purged";
    check(&get(edge.address, "/news?page=2"), (200, "1"), cache_status);
}

#[test]
fn without_a_token_no_method_purges() {
    let origin = origin(|head, number| {
        let method = head.split(' ').next().unwrap();
        page("Cache-Control: max-age=600", &format!("{method} {number}"))
    });
    let edge = with_admin(origin.address);
    assert_eq!(status_and_body(&get(edge.address, "/a")).1, "GET 0");
    let answer = request(edge.address, "PURGE /a", "Authorization: Bearer none");
    // The server handles the method itself.
    assert_eq!(status_and_body(&answer).1, "PURGE 1");
}
