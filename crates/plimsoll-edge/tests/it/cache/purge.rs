//! Purges: by page, by prefix, by tag and of everything; and questions about copies.

use std::net::SocketAddr;

use super::{check, origin, page, with_admin};
use crate::support::{Afloat, Patience, Scripted, ask, get, parts};

pub(super) fn order(admin: SocketAddr, path: &str, order: &str) -> (u16, String) {
    let len = order.len();
    let answer = ask(
        admin,
        format!(
            "POST {path} HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\nContent-Length: {len}\r\n\
             Connection: close\r\n\r\n{order}"
        ),
    );
    let (status, body) = parts(&answer);
    (status, body.to_owned())
}

/// A server of pages that say how often anything was asked, and an edge with three of them.
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
    let (status, told) = order(edge.admin(), "/purge", what);
    assert_eq!(status, 200, "{told}");
    let bodies = ["/news/a", "/news/b", "/c"].map(|path| get(edge.address, path));
    let bodies = bodies.each_ref().map(|answer| parts(answer).1);
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
    let said = "plimsoll; hit; detail=purged";
    check(&get(edge.address, "/c"), (200, "2"), said);
    let patience = Patience::start();
    while parts(&get(edge.address, "/c")).1 == "2" {
        patience.check("the new page");
    }
    check(&get(edge.address, "/c"), (200, "3"), "plimsoll; hit");
    assert_eq!(origin.heard().len(), 4);
}

#[test]
fn orders_that_say_nothing_are_refused_with_the_remedy() {
    let (_origin, edge) = with_pages();
    let (status, told) = order(edge.admin(), "/purge", r#"{"page": "/"}"#);
    assert_eq!(status, 422);
    assert!(told.contains("valid:"), "{told}");
    let get = ask(
        edge.admin(),
        format!(
            "GET /purge HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            edge.admin()
        ),
    );
    assert_eq!(parts(&get).0, 405);
}

#[test]
fn a_copy_is_explained() {
    let (_origin, edge) = with_pages();
    let why = |url: &str| {
        let (status, told) = order(edge.admin(), "/why", &format!(r#"{{"url": "{url}"}}"#));
        assert_eq!(status, 200, "{told}");
        serde_json::from_str::<serde_json::Value>(&told).unwrap()
    };
    let known = why("http://a.example/c");
    assert_eq!(known["copies"][0]["state"], "fresh", "{known}");
    assert_eq!(known["copies"][0]["lifetime_from"], "max-age", "{known}");
    assert_eq!(known["copies"][0]["key"], "http://a.example/c", "{known}");
    let unknown = why("http://a.example/d");
    assert_eq!(
        unknown["copies"].as_array().map(Vec::len),
        Some(0),
        "{unknown}"
    );
}
