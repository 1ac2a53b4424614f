//! What is bounded, and what is refused.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_link::LinkError;
use plimsoll_link::relay::{LinkOptions, RelayOptions, RunningRelay};
use plimsoll_link::schedule::PIECE_LEN;
use plimsoll_testkit::port;

use crate::support::{conditions, connect, echo, exchange, options, start, target};

#[test]
fn a_receiver_that_does_not_read_stops_its_sender() {
    let (end, ended) = sync_channel::<()>(1);
    let ended = Arc::new(Mutex::new(ended));
    let to = target(move |stream| {
        // Until the test is over.
        let _ = ended.lock().unwrap().recv();
        drop(stream);
    });
    let memory_max = 100_000;
    let relay = RunningRelay::start(RelayOptions {
        memory_max,
        ..options(to, conditions())
    });
    let relay = relay.unwrap();
    let mut stream = connect(&relay);
    stream
        .set_write_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    // Sockets hold some megabytes each; the link must not hold the rest.
    let mut sent = 0_u64;
    while stream.write_all(&[0; 10_000]).is_ok() {
        sent += 10_000;
        assert!(sent < 1 << 30, "the link takes everything");
    }
    let totals = relay.stop().unwrap();
    // What a piece costs beyond its bytes comes on top.
    assert!(
        totals.held_max <= PIECE_LEN + memory_max + 1_000,
        "{} bytes",
        totals.held_max
    );
    assert!(totals.held_max >= PIECE_LEN, "{} bytes", totals.held_max);
    drop(end);
}

#[test]
fn connections_beyond_the_limit_wait() {
    let relay = RunningRelay::start(RelayOptions {
        connections_max: 1,
        ..options(echo(), conditions())
    });
    let relay = relay.unwrap();
    let first = connect(&relay);
    exchange(&first);
    let second = connect(&relay);
    (&second).write_all(b"word").unwrap();
    // The link accepts the second before it knows that the first is over: that takes as long as a way through the link.
    exchange(&first);
    drop(first);
    let mut received = [0; 4];
    (&second).read_exact(&mut received).unwrap();
    assert_eq!(&received, b"word");
    assert_eq!(relay.stop().unwrap().waited, 1);
}

#[test]
fn a_link_that_leads_to_itself_is_refused() {
    let address = port::unused();
    let link = |listen: SocketAddr, to: SocketAddr| LinkOptions {
        listen,
        to,
        conditions: conditions(),
    };
    let other = port::unused();
    let circle = RelayOptions {
        links: vec![link(address, other), link(other, address)],
        ..options(address, conditions())
    };
    let refused = RunningRelay::start(circle).unwrap_err();
    assert!(
        matches!(refused, LinkError::Loop { listen, to } if listen == address && to == other),
        "{refused}"
    );
    // The addresses are free again, and a chain is no circle.
    let chain = RelayOptions {
        links: vec![link(address, other), link(other, echo())],
        ..options(address, conditions())
    };
    let relay = RunningRelay::start(chain).unwrap();
    exchange(&connect(&relay));
    let totals = relay.stop().unwrap();
    assert!(totals.links.iter().all(|link| link.connections == 1));
}

#[test]
fn an_address_that_is_taken_is_named() {
    let relay = start(echo(), conditions());
    let taken = relay.addresses()[0];
    let mut second = options(echo(), conditions());
    second.links[0].listen = taken;
    let refused = RunningRelay::start(second).unwrap_err().to_string();
    assert!(refused.contains(&taken.to_string()), "{refused}");
    let none = RelayOptions {
        links: Vec::new(),
        ..options(taken, conditions())
    };
    assert!(matches!(
        RunningRelay::start(none),
        Err(LinkError::Count(0))
    ));
    relay.stop().unwrap();
}
