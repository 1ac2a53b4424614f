//! Hooks of a real application: a Node program.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_config::edge::{
    AccessLog, EdgeConfig, Endpoint, HubConfig, HubHooks, HubRule, LogFormat,
};
use plimsoll_testkit::port;
use plimsoll_testkit::program::Program;
use serde_json::{Value, json};

use super::{HubClient, live, only_hub, publish, with};
use crate::support::{
    Afloat, ObservedEdge, connect, get, metric, read_until, send_request, start, status_and_body,
    wait_for,
};

/// The program, which ends with the test.
struct Application {
    address: SocketAddr,
    _program: Program,
}

impl Application {
    fn start() -> Self {
        Self::start_at(port::unused())
    }

    fn start_at(address: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("application.js");
        std::fs::write(&file, include_str!("application.js")).unwrap();
        let (file, port) = (file.display().to_string(), address.port().to_string());
        let program = Program::start(folder, &["node", &file, &port], "ready");
        Self {
            address,
            _program: program,
        }
    }

    /// The requests it received, and the number of connections.
    fn requests(&self) -> (Vec<Value>, u64) {
        let response = get(self.address, "/asked");
        let report: Value = serde_json::from_str(status_and_body(&response).1).unwrap();
        let asked = report["asked"].as_array().unwrap().clone();
        // This request uses a connection, too.
        (asked, report["connections"].as_u64().unwrap())
    }

    /// Waits until it holds two requests, then answers them.
    fn release(&self) {
        assert_eq!(status_and_body(&get(self.address, "/release")).0, 200);
    }

    fn hook(&self, path: &str) -> Endpoint {
        Endpoint {
            secure: false,
            host: self.address.ip().to_string(),
            port: self.address.port(),
            target: path.to_owned(),
            headers: vec![("X-Hook-Secret".to_owned(), "ours".to_owned())],
        }
    }

    /// All hooks enabled.
    fn hooks(&self) -> HubHooks {
        HubHooks {
            connect: Some(self.hook("/connect")),
            subscribe: Some(self.hook("/subscribe")),
            publish: Some(self.hook("/publish")),
            messages: Some(self.hook("/messages")),
            timeout: Duration::from_mins(1),
            ..HubHooks::none()
        }
    }
}

fn with_hooks(hooks: HubHooks) -> EdgeConfig {
    only_hub(HubConfig {
        hooks: Some(hooks),
        ..with(HubRule {
            clients_publish: true,
            presence: true,
            ..HubRule::of("chat")
        })
    })
}

fn counted(edge: &Afloat, hook: &str, answer: &str) -> Option<f64> {
    metric(edge, &counter(hook, answer))
}

fn counter(hook: &str, answer: &str) -> String {
    format!("plimsoll_edge_hub_hooks_total{{hook=\"{hook}\",answer=\"{answer}\"}}")
}

/// A raw upgrade request: the response, to its end if it is rejected.
fn knock(address: SocketAddr, header: &str) -> String {
    send_request(
        address,
        format!(
            "GET /live HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{header}\r\n"
        ),
    )
}

#[test]
fn the_application_says_who_comes_in_and_what_that_one_may() {
    let application = Application::start();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut config = with_hooks(application.hooks());
    config.access_log = Some(AccessLog {
        path: Some(log.path().to_owned()),
        format: LogFormat::Json,
    });
    let observed = ObservedEdge::start(&config);
    let edge = &observed.edge;
    let refused = knock(edge.address, "X-Hook-Secret: theirs\r\n");
    assert_eq!(
        status_and_body(&refused),
        (403, "log in first\n"),
        "{refused}"
    );
    let mut adam = HubClient::open_as(edge.address, "session=adam");
    adam.subscribe("game-1");
    adam.subscribe("chat");
    adam.subscribe("user-adam");
    adam.send(&json!({ "subscribe": ["user-eve"], "id": 1 }));
    assert_eq!(
        adam.receive(),
        json!({ "id": 1, "channel": "user-eve", "error": "user-eve is not yours" })
    );
    publish(edge, "user-adam", &json!("for adam"));
    assert_eq!(adam.receive()["data"], "for adam");
    adam.send(&json!({ "presence": ["chat", "user-adam"] }));
    assert_eq!(adam.receive()["users"], json!({ "adam": 1 }));
    assert_eq!(adam.receive()["subscribers"], 1);
    // Browsers can pass a token only in the query.
    let head = {
        let mut stream = connect(edge.address);
        let request = format!(
            "GET /live?channel=game-1&token=evelyn HTTP/1.1\r\nHost: {}\r\n\r\n",
            edge.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, "\r\n\r\n")
    };
    assert_eq!(status_and_body(&head).0, 200);
    let refused = get(edge.address, "/live?channel=user-adam&token=evelyn");
    assert_eq!(status_and_body(&refused), (403, "user-adam is not yours\n"));
    let (asked, _) = application.requests();
    let first = &asked[0];
    assert_eq!(first["path"], "/connect");
    assert_eq!(first["body"], json!({ "address": "127.0.0.1" }));
    assert_eq!(first["headers"]["x-hook-secret"], "ours");
    assert_eq!(asked[1]["headers"]["cookie"], "session=adam");
    assert_eq!(asked[1]["headers"]["user-agent"], Value::Null);
    let subscribe = asked
        .iter()
        .find(|hook_call| hook_call["path"] == "/subscribe")
        .unwrap();
    assert_eq!(
        subscribe["body"],
        json!({ "address": "127.0.0.1", "user": "adam", "channel": "user-adam" })
    );
    // Channels granted by the response need no further hook request.
    let about_games = |hook_call: &&Value| hook_call["body"]["channel"] == "game-1";
    assert_eq!(asked.iter().filter(about_games).count(), 0);
    assert_eq!(counted(edge, "connect", "yes"), Some(3.0));
    assert_eq!(counted(edge, "connect", "no"), Some(1.0));
    drop(adam);
    drop(observed);
    let written = std::fs::read_to_string(log.path()).unwrap();
    assert!(written.contains("token=[redacted]"), "{written}");
    assert!(
        !written.contains("evelyn") && !written.contains("session"),
        "{written}"
    );
}

