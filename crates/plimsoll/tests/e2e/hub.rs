//! The hub with a real browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::edge::RunningEdge;
use crate::received;
use crate::support::Sandbox;

/// Time-out for events that never happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// A page that subscribes by both protocols, and reports received messages to its own server, bypassing the edge.
const PAGE: &str = r#"<!doctype html><title>hub</title><script>
  const report = (what, text) => fetch(`http://SITE/report?${what}`, { method: "POST", mode: "no-cors", body: text });
  const socket = new WebSocket(`ws://${location.host}/live`);
  socket.onopen = () => socket.send(JSON.stringify({ subscribe: ["game-1"], id: 1 }));
  socket.onmessage = (event) => report("socket", event.data);
  socket.onclose = (event) => report("close", JSON.stringify({ code: event.code }));
  const events = new EventSource("/live?channel=game-1");
  events.onopen = () => report("open", "{}");
  events.onmessage = (event) => report("events", event.data);
</script>"#;

/// A page that uses the edge's client library.
const CLIENT_PAGE: &str = r#"<!doctype html><title>hub</title><script type="module">
  import { connect } from "/live/client.js";
  const report = (what, said) =>
    fetch(`http://SITE/report?${what}`, { method: "POST", mode: "no-cors", body: JSON.stringify(said) });
  const hub = connect(undefined, { onState: (state) => report(`state-${state}`, {}), onError: (error) => report("error", error.message) });
  hub.subscribe("game-1", { onMessage: (data, message) => report("message", message), onLoss: () => report("loss", {}) });
  const stop = hub.subscribe("short", (data) => report("short", { data }));
  hub.subscribe("chat", async (data) => {
    report("chat", { data });
    if (data !== "go") return;
    stop();
    await hub.publish("chat", "from the browser");
    report("published", {});
    await hub.publish("game-1", "cheat").catch((error) => report("refused", error.message));
    report("answer", await hub.send({ bet: 5 }));
  });
</script>"#;

/// A TCP proxy in front of an edge, which can cut its connections.
pub(crate) struct Cable {
    pub(crate) address: SocketAddr,
    ends: Arc<Mutex<Vec<TcpStream>>>,
    is_cut: Arc<AtomicBool>,
}

