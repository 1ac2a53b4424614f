//! One stored response for all kinds of clients: HTTP/2, HTTP/1.0, many at once, and slow readers.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::{ageing, before, cached, origin, page, request, value};
use crate::support::{connect, get, read_until, status_and_body};
use crate::tls::{curl, secure};

#[test]
fn a_copy_answers_over_http2_too() {
    let origin = origin(|_, number| {
        let lines =
            format!("Cache-Control: max-age=600\nETag: \"v{number}\"\nConnection: keep-alive");
        page(&lines, &"0123456789".repeat(10_000))
    });
    let (edge, _folder) = secure(cached(origin.address), &["a.example"]);
    let url = format!("https://a.example:{}/a", edge.address.port());
    let fetch = |words: &[&str]| {
        let common = ["-i", "-w", "|%{http_version} %{size_download}"];
        let words = [&common[..], words, &[url.as_str()]].concat();
        curl(&edge, "a.example", &words)
    };
    let missed = fetch(&["--http2"]);
    assert!(
        missed.contains("cache-status: plimsoll; fwd=uri-miss; stored"),
        "{}",
        head(&missed)
    );
    for (words, version) in [(["--http2", "-s"], "2"), (["--http1.1", "-s"], "1.1")] {
        let hit = fetch(&words);
        assert!(
            value(&hit, "cache-status").starts_with("plimsoll; hit"),
            "{}",
            head(&hit)
        );
        assert!(
            hit.ends_with(&format!("|{version} 100000")),
            "{}",
            head(&hit)
        );
        let partial = fetch(&[words[0], "-r", "10-13"]);
        assert!(
            partial.starts_with(&format!("HTTP/{version} 206 ")),
            "{partial}"
        );
        assert!(partial.ends_with(&format!("0123|{version} 4")), "{partial}");
        let known = fetch(&[words[0], "-H", "If-None-Match: \"v0\""]);
        assert!(
            known.starts_with(&format!("HTTP/{version} 304 ")),
            "{known}"
        );
        let alone = fetch(&[words[0], "-I"]);
        assert_eq!(value(&alone, "content-length"), "100000", "{alone}");
    }
    assert_eq!(origin.requests().len(), 1);
}

fn head(answer: &str) -> &str {
    answer
        .split_once("\r\n\r\n")
        .map_or(answer, |(head, _)| head)
}

#[test]
fn ranges_are_cut_from_a_whole_copy() {
    let mut body = String::new();
    for number in 0..10_000 {
        write!(body, "{number:05}").unwrap();
    }
    let whole = body.clone();
    let origin = origin(move |_, _| page("Cache-Control: max-age=600\nETag: \"v\"", &whole));
    let edge = before(origin.address);
    get(edge.address, "/");
    for (range, first, last) in [
        ("0-0", 0, 0),
        ("7-9", 7, 9),
        ("49990-", 49_990, 49_999),
        ("-10", 49_990, 49_999),
        ("0-999999", 0, 49_999),
        ("1-40000", 1, 40_000),
    ] {
        let partial = request(edge.address, "GET /", &format!("Range: bytes={range}"));
        assert_eq!(
            status_and_body(&partial),
            (206, &body[first..=last]),
            "{range}"
        );
        let content_range = format!("bytes {first}-{last}/50000");
        assert_eq!(value(&partial, "content-range"), content_range);
        assert_eq!(
            value(&partial, "content-length"),
            (last - first + 1).to_string()
        );
    }
    // A range of a page that has changed would be useless.
    let other = request(edge.address, "GET /", "Range: bytes=0-4\nIf-Range: \"w\"");
    assert_eq!(status_and_body(&other), (200, body.as_str()));
    let same = request(edge.address, "GET /", "Range: bytes=0-4\nIf-Range: \"v\"");
    assert_eq!(status_and_body(&same), (206, "00000"));
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn a_client_that_reads_slowly_holds_up_nobody() {
    let body = "x".repeat(4 << 20);
    let len = body.len();
    let origin = origin(move |_, _| page("Cache-Control: max-age=600", &body));
    let edge = before(origin.address);
    let mut slow = connect(edge.address);
    slow.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    read_until(&mut slow, "\r\n\r\n");
    for _ in 0..3 {
        assert_eq!(status_and_body(&get(edge.address, "/")).1.len(), len);
    }
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), len);
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn a_page_that_everybody_wants_is_fetched_once_in_its_lifetime() {
    let (release, wait) = sync_channel::<()>(1);
    let wait = Mutex::new(wait);
    let origin = origin(move |_, number| {
        let _ = wait.lock().unwrap().recv();
        let lines = "Cache-Control: max-age=1000, stale-while-revalidate=10000";
        page(lines, &format!("page {number}"))
    });
    let (edge, age) = ageing(&cached(origin.address));
    release.send(()).unwrap();
    get(edge.address, "/");
    for lifetime in 0..3 {
        age.advance(Duration::from_secs(1000));
        // The renewal hangs until all of them have been served.
        let stale = format!("page {lifetime}");
        std::thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    let mut stream = connect(edge.address);
                    for _ in 0..20 {
                        stream
                            .write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
                            .unwrap();
                        read_until(&mut stream, &stale);
                    }
                });
            }
        });
        origin.wait_for_requests("the renewal", |heads| heads.len() >= lifetime + 2);
        assert_eq!(origin.requests().len(), lifetime + 2);
        release.send(()).unwrap();
        edge.wait_until("the new page", || {
            status_and_body(&get(edge.address, "/")).1 != stale
        });
    }
    assert_eq!(origin.requests().len(), 4);
}
