//! Fragments that fail, break off, arrive late, include themselves, or are too many.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use plimsoll_config::edge::Fragments;

use super::super::{page, value};
use super::{
    body, fragments, html, none, patient, request_count, site, wait_for_request, with_esi,
};
use crate::support::{Scripted, connect, get, metric, read_until, start};

#[test]
fn what_fails_leaves_a_gap_or_has_another_address() {
    let origin = site(|path, _| match path {
        "/" => html(
            "1<esi:include src=\"/ill\"/>2<esi:include src=\"/ill\" onerror=\"continue\"/>3\
             <esi:include src=\"/ill\" alt=\"/well\"/>4<esi:include src=\"/gone\"/>5\
             <esi:include src=\"/moved\"/>6",
        ),
        "/well" => page("Cache-Control: max-age=60", "well").into_bytes(),
        "/moved" => b"HTTP/1.1 302 Found\r\nLocation: /well\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/ill" => b"HTTP/1.1 500 Ill\r\nContent-Length: 3\r\n\r\nill".to_vec(),
        _ => none(),
    });
    let edge = start(&with_esi(origin.address));
    let answer = get(edge.address, "/");
    assert_eq!(body(&answer), "123well456", "{answer}");
    assert_eq!(value(&answer, "cache-control"), "private, no-cache");
    let count = |result: &str| {
        metric(
            &edge,
            &format!("plimsoll_edge_fragments_total{{result=\"{result}\"}}"),
        )
    };
    assert_eq!(count("failed"), Some(3.0));
    assert_eq!(count("left-out"), Some(1.0));
    assert_eq!(count("alt"), Some(1.0));
}

#[test]
fn a_fragment_that_breaks_off_ends_the_answer() {
    let origin = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            if head.starts_with("GET / ") {
                connection.send(html("a<esi:include src=\"/b\"/>c"));
            } else {
                let some = "b".repeat(100_000);
                connection.send(format!(
                    "HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Length: 200000\r\n\r\n{some}"
                ));
                return;
            }
        }
    });
    let edge = start(&with_esi(origin.address));
    let answer = get(edge.address, "/");
    assert!(
        !answer.ends_with("0\r\n\r\n"),
        "it is told from a whole one"
    );
    assert!(answer.contains(&"b".repeat(1000)), "{}", answer.len());
}

#[test]
fn loops_and_depths_end() {
    let origin = site(|path, _| match path {
        "/" => html("a<esi:include src=\"/\"/><esi:include src=\"/b\"/>"),
        "/b" => html("b<esi:include src=\"/\"/><esi:include src=\"/c\"/>"),
        "/c" => html("c<esi:include src=\"/d\"/>"),
        "/d" => html("d<esi:include src=\"/e\"/>"),
        "/e" => html("e"),
        _ => none(),
    });
    let edge = start(&with_esi(origin.address));
    for _ in 0..2 {
        let answer = get(edge.address, "/");
        assert_eq!(body(&answer), "abcd", "{answer}");
    }
    assert_eq!(
        (request_count(&origin, "/"), request_count(&origin, "/e")),
        (1, 0)
    );
    let refused = metric(&edge, "plimsoll_edge_fragments_total{result=\"refused\"}");
    assert_eq!(refused, Some(6.0));
}

#[test]
fn floods_are_bounded() {
    // Each page includes ten others, all of them different.
    let origin = site(|path, _| {
        let tags: Vec<String> = (0..10)
            .map(|number| format!("<esi:include src=\"{path}{number}\"/>"))
            .collect();
        page(
            "Content-Type: text/html\nCache-Control: no-store",
            &format!("x{}", tags.concat()),
        )
        .into_bytes()
    });
    let mut config = with_esi(origin.address);
    config.routes[0].fragments = Some(Fragments {
        depth: 10,
        ..patient()
    });
    let edge = start(&config);
    let answer = get(edge.address, "/");
    assert_eq!(body(&answer), "x".repeat(65), "{answer}");
    assert_eq!(origin.requests().len(), 65);
}

#[test]
fn what_comes_before_a_slow_fragment_does_not_wait() {
    let (release, wait) = sync_channel::<()>(1);
    let wait = Mutex::new(wait);
    let origin = site(move |path, _| match path {
        "/" => html("before<esi:include src=\"/slow\"/>after<esi:include src=\"/quick\"/>"),
        "/slow" => {
            let _ = wait.lock().unwrap().recv();
            page("Cache-Control: private", "slow").into_bytes()
        }
        _ => page("Cache-Control: max-age=60", "quick").into_bytes(),
    });
    let edge = start(&with_esi(origin.address));
    let mut client = connect(edge.address);
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    let begun = read_until(&mut client, "before");
    // The other is fetched concurrently.
    wait_for_request(&origin, "/quick");
    release.send(()).unwrap();
    let answer = begun + &crate::support::read_all(&mut client);
    assert_eq!(body(&answer), "beforeslowafterquick", "{answer}");
    assert_eq!(value(&answer, "cache-control"), "private, no-cache");
    assert!(fragments(&answer).contains("awaited"), "{answer}");
}

#[test]
fn the_page_goes_on_without_what_is_late() {
    let (release, wait) = sync_channel::<()>(1);
    let wait = Mutex::new(wait);
    let origin = site(move |path, _| match path {
        "/" => html("a<esi:include src=\"/never\"/>b<esi:include src=\"/never\" alt=\"/c\"/>"),
        "/never" => {
            let _ = wait.lock().unwrap().recv();
            none()
        }
        _ => page("Cache-Control: max-age=60", "c").into_bytes(),
    });
    let mut config = with_esi(origin.address);
    config.routes[0].fragments = Some(Fragments {
        timeout: Duration::from_millis(50),
        ..Fragments::default()
    });
    let edge = start(&config);
    // The alternative is stored: a server that is slow with it would be too late as well.
    get(edge.address, "/c");
    assert_eq!(body(&get(edge.address, "/")), "abc");
    drop(release);
}

#[test]
fn whoever_leaves_takes_nothing_from_others() {
    let (release, wait) = sync_channel::<()>(1);
    let wait = Mutex::new(wait);
    let origin = site(move |path, _| {
        if path == "/" {
            return html("a<esi:include src=\"/slow\"/>");
        }
        let _ = wait.lock().unwrap().recv();
        page("Cache-Control: max-age=60", "slow").into_bytes()
    });
    let edge = start(&with_esi(origin.address));
    let open_request = || {
        let mut client = connect(edge.address);
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
            .unwrap();
        let begun = read_until(&mut client, "\r\n\r\n");
        (client, begun)
    };
    let (first, _) = open_request();
    wait_for_request(&origin, "/slow");
    let (mut second, begun) = open_request();
    drop(first);
    crate::support::wait_for(&edge, "plimsoll_edge_clients_gone_total", 1.0);
    release.send(()).unwrap();
    let answer = begun + &crate::support::read_all(&mut second);
    assert_eq!(body(&answer), "aslow", "{answer}");
    assert_eq!(request_count(&origin, "/slow"), 1);
}
