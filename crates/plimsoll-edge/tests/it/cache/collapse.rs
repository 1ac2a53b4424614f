//! Request collapsing: one fetch for concurrent requests.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{page, shown, with_admin};
use crate::support::{Afloat, Scripted, connect, get, read_all, read_until, status_and_body};

/// A server that answers each request on command.
fn origin_on_cue() -> (Scripted, SyncSender<String>) {
    let (responses, queued) = sync_channel::<String>(1000);
    let queued: Arc<Mutex<Receiver<String>>> = Arc::new(Mutex::new(queued));
    let origin = Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            let Ok(answer) = queued.lock().unwrap().recv() else {
                return;
            };
            connection.send(answer);
        }
    });
    (origin, responses)
}

fn send(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = connect(address);
    let request = format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Waits until a number that the dashboard shows has this value.
#[track_caller]
fn until(edge: &Afloat, pointer: &str, expected: u64) {
    edge.wait_until(pointer, || {
        let shown = shown(edge, "/figures");
        shown.pointer(pointer).and_then(Value::as_u64) == Some(expected)
    });
}

#[test]
fn two_hundred_clients_are_one_fetch() {
    let (origin, responses) = origin_on_cue();
    let edge = with_admin(origin.address);
    let clients: Vec<TcpStream> = (0..200).map(|_| send(edge.address, "/")).collect();
    until(&edge, "/cache/collapsed", 199);
    responses
        .send(page("Cache-Control: max-age=60", "hello"))
        .unwrap();
    for mut client in clients {
        assert_eq!(status_and_body(&read_all(&mut client)), (200, "hello"));
    }
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn bytes_reach_all_who_wait_while_they_come() {
    let (origin, responses) = origin_on_cue();
    let edge = with_admin(origin.address);
    let mut clients: Vec<TcpStream> = (0..3).map(|_| send(edge.address, "/")).collect();
    until(&edge, "/cache/collapsed", 2);
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello";
    responses.send(head.to_owned()).unwrap();
    for client in &mut clients {
        read_until(client, "hello");
    }
    // The leading client disconnects; the others receive the rest all the same.
    clients.remove(0);
    drop(responses);
}

#[test]
fn the_first_to_ask_may_leave() {
    let (release, wait) = sync_channel::<()>(1);
    let wait = Mutex::new(wait);
    let origin = Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            connection.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nhello",
            );
            let _ = wait.lock().unwrap().recv();
            connection.send("world");
        }
    });
    let edge = with_admin(origin.address);
    let mut first = send(edge.address, "/");
    read_until(&mut first, "hello");
    let mut second = send(edge.address, "/");
    read_until(&mut second, "hello");
    drop(first);
    release.send(()).unwrap();
    assert_eq!(read_all(&mut second), "world");
    assert_eq!(
        status_and_body(&get(edge.address, "/")),
        (200, "helloworld")
    );
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn what_is_private_releases_everybody() {
    let (origin, responses) = origin_on_cue();
    let edge = with_admin(origin.address);
    let clients: Vec<TcpStream> = (0..20).map(|_| send(edge.address, "/")).collect();
    until(&edge, "/cache/collapsed", 19);
    for number in 0..21 {
        responses
            .send(page("Cache-Control: private", &format!("{number:02}")))
            .unwrap();
    }
    let mut bodies: Vec<String> = Vec::new();
    for mut client in clients {
        let answer = read_all(&mut client);
        let (status, body) = status_and_body(&answer);
        assert_eq!(status, 200, "{answer}");
        bodies.push(body.to_owned());
    }
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 20, "nobody gets another's page: {bodies:?}");
    assert_eq!(origin.requests().len(), 20);
    // It is remembered: no request waits any more.
    get(edge.address, "/");
    until(&edge, "/cache/collapsed", 19);
}

#[test]
fn a_failed_fetch_fails_all_who_wait() {
    let (origin, responses) = origin_on_cue();
    let edge = with_admin(origin.address);
    let clients: Vec<TcpStream> = (0..10).map(|_| send(edge.address, "/")).collect();
    until(&edge, "/cache/collapsed", 9);
    for _ in 0..2 {
        responses.send("nonsense\r\n\r\n".to_owned()).unwrap();
    }
    for mut client in clients {
        let status = status_and_body(&read_all(&mut client)).0;
        assert!(matches!(status, 502 | 503), "{status}");
    }
}
