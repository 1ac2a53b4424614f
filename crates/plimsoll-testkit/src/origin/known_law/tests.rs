//! The origin against its own law, over real sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use super::*;

fn plan(servers: u32, service: Duration) -> KnownLawPlan {
    KnownLawPlan {
        servers: NonZeroU32::new(servers).unwrap(),
        service: Service::Deterministic(service),
        ..KnownLawPlan::default()
    }
}

fn get(stream: &mut impl Write) {
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
}

/// Reads one response of the default body length and returns its head.
fn answer(stream: &mut impl Read, body_len: usize) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let mut body = vec![0; body_len];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn answers_on_a_kept_connection() {
    let origin = KnownLaw::start(KnownLawPlan {
        status: 503,
        body_len: 5,
        ..plan(1, Duration::ZERO)
    })
    .unwrap();
    let mut stream = TcpStream::connect(origin.address()).unwrap();
    for _ in 0..3 {
        get(&mut stream);
        let head = answer(&mut stream, 5);
        assert!(
            head.starts_with("HTTP/1.1 503 Service Unavailable\r\n"),
            "{head}"
        );
    }
    let counts = origin.counts();
    assert_eq!((counts.accepted, counts.arrived, counts.served), (1, 3, 3));
}

/// Ten requests at once for c servers of 20 ms each: the last one is due after 10/c rounds, never before.
#[test]
fn departures_follow_the_law() {
    for servers in [1, 2] {
        let origin = KnownLaw::start(plan(servers, Duration::from_millis(20))).unwrap();
        let mut streams: Vec<TcpStream> = (0..10)
            .map(|_| TcpStream::connect(origin.address()).unwrap())
            .collect();
        let clock = OriginClock::start();
        streams.iter_mut().for_each(get);
        for stream in &mut streams {
            answer(stream, 100);
        }
        let elapsed = Duration::from_nanos(clock.now());
        let counts = origin.counts();
        let law = Duration::from_millis(20) * 10 / servers;
        assert!(
            elapsed >= law,
            "{servers} servers: {elapsed:?}, the law says {law:?}"
        );
        assert!(counts.in_flight_max > u64::from(servers), "{counts:?}");
    }
}

#[test]
fn a_stall_holds_back_what_is_in_service() {
    let origin = KnownLaw::start(plan(1, Duration::from_millis(30))).unwrap();
    let mut stream = TcpStream::connect(origin.address()).unwrap();
    let clock = OriginClock::start();
    origin.stall_at(Duration::from_millis(5), Duration::from_millis(200));
    get(&mut stream);
    answer(&mut stream, 100);
    let elapsed = Duration::from_nanos(clock.now());
    assert!(elapsed >= Duration::from_millis(200), "{elapsed:?}");
    get(&mut stream);
    answer(&mut stream, 100);
    let second = Duration::from_nanos(clock.now()).saturating_sub(elapsed);
    assert!(
        second >= Duration::from_millis(30),
        "the stall must be over: {second:?}"
    );
    assert_eq!(origin.counts().served, 2);
}

/// A body larger than any socket buffer leaves in parts, and pipelined requests are answered in order.
#[test]
fn large_bodies_and_pipelining() {
    let body_len = 20 << 20;
    let origin = KnownLaw::start(KnownLawPlan {
        body_len,
        ..plan(1, Duration::ZERO)
    })
    .unwrap();
    let mut stream = TcpStream::connect(origin.address()).unwrap();
    get(&mut stream);
    get(&mut stream);
    answer(&mut stream, body_len);
    answer(&mut stream, body_len);
    assert_eq!(origin.counts().served, 2);
}

#[test]
fn serves_a_thousand_connections() {
    raise_limit();
    let origin = KnownLaw::start(plan(1, Duration::ZERO)).unwrap();
    let mut streams: Vec<TcpStream> = (0..1_000)
        .map(|_| TcpStream::connect(origin.address()).unwrap())
        .collect();
    for _ in 0..2 {
        streams.iter_mut().for_each(get);
        for stream in &mut streams {
            answer(stream, 100);
        }
    }
    let counts = origin.counts();
    assert_eq!((counts.open, counts.served), (1_000, 2_000));
}

fn raise_limit() {
    let limit = crate::origin::raise_descriptor_limit().unwrap();
    assert!(
        limit >= 4_096,
        "the hard limit of descriptors is {limit}; this test needs 4096"
    );
}

#[test]
fn serves_over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("origin.sock");
    let _origin = KnownLaw::start_unix(plan(1, Duration::ZERO), &path).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut bytes = String::new();
    stream.read_to_string(&mut bytes).unwrap();
    assert!(bytes.starts_with("HTTP/1.1 200 OK\r\n"), "{bytes}");
}

#[test]
fn arrivals_are_kept_up_to_the_count() {
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let origin = KnownLaw::start_recording(plan(1, Duration::ZERO), loopback, 2).unwrap();
    let mut stream = TcpStream::connect(origin.address()).unwrap();
    for _ in 0..3 {
        get(&mut stream);
        answer(&mut stream, 100);
    }
    let arrivals = origin.arrivals();
    assert!(
        arrivals.len() == 2 && arrivals[0] < arrivals[1],
        "{arrivals:?}"
    );
}

#[test]
fn stops_when_dropped() {
    let origin = KnownLaw::start(plan(1, Duration::from_hours(1))).unwrap();
    let address = origin.address();
    let mut stream = TcpStream::connect(address).unwrap();
    get(&mut stream);
    drop(origin);
    assert_eq!(
        stream.read(&mut [0]).unwrap_or(0),
        0,
        "the connection is gone"
    );
    assert!(TcpStream::connect(address).is_err());
}
