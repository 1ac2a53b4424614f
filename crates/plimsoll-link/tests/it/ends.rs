//! How connections end.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use plimsoll_link::RelayTotals;
use plimsoll_testkit::port;
use socket2::SockRef;

use crate::support::{PATIENCE, conditions, connect, exchange, start, target};

/// Closes a connection by a reset.
fn reset(stream: TcpStream) {
    let linger = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    linger.unwrap();
    drop(stream);
}

fn resets(totals: &RelayTotals) -> u64 {
    totals.links[0].reset
}

#[test]
fn a_half_close_is_passed_on() {
    let to = target(|mut stream| {
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        write!(stream, "{} bytes", received.len()).unwrap();
    });
    let relay = start(to, conditions());
    let mut stream = connect(&relay);
    stream.write_all(b"abc").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "3 bytes");
    let totals = relay.stop().unwrap();
    assert_eq!((resets(&totals), totals.links[0].open), (0, 0));
}

#[test]
fn a_reset_of_the_client_is_passed_on() {
    let (sender, ended) = sync_channel(1);
    let to = target(move |mut stream| {
        let mut buffer = [0; 100];
        let end = loop {
            match stream.read(&mut buffer) {
                Ok(0) => break None,
                Ok(count) => stream.write_all(&buffer[..count]).unwrap(),
                Err(error) => break Some(error.kind()),
            }
        };
        let _ = sender.send(end);
    });
    let relay = start(to, conditions());
    let stream = connect(&relay);
    exchange(&stream);
    reset(stream);
    let end = ended.recv_timeout(PATIENCE).unwrap();
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    assert_eq!(resets(&relay.stop().unwrap()), 1);
}

#[test]
fn a_reset_of_the_target_is_passed_on() {
    let to = target(|mut stream| {
        let mut word = [0; 4];
        stream.read_exact(&mut word).unwrap();
        reset(stream);
    });
    let relay = start(to, conditions());
    let mut stream = connect(&relay);
    stream.write_all(b"word").unwrap();
    let error = stream.read(&mut [0; 4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(resets(&relay.stop().unwrap()), 1);
}

/// The client has ended its own direction; so nothing is read from it that could show its reset.
#[test]
fn a_client_that_is_gone_resets_a_target_that_still_sends() {
    let (sender, ended) = sync_channel(1);
    let to = target(move |mut stream| {
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        // As long as anybody takes it.
        let end = loop {
            if let Err(error) = stream.write_all(&[0; 1_000]) {
                break error.kind();
            }
        };
        let _ = sender.send(end);
    });
    let relay = start(to, conditions());
    let stream = connect(&relay);
    stream.shutdown(Shutdown::Write).unwrap();
    let mut first = [0; 1];
    (&stream).read_exact(&mut first).unwrap();
    reset(stream);
    let end = ended.recv_timeout(PATIENCE).unwrap();
    let resets_of_writers = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    assert!(resets_of_writers.contains(&end), "{end:?}");
    assert_eq!(resets(&relay.stop().unwrap()), 1);
}

#[test]
fn a_target_that_refuses_is_counted_and_told() {
    let relay = start(port::unused(), conditions());
    let mut stream = connect(&relay);
    let error = stream.read(&mut [0; 4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let totals = relay.stop().unwrap();
    let link = &totals.links[0];
    assert_eq!((link.connections, link.unreachable), (1, 1));
    let reason = link.unreachable_reason.as_deref().unwrap();
    assert!(reason.contains("refused"), "{reason}");
}
