//! Two edges that share a Redis or NATS: one is killed under load, and its clients continue at the other.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use plimsoll_testkit::port;
use plimsoll_testkit::program::{Nats, Redis};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::edge::{RunningEdge, wait_until};
use crate::support::Sandbox;

const PATIENCE: Duration = Duration::from_mins(1);
const CHANNELS: usize = 4;
const CLIENTS: usize = 200;
/// How long a client may be away whose edge is killed: less than it waits for a server that does not answer, and longer than
/// a busy machine lets it stand still.
const DISCONNECTED_MAX: Duration = Duration::from_secs(30);
/// Messages before one edge is killed, and after.
const MESSAGES: usize = 600;

/// A reader of one channel by Server-Sent Events, which goes to the next edge when its own is gone.
struct SseReader {
    edges: Vec<SocketAddr>,
    channel: String,
    /// The last id received.
    id: Option<String>,
    received: Vec<Value>,
    returned: usize,
    /// When its edge was gone, until it is answered again, and the longest such time.
    gone: Option<Instant>,
    disconnected: Duration,
}

impl SseReader {
    /// Reads until the message `end`; signals `first` at the first message.
    fn run(mut self, first: &SyncSender<()>) -> Self {
        let mut attempt = 0;
        loop {
            let edge = self.edges[attempt % self.edges.len()];
            if self.read(edge, first) {
                return self;
            }
            attempt += 1;
            self.returned += 1;
            self.gone = self.gone.or_else(|| Some(now()));
            assert!(attempt < 100, "there is no edge any more");
        }
    }

    /// One connection; whether the end has come.
    fn read(&mut self, edge: SocketAddr, first: &SyncSender<()>) -> bool {
        let Ok(mut stream) = TcpStream::connect(edge) else {
            return false;
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let id = self.id.as_ref();
        let id = id.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /live?channel={} HTTP/1.1\r\nHost: {edge}\r\n{id}\r\n",
            self.channel
        );
        if stream.write_all(request.as_bytes()).is_err() {
            return false;
        }
        let mut id = None;
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else {
                return false;
            };
            if let Some(gone) = self.gone.take() {
                self.disconnected = self.disconnected.max(gone.elapsed());
            }
            if let Some(rest) = line.strip_prefix("id: ") {
                id = Some(rest.to_owned());
            } else if let Some(rest) = line.strip_prefix("data: ") {
                // An event that is cut off has no id that counts.
                let Ok(event) = serde_json::from_str::<Value>(rest) else {
                    return false;
                };
                if self.received.is_empty() {
                    first.send(()).unwrap();
                }
                let is_end = event["data"] == "end";
                self.received.push(event);
                self.id = id.take().or(self.id.take());
                if is_end {
                    return true;
                }
            }
        }
        false
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that measures")]
fn now() -> Instant {
    Instant::now()
}

/// Publishes; whether that is certain.
fn publish(admin: SocketAddr, channel: &str, data: &Value) -> bool {
    let body = json!({ "channel": channel, "data": data }).to_string();
    let Ok(mut stream) = TcpStream::connect(admin) else {
        return false;
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "POST /publish HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200 ")
}

fn channel(number: usize) -> String {
    format!("game-{}", number % CHANNELS)
}

/// Clients of both edges, which all receive what is published.
fn begin_reading(killed: &RunningEdge, left: &RunningEdge) -> Vec<JoinHandle<SseReader>> {
    let (sender, begun) = sync_channel(CLIENTS);
    let readers: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let mut edges = vec![killed.address, left.address];
            edges.rotate_left(number / CHANNELS % 2);
            let reader = SseReader {
                edges,
                channel: channel(number),
                id: None,
                received: Vec::new(),
                returned: 0,
                gone: None,
                disconnected: Duration::ZERO,
            };
            let sender = sender.clone();
            std::thread::spawn(move || reader.run(&sender))
        })
        .collect();
    // Until all clients receive messages.
    let mut waiting = CLIENTS;
    while waiting > 0 {
        for number in 0..CHANNELS {
            assert!(publish(left.admin, &channel(number), &json!("begin")));
        }
        let signal = begun.recv_timeout(Duration::from_millis(20));
        waiting -= usize::from(signal.is_ok()) + begun.try_iter().count();
    }
    readers
}

