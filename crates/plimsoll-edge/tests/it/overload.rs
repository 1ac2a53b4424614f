//! Overload: requests within capacity are served in time, the others are answered at once.

use std::io::Write as _;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use plimsoll_config::edge::{Ceiling, EdgeConfig, PoolConfig};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};

use crate::concurrent_clients::{ConcurrentClients, Ends, Got, with_fallback};
use crate::support::{
    Afloat, PATIENCE, Scripted, connect, open_admin, plain, pool, read_until, send_request, start,
    status_and_body, wait_for,
};

/// Serves no request until the test ends.
fn busy(sender: Sender<()>) -> Scripted {
    Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            let _ = sender.send(());
        }
    })
}

fn narrow(server: &Scripted, queue: u32) -> EdgeConfig {
    plain(PoolConfig {
        ceiling: Ceiling::Fixed(1),
        queue: Some(queue),
        queue_timeout: Duration::from_millis(500),
        ..pool(&[server.address])
    })
}

/// Length of the queue.
const WAITING: &str = "plimsoll_edge_waiting{pool=\"app\"}";

/// A queue of one with an unlimited wait, and an admin address that shows it.
fn patient(server: &Scripted) -> EdgeConfig {
    let mut edge = narrow(server, 1);
    edge.pools[0].queue_timeout = Duration::from_mins(10);
    edge.admin = Some(open_admin());
    edge
}

#[test]
fn every_refusal_says_why() {
    let last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (sender, came) = channel();
    let server = busy(sender);
    // Forever, or briefly.
    let patient = start(&patient(&server));
    let impatient = start(&narrow(&server, 1));
    let hold = |edge: &Afloat| {
        let mut first = connect(edge.address);
        first
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        came.recv_timeout(PATIENCE).unwrap();
        first
    };
    let _held = (hold(&patient), hold(&impatient));
    let refused = |edge: &Afloat, why: &str| {
        let response = send_request(edge.address, last);
        assert_eq!(status_and_body(&response).0, 503, "{response:?}");
        assert!(response.contains("Retry-After: "), "{response:?}");
        assert!(
            response.contains(&format!("X-Plimsoll: {why}\r\n")),
            "{response:?}"
        );
    };
    refused(&impatient, "queue-timeout");
    // One waits in the queue; the others find it full.
    let mut waits = connect(patient.address);
    waits.write_all(last).unwrap();
    wait_for(&patient, WAITING, 1.0);
    refused(&patient, "queue-full");
    refused(&patient, "queue-full");
}

#[test]
fn the_fallback_goes_to_browsers_only() {
    let (sender, came) = channel();
    let server = busy(sender);
    let edge = start(&with_fallback(narrow(&server, 0)));
    let mut first = connect(edge.address);
    first
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    came.recv_timeout(PATIENCE).unwrap();
    let fetch = |line: &str| {
        let request = format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        send_request(edge.address, request)
    };
    let page = fetch("GET /");
    assert_eq!(status_and_body(&page), (200, "<p>soon"));
    for line in [
        "X-Plimsoll: fallback",
        "Cache-Control: no-store",
        "Content-Type: text/html",
    ] {
        assert!(page.contains(line), "{page:?}");
    }
    assert_eq!(status_and_body(&fetch("HEAD /")), (200, ""));
    assert_eq!(status_and_body(&fetch("POST /")).0, 503);
    let other =
        "GET / HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nConnection: close\r\n\r\n";
    let other = send_request(edge.address, other);
    assert_eq!(status_and_body(&other).0, 503);
    assert!(other.contains("X-Plimsoll: queue-full\r\n"));
    // A rejection keeps the connection: the browser's next request needs no new one.
    let mut stream = connect(edge.address);
    for _ in 0..3 {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        read_until(&mut stream, "<p>soon");
    }
}

#[test]
fn a_client_that_leaves_the_line_makes_room() {
    let (came, waits) = channel();
    let (go_on, may) = channel::<()>();
    let may = Mutex::new(may);
    let server = Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            if head.starts_with("GET /1 ") {
                came.send(()).unwrap();
                may.lock().unwrap().recv().unwrap();
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let edge = start(&patient(&server));
    let mut first = connect(edge.address);
    first
        .write_all(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    waits.recv_timeout(PATIENCE).unwrap();
    let mut second = connect(edge.address);
    second
        .write_all(b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    wait_for(&edge, WAITING, 1.0);
    drop(second);
    wait_for(&edge, WAITING, 0.0);
    let mut third = connect(edge.address);
    third
        .write_all(b"GET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    wait_for(&edge, WAITING, 1.0);
    go_on.send(()).unwrap();
    read_until(&mut first, "\r\n\r\nok");
    read_until(&mut third, "\r\n\r\nok");
}

/// What the law predicts for 3 s of overload, on a machine that delays nobody.
fn check_throughput(got: &Got, late: Duration) {
    // Replies of the origin, and fallbacks, for which nobody waits, show how much this machine delays everything.
    let slowest = got.fallbacks.last().copied().unwrap_or_default();
    if late > Duration::from_millis(10) || slowest > Duration::from_millis(50) {
        return plimsoll_testkit::not_tried::not_tried(format_args!(
            "how many pages a second, replies of the origin were up to {late:?} late, a fallback took {slowest:?}"
        ));
    }
    assert!(
        got.fallbacks.len() > got.pages.len(),
        "{}",
        got.fallbacks.len()
    );
    // A busy server serves 100 a second; 24 requests ahead take 10 ms each.
    let most = got.lasted.as_secs_f64() * 100.0;
    let pages = got.pages.len() as f64;
    assert!(pages >= 0.97 * most - 2.0, "{pages} of {most} pages");
    let slowest = got.pages[got.pages.len() * 99 / 100];
    assert!(slowest < Duration::from_millis(330), "{slowest:?}");
}

/// Ten and fifty times the capacity of a serial server of 100 requests a second, from clients that retry at once or
/// after a pause: the law predicts the throughput, the queue bounds the wait.
#[test]
fn many_times_the_load_line_is_survived() {
    for (clients, pause) in [(40, 40), (40, 8)] {
        let law = KnownLaw::start(KnownLawPlan {
            servers: NonZeroU32::MIN,
            service: Service::Deterministic(Duration::from_millis(10)),
            ..KnownLawPlan::default()
        })
        .unwrap();
        let edge = start(&with_fallback(plain(PoolConfig {
            ceiling: Ceiling::Fixed(4),
            queue: Some(20),
            ..pool(&[law.address()])
        })));
        let load = ConcurrentClients {
            clients,
            pause: Duration::from_millis(pause),
            ends: Ends::In(Duration::from_secs(3)),
        };
        let got = load.run(edge.address);
        assert_eq!(got.other, Vec::<String>::new());
        let counts = law.counts();
        assert!(counts.in_flight_max <= 4, "{counts:?}");
        check_throughput(&got, counts.late_max);
        // Once the load is gone, the next request is served at once.
        let alone = ConcurrentClients {
            clients: 1,
            pause: Duration::ZERO,
            ends: Ends::After(20),
        };
        let got = alone.run(edge.address);
        assert_eq!((got.pages.len(), got.fallbacks.len()), (20, 0));
    }
}
