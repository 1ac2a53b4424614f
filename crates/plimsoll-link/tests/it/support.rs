//! Targets, and links to them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use plimsoll_link::conditions::LinkConditions;
use plimsoll_link::relay::{LinkOptions, RelayOptions, RunningRelay};
use plimsoll_model::distribution::DurationDistribution;
use plimsoll_model::seed::Seed;

/// The round trip of links in tests.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(60);
/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A target that serves each connection on a thread of its own.
pub(crate) fn target(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A target that sends back what it receives, and ends when its client does.
pub(crate) fn echo() -> SocketAddr {
    target(|stream| {
        let mut reader = stream.try_clone().unwrap();
        let _ = io::copy(&mut reader, &mut &stream);
        let _ = stream.shutdown(Shutdown::Write);
    })
}

pub(crate) fn conditions() -> LinkConditions {
    LinkConditions {
        round_trip: DurationDistribution::Fixed(ROUND_TRIP),
        bandwidth: None,
        stall: None,
    }
}

/// A link to a target, with few connections and little memory.
pub(crate) fn options(to: SocketAddr, conditions: LinkConditions) -> RelayOptions {
    RelayOptions {
        links: vec![LinkOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            to,
            conditions,
        }],
        seed: Seed(1),
        connections_max: 100,
        memory_max: 64 << 20,
    }
}

pub(crate) fn start(to: SocketAddr, conditions: LinkConditions) -> RunningRelay {
    RunningRelay::start(options(to, conditions)).unwrap()
}

/// A client of the first link.
pub(crate) fn connect(relay: &RunningRelay) -> TcpStream {
    let stream = TcpStream::connect(relay.addresses()[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a word to an echo, and waits until it is back.
pub(crate) fn exchange(mut stream: &TcpStream) {
    let mut received = [0; 4];
    stream.write_all(b"word").unwrap();
    stream.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"word");
}
