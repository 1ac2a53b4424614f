use super::*;
use crate::respond::tests::{PLAIN, forward};

#[track_caller]
fn check_answer(input: &str, framing: Framing, connection: ConnectionHeader, expected: &str) {
    let answering = Answering {
        framing,
        connection,
        ..PLAIN
    };
    let mut out = Vec::new();
    forward(&mut out, input, &answering);
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn an_answer_goes_on_as_it_came() {
    check_answer(
        "HTTP/1.1 404 Not There\r\nServer: s\r\nDate: then\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
        Framing::AsIs,
        ConnectionHeader::Omitted,
        "HTTP/1.1 404 Not There\r\nServer: s\r\nDate: then\r\nContent-Length: 3\r\n\r\n",
    );
    check_answer(
        "HTTP/1.0 200 OK\r\nX-Plimsoll: fallback\r\n\r\n",
        Framing::Chunked,
        ConnectionHeader::Omitted,
        "HTTP/1.1 200 OK\r\nDate: now\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    check_answer(
        "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        Framing::AsIs,
        ConnectionHeader::Close,
        "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
    );
    check_answer(
        "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3, 3\r\n\r\n",
        Framing::AsIs,
        ConnectionHeader::KeepAlive,
        "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n",
    );
    check_answer(
        "HTTP/1.1 204 No Content\r\nDate: d\r\nContent-Length: 0\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n",
        Framing::Nothing,
        ConnectionHeader::Omitted,
        "HTTP/1.1 204 No Content\r\nDate: d\r\n\r\n",
    );
    check_answer(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        Framing::Nothing,
        ConnectionHeader::Upgrade,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    );
}
