//! The page of an edge in Chromium, by playwright-core: overloaded, and with a server that is killed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::port;
use serde_json::Value;

use crate::edge::RunningEdge;
use crate::live::look;
use crate::support::Sandbox;

/// Sends requests one after the other on connections of its own until it is dropped.
struct Clients {
    is_over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Clients {
    fn start(address: SocketAddr, count: usize) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let begun = Arc::new(Barrier::new(count + 1));
        let threads = (0..count).map(|_| {
            let (is_over, begun) = (Arc::clone(&is_over), Arc::clone(&begun));
            std::thread::spawn(move || {
                begun.wait();
                while !is_over.load(Ordering::Relaxed) {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let head = "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nConnection: close\r\n\r\n";
                    stream.write_all(head.as_bytes()).unwrap();
                    let _ = stream.read_to_end(&mut Vec::new());
                }
            })
        });
        let threads = threads.collect();
        begun.wait();
        Self { is_over, threads }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The first document of the stream for which something holds.
fn wait_for(admin: SocketAddr, holds: impl Fn(&Value) -> bool) -> Value {
    let mut stream = TcpStream::connect(admin).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: {admin}\r\n\r\n").unwrap();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let document = line
            .strip_prefix("data: ")
            .map(serde_json::from_str::<Value>);
        if let Some(Ok(document)) = document
            && holds(&document)
        {
            return document;
        }
    }
    panic!("the stream ended");
}

fn is_wrong(document: &Value, kind: &str) -> bool {
    let wrong = document["status"]["wrong"].as_array();
    wrong.is_some_and(|wrong| wrong.iter().any(|condition| condition["kind"] == kind))
}

#[test]
fn an_overloaded_edge_tells_what_it_carries() {
    let place = Sandbox::new();
    let origin = KnownLaw::start(KnownLawPlan {
        service: Service::Deterministic(Duration::from_millis(50)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    std::fs::write(place.path().join("soon.html"), "<p>soon").unwrap();
    std::fs::write(
        place.path().join("edge.yaml"),
        format!(
            "pools:\n  app: {{ servers: [\"http://{}\"], max_in_flight: 2, queue: 1 }}\nroutes:\n  - {{ match: {{ path: /* }}, pool: app, fallback: soon.html }}\n",
            origin.address()
        ),
    )
    .unwrap();
    let edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
    let clients = Clients::start(edge.address, 4);
    let document = wait_for(edge.admin, |document| {
        document["status"]["capacity"][0].is_object() && is_wrong(document, "queue_full")
    });
    // The origin serves one after the other, 50 ms each.
    let most = document["status"]["capacity"][0]["requests_per_second"]
        .as_f64()
        .unwrap();
    assert!((10.0..=21.0).contains(&most), "{document:#}");
    let sentence = document["status"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains(" of about ")
            && sentence.contains("get the fallback because the queue is full since "),
        "{sentence}"
    );
    place.assert_follows_schema("edge-status", &document["status"]);
    let found = look(&format!("http://{}/", edge.admin), 2, &["--everybody"]);
    for page in found["pages"].as_array().unwrap() {
        assert_eq!(page["overflow"], 0, "{found:#}");
        assert!(
            page["title"]
                .as_str()
                .unwrap()
                .contains("get the fallback because the queue is full"),
            "{found:#}"
        );
        assert!(page["canvases"].as_u64() >= Some(4), "{found:#}");
    }
    let readout = found["readout"].as_str().unwrap();
    assert!(
        readout.contains("offered") && readout.contains("in flight"),
        "{readout}"
    );
    assert!(
        found["cursors"].as_u64() >= Some(4),
        "one cursor in every chart: {found:#}"
    );
    let tapped = found["tapped"].as_str().unwrap();
    assert!(tapped.contains("in flight"), "{found:#}");
    let paper = &found["paper"];
    assert_eq!(paper["background"], "rgb(255, 255, 255)", "{found:#}");
    assert_eq!(
        paper["tooWide"],
        Value::from(Vec::<Value>::new()),
        "{found:#}"
    );
    drop(clients);
}

#[test]
fn a_server_that_is_killed_is_shown() {
    let place = Sandbox::new();
    // Nobody else gets its port when it is gone.
    let (good, bad) = (
        KnownLaw::start(KnownLawPlan::default()).unwrap(),
        KnownLaw::start_at(KnownLawPlan::default(), port::unused()).unwrap(),
    );
    let gone = bad.address();
    std::fs::write(
        place.path().join("edge.yaml"),
        format!(
            "pools:\n  app: {{ servers: [\"http://{}\", \"http://{gone}\"], check: {{ path: /, every: 100ms, timeout: 30s }} }}\nroutes:\n  - {{ match: {{ path: /* }}, pool: app }}\n",
            good.address()
        ),
    )
    .unwrap();
    let edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
    let clients = Clients::start(edge.address, 1);
    wait_for(edge.admin, |document| {
        document["status"]["now"]["by_server"].as_f64() > Some(0.0)
            && document["status"]["wrong"]
                .as_array()
                .is_some_and(Vec::is_empty)
    });
    drop(bad);
    wait_for(edge.admin, |document| is_wrong(document, "server_down"));
    let found = look(&format!("http://{}/", edge.admin), 2, &[]);
    let title = found["pages"][0]["title"].as_str().unwrap();
    assert!(
        title.contains(&format!("server {gone} of pool app")),
        "{found:#}"
    );
    drop(clients);
}
