//! The hub as people start it, with a real browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::edge::Edge;
use crate::support::Place;

/// For what never comes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A page that subscribes both ways, and tells its own server, not through the edge, what it hears.
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

/// Serves the page, and hands on what it reports.
fn site() -> (SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, reports) = sync_channel(100);
    let page = PAGE.replace("SITE", &address.to_string());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (sender, page) = (sender.clone(), page.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut stream = stream;
                loop {
                    let (mut first, mut len) = (String::new(), 0);
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        let lower = line.to_ascii_lowercase();
                        if let Some(value) = lower.strip_prefix("content-length: ") {
                            len = value.trim().parse().unwrap();
                        }
                        if first.is_empty() {
                            first.clone_from(&line);
                        }
                        if line == "\r\n" {
                            break;
                        }
                    }
                    let mut body = vec![0; len];
                    reader.read_exact(&mut body).unwrap();
                    if let Some((_, rest)) = first.split_once("/report?") {
                        let what = rest.split(' ').next().unwrap().to_owned();
                        let said = serde_json::from_slice(&body).unwrap();
                        let _ = sender.send((what, said));
                    }
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}",
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
struct Chromium {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn browse(url: &str) -> Chromium {
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
fn wait_for(reports: &Receiver<(String, Value)>, awaited: &[&str]) -> Vec<(String, Value)> {
    let mut heard: Vec<(String, Value)> = Vec::new();
    while !awaited
        .iter()
        .all(|what| heard.iter().any(|(heard, _)| heard == what))
    {
        let report = reports.recv_timeout(PATIENCE);
        heard.push(report.unwrap_or_else(|error| panic!("{awaited:?}: {error} after {heard:?}")));
    }
    heard
}

#[test]
fn a_browser_subscribes_by_websocket_and_by_events() {
    let place = Place::new();
    let (site, reports) = site();
    let token = place.path().join("token");
    std::fs::write(&token, "publish-secret\n").unwrap();
    let to = format!("http://{site}");
    let token = token.to_str().unwrap();
    let edge = Edge::start(
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
    let heard = wait_for(&reports, &["socket", "open"]);
    let (_, told) = heard.iter().find(|(what, _)| what == "socket").unwrap();
    assert_eq!(
        (&told["id"], &told["subscribed"]),
        (&json!(1), &json!("game-1"))
    );
    let message = json!({ "channel": "game-1", "data": { "odds": [1.5, "ä"] } });
    let answer = publish(edge.admin, "wrong-secret", &message);
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    let answer = publish(edge.admin, "publish-secret", &message);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let heard = wait_for(&reports, &["socket", "events"]);
    for (what, said) in &heard {
        assert_eq!(
            (&said["channel"], &said["offset"], &said["data"]),
            (&json!("game-1"), &json!(1), &message["data"]),
            "{what}"
        );
        assert!(said["epoch"].as_u64().unwrap() < 1 << 53);
    }
    // The browser is told that the edge ends.
    edge.signal("TERM");
    let heard = wait_for(&reports, &["close"]);
    assert!(
        heard.contains(&("close".to_owned(), json!({ "code": 1001 }))),
        "{heard:?}"
    );
}

#[test]
fn a_hub_needs_nothing_behind_it() {
    let place = Place::new();
    let mut edge = Edge::start(&place, &["--hub", "/live"]);
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
    edge.signal("HUP");
    edge.told("the new configuration is in use");
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
        wrong.code == 2 && wrong.stderr.contains("no hub"),
        "{wrong:?}"
    );
}