/// Sockets and streams that end, by themselves or by the edge, are reported once, with their identity.
#[test]
fn the_application_is_told_who_has_left() {
    let application = Application::start();
    let edge = start(&with_hooks(HubHooks {
        disconnect: Some(application.hook("/disconnect")),
        ..application.hooks()
    }));
    let mut adam = HubClient::open_as(edge.address, "session=adam");
    adam.send(&json!({ "send": "nothing", "id": 1 }));
    assert_eq!(adam.receive()["id"], 1);
    let mut brief = HubClient::open_as(edge.address, "session=brief");
    brief.subscribe("odds");
    let stream = {
        let mut stream = connect(edge.address);
        let request = format!(
            "GET /live?channel=game-1&token=evelyn HTTP/1.1\r\nHost: {}\r\n\r\n",
            edge.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, "\r\n\r\n");
        stream
    };
    // A rejected client causes no disconnect report.
    assert_eq!(status_and_body(&knock(edge.address, "")).0, 403);
    let left = |user: &str| {
        let (asked, _) = application.requests();
        let mut all = asked
            .into_iter()
            .filter(|hook_call| hook_call["path"] == "/disconnect");
        all.find(|hook_call| hook_call["body"]["user"] == user)
    };
    assert_eq!((left("adam"), left("evelyn")), (None, None));
    drop((adam, stream));
    brief.receive_close();
    drop(brief);
    wait_for(&edge, &counter("disconnect", "yes"), 3.0);
    let first = left("adam").unwrap();
    assert_eq!(first["headers"]["cookie"], "session=adam");
    assert_eq!(first["headers"]["x-hook-secret"], "ours");
    assert_eq!(first["body"]["address"], "127.0.0.1");
    assert!(first["body"]["client"].is_string(), "{first}");
    let body = json!({ "address": "127.0.0.1", "user": "evelyn" });
    assert_eq!(left("evelyn").unwrap()["body"], body);
    assert!(left("brief").is_some());
}

#[test]
fn what_the_application_allows_ends_when_it_says() {
    let application = Application::start();
    let edge = start(&with_hooks(application.hooks()));
    let begun = std::time::Instant::now();
    let mut brief = HubClient::open_as(edge.address, "session=brief");
    brief.subscribe("odds");
    let why = "the authorization by the application has expired";
    assert_eq!(brief.receive_close(), (1008, why.to_owned()));
    assert!(begun.elapsed() >= Duration::from_millis(11_900));
}

#[test]
fn what_clients_publish_goes_out_as_the_application_says() {
    let application = Application::start();
    let edge = start(&with_hooks(application.hooks()));
    let mut adam = HubClient::open_as(edge.address, "session=adam");
    let mut eve = HubClient::open_as(edge.address, "session=eve");
    eve.subscribe("chat");
    let mut publish_as_adam = |data: &str| {
        adam.send(&json!({ "publish": { "channel": "chat", "data": data }, "id": data }));
        adam.receive()
    };
    assert_eq!(
        publish_as_adam("rude"),
        json!({ "id": "rude", "channel": "chat", "error": "be kind" })
    );
    assert_eq!(
        publish_as_adam("plain"),
        json!({ "id": "plain", "done": true })
    );
    assert_eq!(
        publish_as_adam("hello"),
        json!({ "id": "hello", "done": true })
    );
    assert_eq!(eve.receive()["data"], "plain");
    assert_eq!(
        eve.receive()["data"],
        json!({ "user": "adam", "said": "hello" })
    );
    // Without a rule that lets clients publish there is no hook request.
    adam.send(&json!({ "publish": { "channel": "game-1", "data": 1 } }));
    let reply = adam.receive();
    assert!(
        reply["error"].as_str().unwrap().contains("may not publish"),
        "{reply}"
    );
    assert_eq!(counted(&edge, "publish", "yes"), Some(2.0));
    assert_eq!(counted(&edge, "publish", "no"), Some(1.0));
}

