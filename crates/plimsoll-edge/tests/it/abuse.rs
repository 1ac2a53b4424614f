//! Ambiguous and endless requests: rejected, and never seen by the server.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{
    EarlyClients, Scripted, before, connect, impatient, plain, pool, read_all, send_request, start,
    status_and_body, wait_for,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
#[expect(clippy::too_many_lines, reason = "a table of requests")]
fn what_could_be_read_in_two_ways_is_refused() {
    let server = Scripted::always(OK);
    let edge = before(server.address);
    let post =
        |headers: &str, body: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n{body}");
    let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    let cases: Vec<(u16, String)> = vec![
        (
            400,
            post(
                "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
                &format!("0\r\n\r\n{hidden}"),
            ),
        ),
        (
            400,
            post(
                "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
                hidden,
            ),
        ),
        (
            400,
            post("Content-Length: 4\r\nContent-Length: 40\r\n", hidden),
        ),
        (
            400,
            post("Content-Length: 4\r\nContent-Length: 4\r\n", "abcd"),
        ),
        (400, post("Content-Length: 4, 4\r\n", "abcd")),
        (400, post("Content-Length: +4\r\n", "abcd")),
        (400, post("Content-Length: 0x4\r\n", "abcd")),
        (400, post("Content-Length : 4\r\n", "abcd")),
        (501, post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")),
        (
            501,
            post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ),
        (
            400,
            post(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
                "0\r\n\r\n",
            ),
        ),
        (400, post("Transfer-Encoding:\x0bchunked\r\n", "0\r\n\r\n")),
        (400, post("X: y\r\n Transfer-Encoding: chunked\r\n", hidden)),
        (
            400,
            post(
                "Transfer-Encoding: chunked\r\n Content-Length: 3\r\n",
                hidden,
            ),
        ),
        (
            400,
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        ),
        (501, post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n")),
        (501, post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n")),
        (
            501,
            post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
        ),
        (400, post("Transfer-Encoding:\r\n", hidden)),
        (400, post("Transfer-Encoding\t: chunked\r\n", hidden)),
        (400, post("Transfer-Encoding: \0chunked\r\n", hidden)),
        (400, post("\0: x\r\n", hidden)),
        (400, post("X: a\0b\r\n", hidden)),
        (400, post(": x\r\n", hidden)),
        (400, post("X y: x\r\n", hidden)),
        (400, post("Content-Length: -4\r\n", "abcd")),
        (400, post("Content-Length: 4e0\r\n", "abcd")),
        (400, post("Content-Length: \r\n", "abcd")),
        (
            400,
            post("Content-Length: 99999999999999999999999\r\n", "abcd"),
        ),
        (400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (400, "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n".to_owned()),
        (400, "GET /\r\n\r\n".to_owned()),
        (400, post("X: y\nTransfer-Encoding: chunked\r\n", hidden)),
        (400, post("X: y\rTransfer-Encoding: chunked\r\n", hidden)),
        (400, "GET / HTTP/1.1\nHost: a\n\n".to_owned()),
        (
            400,
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
        ),
        (400, "GET / HTTP/1.1\r\n\r\n".to_owned()),
        (400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned()),
        (
            400,
            "GET http://other/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        ),
        (
            400,
            "GET http://169.254.169.254/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        ),
        (
            400,
            "GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        ),
        (
            405,
            "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n".to_owned(),
        ),
        (405, "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (400, "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (
            400,
            "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        ),
        (400, "GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (400, "GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        (505, "GET / HTTP/3.0\r\nHost: a\r\n\r\n".to_owned()),
        (400, "\x16\x03\x01\x02\x00\x01".to_owned()),
        (400, "\r\n\r\n\r\n\r\n\r\n\r\n".to_owned()),
        (414, format!("GET /{} HTTP/1.1\r\n", "x".repeat(20_000))),
        (
            431,
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
                "x".repeat(40_000)
            ),
        ),
        (
            431,
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
                "X: y\r\n".repeat(1000)
            ),
        ),
        (417, post("Expect: wonders\r\n", "")),
        (413, post("Content-Length: 99999999999\r\n", "abcd")),
    ];
    for (status, request) in cases {
        let response = send_request(edge.address, &request);
        assert_eq!(status_and_body(&response).0, status, "{request:?}");
        assert!(
            response.contains("X-Plimsoll: bad-request\r\n"),
            "{response:?}"
        );
        assert!(response.contains("Connection: close\r\n"), "{response:?}");
        assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{response:?}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn a_broken_body_ends_the_connection_on_both_sides() {
    let server = Scripted::start(|mut connection| {
        if connection.head().is_some() {
            // Reads to the end: a second request would be counted.
            while connection.head().is_some() {}
        }
    });
    let edge = before(server.address);
    for body in [
        "5\nhello\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
        "xyz\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
        "5\r\nhelloGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
        "ffffffffffffffffff\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let request =
            format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert_eq!(
            status_and_body(&send_request(edge.address, request)).0,
            400,
            "{body:?}"
        );
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|head| head.starts_with("POST "))
    );
}

#[test]
fn slow_clients_are_cut_off() {
    let server = Scripted::start(|mut connection| while connection.head().is_some() {});
    let clients = EarlyClients::bind();
    // Each waits for a deadline of its own: all at once.
    let mut silent = clients.send("");
    let begun = [
        "GET / HTTP/1.1\r\nHos",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
    ];
    let begun = begun.map(|begun| (begun, clients.send(begun)));
    // A byte now and then does not extend a deadline: a head has one deadline, and a body must make progress.
    let trickling = [
        "G",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\nG",
    ];
    let trickling = trickling.map(|start| (start, clients.send(start)));
    let _edge = clients.serve(impatient(server.address));
    std::thread::scope(|scope| {
        for (start, mut stream) in trickling {
            scope.spawn(move || {
                let response = trickle(&mut stream);
                assert_eq!(status_and_body(&response).0, 408, "{start:?}");
            });
        }
        assert_eq!(read_all(&mut silent), "");
        for (begun, mut stream) in begun {
            assert_eq!(status_and_body(&read_all(&mut stream)).0, 408, "{begun:?}");
        }
    });
}

/// Sends a byte now and then until the response arrives, long before the request would be complete.
fn trickle(stream: &mut TcpStream) -> String {
    let mut slow = stream.try_clone().unwrap();
    let (enough, pace) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        while slow.write_all(b"G").is_ok() {
            // Reads time out until the response arrives: the time-out sets the pace.
            let tick = pace.recv_timeout(Duration::from_millis(50));
            if tick != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                break;
            }
        }
    });
    let response = read_all(stream);
    drop(enough);
    writer.join().unwrap();
    response
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let server = Scripted::start(|mut connection| {
        if connection.head().is_some() {
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
            let piece = vec![b'x'; 100_000];
            while std::io::Write::write_all(&mut connection.stream, &piece).is_ok() {}
        }
    });
    let clients = EarlyClients::bind();
    let mut stream = clients.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let edge = clients.serve(impatient(server.address));
    // Nothing is read here before the edge has given the client up.
    wait_for(&edge, "plimsoll_edge_clients_gone_total", 1.0);
    let got = read_all(&mut stream);
    assert!(got.len() < 100_000_000, "{}", got.len());
}

#[test]
fn connections_have_a_limit_for_each_address() {
    let server = Scripted::always(OK);
    let mut edge = plain(pool(&[server.address]));
    edge.limits.per_address_max = 2;
    let edge = start(&edge);
    let send_on = |stream: &mut std::net::TcpStream| {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        crate::support::read_until(stream, "\r\n\r\nok");
    };
    let (mut first, mut second) = (connect(edge.address), connect(edge.address));
    send_on(&mut first);
    send_on(&mut second);
    assert_eq!(read_all(&mut connect(edge.address)), "");
    send_on(&mut first);
}
