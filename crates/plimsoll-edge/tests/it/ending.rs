//! Graceful shutdown without losing requests in flight.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use plimsoll_testkit::port;

use crate::support::{PATIENCE, Scripted, connect, plain, pool, read_all, read_until, start};

#[test]
fn a_drain_answers_what_was_asked_and_closes_what_is_idle() {
    let (came, waits) = channel();
    let (go_on, may) = channel::<()>();
    let may = Mutex::new(may);
    let server = Scripted::start(move |mut connection| {
        while let Some(head) = connection.head() {
            if head.starts_with("GET /slow") {
                came.send(()).unwrap();
                may.lock().unwrap().recv().unwrap();
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    // A port that the system does not choose for another test while it is expected to be closed.
    let mut edge = plain(pool(&[server.address]));
    edge.listen[0].address = port::unused();
    let edge = start(&edge);
    let mut idle = connect(edge.address);
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    read_until(&mut idle, "ok");
    let mut slow = connect(edge.address);
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    waits.recv_timeout(PATIENCE).unwrap();
    let address = edge.address;
    let draining = edge.drain(PATIENCE);
    // The idle connection closes at once; the other receives its response first.
    assert_eq!(read_all(&mut idle), "");
    assert!(std::net::TcpStream::connect(address).is_err());
    go_on.send(()).unwrap();
    assert!(read_all(&mut slow).ends_with("\r\n\r\nok"));
    draining.join().unwrap();
}
