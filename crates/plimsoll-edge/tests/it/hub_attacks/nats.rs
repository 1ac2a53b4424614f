//! A malicious NATS, and clients that inject its wire protocol into names and messages.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use plimsoll_config::edge::{
    EdgeConfig, HubConfig, HubRule, HubShared, HubSharedKind, HubSource, HubSourceKind, ServerTls,
};
use serde_json::json;

use super::peers::{Decoy, Speech, glance, received_to_end, scripted_peer};
use super::{error, goes_on, patient};
use crate::hub::sources::{source, with_source};
use crate::hub::{HubClient, only_hub};
use crate::support::{ObservedEdge, Scripted, start, wait_for};

const INFO: &[u8] = b"INFO {\"server_id\":\"a\",\"client_id\":7}\r\n";

fn from(address: SocketAddr) -> HubSource {
    HubSource {
        user: Some("edge".to_owned()),
        password: Some("the-password".to_owned()),
        ..source(HubSourceKind::Nats, address, &["game.>"])
    }
}

#[test]
fn a_server_without_sense_or_end_ends_the_connection_and_sends_nobody_elsewhere() {
    let decoy = Decoy::open();
    let elsewhere = format!(
        "INFO {{\"server_id\":\"a\",\"connect_urls\":[\"{0}\"],\"ldm\":true,\"host\":\"127.0.0.1\",\"port\":{1}}}\r\n\
         -ERR 'Stale Connection \x1b[2J'\r\n",
        decoy.address(),
        decoy.address().port()
    );
    let elsewhere: &'static [u8] = Box::leak(elsewhere.into_bytes().into_boxed_slice());
    let speeches: Vec<Speech> = vec![
        (elsewhere, b""),
        (b"SSH-2.0-OpenSSH_9\r\n", b""),
        (b"INFO ", &[b'x'; 4096]),
        (
            b"INFO {}\r\nPONG\r\nMSG game.1 1 9999999999\r\n",
            &[b'x'; 4096],
        ),
        (b"INFO {}\r\nMSG game.1 1 2 3 4 5 6 7\r\n", b""),
        (b"MSG game.1 1 1\r\nx\r\n", b""),
    ];
    let count = speeches.len();
    let (address, ended) = scripted_peer(speeches);
    let observed = ObservedEdge::start(&with_source(from(address)));
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("Stale Connection"), "{message}");
    assert!(!message.contains('\x1b'), "{message:?}");
    for (number, received) in (0..).zip(received_to_end(&ended, count)) {
        // Nothing is sent before the server's INFO.
        let received = String::from_utf8(received).unwrap();
        assert_eq!(
            received.contains("the-password"),
            !matches!(number, 1 | 2 | 5),
            "{number}: {received}"
        );
    }
    decoy.nobody_came();
    goes_on(&observed);
}

/// A server, or an attacker on the path, that claims not to support TLS: nothing is sent to it.
#[test]
fn no_secret_is_told_without_the_encryption_that_is_wanted() {
    let (address, ended) = scripted_peer(vec![
        (INFO, b""),
        (b"INFO {\"tls_required\":true}\r\n+OK\r\n", b""),
    ]);
    let tls = ServerTls {
        authorities: None,
        name: None,
        insecure: true,
    };
    let observed = ObservedEdge::start(&with_source(HubSource {
        tls: Some(tls),
        ..from(address)
    }));
    let message = observed.wait_for_message("is unavailable");
    assert!(message.contains("does not offer TLS"), "{message}");
    assert_eq!(received_to_end(&ended, 2), [b"", b""]);
}

/// A server that trickles data without completing the exchange is dropped after 5 s.
#[test]
fn who_drips_is_left_in_time() {
    let server = Scripted::start(|mut connection| {
        let drip: &[u8] = if connection.number == 0 {
            b"I"
        } else {
            b"+OK\r\n"
        };
        let first: &[u8] = if connection.number == 0 { b"" } else { INFO };
        let mut goes_on = connection.stream.write_all(first).is_ok();
        while goes_on && glance(&mut connection.stream).is_some() {
            goes_on = connection.stream.write_all(drip).is_ok();
        }
    });
    let begun = std::time::Instant::now();
    let observed = ObservedEdge::start(&with_source(from(server.address)));
    let message = observed.wait_for_message("is unavailable");
    assert!(
        message.contains("within 5s") || message.contains("malformed"),
        "{message}"
    );
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    goes_on(&observed);
}

/// Received requests: whole lines, and the messages behind them.
type NatsLog = Arc<Mutex<Vec<(String, String)>>>;