#[test]
fn messages_reach_the_application_and_answers_come_back() {
    let application = Application::start();
    let edge = start(&with_hooks(HubHooks {
        per_client: 2,
        ..application.hooks()
    }));
    let mut adam = HubClient::open_as(edge.address, "session=adam");
    let mut eve = HubClient::open_as(edge.address, "session=eve");
    adam.send(&json!({ "send": { "bet": [1.5] }, "id": 7 }));
    let reply = adam.receive();
    assert_eq!(reply["id"], 7);
    let answer = &reply["answer"];
    assert_eq!(
        (&answer["user"], &answer["got"]),
        (&json!("adam"), &json!({ "bet": [1.5] }))
    );
    eve.send(&json!({ "send": 1, "id": 1 }));
    assert_ne!(eve.receive()["answer"]["client"], answer["client"]);
    let mut send = |data: &str| {
        adam.send(&json!({ "send": data, "id": data }));
        adam.receive()
    };
    assert_eq!(send("nothing"), json!({ "id": "nothing", "answer": null }));
    assert_eq!(
        send("bad"),
        json!({ "id": "bad", "error": "a bet is a number" })
    );
    let down = "the application does not answer; try again later";
    assert_eq!(send("crash"), json!({ "id": "crash", "error": down }));
    assert_eq!(send("text"), json!({ "id": "text", "error": down }));
    // Two at once, and no more; a waiting client does not delay others.
    adam.send(&json!({ "send": "hold", "id": "first" }));
    adam.send(&json!({ "send": "hold", "id": "second" }));
    adam.send(&json!({ "send": "more", "id": "third" }));
    let full = "too many requests are waiting for the application; wait for its answers";
    assert_eq!(adam.receive(), json!({ "id": "third", "error": full }));
    eve.send(&json!({ "send": 2, "id": 2 }));
    assert_eq!(eve.receive()["answer"]["got"], 2);
    wait_for(&edge, "plimsoll_edge_hub_hooks_waiting", 2.0);
    application.release();
    let mut ids = [adam.receive()["id"].clone(), adam.receive()["id"].clone()];
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, ["first", "second"]);
    // One connection serves many requests.
    let before = application.requests().1;
    for number in 0..20 {
        adam.send(&json!({ "send": number, "id": number }));
        assert_eq!(adam.receive()["answer"]["got"], number);
    }
    let after = application.requests().1;
    assert!(after - before < 10, "{before} connections, then {after}");
}

#[test]
fn while_the_application_is_down_nothing_is_allowed_unless_that_is_said() {
    let address = port::unused();
    let application = Application::start_at(address);
    let hooks = application.hooks();
    let observed = ObservedEdge::start(&with_hooks(hooks.clone()));
    let edge = &observed.edge;
    let mut adam = HubClient::open_as(edge.address, "session=adam");
    drop(application);
    let refused = knock(edge.address, "Cookie: session=adam\r\n");
    assert_eq!(status_and_body(&refused).0, 503, "{refused}");
    assert!(refused.contains("Retry-After: 1\r\n"), "{refused}");
    observed.wait_for_message("the hub's hook `connect` fails: ");
    adam.send(&json!({ "subscribe": ["user-adam"], "id": 1 }));
    let down = "the application does not answer; try again later";
    assert_eq!(
        adam.receive(),
        json!({ "id": 1, "channel": "user-adam", "error": down })
    );
    observed.wait_for_message("the hub's hook `subscribe` fails: ");
    let open = start(&with_hooks(HubHooks {
        allows_when_down: true,
        ..hooks
    }));
    let mut nobody = HubClient::open_as(open.address, "session=adam");
    nobody.subscribe("user-adam");
    nobody.send(&json!({ "publish": { "channel": "chat", "data": 1 }, "id": 2 }));
    assert_eq!(nobody.receive(), json!({ "id": 2, "done": true }));
    // Only the application can answer a sent message.
    nobody.send(&json!({ "send": 1, "id": 3 }));
    assert_eq!(nobody.receive(), json!({ "id": 3, "error": down }));
    // The application is back.
    let application = Application::start_at(address);
    for _ in 0..3 {
        HubClient::open_as(edge.address, "session=adam").subscribe("user-adam");
    }
    observed.wait_for_message("the hub's hook `connect` works again");
    observed.wait_for_message("the hub's hook `subscribe` works again");
    assert_eq!(application.requests().0.len(), 6);
}

