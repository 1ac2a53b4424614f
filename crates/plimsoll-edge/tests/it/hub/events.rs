//! Server-Sent Events, over HTTP/1.1 and HTTP/2.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{live, only_hub, publish};
use crate::support::{Afloat, connect, metric, read_until, start};

/// curl, which prints events as they arrive, and ends with the test.
pub(super) struct Curl {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Held open: curl writes to it.
    verbose: Option<Lines<BufReader<ChildStderr>>>,
}

impl Drop for Curl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Curl {
    pub(super) fn open(url: &str, arguments: &[&str]) -> Self {
        Self::spawn(url, arguments, Stdio::inherit())
    }

    /// A reader that is subscribed when this returns, and the lines of the response's head.
    pub(super) fn open_with_head(url: &str, arguments: &[&str]) -> (Self, Vec<String>) {
        // The head is written to stderr at once; on stdout it would wait for the first event.
        let mut curl = Self::spawn(url, &[arguments, &["-v"]].concat(), Stdio::piped());
        let mut lines = BufReader::new(curl.child.stderr.take().unwrap()).lines();
        let head = lines.by_ref().map(Result::unwrap).filter_map(|line| {
            let line = line.strip_prefix('<')?.trim();
            Some(line.to_owned())
        });
        let head = head.take_while(|line| !line.is_empty()).collect();
        curl.verbose = Some(lines);
        (curl, head)
    }

    fn spawn(url: &str, arguments: &[&str], stderr: Stdio) -> Self {
        let mut child = Command::new("curl")
            .args(["-sS", "-N", "-k", "--max-time", "60"])
            .args(arguments)
            .arg(url)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("curl is installed: apt-get install curl");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            lines,
            verbose: None,
        }
    }

    /// The next event: its id and its data.
    fn receive(&mut self) -> (String, Value) {
        let (id, data) = self.receive_text();
        (id, serde_json::from_str(&data).unwrap())
    }

    /// The next event: its id, or its type where it has none, and the lines of its data.
    pub(super) fn receive_text(&mut self) -> (String, String) {
        let (mut id, mut data) = (String::new(), Vec::new());
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if let Some(rest) = line.strip_prefix("id: ") {
                rest.clone_into(&mut id);
            } else if let Some(rest) = line.strip_prefix("event: ") {
                rest.clone_into(&mut id);
            } else if let Some(rest) = line.strip_prefix("data: ") {
                data.push(rest.to_owned());
            } else if line.is_empty() && !data.is_empty() {
                return (id, data.join("\n"));
            }
        }
        panic!("no event");
    }
}

fn wait_for_readers(edge: &Afloat, count: f64) {
    crate::support::wait_for(edge, "plimsoll_edge_hub_connections{kind=\"sse\"}", count);
}

/// Events reach readers over every HTTP version, and a reconnecting reader recovers.
fn check(edge: &Afloat, base: &str, arguments: &[&str]) {
    let mut reader = Curl::open(&format!("{base}/live?channel=a&channel=b%2Fc"), arguments);
    wait_for_readers(edge, 1.0);
    crate::support::wait_for(edge, "plimsoll_edge_hub_channels", 2.0);
    let first = publish(edge, "a", &json!({ "x": 1 }));
    let (id, data) = reader.receive();
    assert_eq!(id, format!("{}:1", first["epoch"]));
    assert_eq!(data["data"], json!({ "x": 1 }));
    publish(edge, "b/c", &json!(2));
    assert_eq!(reader.receive().1["channel"], "b/c");
    drop(reader);
    wait_for_readers(edge, 0.0);
    for data in 2..=4 {
        publish(edge, "a", &json!(data));
    }
    let returned = format!("Last-Event-ID: {id}");
    let arguments = [arguments, &["-H", &returned]].concat();
    let mut reader = Curl::open(&format!("{base}/live?channel=a&channel=b%2Fc"), &arguments);
    for data in 2..=4 {
        assert_eq!(reader.receive().1["data"], data);
    }
    // One id recovers one channel.
    let (_, event) = reader.receive();
    assert_eq!(
        (&event["subscribed"], &event["recovered"]),
        (&json!("b/c"), &json!(false))
    );
    drop(reader);
    wait_for_readers(edge, 0.0);
}

#[test]
fn events_come_over_every_version_of_http() {
    let edge = start(&only_hub(live()));
    let base = format!("http://{}", edge.address);
    check(&edge, &base, &["--http1.1"]);
    let edge = start(&only_hub(live()));
    let base = format!("http://{}", edge.address);
    check(&edge, &base, &["--http2-prior-knowledge"]);
    for version in ["--http1.1", "--http2"] {
        let (edge, _folder) = crate::tls::secure(only_hub(live()), &["localhost"]);
        let base = format!("https://localhost:{}", edge.address.port());
        check(&edge, &base, &[version]);
    }
}

#[test]
fn readers_are_kept_awake_and_told_what_they_may_not() {
    let mut hub = live();
    hub.ping = std::time::Duration::from_millis(20);
    let edge = start(&only_hub(hub));
    let mut stream = connect(edge.address);
    let long = "x".repeat(300);
    let request = format!(
        "GET /live?channel={long} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n",
        edge.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.contains("Content-Type: text/event-stream\r\n") && head.contains("no-store"));
    let event = read_until(&mut stream, "\n\n");
    assert!(event.contains("longer than 200 bytes"), "{event}");
    for _ in 0..3 {
        assert_eq!(read_until(&mut stream, "\n\n"), ":\n\n");
    }
    assert_eq!(
        metric(&edge, "plimsoll_edge_hub_disconnected_total"),
        Some(0.0)
    );
}
