use plimsoll_wire::request_head::{self, header_buffer};

use super::*;

fn upstream_request<'a>() -> UpstreamRequest<'a> {
    UpstreamRequest {
        peer: "192.0.2.7",
        secure: false,
        trusted: false,
        target: None,
        default_host: "origin:3000",
        steering: &[],
        edits: &[],
        trace: None,
        cached: None,
    }
}

#[track_caller]
fn check_request(input: &str, upstream_request: &UpstreamRequest<'_>, expected: &str) {
    let mut room = header_buffer();
    let head = request_head::parse(input.as_bytes(), &mut room).expect("a valid head");
    let mut out = Vec::new();
    write_head(&mut out, input.as_bytes(), &head, upstream_request);
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn a_request_goes_on_with_what_the_edge_knows() {
    check_request(
        "GET /a?b HTTP/1.1\r\nHost: x.example\r\nAccept:  */*\r\nConnection: keep-alive\r\nCookie: a=b\r\n\r\n",
        &upstream_request(),
        "GET /a?b HTTP/1.1\r\nHost: x.example\r\nAccept:  */*\r\nCookie: a=b\r\n\
         X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: x.example\r\n\
         Forwarded: for=192.0.2.7;host=\"x.example\";proto=http\r\n\r\n",
    );
    let upstream_request = UpstreamRequest {
        peer: "2001:db8::1",
        secure: true,
        ..upstream_request()
    };
    check_request(
        "GET http://x.example HTTP/1.0\r\n\r\n",
        &upstream_request,
        "GET / HTTP/1.1\r\n\
         X-Forwarded-For: 2001:db8::1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: x.example\r\n\
         Forwarded: for=\"[2001:db8::1]\";host=\"x.example\";proto=https\r\n\r\n"
            .replacen("\r\n", "\r\nHost: x.example\r\n", 1)
            .as_str(),
    );
}

const OWN: &str = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: x\r\n\
                   Forwarded: for=192.0.2.7;host=\"x\";proto=http\r\n";

#[track_caller]
fn check_lines(lines: &str, kept: &str) {
    check_request(
        &format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n"),
        &upstream_request(),
        &format!("POST / HTTP/1.1\r\nHost: x\r\n{kept}\r\n").replacen("{own}", OWN, 1),
    );
}

#[test]
fn what_belongs_to_the_connection_ends_here() {
    check_lines(
        "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nA: b\r\nProxy-Connection: x\r\n",
        "A: b\r\n{own}",
    );
    check_lines(
        "Upgrade: h2c\r\nHTTP2-Settings: x\r\nProxy: evil\r\n",
        "{own}",
    );
    check_lines(
        "Connection: content-length, host\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\n{own}",
    );
    check_lines(
        "Transfer-Encoding: chunked\r\n",
        "{own}Transfer-Encoding: chunked\r\n",
    );
    check_lines(
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
        "Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n{own}Connection: upgrade\r\n",
    );
}

#[test]
fn what_a_stranger_says_of_himself_is_not_believed() {
    check_lines(
        "X-Forwarded-For: 6.6.6.6\r\nx_forwarded_for: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nContent_Length: 7\r\nTransfer_Encoding: chunked\r\n",
        "{own}",
    );
    let trusted = UpstreamRequest {
        trusted: true,
        ..upstream_request()
    };
    check_request(
        "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nForwarded: for=1.1.1.1\r\n\r\n",
        &trusted,
        "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-Proto: https\r\n\
         X-Forwarded-For: 1.1.1.1, 192.0.2.7\r\nX-Forwarded-Host: x\r\n\
         Forwarded: for=1.1.1.1, for=192.0.2.7;host=\"x\";proto=https\r\n\r\n",
    );
}

#[test]
fn what_steers_applications_comes_from_trusted_peers_or_by_the_routes_leave() {
    let lines = "X-Forwarded-Ssl: on\r\nx_original_url: /a\r\nX-HTTP-Method-Override: PUT\r\nX-Forwarded-Host: e\r\n";
    check_lines(lines, "{own}");
    let steering = [
        "x-http-method-override".to_owned(),
        "X-Forwarded-Host".to_owned(),
    ];
    let upstream_request = UpstreamRequest {
        steering: &steering,
        ..upstream_request()
    };
    check_request(
        &format!("GET / HTTP/1.1\r\nHost: x\r\n{lines}\r\n"),
        &upstream_request,
        &format!("GET / HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: PUT\r\n{OWN}\r\n"),
    );
}

#[test]
fn a_route_sets_and_drops() {
    let edits = [
        HeaderEdit {
            name: "X-A".to_owned(),
            value: Some("1".to_owned()),
        },
        HeaderEdit {
            name: "cookie".to_owned(),
            value: None,
        },
    ];
    let upstream_request = UpstreamRequest {
        steering: &[],
        edits: &edits,
        target: Some("/new?q"),
        ..upstream_request()
    };
    check_request(
        "GET /old?q HTTP/1.1\r\nHost: x\r\nx-a: 0\r\nCookie: y\r\nB: c\r\n\r\n",
        &upstream_request,
        &format!("GET /new?q HTTP/1.1\r\nHost: x\r\nB: c\r\n{OWN}X-A: 1\r\n\r\n"),
    );
}
