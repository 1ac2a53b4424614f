//! A Redis that is none: it answers with what nobody asked for, without end, or by sending elsewhere.

use std::io::Write as _;
use std::net::SocketAddr;

use plimsoll_config::edge::{Edge, Hub, HubRedis, HubSourceKind};
use serde_json::json;

use super::goes_on;
use super::peers::{Decoy, Speech, glance, heard_to_the_end, speaking};
use crate::hub::sources::{hearing, source};
use crate::hub::{live, only_hub};
use crate::support::{Scripted, Telling, connect, read_until};

fn listening(address: SocketAddr) -> Edge {
    only_hub(Hub {
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
    let (address, ended) = speaking(speeches);
    let telling = Telling::start(&listening(address));
    let told = telling.told("is not there");
    assert!(told.contains("what it says is not understood"), "{told}");
    for number in 0..count {
        let heard = heard_to_the_end(&ended, number);
        // It is known to nobody else than who was named, and asked for nothing else.
        let heard = String::from_utf8(heard).unwrap();
        assert!(
            heard.is_empty() || heard.starts_with("*2\r\n$4\r\nAUTH\r\n$12\r\nthe-password\r\n"),
            "{heard}"
        );
    }
    goes_on(&telling);
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
    let (address, ended) = speaking(speeches);
    let kind = HubSourceKind::RedisStream {
        group: "edge".to_owned(),
    };
    let telling = Telling::start(&hearing(source(kind, address, &["updates"])));
    let told = telling.told("is not there");
    assert!(told.contains("MOVED 7"), "{told}");
    for number in 0..count {
        heard_to_the_end(&ended, number);
    }
    decoy.nobody_came();
    goes_on(&telling);
}

/// Whoever answers everything and never lets in is not waited for: 5 s for all of it.
#[test]
fn who_only_says_ok_is_left_in_time() {
    let server = Scripted::start(|mut heard| {
        let _ = heard.stream.write_all(b"+OK\r\n");
        while glance(&mut heard.stream).is_some() {
            if heard.stream.write_all(b"+OK\r\n").is_err() {
                return;
            }
        }
    });
    let begun = std::time::Instant::now();
    let telling = Telling::start(&listening(server.address));
    let told = telling.told("is not there");
    assert!(told.contains("does not let in within 5s"), "{told}");
    assert!(begun.elapsed().as_secs() >= 5);
    goes_on(&telling);
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// Names and data of whoever publishes there: none of them is obeyed, by readers of events, logs or terminals.
#[test]
fn what_is_published_there_is_data_and_nothing_else() {
    let message = |channel: &str, data: &str| {
        let parts = [bulk("pmessage"), bulk("*"), bulk(channel), bulk(data)];
        format!("*4\r\n{}", parts.concat())
    };
    let mut said = "+OK\r\n*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n".to_owned();
    said += &message("game\r\ndata: forged\r\n\x1b[2J", "1");
    said += &message("game", "1\n\ndata: {\"channel\":\"forged\"}\n\n");
    said += &message("game", "\u{2028}\r\nid: 9:9");
    let (go, gone) = std::sync::mpsc::sync_channel::<()>(1);
    let gone = std::sync::Mutex::new(gone);
    let server = Scripted::start(move |mut heard| {
        let _ = gone.lock().unwrap().recv();
        heard.say(&said);
        while glance(&mut heard.stream).is_some() {}
    });
    let telling = Telling::start(&listening(server.address));
    let address = telling.edge.address;
    let mut reader = connect(address);
    let request = format!("GET /live?channel=game HTTP/1.1\r\nHost: {address}\r\n\r\n");
    reader.write_all(request.as_bytes()).unwrap();
    read_until(&mut reader, "\r\n\r\n");
    go.send(()).unwrap();
    let told = telling.told("is not sent");
    assert!(told.contains("holds a control character"), "{told}");
    assert!(!told.contains(|char: char| char.is_control()), "{told:?}");
    for data in [
        "1\n\ndata: {\"channel\":\"forged\"}\n\n",
        "\u{2028}\r\nid: 9:9",
    ] {
        let event = read_until(&mut reader, "\n\n");
        let lines: Vec<&str> = event.trim_end().lines().collect();
        assert_eq!(lines.len(), 2, "{event:?}");
        assert!(lines[0].starts_with("id: "), "{event:?}");
        let said: serde_json::Value =
            serde_json::from_str(lines[1].strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(
            (&said["channel"], &said["data"]),
            (&json!("game"), &json!(data))
        );
    }
}