/// A minimal NATS with `JetStream`; it logs all requests.
fn streaming() -> (Scripted, NatsLog) {
    let log = NatsLog::default();
    let asked = Arc::clone(&log);
    let server = Scripted::start(move |connection| {
        let mut writing = connection.stream.try_clone().unwrap();
        let info = b"INFO {\"server_id\":\"a\",\"client_id\":7,\"jetstream\":true,\"max_payload\":65536}\r\n";
        let _ = writing.write_all(info);
        let mut reading = BufReader::new(connection.stream);
        let (mut line, mut place) = (String::new(), 0);
        while reading.read_line(&mut line).is_ok_and(|count| count > 0) {
            let command = line.trim_end().to_owned();
            let words: Vec<&str> = command.split(' ').collect();
            let data = if words[0] == "PUB" {
                let mut bytes = vec![0; words.last().unwrap().parse::<usize>().unwrap() + 2];
                reading.read_exact(&mut bytes).unwrap();
                String::from_utf8(bytes).unwrap().trim_end().to_owned()
            } else {
                String::new()
            };
            let answer = match words[..] {
                ["PING"] => "PONG\r\n".to_owned(),
                ["PUB", subject, reply, _] => {
                    let payload = if subject.contains("STREAM.INFO") {
                        let state = json!({ "messages": 0, "first_seq": 0, "last_seq": 0 });
                        json!({ "config": { "subjects": ["live.order.17"] }, "state": state })
                    } else if subject.starts_with("$JS") {
                        json!({})
                    } else {
                        place += 1;
                        json!({ "seq": place })
                    };
                    let payload = payload.to_string();
                    format!("MSG {reply} 1 {}\r\n{payload}\r\n", payload.len())
                }
                _ => String::new(),
            };
            asked.lock().unwrap().push((command, data));
            let _ = writing.write_all(answer.as_bytes());
            line.clear();
        }
    });
    (server, log)
}

fn sharing(address: SocketAddr) -> EdgeConfig {
    only_hub(HubConfig {
        shared: Some(HubShared {
            kind: HubSharedKind::Nats,
            host: address.ip().to_string(),
            port: address.port(),
            user: None,
            password: None,
            tls: None,
            name: "live".to_owned(),
            messages_max: 100,
            bytes_max: 1 << 20,
        }),
        channels: vec![HubRule {
            clients_publish: true,
            ..HubRule::of("*")
        }],
        ..patient()
    })
}

#[test]
fn names_and_messages_of_clients_are_no_subjects_and_no_lines() {
    let (server, log) = streaming();
    let edge = start(&sharing(server.address));
    wait_for(&edge, "plimsoll_edge_hub_shared_joined", 1.0);
    let mut client = HubClient::open(edge.address);
    let names = [
        ">",
        "*",
        "a.>",
        "a b 3",
        "$JS.API.STREAM.DELETE.live",
        "live.order.17",
        "a\" 1",
    ];
    for name in names {
        client.send(
            &json!({ "publish": { "channel": name, "data": "x\r\nPUB > 1\r\ny" }, "id": name }),
        );
        assert_eq!(client.receive(), json!({ "id": name, "done": true }));
        // Subscribing to a channel subscribes to nothing there.
        client.subscribe(name);
    }
    for name in ["a\r\nSUB > 9", "a\nPUB b 0", "\r\n"] {
        client.send(&json!({ "publish": { "channel": name, "data": 1 } }));
        assert!(
            error(&client.receive()).contains("control character"),
            "{name:?}"
        );
        client.send(&json!({ "subscribe": [name] }));
        assert!(
            error(&client.receive()).contains("control character"),
            "{name:?}"
        );
    }
    let log = log.lock().unwrap();
    let mut published = Vec::new();
    let mut inboxes = Vec::new();
    for (line, data) in log.iter() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["CONNECT", ..] | ["PING" | "PONG"] => {}
            ["SUB", place, "1"] => inboxes.push(place.to_owned()),
            ["PUB", "live.order.17", _, _] => published.push(data.clone()),
            ["PUB", subject, _, _] => assert!(
                ["$JS.API.STREAM.INFO.live", "$JS.API.CONSUMER.CREATE.live"].contains(&subject),
                "{line}"
            ),
            _ => panic!("{line}"),
        }
    }
    let expected = names.map(|name| format!("{}\n{}", json!(name), json!("x\r\nPUB > 1\r\ny")));
    assert_eq!(published, expected);
    // The server sent the same INFO on both connections, and yet their reply subjects are unpredictable.
    assert_eq!(inboxes.len(), 2, "{inboxes:?}");
    let secret = |place: &str| place.split('.').nth(3).unwrap().to_owned();
    let secrets = [secret(&inboxes[0]), secret(&inboxes[1])];
    assert!(secrets[0] != secrets[1] && secrets.iter().all(|secret| secret.len() == 32));
}
