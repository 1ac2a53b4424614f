//! The edge forwards the server's responses unchanged, in every framing, to every client.

use std::io::{Read as _, Write as _};

use crate::support::{Scripted, before, connect, get, read_until, send_request, status_and_body};

#[track_caller]
fn check(request: &str, answer: &'static str, expected: &str) {
    // The server closes each connection, as a body without length requires.
    let server = Scripted::start(move |mut connection| {
        if connection.head().is_some() {
            connection.send(answer);
        }
    });
    let edge = before(server.address);
    let response = send_request(edge.address, request);
    let without_date: String = response
        .split_inclusive("\r\n")
        .filter(|line| !line.starts_with("Date: "))
        .collect();
    assert_eq!(without_date, expected);
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const OLD: &str = "GET / HTTP/1.0\r\n\r\n";
const HEAD: &str = "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[test]
fn every_framing_reaches_every_client() {
    check(
        GET,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\nConnection: close\r\n\r\nhello",
    );
    check(
        GET,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: r\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    check(
        GET,
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    check(
        OLD,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
    );
    check(
        OLD,
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
    );
    check(
        HEAD,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
    );
    check(
        GET,
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
    );
    check(
        GET,
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    );
    check(
        GET,
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
    );
    check(
        OLD,
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
    );
}

#[test]
fn an_answer_that_breaks_off_is_seen_to_break_off() {
    check(
        GET,
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nhello",
    );
    check(
        GET,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n",
    );
}

#[test]
fn what_is_no_answer_becomes_a_502() {
    for wrong in [
        "SSH-2.0\r\n",
        "HTTP/1.1 200 OK\nA: b\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b",
    ] {
        let server = Scripted::start(move |mut connection| {
            if connection.head().is_some() {
                connection.send(wrong);
            }
        });
        let edge = before(server.address);
        let response = get(edge.address, "/");
        assert_eq!(
            status_and_body(&response).0,
            502,
            "{wrong:?} became {response:?}"
        );
        assert!(
            response.contains("X-Plimsoll: no-server\r\n"),
            "{response:?}"
        );
    }
}

#[test]
fn connections_are_used_again_on_both_sides() {
    let server = Scripted::start(|mut connection| {
        while connection.head().is_some() {
            let body = format!("{}", connection.number);
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
        }
    });
    let edge = before(server.address);
    let mut stream = connect(edge.address);
    for _ in 0..5 {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        read_until(&mut stream, "\r\n\r\n0");
    }
    // Pipelined, and answered in order.
    stream
        .write_all(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /3 HTTP/1.0\r\nHost: a\r\n\r\n")
        .unwrap();
    for _ in 0..3 {
        read_until(&mut stream, "\r\n\r\n0");
    }
    let mut end = Vec::new();
    stream.read_to_end(&mut end).unwrap();
    assert_eq!(end, b"");
    let requests = server.requests();
    assert_eq!(requests.len(), 8);
    assert!(requests[7].starts_with("GET /3 HTTP/1.1\r\nHost: a\r\n"));
}

/// Echoes the raw body of each request, delimited by the connection's end.
fn echo() -> Scripted {
    Scripted::start(|mut connection| {
        let Some(head) = connection.head() else {
            return;
        };
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        if head.contains("Transfer-Encoding: chunked") {
            let mut body = connection.stream.try_clone().unwrap();
            let all = read_until(&mut body, "0\r\n\r\n");
            connection.send(all);
            return;
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .map_or(0, |length| length.parse::<usize>().unwrap());
        let mut left = length;
        let mut piece = [0; 10_000];
        while left > 0 {
            let count = connection.stream.read(&mut piece).unwrap();
            connection.send(&piece[..count]);
            left -= count;
        }
    })
}

#[test]
fn bodies_go_both_ways_at_once() {
    let edge = before(echo().address);
    let mut stream = connect(edge.address);
    let body: Vec<u8> = (0..3_000_000_u32)
        .map(|at| b'a' + (at % 23) as u8)
        .collect();
    let head = format!("POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut writing = stream.try_clone().unwrap();
    let sent = body.clone();
    let writer = std::thread::spawn(move || {
        writing.write_all(head.as_bytes()).unwrap();
        writing.write_all(&sent).unwrap();
    });
    read_until(&mut stream, "\r\n\r\n");
    let mut echoed = Vec::new();
    stream.read_to_end(&mut echoed).unwrap();
    writer.join().unwrap();
    assert!(echoed == body, "{} of {} bytes", echoed.len(), body.len());
}

#[test]
fn chunked_requests_go_on_without_extensions_and_trailers() {
    let edge = before(echo().address);
    let response = send_request(
        edge.address,
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
         5;evil=\"x\"\r\nhello\r\n3\r\nabc\r\n0\r\nX-Evil: 1\r\n\r\n",
    );
    let (status, body) = status_and_body(&response);
    assert_eq!(status, 200);
    // The echo itself is chunked by the edge; it contains the chunks that the server received.
    assert!(
        body.contains("hello\r\n") && body.contains("abc\r\n"),
        "{body:?}"
    );
    assert!(
        !body.contains("evil") && !body.contains("X-Evil"),
        "{body:?}"
    );
}

#[test]
fn who_waits_for_100_continue_gets_it_from_the_server() {
    let server = Scripted::start(|mut connection| {
        let Some(head) = connection.head() else {
            return;
        };
        assert!(head.contains("Expect: 100-continue\r\n"));
        connection.send("HTTP/1.1 100 Continue\r\n\r\n");
        read_until(&mut connection.stream.try_clone().unwrap(), "body");
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    let edge = before(server.address);
    let mut stream = connect(edge.address);
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
        )
        .unwrap();
    read_until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").unwrap();
    read_until(&mut stream, "\r\n\r\nok");
}

#[test]
fn an_answer_before_the_body_ends_the_connection_after_it() {
    let server = Scripted::start(|mut connection| {
        connection.head();
        connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    });
    let edge = before(server.address);
    let response = send_request(
        edge.address,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nbeginning",
    );
    assert_eq!(status_and_body(&response), (413, "no"));
}
