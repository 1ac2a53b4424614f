//! Strangers: other names, other pages, no token.

use plimsoll_lab::controls::RunControls;
use plimsoll_lab::progress::StopFlag;
use plimsoll_live::{LiveAddress, LivePage};

use crate::client::{fetch, place};

#[test]
fn a_name_bound_to_this_address_reads_nothing() {
    let page = LivePage::start(LiveAddress::default(), RunControls::default()).unwrap();
    let (address, path) = place(&page);
    for file in ["", "run.json", "events", "live.js"] {
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.nip.example",
        ] {
            let (status, text) = fetch(
                address,
                &format!("GET {path}{file} HTTP/1.1\r\nHost: {host}"),
                "",
            );
            assert_eq!(status, 421, "{host}: {text}");
            assert!(!text.contains("\"version\""), "{text}");
        }
    }
    let (status, text) = fetch(
        address,
        &format!("GET {path}run.json HTTP/1.1\r\nHost: {address}"),
        "",
    );
    assert!(status == 200 && text.contains("\"version\""), "{text}");
    page.finish("");
}

#[test]
fn without_the_token_there_is_nothing() {
    let page = LivePage::start(LiveAddress::default(), RunControls::default()).unwrap();
    let (address, path) = place(&page);
    let wrong = format!("/{}/", "0".repeat(path.len() - 2));
    for path in [
        "/",
        "/run.json",
        "/events",
        &wrong,
        &path[..path.len() - 1],
        "//",
    ] {
        let (status, text) = fetch(
            address,
            &format!("GET {path} HTTP/1.1\r\nHost: {address}"),
            "",
        );
        assert_eq!(status, 403, "{path}: {text}");
    }
    page.finish("");
}

#[test]
fn other_pages_cannot_act() {
    let stop = StopFlag::default();
    let page = LivePage::start(LiveAddress::default(), RunControls::new(stop.clone())).unwrap();
    let (address, path) = place(&page);
    let act = |more: &str| {
        let head = format!("POST {path}stop HTTP/1.1\r\nHost: {address}{more}");
        fetch(address, &head, "").0
    };
    for more in [
        "",
        "\r\nOrigin: null",
        "\r\nOrigin: http://evil.example",
        "\r\nOrigin: http://127.0.0.1:1",
    ] {
        assert_eq!(act(more), 403, "{more}");
    }
    let own = format!("\r\nOrigin: http://{address}");
    assert_eq!(act(&format!("{own}\r\nSec-Fetch-Site: same-site")), 403);
    assert!(!stop.is_raised());
    assert_eq!(act(&own), 200);
    assert!(stop.is_raised());
    let long = "x".repeat(16_500);
    let head = format!("POST {path}mark HTTP/1.1\r\nHost: {address}{own}");
    assert_eq!(fetch(address, &head, &long).0, 413);
    assert_eq!(fetch(address, &head, "m").0, 409, "nothing is measured");
    page.finish("");
}

#[test]
fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
    let page = LivePage::start(LiveAddress::default(), RunControls::default()).unwrap();
    let (address, path) = place(&page);
    let (_, text) = fetch(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}"),
        "",
    );
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let policy = head
        .lines()
        .find(|line| line.starts_with("content-security-policy"))
        .unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(
        !policy.contains("unsafe") && !policy.contains('*'),
        "{policy}"
    );
    for place in [
        "http://", "https://", "style=", "onclick", "<style", "<script>",
    ] {
        assert!(!body.contains(place), "{place}");
    }
    page.finish("");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = LiveAddress(listener.local_addr().unwrap());
    let error = LivePage::start(address, RunControls::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&address.0.to_string()) && text.contains("another program uses this port"),
        "{text}"
    );
}
