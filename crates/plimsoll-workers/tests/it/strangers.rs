//! Who must not join.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use plimsoll_model::journey::Inputs;
use plimsoll_peer::{Channel, Hello, Role, Token, Version};
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::turns;
use plimsoll_workers::{Coordinator, IfLost, WorkersError};

use crate::support::{StartedWorker, options, plan};

/// A coordinator that waits, and the origin of its plan.
fn waiting() -> (Coordinator, fault::FaultOrigin) {
    let origin = fault::start(OriginFault::None).unwrap();
    let plan = plan(origin.address(), 100.0, Duration::from_secs(1));
    let coordinator =
        Coordinator::listen(&options(IfLost::Void), &plan, &Inputs::default()).unwrap();
    (coordinator, origin)
}

#[test]
fn a_token_of_another_run_does_not_let_in() {
    let _turn = turns::held_or_shared();
    let ((coordinator, _origin), (other, _)) = (waiting(), waiting());
    let worker = StartedWorker::start(coordinator.address(), other.token(), "a");
    let error = worker.join().unwrap_err();
    assert!(matches!(error, WorkersError::Channel(_)), "{error}");
    assert!(error.to_string().contains("another certificate"), "{error}");
    let garbage = StartedWorker::start(coordinator.address(), "secret", "a").join();
    assert!(matches!(garbage, Err(WorkersError::Token(_))));
}

#[test]
fn who_has_no_token_reads_nothing() {
    let _turn = turns::held_or_shared();
    let (coordinator, _origin) = waiting();
    let mut socket = TcpStream::connect(coordinator.address()).unwrap();
    socket
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    // An alert of TLS at most.
    assert!(answer.len() <= 7, "{answer:?}");
}

#[test]
fn another_version_is_refused_and_both_sides_are_given_the_reason() {
    let _turn = turns::held_or_shared();
    let (coordinator, _origin) = waiting();
    let token = Token::parse(coordinator.token()).unwrap();
    let socket = TcpStream::connect(coordinator.address()).unwrap();
    let config = token.client_config().unwrap();
    let mut channel = Channel::connect(socket, config, 1 << 20).unwrap();
    let theirs: Hello = channel.receive().unwrap();
    let own = Hello::new(Role::Worker, Version::parse("0.99.0").unwrap());
    channel.send(&own).unwrap();
    let here = own.judge(&theirs).unwrap_err().to_string();
    assert!(here.contains("update plimsoll there"), "{here}");
    let news = std::cell::RefCell::new(Vec::new());
    let waited = coordinator.wait(
        |text| news.borrow_mut().push(text.to_owned()),
        || !news.borrow().is_empty(),
    );
    assert!(!waited.unwrap());
    let news = news.into_inner();
    assert!(news[0].contains("update plimsoll here"), "{news:?}");
}

#[test]
fn more_workers_than_parts_are_refused() {
    let _turn = turns::held_or_shared();
    let (coordinator, _origin) = waiting();
    let first = ["a", "b"]
        .map(|name| StartedWorker::start(coordinator.address(), coordinator.token(), name));
    assert!(coordinator.wait(|_| {}, || false).unwrap());
    let third = StartedWorker::start(coordinator.address(), coordinator.token(), "c");
    let error = third.join().unwrap_err().to_string();
    assert!(error.contains("all 2 workers have joined"), "{error}");
    drop(coordinator);
    for worker in first {
        assert!(matches!(worker.join(), Err(WorkersError::Refused(_))));
    }
}
