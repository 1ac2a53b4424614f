//! Servers added and removed at the admin address.

use std::net::SocketAddr;

use plimsoll_config::edge::{Admin, BalancingPolicy, EdgeConfig, PoolConfig};
use serde_json::{Value, json};

use crate::support::{ObservedEdge, Scripted, plain, pool, send_request, status_and_body};

fn with_admin(servers: &[SocketAddr]) -> EdgeConfig {
    let mut edge = plain(PoolConfig {
        load_balancer: BalancingPolicy::RoundRobin,
        ..pool(servers)
    });
    edge.admin = Some(Admin {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        must_bind: true,
        token: None,
    });
    edge
}

fn order(observed: &ObservedEdge, order: &Value) -> (u16, Value) {
    let (admin, body) = (observed.edge.admin(), order.to_string());
    let response = send_request(
        admin,
        format!(
            "POST /servers HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    );
    let (status, body) = status_and_body(&response);
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Name, weight and source of all servers.
fn list(observed: &ObservedEdge) -> Vec<(String, u64, String)> {
    let admin = observed.edge.admin();
    let response = send_request(
        admin,
        format!("GET /servers HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n"),
    );
    let listing: Value = serde_json::from_str(status_and_body(&response).1).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    listing["pools"][0]["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            (
                text(&server["name"]),
                server["weight"].as_u64().unwrap(),
                text(&server["from"]),
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
    let ((first, first_name), (_second, second_name)) = (named("one"), named("two"));
    let edge = with_admin(&[first.address]);
    let observed = ObservedEdge::start(&edge);
    observed.answers("one");
    let url = format!("http://{second_name}");
    let (status, reply) = order(
        &observed,
        &json!({ "pool": "app", "add": url, "weight": 3 }),
    );
    assert_eq!(status, 200, "{reply}");
    observed.answers("two");
    let from = |name: &String, weight, from: &str| (name.clone(), weight, from.to_owned());
    let both = [
        from(&first_name, 1, "configuration"),
        from(&second_name, 3, "admin"),
    ];
    assert_eq!(list(&observed), both);

    let (status, reply) = order(&observed, &json!({ "pool": "app", "drain": first_name }));
    assert_eq!(
        (
            status,
            reply["done"].as_str().unwrap().contains("no new requests")
        ),
        (200, true)
    );
    observed.answers("two");
    observed.answers("two");
    // A reload for another reason undoes none of it.
    let message = observed.reload(&edge).unwrap();
    assert!(message.contains("stay in force"), "{message}");
    assert_eq!(
        list(&observed),
        [
            from(&first_name, 0, "configuration"),
            from(&second_name, 3, "admin")
        ]
    );
    observed.answers("two");

    order(
        &observed,
        &json!({ "pool": "app", "change": first_name, "weight": 2 }),
    );
    observed.answers("one");
    assert_eq!(
        order(&observed, &json!({ "pool": "app", "remove": first_name })).0,
        200
    );
    observed.answers("two");
    observed.answers("two");
    let (status, reply) = order(&observed, &json!({ "pool": "app", "remove": second_name }));
    assert_eq!(status, 422);
    assert!(
        reply["fault"].as_str().unwrap().contains("last server"),
        "{reply}"
    );
    assert_eq!(
        order(&observed, &json!({ "pool": "app", "reset": true })).0,
        200
    );
    observed.answers("one");
    assert_eq!(list(&observed), [from(&first_name, 1, "configuration")]);
    // A reload reports nothing about changes that do not exist.
    assert!(!observed.reload(&edge).unwrap().contains("stays"));
}

#[test]
fn orders_that_cannot_be_followed_say_why() {
    let (first, name) = named("one");
    let observed = ObservedEdge::start(&with_admin(&[first.address]));
    for (body, expected) in [
        (
            json!({ "pool": "ap", "remove": name }),
            "no pool `ap`; valid: app",
        ),
        (
            json!({ "pool": "app", "remove": "x" }),
            "has no server `x`; valid: 127.0.0.1:",
        ),
        (
            json!({ "pool": "app", "add": format!("http://{name}") }),
            "already",
        ),
        (
            json!({ "pool": "app", "add": "http://nobody.invalid" }),
            "cannot resolve",
        ),
        (
            json!({ "pool": "app", "drian": name }),
            "unknown field `drian`",
        ),
    ] {
        let (status, reply) = order(&observed, &body);
        assert_eq!(status, 422, "{body}");
        assert!(
            reply["fault"].as_str().unwrap().contains(expected),
            "{body}: {reply}"
        );
    }
    let admin = observed.edge.admin();
    let body = json!({ "pool": "app", "drain": name }).to_string();
    let length = body.len();
    let send = |head: &str| {
        send_request(
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
        assert_eq!(status_and_body(&send(&head)).0, status, "{head}");
    }
    assert_eq!(
        list(&observed),
        [(name.clone(), 1, "configuration".to_owned())]
    );
}

#[test]
fn requests_on_their_way_end_when_their_server_is_removed() {
    let (go, gate) = std::sync::mpsc::sync_channel::<()>(1);
    let gate = std::sync::Mutex::new(gate);
    let slow = Scripted::start(move |mut connection| {
        connection.head();
        gate.lock().unwrap().recv().unwrap();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow");
    });
    let (_other, name) = named("other");
    let edge = with_admin(&[slow.address]);
    let observed = ObservedEdge::start(&edge);
    let address = observed.edge.address;
    let pending = std::thread::spawn(move || crate::support::get(address, "/"));
    slow.wait_for_requests("the slow request", |heads| !heads.is_empty());
    order(
        &observed,
        &json!({ "pool": "app", "add": format!("http://{name}") }),
    );
    let removed = json!({ "pool": "app", "remove": slow.address.to_string() });
    assert_eq!(order(&observed, &removed).0, 200);
    observed.answers("other");
    go.send(()).unwrap();
    assert_eq!(status_and_body(&pending.join().unwrap()), (200, "slow"));
}
