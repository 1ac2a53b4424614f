//! Servers that come and go by order of the admin address.

use std::net::SocketAddr;

use plimsoll_config::edge::{Admin, Chooser, Edge, Pool};
use serde_json::{Value, json};

use crate::support::{Scripted, Telling, ask, parts, plain, pool};

fn with_admin(servers: &[SocketAddr]) -> Edge {
    let mut edge = plain(Pool {
        chooser: Chooser::RoundRobin,
        ..pool(servers)
    });
    edge.admin = Some(Admin {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        must_bind: true,
        token: None,
    });
    edge
}

fn order(telling: &Telling, order: &Value) -> (u16, Value) {
    let (admin, body) = (telling.edge.admin(), order.to_string());
    let said = ask(
        admin,
        format!(
            "POST /servers HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    );
    let (status, body) = parts(&said);
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Name, weight and source of all servers.
fn list(telling: &Telling) -> Vec<(String, u64, String)> {
    let admin = telling.edge.admin();
    let said = ask(
        admin,
        format!("GET /servers HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n"),
    );
    let said: Value = serde_json::from_str(parts(&said).1).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    said["pools"][0]["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                text(&one["name"]),
                one["weight"].as_u64().unwrap(),
                text(&one["from"]),
            )
        })
        .collect()
}

fn named(name: &'static str) -> (Scripted, String) {
    let server = Scripted::named_at(SocketAddr::from(([127, 0, 0, 1], 0)), name);
    let address = server.address.to_string();
    (server, address)
}

#[test]
fn servers_are_added_drained_weighted_and_removed() {
    let ((first, one), (_second, two)) = (named("one"), named("two"));
    let edge = with_admin(&[first.address]);
    let telling = Telling::start(&edge);
    telling.answers("one");
    let url = format!("http://{two}");
    let (status, said) = order(&telling, &json!({ "pool": "app", "add": url, "weight": 3 }));
    assert_eq!(status, 200, "{said}");
    telling.answers("two");
    let from = |name: &String, weight, from: &str| (name.clone(), weight, from.to_owned());
    let both = [from(&one, 1, "configuration"), from(&two, 3, "admin")];
    assert_eq!(list(&telling), both);

    let (status, said) = order(&telling, &json!({ "pool": "app", "drain": one }));
    assert_eq!(
        (
            status,
            said["done"].as_str().unwrap().contains("no new requests")
        ),
        (200, true)
    );
    telling.answers("two");
    telling.answers("two");
    // A reload for another reason undoes nothing of it.
    let said = telling.reload(&edge).unwrap();
    assert!(said.contains("stays in force"), "{said}");
    assert_eq!(
        list(&telling),
        [from(&one, 0, "configuration"), from(&two, 3, "admin")]
    );
    telling.answers("two");

    order(
        &telling,
        &json!({ "pool": "app", "change": one, "weight": 2 }),
    );
    telling.answers("one");
    assert_eq!(
        order(&telling, &json!({ "pool": "app", "remove": one })).0,
        200
    );
    telling.answers("two");
    telling.answers("two");
    let (status, said) = order(&telling, &json!({ "pool": "app", "remove": two }));
    assert_eq!(status, 422);
    assert!(
        said["fault"].as_str().unwrap().contains("last server"),
        "{said}"
    );
    assert_eq!(
        order(&telling, &json!({ "pool": "app", "reset": true })).0,
        200
    );
    telling.answers("one");
    assert_eq!(list(&telling), [from(&one, 1, "configuration")]);
    // A reload says nothing of what is not there.
    assert!(!telling.reload(&edge).unwrap().contains("stays"));
}

#[test]
fn orders_that_cannot_be_followed_say_why() {
    let (first, one) = named("one");
    let telling = Telling::start(&with_admin(&[first.address]));
    for (body, fault) in [
        (
            json!({ "pool": "ap", "remove": one }),
            "there is no pool `ap`; there are: app",
        ),
        (
            json!({ "pool": "app", "remove": "x" }),
            "has no server `x`; it has: 127.0.0.1:",
        ),
        (
            json!({ "pool": "app", "add": format!("http://{one}") }),
            "already",
        ),
        (
            json!({ "pool": "app", "add": "http://nobody.invalid" }),
            "cannot be found",
        ),
        (
            json!({ "pool": "app", "drian": one }),
            "unknown field `drian`",
        ),
    ] {
        let (status, said) = order(&telling, &body);
        assert_eq!(status, 422, "{body}");
        assert!(
            said["fault"].as_str().unwrap().contains(fault),
            "{body}: {said}"
        );
    }
    let admin = telling.edge.admin();
    let body = json!({ "pool": "app", "drain": one }).to_string();
    let length = body.len();
    let send = |head: &str| {
        ask(
            admin,
            format!(
                "POST /servers HTTP/1.1\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            ),
        )
    };
    let json = "Content-Type: application/json\r\n";
    for (status, head) in [
        (421, format!("Host: evil.example\r\n{json}")),
        (
            403,
            format!("Host: {admin}\r\nOrigin: http://evil.example\r\n{json}"),
        ),
        (
            415,
            format!("Host: {admin}\r\nContent-Type: text/plain\r\n"),
        ),
    ] {
        assert_eq!(parts(&send(&head)).0, status, "{head}");
    }
    assert_eq!(
        list(&telling),
        [(one.clone(), 1, "configuration".to_owned())]
    );
}

#[test]
fn requests_on_their_way_end_when_their_server_is_removed() {
    let (go, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let gate = std::sync::Mutex::new(gate);
    let slow = Scripted::start(move |mut heard| {
        heard.head();
        gate.lock().unwrap().recv().unwrap();
        heard.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow");
    });
    let (_other, name) = named("other");
    let edge = with_admin(&[slow.address]);
    let telling = Telling::start(&edge);
    let address = telling.edge.address;
    let asking = std::thread::spawn(move || crate::support::get(address, "/"));
    while slow.heard().is_empty() {
        std::thread::yield_now();
    }
    order(
        &telling,
        &json!({ "pool": "app", "add": format!("http://{name}") }),
    );
    let removed = json!({ "pool": "app", "remove": slow.address.to_string() });
    assert_eq!(order(&telling, &removed).0, 200);
    telling.answers("other");
    go.send(()).unwrap();
    assert_eq!(parts(&asking.join().unwrap()), (200, "slow"));
}