#[test]
fn who_is_slow_is_not_waited_for() {
    let application = Application::start();
    let edge = start(&with_hooks(HubHooks {
        connect: None,
        timeout: Duration::from_millis(50),
        in_flight: 1,
        ..application.hooks()
    }));
    let mut client = HubClient::open(edge.address);
    for id in 1..=2 {
        client.send(&json!({ "send": "hold", "id": id }));
    }
    let down = "the application does not answer; try again later";
    for _ in 0..2 {
        assert_eq!(client.receive()["error"], down);
    }
    assert_eq!(counted(&edge, "messages", "down"), Some(2.0));
    wait_for(&edge, "plimsoll_edge_hub_hooks_waiting", 0.0);
}

#[test]
fn answers_are_remembered_for_a_while() {
    let application = Application::start();
    let edge = start(&with_hooks(HubHooks {
        cache: Some(Duration::from_hours(1)),
        ..application.hooks()
    }));
    for _ in 0..3 {
        let mut adam = HubClient::open_as(edge.address, "session=adam");
        adam.subscribe("user-adam");
        adam.send(&json!({ "subscribe": ["user-eve"] }));
        assert_eq!(adam.receive()["error"], "user-eve is not yours");
    }
    // Another client has another verdict.
    HubClient::open_as(edge.address, "session=eve").subscribe("user-eve");
    assert_eq!(application.requests().0.len(), 5);
    assert_eq!(counted(&edge, "connect", "remembered"), Some(2.0));
    assert_eq!(counted(&edge, "subscribe", "remembered"), Some(4.0));
    assert_eq!(counted(&edge, "subscribe", "no"), Some(1.0));
}

#[test]
fn the_application_makes_one_message_of_many() {
    let application = Application::start();
    let edge = start(&only_hub(HubConfig {
        hooks: Some(HubHooks {
            timeout: Duration::from_mins(1),
            ..HubHooks::none()
        }),
        ..with(HubRule {
            interval: Some(Duration::from_millis(100)),
            aggregate: Some(application.hook("/odds")),
            ..HubRule::of("odds-*")
        })
    }));
    let mut client = HubClient::open(edge.address);
    client.subscribe("odds-1");
    let mut received = Vec::new();
    let total = |messages: &[Value], word: &str| -> u64 {
        messages
            .iter()
            .map(|message: &Value| message["data"][word].as_u64().unwrap())
            .sum()
    };
    for number in 1..=30 {
        let reply = publish(&edge, "odds-1", &json!(number));
        assert_eq!(reply, json!({ "held": true }));
    }
    while total(&received, "count") < 30 {
        received.push(client.receive());
    }
    assert_eq!(total(&received, "sum"), 465, "{received:?}");
    assert!(
        received
            .iter()
            .all(|message| message["data"]["channel"] == "odds-1")
    );
    assert!(received.is_sorted_by_key(|message| message["offset"].as_u64()));
    // On failure the newest message is sent; an empty aggregate sends nothing.
    publish(&edge, "odds-1", &json!("crash"));
    assert_eq!(client.receive()["data"], "crash");
    publish(&edge, "odds-1", &json!("quiet"));
    wait_for(
        &edge,
        &counter("aggregate", "yes"),
        received.len() as f64 + 1.0,
    );
    publish(&edge, "odds-1", &json!(7));
    assert_eq!(client.receive()["data"]["sum"], 7);
    assert_eq!(counted(&edge, "aggregate", "down"), Some(1.0));
}

#[test]
fn who_takes_a_wish_back_before_the_answer_is_not_subscribed() {
    // An application that delays all responses until released.
    let (go, gone) = std::sync::mpsc::sync_channel::<()>(1);
    let gone = std::sync::Mutex::new(gone);
    let application = crate::support::Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            if gone.lock().unwrap().recv().is_err() {
                return;
            }
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    let to = Endpoint {
        secure: false,
        host: application.address.ip().to_string(),
        port: application.address.port(),
        target: "/".to_owned(),
        headers: Vec::new(),
    };
    let edge = start(&only_hub(HubConfig {
        hooks: Some(HubHooks {
            subscribe: Some(to),
            timeout: Duration::from_mins(1),
            ..HubHooks::none()
        }),
        ..live()
    }));
    let mut client = HubClient::open(edge.address);
    client.send(&json!({ "subscribe": ["a"], "id": 1 }));
    client.send(&json!({ "unsubscribe": ["a"], "id": 2 }));
    assert_eq!(client.receive(), json!({ "id": 2, "done": true }));
    go.send(()).unwrap();
    wait_for(&edge, &counter("subscribe", "yes"), 1.0);
    client.settle();
    publish(&edge, "a", &json!(1));
    client.settle();
}
