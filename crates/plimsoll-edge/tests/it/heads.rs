//! Heads with many headers pass in both directions, and a head beyond a limit is explained in the log.

use std::path::PathBuf;

use plimsoll_config::edge::{AccessLog, EdgeConfig, LogFormat};
use plimsoll_testkit::folder_watch::FolderWatch;

use crate::frames::fetch;
use crate::support::{Scripted, before, get, plain, pool, send_request, start, status_and_body};

fn lines(name: &str, count: usize) -> String {
    let lines = (0..count).map(|number| format!("{name}-{number}: some value\r\n"));
    lines.collect::<Vec<_>>().concat()
}

/// A server whose response has as many further headers as the path says.
fn server() -> Scripted {
    Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let path = head.split(' ').nth(1).unwrap_or_default();
            let count = path.trim_start_matches('/').parse().unwrap_or(0);
            let more = lines("X-More", count);
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{more}\r\nok"
            ));
        }
    })
}

#[test]
fn many_headers_pass_in_both_directions() {
    let server = server();
    let edge = before(server.address);
    for count in [100, 150, 300, 990] {
        let response = get(edge.address, &format!("/{count}"));
        assert_eq!(status_and_body(&response), (200, "ok"), "{count}");
        assert_eq!(response.matches("\r\nX-More-").count(), count);
        let tags = lines("X-Tag", count);
        let request = format!("GET /0 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{tags}\r\n");
        let response = send_request(edge.address, request);
        assert_eq!(status_and_body(&response), (200, "ok"), "{count}");
        let heads = server.requests();
        let forwarded = heads.last().unwrap();
        assert_eq!(forwarded.matches("\r\nX-Tag-").count(), count);
    }
}

#[test]
fn many_headers_pass_over_http2() {
    let server = server();
    let edge = before(server.address);
    let names: Vec<String> = (0..300).map(|number| format!("x-tag-{number}")).collect();
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    let (_, body) = fetch(edge.address, "/300", "a", &fields);
    assert_eq!(body, "ok");
    let heads = server.requests();
    let forwarded = heads.last().unwrap().to_ascii_lowercase();
    assert_eq!(forwarded.matches("\r\nx-tag-").count(), 300);
}

/// An edge with a log in a folder.
fn logged(server: &Scripted, format: LogFormat) -> (EdgeConfig, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut edge = plain(pool(&[server.address]));
    edge.access_log = Some(AccessLog {
        path: Some(path.clone()),
        format,
    });
    (edge, folder, path)
}

#[test]
fn the_log_names_the_limit() {
    let server = server();
    let (config, folder, path) = logged(&server, LogFormat::Json);
    let watch = FolderWatch::new(folder.path());
    let edge = start(&config);
    let request = |more: &str| {
        let request = format!("GET /0 HTTP/1.1\r\nHost: a\r\n{more}\r\n");
        status_and_body(&send_request(edge.address, request)).0
    };
    assert_eq!(request(&lines("X", 1000)), 431);
    assert_eq!(request(&format!("X: {}\r\n", "y".repeat(40_000))), 431);
    assert_eq!(status_and_body(&get(edge.address, "/1001")).0, 502);
    assert_eq!(status_and_body(&get(edge.address, "/4000")).0, 502);
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    watch.wait_until("four lines", || read().lines().count() == 4);
    let logged = read();
    for (line, limit) in logged.lines().zip([
        "1000 headers of the request",
        "32768 bytes of the request head",
        "1000 headers of the response",
        "65536 bytes of the response head",
    ]) {
        assert!(line.contains(&format!("\"limit\":\"{limit}\"")), "{line}");
    }
}

#[test]
fn the_log_of_a_request_over_http2_names_the_limit_too() {
    let server = server();
    let (mut config, folder, path) = logged(&server, LogFormat::Combined);
    config.limits.head_len_max = 4096;
    let watch = FolderWatch::new(folder.path());
    let edge = start(&config);
    let long = "y".repeat(100);
    let fields = [("x-long", long.as_str()); 60];
    fetch(edge.address, "/0", "a", &fields[..30]);
    let requests = server.requests().len();
    fetch(edge.address, "/0", "a", &fields);
    assert_eq!(server.requests().len(), requests);
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    watch.wait_until("the limit", || {
        read().contains("limit=\"4096 bytes of the request head\"")
    });
}

#[test]
fn a_target_of_a_browser_arrives_unchanged() {
    let server = server();
    let edge = before(server.address);
    for target in ["/a|b[1]^~'x;p=1", "/q?f={a:[1|2]}^`&b=\\x", "/x?%83\\"] {
        assert_eq!(status_and_body(&get(edge.address, target)).0, 200);
        let heads = server.requests();
        let line = format!("GET {target} HTTP/1.1\r\n");
        assert!(heads.last().unwrap().starts_with(&line), "{heads:?}");
    }
    for target in ["/q?f={a:[1|2]}^`&b=\\x", "/x?%83\\"] {
        assert_eq!(fetch(edge.address, target, "a", &[]).1, "ok");
        let heads = server.requests();
        let line = format!("GET {target} HTTP/1.1\r\n");
        assert!(heads.last().unwrap().starts_with(&line), "{heads:?}");
    }
    assert_eq!(status_and_body(&get(edge.address, "/a\\b?c")).0, 400);
}
