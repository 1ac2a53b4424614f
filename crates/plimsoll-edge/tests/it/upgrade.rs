//! After an upgrade both ends speak directly.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use crate::support::{Scripted, before, connect, read_until};

fn echo() -> Scripted {
    Scripted::start(|mut connection| {
        let Some(head) = connection.head() else {
            return;
        };
        assert!(
            head.contains("Upgrade: websocket\r\n") && head.contains("Connection: upgrade\r\n")
        );
        connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst");
        let mut piece = [0; 4096];
        while let Ok(count) = connection.stream.read(&mut piece) {
            if count == 0 {
                break;
            }
            connection.send(&piece[..count]);
        }
        connection.send("last");
    })
}

const UPGRADE: &[u8] =
    b"GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

#[test]
fn bytes_pass_both_ways_and_ends_one_at_a_time() {
    let edge = before(echo().address);
    let mut stream = connect(edge.address);
    // Data sent before the response passes too.
    stream.write_all(&[UPGRADE, b"early"].concat()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    assert!(head.contains("Upgrade: websocket\r\n") && head.contains("Connection: upgrade\r\n"));
    read_until(&mut stream, "firstearly");
    let body: Vec<u8> = (0..2_000_000_u32).map(|at| (at % 251) as u8).collect();
    let sent = body.clone();
    let mut writing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || writing.write_all(&sent).unwrap());
    let mut echoed = vec![0; body.len()];
    stream.read_exact(&mut echoed).unwrap();
    writer.join().unwrap();
    assert!(echoed == body);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "last");
}

#[test]
fn a_refused_upgrade_is_an_answer_like_any_other() {
    let server = Scripted::always("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    let edge = before(server.address);
    let mut stream = connect(edge.address);
    for _ in 0..2 {
        stream.write_all(UPGRADE).unwrap();
        read_until(&mut stream, "\r\n\r\nno");
    }
}

#[test]
fn nothing_tunnels_that_was_not_agreed_on() {
    // It responds and keeps the connection, like a server that does not know upgrades.
    let server = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            let response = if head.contains(" /switch ") {
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
            } else {
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            };
            connection.send(response);
        }
    });
    let edge = before(server.address);
    // HTTP/2 in a tunnel would carry requests that the edge does not inspect: it is not forwarded.
    for protocol in ["h2c", "websocket, h2c", "HTTP/2.0", "h2"] {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\n\
             HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        );
        let mut stream = connect(edge.address);
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, "\r\n\r\nok");
        let head = server.requests().pop().unwrap().to_ascii_lowercase();
        assert!(
            !head.contains("upgrade") && !head.contains("http2"),
            "{head}"
        );
    }
    // A protocol switch that was not requested is not a valid response.
    for upgrade in ["", "Connection: Upgrade\r\nUpgrade: h2c\r\n"] {
        let request = format!("GET /switch HTTP/1.1\r\nHost: a\r\n{upgrade}\r\nGET /hidden");
        refused(edge.address, &request);
    }
    // A request sent behind a declined upgrade is handled as any other: rejected where it is invalid.
    let mut stream = connect(edge.address);
    stream
        .write_all(&[UPGRADE, b"GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n"].concat())
        .unwrap();
    let response = crate::support::read_all(&mut stream);
    assert!(response.contains("\r\n\r\nokHTTP/1.1 400 "), "{response:?}");
    assert!(server.requests().iter().all(|head| !head.contains("/b")));
    // Nor is a body mistaken for the first bytes of a tunnel.
    let with_body = "POST /switch HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    refused(edge.address, with_body);
}

/// Sends a request that is answered with 502. The connection stays open, so that its end is not waited for.
fn refused(address: SocketAddr, request: &str) {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let response = read_until(&mut stream, "\r\n\r\n");
    assert_eq!(
        crate::support::status_and_body(&response).0,
        502,
        "{response:?}"
    );
}