impl Cable {
    pub(crate) fn to(edge: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let cable = Self {
            address: listener.local_addr().unwrap(),
            ends: Arc::default(),
            is_cut: Arc::default(),
        };
        let (ends, is_cut) = (Arc::clone(&cable.ends), Arc::clone(&cable.is_cut));
        std::thread::spawn(move || {
            for browser in listener.incoming().flatten() {
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(edge) = TcpStream::connect(edge) else {
                    continue;
                };
                // Whoever cuts it meanwhile waits, and then finds these ends.
                let mut ends = ends.lock().unwrap();
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                for (from, to) in [(&browser, &edge), (&edge, &browser)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                ends.extend([browser, edge]);
            }
        });
        cable
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for end in self.ends.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// Serves the page, and forwards its reports.
pub(crate) fn site(page: &str) -> (SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, reports) = sync_channel(100);
    let page = page.replace("SITE", &address.to_string());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (sender, page) = (sender.clone(), page.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                while let Some((head, body)) = received::request(&mut reader) {
                    let first = head.lines().next().unwrap_or_default();
                    if let Some((_, rest)) = first.split_once("/report?") {
                        let what = rest.split(' ').next().unwrap().to_owned();
                        let payload = serde_json::from_slice(&body).unwrap();
                        let _ = sender.send((what, payload));
                    }
                    let (kind, page) = if first.starts_with("POST /messages ") {
                        // As an application behind the hub would respond.
                        let sent: Value = serde_json::from_slice(&body).unwrap();
                        let balance = 100 - sent["data"]["bet"].as_i64().unwrap();
                        (
                            "application/json",
                            json!({ "balance": balance }).to_string(),
                        )
                    } else {
                        ("text/html", page.clone())
                    };
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{page}",
                        page.len()
                    );
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    (address, reports)
}

/// A browser that ends with the test.
pub(crate) struct Chromium {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn browse(url: &str) -> Chromium {
    let profile = tempfile::tempdir().unwrap();
    let child = Command::new("chromium")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args([
            "--headless",
            // Needed where tests run as root.
            "--no-sandbox",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            url,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromium is installed: apt-get install chromium");
    Chromium {
        child,
        _profile: profile,
    }
}

fn publish(admin: SocketAddr, token: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "POST /publish HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Waits until these were reported, in any order among other reports.
pub(crate) fn wait_for(
    reports: &Receiver<(String, Value)>,
    awaited: &[&str],
) -> Vec<(String, Value)> {
    let mut events: Vec<(String, Value)> = Vec::new();
    while !awaited
        .iter()
        .all(|what| events.iter().any(|(event, _)| event == what))
    {
        let report = reports.recv_timeout(PATIENCE);
        events.push(report.unwrap_or_else(|error| panic!("{awaited:?}: {error} after {events:?}")));
    }
    events
}

#[test]
fn a_browser_subscribes_by_websocket_and_by_events() {
    let place = Sandbox::new();
    let (site, reports) = site(PAGE);
    let token = place.path().join("token");
    std::fs::write(&token, "publish-secret\n").unwrap();
    let to = format!("http://{site}");
    let token = token.to_str().unwrap();
    let edge = RunningEdge::start(
        &place,
        &[
            "--to",
            &to,
            "--hub",
            "/live",
            "--hub-publish-token-file",
            token,
        ],
    );
    let _browser = browse(&format!("http://{}/", edge.address));
    let events = wait_for(&reports, &["socket", "open"]);
    let (_, reply) = events.iter().find(|(what, _)| what == "socket").unwrap();
    assert_eq!(
        (&reply["id"], &reply["subscribed"]),
        (&json!(1), &json!("game-1"))
    );
    let message = json!({ "channel": "game-1", "data": { "odds": [1.5, "ä"] } });
    let answer = publish(edge.admin, "wrong-secret", &message);
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    let answer = publish(edge.admin, "publish-secret", &message);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let events = wait_for(&reports, &["socket", "events"]);
    for (what, event) in &events {
        assert_eq!(
            (&event["channel"], &event["offset"], &event["data"]),
            (&json!("game-1"), &json!(1), &message["data"]),
            "{what}"
        );
        assert!(event["epoch"].as_u64().unwrap() < 1 << 53);
    }
    // The browser is notified that the edge stops.
    edge.signal(Signal::TERM);
    let events = wait_for(&reports, &["close"]);
    assert!(
        events.contains(&("close".to_owned(), json!({ "code": 1001 }))),
        "{events:?}"
    );
}

#[test]
fn the_client_of_the_edge_finds_its_way_back() {
    let place = Sandbox::new();
    let (site, reports) = site(CLIENT_PAGE);
    let text = format!(
        "pools: {{ site: {{ servers: [\"http://{site}\"] }} }}\nhub:\n  path: /live\n  \
         hooks: {{ messages: \"http://{site}/messages\", timeout: 1m }}\n  channels:\n  - {{ match: chat, publish: true }}\n"
    );
    std::fs::write(place.path().join("edge.yaml"), text).unwrap();
    let edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
    let cable = Cable::to(edge.address);
    let _browser = browse(&format!("http://{}/", cable.address));
    wait_for(&reports, &["state-open"]);
    let publish_data = |channel: &str, data: Value| {
        let message = json!({ "channel": channel, "data": data });
        let answer = publish(edge.admin, "", &message);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    };
    // It has subscribed when it receives the notice.
    loop {
        publish_data("chat", json!("begin"));
        if let Ok((what, _)) = reports.recv_timeout(Duration::from_millis(50)) {
            // The reports of its opening may arrive late.
            assert!(what == "chat" || what.starts_with("state-"), "{what}");
            if what == "chat" {
                break;
            }
        }
    }
    publish_data("game-1", json!(1));
    publish_data("short", json!(1));
    let events = wait_for(&reports, &["message", "short"]);
    let (_, first) = events.iter().find(|(what, _)| what == "message").unwrap();
    assert_eq!((&first["data"], &first["offset"]), (&json!(1), &json!(1)));
    cable.cut();
    wait_for(&reports, &["state-waiting"]);
    for number in 2..=4 {
        publish_data("game-1", json!(number));
    }
    cable.mend();
    let mut events = wait_for(&reports, &["state-open"]);
    let numbers = |events: &[(String, Value)]| -> Vec<u64> {
        let messages = events.iter().filter(|(what, _)| what == "message");
        messages
            .filter_map(|(_, event)| event["data"].as_u64())
            .collect()
    };
    while numbers(&events).len() < 3 {
        events.extend(wait_for(&reports, &["message"]));
    }
    // Reports overtake each other.
    let mut missed = numbers(&events);
    missed.sort_unstable();
    assert_eq!(missed, [2, 3, 4]);
    publish_data("chat", json!("go"));
    let events = wait_for(&reports, &["published", "refused", "answer"]);
    let (_, why) = events.iter().find(|(what, _)| what == "refused").unwrap();
    assert_eq!(why, "clients may not publish to this channel");
    assert!(
        events.contains(&("answer".to_owned(), json!({ "balance": 95 }))),
        "{events:?}"
    );
    publish_data("short", json!(2));
    // More than is remembered.
    cable.cut();
    wait_for(&reports, &["state-waiting"]);
    for number in 0..150 {
        publish_data("game-1", json!(number));
    }
    cable.mend();
    let events = wait_for(&reports, &["loss"]);
    let all = events.iter().map(|(what, _)| what.as_str());
    assert!(
        all.clone().all(|what| what != "short" && what != "error"),
        "{events:?}"
    );
}

#[test]
fn a_hub_needs_nothing_behind_it() {
    let place = Sandbox::new();
    let mut edge = RunningEdge::start(&place, &["--hub", "/live"]);
    let mut stream = TcpStream::connect(edge.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /live?channel=a HTTP/1.1\r\nHost: {}\r\n\r\n",
        edge.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0);
    }
    edge.signal(Signal::HUP);
    edge.wait_for_line("the new configuration is in use");
    let answer = publish(edge.admin, "", &json!({ "channel": "a", "data": 1 }));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    line.clear();
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with("id: ") && line.ends_with(":1\n"), "{line}");
    let wrong = place.run(&["edge", "--hub", "live"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("a path such as /live"),
        "{wrong:?}"
    );
    let token = place.path().join("token");
    std::fs::write(&token, "publish-secret\n").unwrap();
    let token = token.to_str().unwrap();
    let wrong = place.run(&[
        "edge",
        "--to",
        "http://127.0.0.1:1",
        "--hub-publish-token-file",
        token,
    ]);
    assert!(
        wrong.code == 2
            && wrong
                .stderr
                .contains("a hub is required by --hub-publish-token-file"),
        "{wrong:?}"
    );
}
