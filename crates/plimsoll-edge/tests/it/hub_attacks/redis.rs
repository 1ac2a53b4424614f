//! A malicious Redis: unsolicited or endless replies, or redirections.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubRedis, HubSourceKind};
use serde_json::json;

use super::goes_on;
use super::peers::{Decoy, Speech, glance, received_to_end, scripted_peer};
use crate::hub::sources::{source, with_source};
use crate::hub::{live, only_hub};
use crate::support::{ObservedEdge, Scripted, connect, read_until};

fn listening(address: SocketAddr) -> EdgeConfig {
    only_hub(HubConfig {
        redis: Some(HubRedis {
            host: address.ip().to_string(),
            port: address.port(),
            user: None,
            password: Some("the-password".to_owned()),
            tls: None,
            patterns: vec!["*".to_owned()],
        }),
        ..live()
    })
}

#[test]
fn answers_without_end_or_sense_end_the_connection() {
    let speeches: Vec<Speech> = vec![
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""),
        (b"+", &[b'x'; 4096]),
        (b"$9999999999\r\n", &[b'x'; 4096]),
        (b"*2147483647\r\n", b":1\r\n"),
        (b"", b"*1\r\n"),
        (b"-MOVED 1 127.0.0.1:1\x1b[2J\r\n", b""),
    ];
    let count = speeches.len();
    let (address, ended) = scripted_peer(speeches);
    let observed = ObservedEdge::start(&listening(address));
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("malformed reply"), "{message}");
    for received in received_to_end(&ended, count) {
        // Credentials are sent only to the configured address, and nothing else is requested.
        let received = String::from_utf8(received).unwrap();
        assert!(
            received.is_empty()
                || received.starts_with("*2\r\n$4\r\nAUTH\r\n$12\r\nthe-password\r\n"),
            "{received}"
        );
    }
    goes_on(&observed);
}

#[test]
fn answers_of_a_stream_without_end_or_sense_end_the_connection() {
    let decoy = Decoy::open();
    let moved = format!("-MOVED 7 {}\r\n", decoy.address());
    let moved: &'static [u8] = Box::leak(moved.into_bytes().into_boxed_slice());
    let speeches: Vec<Speech> = vec![
        (moved, b""),
        (b"+OK\r\n$99999999999\r\n", &[b'x'; 4096]),
        (b"+OK\r\n*100001\r\n", b":1\r\n:1\r\n:1\r\n:1\r\n"),
        (b"+OK\r\n", b"*1\r\n*1\r\n*1\r\n*1\r\n"),
        (b"+OK\r\n*1\r\n$1\r\nx\r\n", b""),
    ];
    let count = speeches.len();
    let (address, ended) = scripted_peer(speeches);
    let kind = HubSourceKind::RedisStream {
        group: "edge".to_owned(),
    };
    let observed = ObservedEdge::start(&with_source(source(kind, address, &["updates"])));
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("MOVED 7"), "{message}");
    received_to_end(&ended, count);
    decoy.nobody_came();
    goes_on(&observed);
}

/// A server that keeps replying without completing authentication is dropped after 5 s in total.
#[test]
fn who_only_says_ok_is_left_in_time() {
    let server = Scripted::start(|mut connection| {
        let _ = connection.stream.write_all(b"+OK\r\n");
        while glance(&mut connection.stream).is_some() {
            if connection.stream.write_all(b"+OK\r\n").is_err() {
                return;
            }
        }
    });
    let begun = std::time::Instant::now();
    let observed = ObservedEdge::start(&listening(server.address));
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("no authentication within 5s"), "{message}");
    assert!(begun.elapsed().as_secs() >= 5);
    goes_on(&observed);
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// Injected names and data: none is interpreted by readers of events, logs or terminals.
#[test]
fn what_is_published_there_is_data_and_nothing_else() {
    let message = |channel: &str, data: &str| {
        let elements = [bulk("pmessage"), bulk("*"), bulk(channel), bulk(data)];
        format!("*4\r\n{}", elements.concat())
    };
    let mut script = "+OK\r\n*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n".to_owned();
    script += &message("game\r\ndata: forged\r\n\x1b[2J", "1");
    script += &message("game", "1\n\ndata: {\"channel\":\"forged\"}\n\n");
    script += &message("game", "\u{2028}\r\nid: 9:9");
    let (go, gone) = std::sync::mpsc::sync_channel::<()>(1);
    let gone = std::sync::Mutex::new(gone);
    let server = Scripted::start(move |mut connection| {
        // Until nobody holds the other end: also a connection that the edge opens anew.
        let _ = gone.lock().unwrap().recv();
        connection.send(&script);
        while glance(&mut connection.stream).is_some() {}
    });
    let observed = ObservedEdge::start(&listening(server.address));
    let address = observed.edge.address;
    let mut reader = connect(address);
    let request = format!("GET /live?channel=game HTTP/1.1\r\nHost: {address}\r\n\r\n");
    reader.write_all(request.as_bytes()).unwrap();
    read_until(&mut reader, "\r\n\r\n");
    drop(go);
    let notice = observed.wait_for_message("was not published");
    assert!(notice.contains("contains a control character"), "{notice}");
    assert!(
        !notice.contains(|char: char| char.is_control()),
        "{notice:?}"
    );
    for data in [
        "1\n\ndata: {\"channel\":\"forged\"}\n\n",
        "\u{2028}\r\nid: 9:9",
    ] {
        let event = read_until(&mut reader, "\n\n");
        let lines: Vec<&str> = event.trim_end().lines().collect();
        assert_eq!(lines.len(), 2, "{event:?}");
        assert!(lines[0].starts_with("id: "), "{event:?}");
        let update: serde_json::Value =
            serde_json::from_str(lines[1].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(
            (&update["channel"], &update["data"]),
            (&json!("game"), &json!(data))
        );
    }
}
