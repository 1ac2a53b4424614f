use super::*;
use crate::request_head::{header_buffer, parse};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

#[test]
fn the_example_of_the_standard_holds() {
    // RFC 6455, 1.3.
    assert_eq!(key(*b"the sample nonce"), KEY);
    assert_eq!(accept(KEY), ACCEPT);
}

fn opened(answer: &str) -> Result<Option<AcceptedHandshake>, HandshakeError> {
    let asked = ClientHandshake {
        key: KEY,
        protocols: "chat, superchat",
        offer: Some(Offer::default()),
        limits: HeadLimits::DEFAULT,
    };
    read_answer(answer.as_bytes(), 0, &asked)
}

const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n";

#[test]
fn an_answer_is_held_against_what_was_asked() {
    let good = format!("{SWITCHED}Sec-WebSocket-Accept: {ACCEPT}\r\n");
    let answer = format!(
        "{good}Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n\x01"
    );
    let expected = AcceptedHandshake {
        head_len: answer.len() - 1,
        protocol: Some("chat".to_owned()),
        deflate: Some(Agreement {
            server_begins_anew: false,
            client_begins_anew: true,
        }),
    };
    assert_eq!(opened(&answer), Ok(Some(expected)));
    assert_eq!(opened(&answer[..answer.len() - 2]), Ok(None));
    for (answer, error) in [
        (
            format!("{good}Sec-WebSocket-Protocol: other\r\n\r\n"),
            HandshakeError::Unasked,
        ),
        (
            format!("{good}Sec-WebSocket-Extensions: x\r\n\r\n"),
            HandshakeError::Unasked,
        ),
        (
            format!("{good}Sec-WebSocket-Accept: {ACCEPT}\r\n\r\n"),
            HandshakeError::Accept,
        ),
        (format!("{SWITCHED}\r\n"), HandshakeError::Accept),
        (
            format!("{SWITCHED}Sec-WebSocket-Accept: {KEY}\r\n\r\n"),
            HandshakeError::Accept,
        ),
        (
            "HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n".to_owned(),
            HandshakeError::NotSwitched,
        ),
        (
            "HTTP/1.1 403 Forbidden\r\n\r\n".to_owned(),
            HandshakeError::Status(403),
        ),
        (
            "SSH-2.0".to_owned(),
            HandshakeError::Http(crate::error::Http1Error::NotHttp),
        ),
    ] {
        assert_eq!(opened(&answer), Err(error), "{answer}");
    }
}

#[track_caller]
fn read_upgrade(headers: &str) -> Result<UpgradeRequest, UpgradeError> {
    let bytes = format!("GET /live HTTP/1.1\r\nHost: a.example:8080\r\n{headers}\r\n");
    let mut room = header_buffer();
    let head = parse(bytes.as_bytes(), &mut room).expect("the head is valid");
    check_origin(&head)?;
    read_request(&head)
}

const GOOD: &str =
    "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n";

#[test]
fn a_request_is_taken_or_its_fault_is_named() {
    let good = format!("{GOOD}Sec-WebSocket-Key: {KEY}\r\n");
    let upgrade = read_upgrade(&format!(
        "{good}Origin: http://A.example:8080\r\nSec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b, c\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
    ));
    let upgrade = upgrade.unwrap();
    assert_eq!((&*upgrade.accept, &*upgrade.protocols), (ACCEPT, "a, b, c"));
    assert!(upgrade.deflate.is_some());
    for (headers, error) in [
        (String::new(), UpgradeError::NoUpgrade),
        (
            good.replace("keep-alive, Upgrade", "close"),
            UpgradeError::NoUpgrade,
        ),
        (
            good.replace("websocket", "mystery"),
            UpgradeError::NoUpgrade,
        ),
        (good.replace("13", "8"), UpgradeError::Version),
        (good.replace("13", "13, 8"), UpgradeError::Version),
        (GOOD.to_owned(), UpgradeError::Key),
        (
            format!("{GOOD}Sec-WebSocket-Key: c2hvcnQ=\r\n"),
            UpgradeError::Key,
        ),
        (
            format!("{good}Sec-WebSocket-Key: {KEY}\r\n"),
            UpgradeError::Key,
        ),
        (
            format!("{good}Origin: https://evil.example\r\n"),
            UpgradeError::Origin,
        ),
        (
            format!("{good}Origin: http://a.example\r\n"),
            UpgradeError::Origin,
        ),
        (format!("{good}Origin: null\r\n"), UpgradeError::Origin),
    ] {
        assert_eq!(read_upgrade(&headers), Err(error), "{headers}");
    }
}

#[test]
fn both_sides_understand_each_other() {
    let nonce = [7; 16];
    let offer = Some(Offer {
        server_begins_anew: true,
    });
    let mut headers = request_headers(&key(nonce), "plimsoll", offer);
    headers.insert(0, ("Host".to_owned(), "a".to_owned()));
    let request = crate::request::encode("GET", "/live", &headers, 0, false);
    let mut room = header_buffer();
    let upgrade = read_request(&parse(&request, &mut room).unwrap()).unwrap();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: plimsoll\r\n\
         Sec-WebSocket-Extensions: {}\r\n\r\n",
        upgrade.accept,
        upgrade.deflate.unwrap().header()
    );
    let asked = ClientHandshake {
        key: &key(nonce),
        protocols: "plimsoll",
        offer,
        limits: HeadLimits::DEFAULT,
    };
    let opened = read_answer(answer.as_bytes(), 0, &asked).unwrap().unwrap();
    assert_eq!(opened.head_len, answer.len());
    assert_eq!(opened.protocol.as_deref(), Some("plimsoll"));
    assert!(
        opened
            .deflate
            .is_some_and(|deflate| deflate.server_begins_anew)
    );
}
