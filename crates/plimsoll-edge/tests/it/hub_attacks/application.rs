//! The application attacked by clients; and a malicious or impersonated application.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_config::edge::{EdgeConfig, HubConfig, HubHooks};
use serde_json::{Value, json};

use super::peers::{Decoy, KERNEL_MAX, Speech, scripted_peer};
use super::{CHANNELS, SOCKETS, error, patient};
use crate::hub::abuse::{masked, open};
use crate::hub::{HubClient, only_hub, publish};
use crate::support::{Scripted, ScriptedConnection, endpoint, metric, start, wait_for};

const WAITING: &str = "plimsoll_edge_hub_hooks_waiting";
const DOWN: &str = "the application does not answer; try again later";

fn with_hooks(hooks: HubHooks) -> EdgeConfig {
    only_hub(HubConfig {
        hooks: Some(hooks),
        ..patient()
    })
}

fn messages(address: SocketAddr) -> HubHooks {
    HubHooks {
        messages: Some(endpoint(address, "/messages")),
        ..HubHooks::none()
    }
}

/// The next hook request: its head and its body.
fn question(from: &mut ScriptedConnection) -> Option<(String, Value)> {
    let head = from.head()?;
    let body = from.body(&head)?;
    Some((head, serde_json::from_slice(&body).unwrap()))
}

#[test]
fn answers_without_end_or_sense_are_no_answers() {
    let decoy = Decoy::open();
    let elsewhere = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{}/\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        decoy.address()
    );
    let elsewhere: &'static [u8] = Box::leak(elsewhere.into_bytes().into_boxed_slice());
    let speeches: Vec<Speech> = vec![
        (elsewhere, b""),
        (b"SSH-2.0-OpenSSH_9\r\n", b""),
        (b"HTTP/1.1 200 OK\r\n", b"X-Again: and again\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 4096]),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            &[b'1'; 4096],
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\n1\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{\"a",
            b"",
        ),
    ];
    each_is_no_answer(speeches, KERNEL_MAX);
    decoy.nobody_came();
}