#[test]
fn nothing_is_lost_or_doubled_when_an_edge_is_killed() {
    let redis = Redis::start("appendonly no");
    kill_edge(&format!("'{}'", redis.address));
}

#[test]
fn nothing_is_lost_or_doubled_with_nats() {
    let nats = Nats::streaming_at(port::unused(), "");
    kill_edge(&format!("{{ nats: '{}' }}", nats.address));
}

/// Two edges share; one is killed.
fn kill_edge(shared: &str) {
    let place = Sandbox::new();
    let text = format!(
        "hub:\n  path: /live\n  shared: {shared}\n  waiting: 10000\n  \
         waiting_size: 16MiB\n  channels:\n  - {{ match: '*', history: 10000, history_size: 16MiB }}\n"
    );
    std::fs::write(place.path().join("edge.yaml"), text).unwrap();
    let start = || {
        let edge = RunningEdge::start(&place, &["--config", "edge.yaml"]);
        wait_until("it finds what is shared", || {
            publish(edge.admin, "warm", &json!(0))
        });
        edge
    };
    let (killed, left) = (start(), start());
    let readers = begin_reading(&killed, &left);
    let (confirmed, done) = sync_channel(CLIENTS);
    let is_over = Arc::new(AtomicBool::new(false));
    let doomed = killed.admin;
    let publishers: Vec<_> = [doomed, left.admin]
        .into_iter()
        .enumerate()
        .map(|(which, admin)| {
            let (confirmed, is_over) = (confirmed.clone(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                for number in (which..).step_by(2) {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    if publish(admin, &channel(number / 2), &json!(number)) {
                        confirmed.send(number).unwrap();
                    } else if admin == doomed {
                        return;
                    }
                }
            })
        })
        .collect();
    drop(confirmed);
    let mut certain = Vec::new();
    while certain.len() < 2 * MESSAGES {
        certain.push(done.recv_timeout(PATIENCE).unwrap());
        if certain.len() == MESSAGES {
            killed.signal(Signal::KILL);
        }
    }
    is_over.store(true, Ordering::Relaxed);
    certain.extend(done.iter());
    for publisher in publishers {
        publisher.join().unwrap();
    }
    for number in 0..CHANNELS {
        assert!(publish(left.admin, &channel(number), &json!("end")));
    }
    let readers: Vec<SseReader> = readers
        .into_iter()
        .map(|handle| handle.join().unwrap())
        .collect();
    check(&readers, &certain);
    let returned = readers.iter().filter(|reader| reader.returned > 0);
    assert!(returned.clone().count() >= CLIENTS / 2);
    let longest = returned.map(|reader| reader.disconnected).max();
    assert!(longest < Some(DISCONNECTED_MAX), "back after {longest:?}");
}

/// All clients received the same messages of a channel, in order, once, including all acknowledged ones.
fn check(readers: &[SseReader], certain: &[usize]) {
    for number in 0..CHANNELS {
        let name = channel(number);
        let mut all = readers.iter().filter(|reader| reader.channel == name);
        let numbers = |reader: &SseReader| -> Vec<u64> {
            for event in &reader.received {
                assert_ne!(event["recovered"], false, "{event}");
            }
            let offsets = reader.received.iter().map(|event| event["offset"].as_u64());
            assert!(
                offsets.is_sorted_by(|offset, next| offset < next),
                "in order, once"
            );
            let data = reader
                .received
                .iter()
                .filter_map(|event| event["data"].as_u64());
            data.collect()
        };
        let first = numbers(all.next().unwrap());
        for reader in all {
            assert_eq!(
                numbers(reader),
                first,
                "{name}, returned {}",
                reader.returned
            );
        }
        for &sent in certain.iter().filter(|&&sent| channel(sent / 2) == name) {
            assert!(first.contains(&(sent as u64)), "{sent} of {name} is lost");
        }
    }
}
