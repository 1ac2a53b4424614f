//! After an upgrade both ends speak for themselves.

use std::io::{Read as _, Write as _};

use crate::support::{Scripted, before, connect, read_until};

fn echo() -> Scripted {
    Scripted::start(|mut heard| {
        let Some(head) = heard.head() else {
            return;
        };
        assert!(
            head.contains("Upgrade: websocket\r\n") && head.contains("Connection: upgrade\r\n")
        );
        heard.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst");
        let mut piece = [0; 4096];
        while let Ok(count) = heard.stream.read(&mut piece) {
            if count == 0 {
                break;
            }
            heard.say(&piece[..count]);
        }
        heard.say("last");
    })
}

const UPGRADE: &[u8] =
    b"GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

#[test]
fn bytes_pass_both_ways_and_ends_one_at_a_time() {
    let edge = before(echo().address);
    let mut stream = connect(edge.address);
    // What is sent before the answer goes through too.
    stream.write_all(&[UPGRADE, b"early"].concat()).unwrap();
    let head = read_until(&mut stream, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    assert!(head.contains("Upgrade: websocket\r\n") && head.contains("Connection: upgrade\r\n"));
    read_until(&mut stream, "firstearly");
    let body: Vec<u8> = (0..2_000_000_u32).map(|at| (at % 251) as u8).collect();
    let sent = body.clone();
    let mut writing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || writing.write_all(&sent).unwrap());
    let mut echoed = vec![0; body.len()];
    stream.read_exact(&mut echoed).unwrap();
    writer.join().unwrap();
    assert!(echoed == body);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "last");
}

#[test]
fn a_refused_upgrade_is_an_answer_like_any_other() {
    let server = Scripted::always("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    let edge = before(server.address);
    let mut stream = connect(edge.address);
    for _ in 0..2 {
        stream.write_all(UPGRADE).unwrap();
        read_until(&mut stream, "\r\n\r\nno");
    }
}