/// Informational responses are read until the time-out: nothing of them is kept.
#[test]
fn hints_without_end_are_no_answer() {
    let hints: Speech = (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n");
    each_is_no_answer(vec![hints], usize::MAX);
}

/// One request per script: none is a valid response, and no more than these bytes are read of each.
fn each_is_no_answer(speeches: Vec<Speech>, taken_max: usize) {
    let count = speeches.len();
    let (address, ended) = scripted_peer(speeches);
    let edge = start(&with_hooks(HubHooks {
        timeout: Duration::from_secs(3),
        ..messages(address)
    }));
    let mut client = HubClient::open(edge.address);
    for number in 0..count {
        client.send(&json!({ "send": number, "id": number }));
        assert_eq!(client.receive(), json!({ "id": number, "error": DOWN }));
        // The connection is closed when the limit is reached.
        let ended = ended.recv_timeout(crate::support::PATIENCE);
        let taken = ended.unwrap_or_else(|_| panic!("{number} stays")).taken;
        assert!(taken <= taken_max, "{number}: {taken} bytes");
    }
    wait_for(&edge, WAITING, 0.0);
    client.settle();
}

/// Target and framing of a hook request come from the configuration; input of clients is data only.
#[test]
fn clients_choose_neither_where_a_question_goes_nor_its_headers() {
    let (sender, asked) = sync_channel(100);
    let application = Scripted::start(move |mut connection| {
        while let Some(question) = question(&mut connection) {
            let _ = sender.send(question);
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    let edge = start(&with_hooks(HubHooks {
        connect: Some(endpoint(application.address, "/connect")),
        subscribe: Some(endpoint(application.address, "/subscribe")),
        messages: Some(endpoint(application.address, "/messages")),
        timeout: Duration::from_mins(1),
        ..HubHooks::none()
    }));
    let address = edge.address;
    let mut stream = crate::support::connect(address);
    let token = "t%0d%0aX-Evil:%201%22,%22user%22:%22root";
    let request = format!(
        "GET /live?token={token} HTTP/1.1\r\nHost: {address}\r\nContent-Encoding: x\r\nX-Evil: 1\r\n\
         Forwarded: for=10.0.0.1\r\nX-Forwarded-For: 10.0.0.1\r\nCookie: a=b\r\n{}\r\n",
        crate::hub::abuse::HANDSHAKE
    );
    stream.write_all(request.as_bytes()).unwrap();
    crate::support::read_until(&mut stream, "\r\n\r\n");
    let names = [
        "../../admin?x=",
        "http://127.0.0.1:1/",
        "a\",\"user\":\"root\",\"b\":\"",
        "${jndi:ldap://127.0.0.1/}",
    ];
    for name in names {
        let command = json!({ "subscribe": [name] }).to_string();
        stream.write_all(&masked(1, command.as_bytes())).unwrap();
    }
    let command = r#"{"send":"\r\nContent-Length: 0\r\n\r\nGET /admin HTTP/1.1\r\n\r\n"}"#;
    stream.write_all(&masked(1, command.as_bytes())).unwrap();
    let mut channels = Vec::new();
    for _ in 0..names.len() + 2 {
        let (head, body) = asked.recv_timeout(crate::support::PATIENCE).unwrap();
        let path = head.lines().next().unwrap();
        let paths = ["/connect", "/subscribe", "/messages"];
        assert!(
            paths
                .iter()
                .any(|candidate| path == format!("POST {candidate} HTTP/1.1")),
            "{path}"
        );
        let mut names: Vec<String> = head
            .lines()
            .skip(1)
            .filter_map(|line| Some(line.split_once(':')?.0.to_ascii_lowercase()))
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["content-length", "content-type", "cookie", "host"],
            "{head}"
        );
        assert_eq!(
            (&body["user"], &body["address"]),
            (&Value::Null, &json!("127.0.0.1"))
        );
        channels.extend(body["channel"].as_str().map(str::to_owned));
    }
    channels.sort();
    let mut expected = names.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(channels, expected);
}

/// A client that subscribes and unsubscribes repeatedly: requests in flight count until they are answered.
#[test]
fn wishes_that_are_taken_back_are_asked_about_within_the_same_bound() {
    const SUBSCRIPTIONS_MAX: u32 = 8;
    let (go, gone) = sync_channel::<()>(0);
    let gone = Arc::new(Mutex::new(gone));
    let application = Scripted::start(move |mut connection| {
        while question(&mut connection).is_some() {
            // Nothing is answered before the end.
            let _ = gone.lock().unwrap().recv();
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    let edge = start(&only_hub(HubConfig {
        hooks: Some(HubHooks {
            subscribe: Some(endpoint(application.address, "/subscribe")),
            timeout: Duration::from_mins(1),
            ..HubHooks::none()
        }),
        subscriptions_max: SUBSCRIPTIONS_MAX,
        ..patient()
    }));
    let mut client = HubClient::open(edge.address);
    let mut refused = 0;
    for number in 0..200 {
        let name = format!("game-{number}");
        client.send(&json!({ "subscribe": [name] }));
        client.send(&json!({ "unsubscribe": [name], "id": "done" }));
        let mut reply = client.receive();
        while reply["id"] != "done" {
            assert!(error(&reply).contains("limit of subscriptions"), "{reply}");
            refused += 1;
            reply = client.receive();
        }
    }
    assert_eq!(refused, 200 - SUBSCRIPTIONS_MAX);
    assert_eq!(metric(&edge, WAITING), Some(f64::from(SUBSCRIPTIONS_MAX)));
    // Within one command no request is sent at all.
    client.send(&json!({ "subscribe": ["b"], "unsubscribe": ["b"] }));
    // A disconnected client is not subscribed by later responses.
    drop(client);
    wait_for(&edge, SOCKETS, 0.0);
    drop(go);
    wait_for(&edge, WAITING, 0.0);
    assert_eq!(metric(&edge, CHANNELS), Some(0.0));
    assert_eq!(application.requests().len(), SUBSCRIPTIONS_MAX as usize);
}

/// Long messages of many clients for an application that does not answer: at most 64 MiB of them are queued.
#[test]
fn what_waits_for_the_application_is_bounded_in_bytes() {
    const LEN: usize = 1 << 20;
    const BYTES_MAX: usize = 64 << 20;
    const CLIENTS: usize = 5;
    const EACH: usize = 16;
    let application = Scripted::start(|mut connection| {
        let mut bytes = [0; 4096];
        while connection
            .stream
            .read(&mut bytes)
            .is_ok_and(|count| count > 0)
        {
            if bytes.starts_with(b"never") {
                return;
            }
        }
    });
    let edge = start(&only_hub(HubConfig {
        hooks: Some(HubHooks {
            timeout: Duration::from_mins(10),
            in_flight: 1,
            ..messages(application.address)
        }),
        message_len_max: 2 << 20,
        ..patient()
    }));
    let text = format!(r#"{{"send":"{}"}}"#, "x".repeat(LEN));
    let frame = masked(1, text.as_bytes());
    let close = masked(8, &1000_u16.to_be_bytes());
    let mut refused = 0;
    let mut streams = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = open(edge.address);
        for _ in 0..EACH {
            stream.write_all(&frame).unwrap();
        }
        streams.push(stream);
    }
    let fit = BYTES_MAX / LEN - 1;
    for mut stream in streams {
        stream.write_all(&close).unwrap();
        let (texts, _) = crate::hub::abuse::read_frames(stream);
        refused += texts.iter().filter(|text| text.contains(DOWN)).count();
    }
    assert!(metric(&edge, WAITING).unwrap() <= fit as f64);
    // A client that closes at once may not receive the last errors.
    assert!(refused <= CLIENTS * EACH - fit, "{refused}");
    wait_for(&edge, SOCKETS, 0.0);
    let mut client = HubClient::open(edge.address);
    client.subscribe("a");
    publish(&edge, "a", &json!("still here"));
    assert_eq!(client.receive()["data"], "still here");
}
