//! A reload replaces the whole configuration, and no request in flight is affected.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use plimsoll_config::edge::{EdgeConfig, HeaderEdit, ListenerConfig};
use plimsoll_edge::Hooks;

use crate::support::{
    PATIENCE, Patience, Scripted, connect, get, plain, pool, read_until, status_and_body,
};

fn marked(edge: &EdgeConfig, mark: &str) -> EdgeConfig {
    let mut edge = edge.clone();
    edge.routes[0].answer_headers = vec![HeaderEdit {
        name: "X-Mark".to_owned(),
        value: Some(mark.to_owned()),
    }];
    edge
}

/// Number of responses to the clients of a test.
#[derive(Default)]
struct Served {
    count: Mutex<u64>,
    grown: Condvar,
}

impl Served {
    fn add(&self) {
        *self.count.lock().unwrap() += 1;
        self.grown.notify_all();
    }

    /// Waits for as many more as there are clients.
    fn wait_for_more(&self) {
        let count = self.count.lock().unwrap();
        let enough = *count + 4;
        let waited = self
            .grown
            .wait_timeout_while(count, PATIENCE, |count| *count < enough);
        assert!(!waited.unwrap().1.timed_out(), "the clients stand still");
    }
}

#[test]
fn twenty_reloads_lose_no_request_and_cut_no_tunnel() {
    let server = Scripted::start(|mut connection| {
        while let Some(head) = connection.head() {
            if head.contains("Upgrade: websocket") {
                connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n");
                let mut piece = [0; 64];
                while let Ok(count @ 1..) = connection.stream.read(&mut piece) {
                    connection.send(&piece[..count]);
                }
                return;
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let mut first = plain(pool(&[server.address]));
    first.cores = Some(2);
    let next = Arc::new(Mutex::new(Ok(first.clone())));
    let from = Arc::clone(&next);
    let hooks = Hooks {
        read_again: Arc::new(move || from.lock().unwrap().clone()),
        ..Hooks::none()
    };
    let running = plimsoll_edge::start(&first, hooks).unwrap();
    let address = running.addresses()[0];
    let mut tunnels: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = connect(address);
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
                .unwrap();
            read_until(&mut stream, "\r\n\r\n");
            stream
        })
        .collect();
    let (stop, answers) = (Arc::new(Mutex::new(false)), Arc::<Served>::default());
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stop, answers) = (Arc::clone(&stop), Arc::clone(&answers));
            std::thread::spawn(move || {
                let mut stream = connect(address);
                while !*stop.lock().unwrap() {
                    stream
                        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                        .unwrap();
                    let response = read_until(&mut stream, "\r\n\r\nok");
                    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
                    answers.add();
                }
            })
        })
        .collect();
    for round in 0..20 {
        *next.lock().unwrap() = Ok(marked(&first, &round.to_string()));
        running.reload().unwrap();
        // Each loop follows in its own time; a response with the mark shows that one has.
        let mark = format!("X-Mark: {round}\r\n");
        let patience = Patience::start();
        while !get(address, "/").contains(&mark) {
            patience.check("the mark of a reload");
        }
        // The clients go on meanwhile.
        answers.wait_for_more();
    }
    *stop.lock().unwrap() = true;
    for client in clients {
        client.join().unwrap();
    }
    for stream in &mut tunnels {
        stream.write_all(b"still here").unwrap();
        read_until(stream, "still here");
    }
    running.drain(Duration::ZERO);
}

#[test]
fn a_broken_configuration_leaves_the_old_one() {
    let server = Scripted::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let first = plain(pool(&[server.address]));
    let next = Arc::new(Mutex::new(Err("edge.yaml:1:1: no".to_owned())));
    let from = Arc::clone(&next);
    let hooks = Hooks {
        read_again: Arc::new(move || from.lock().unwrap().clone()),
        ..Hooks::none()
    };
    let running = plimsoll_edge::start(&first, hooks).unwrap();
    let address = running.addresses()[0];
    assert_eq!(running.reload(), Err("edge.yaml:1:1: no".to_owned()));
    // A port in use: nothing of the new configuration is applied.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wrong = marked(&first, "new");
    wrong.listen.push(ListenerConfig {
        address: taken.local_addr().unwrap(),
        tls: Vec::new(),
        proxy_protocol: false,
    });
    *next.lock().unwrap() = Ok(wrong);
    assert!(running.reload().unwrap_err().contains("cannot listen on"));
    let mut cores = first.clone();
    cores.cores = Some(3);
    *next.lock().unwrap() = Ok(cores);
    assert!(running.reload().unwrap_err().contains("restart"));
    let response = get(address, "/");
    assert_eq!(status_and_body(&response), (200, "ok"));
    assert!(!response.contains("X-Mark"));
    running.drain(Duration::ZERO);
}
