//! Connections: kept alive, limited, queued for, over every kind of socket and address.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use plimsoll_model::outcome::Outcome;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::trial::{assert_all, begin, closed, even, ms, plan, run, stood_still, total, windows};

#[test]
fn one_connection_serves_a_slow_stream() {
    let origin = fault::start(OriginFault::None).unwrap();
    let total = run(plan(origin.address()), even(20.0, ms(500)));
    assert_all(&total, Outcome::Ok);
    // No more than requests were under way at a time: one is due every 50 ms. On a machine at rest that is one or two.
    let most = 2 + total.response.max().unwrap() / 50_000;
    assert!(
        total.connections_opened <= most,
        "{} instead of {most}",
        total.connections_opened
    );
    assert_eq!(origin.accepted(), total.connections_opened);
}

#[test]
fn so_many_requests_per_connection() {
    let origin = fault::start(OriginFault::None).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.requests_per_connection = 5;
    let total = run(plan, closed(1, ms(0), ms(200)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.connections_opened, total.offered.div_ceil(5));
    assert_eq!(total.retries, 0);
}

#[test]
fn a_new_connection_each_time() {
    let server = plimsoll_load::null_server().unwrap();
    let mut plan = plan(server.address());
    plan.transport.requests_per_connection = 1;
    let total = run(plan, even(100.0, ms(300)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.connections_opened, 30);
}

#[test]
fn waiting_counts() {
    // One connection, 20 ms each, ten requests due within 10 ms: the last waits for nine others.
    let origin = KnownLaw::start(KnownLawPlan {
        service: Service::Deterministic(ms(20)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let mut plan = plan(origin.address());
    plan.transport.connections_max = 1;
    let total = run(plan, even(1000.0, ms(10)));
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.connections_opened, 1);
    let response = total.response.max().unwrap();
    assert!(response >= 190_000, "response {response} µs");
    // One after the other: together they take as long as the last one's response, which was due 9 ms after the first.
    let service = total.service.mean().unwrap() * 10.0;
    let most = (response + 9_000) as f64 * 1.01;
    assert!(service <= most, "service {service} µs of {response} µs");
    assert_eq!(origin.counts().in_flight_max, 1);
}

#[test]
fn a_kept_connection_closed_by_the_target_is_retried() {
    let origin = fault::start(OriginFault::ClosesAfter(3)).unwrap();
    let total = run(plan(origin.address()), closed(2, ms(0), ms(200)));
    assert_all(&total, Outcome::Ok);
    // Whether a close comes before or after the next request is a race; none of them fails.
    assert!(
        total.connections_opened >= total.offered / 3,
        "{}",
        total.connections_opened
    );
}

#[test]
fn what_is_not_idempotent_is_not_retried() {
    let origin = fault::start(OriginFault::ClosesAfter(3)).unwrap();
    let mut plan = plan(origin.address());
    plan.request.method = "POST".to_owned();
    let total = run(plan, closed(2, ms(0), ms(200)));
    assert_eq!(total.retries, 0);
    let ended = total.outcomes.get(Outcome::Ok) + total.outcomes.get(Outcome::Reset);
    assert_eq!(ended, total.offered);
}

#[test]
fn a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("origin.sock");
    let _origin = fault::start_unix(OriginFault::None, &path).unwrap();
    let mut plan = plan(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    plan.target.addresses.clear();
    plan.target.unix_socket = Some(path);
    assert_all(&run(plan, even(100.0, ms(200))), Outcome::Ok);
}

#[test]
fn a_unix_socket_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    plan.target.unix_socket = Some(folder.path().join("nobody.sock"));
    assert_all(&run(plan, even(100.0, ms(100))), Outcome::ConnectRefused);
}

fn unix_socket() -> OwnedFd {
    let flags = SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
}

#[test]
fn a_full_unix_backlog_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("origin.sock");
    let address = SocketAddrUnix::new(&path).unwrap();
    let listener = unix_socket();
    rustix::net::bind(&listener, &address).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let fillers: Vec<OwnedFd> = std::iter::repeat_with(unix_socket)
        .take_while(|socket| rustix::net::connect(socket, &address).is_ok())
        .collect();
    assert!(!fillers.is_empty());
    let mut plan = plan(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
    plan.target.unix_socket = Some(path);
    plan.transport.timeout = ms(100);
    assert_all(&run(plan, even(100.0, ms(100))), Outcome::Dropped);
}

#[test]
fn ipv6() {
    let origin = KnownLaw::start_at(KnownLawPlan::default(), "[::1]:0".parse().unwrap()).unwrap();
    assert_all(
        &run(plan(origin.address()), even(100.0, ms(100))),
        Outcome::Ok,
    );
}

#[test]
fn several_addresses_in_turn() {
    let origins: Vec<_> = (0..3)
        .map(|_| fault::start(OriginFault::None).unwrap())
        .collect();
    let mut plan = plan(origins[0].address());
    plan.target.addresses = origins.iter().map(fault::FaultOrigin::address).collect();
    plan.transport.requests_per_connection = 1;
    assert_all(&run(plan, even(100.0, ms(300))), Outcome::Ok);
    let served: Vec<u64> = origins.iter().map(fault::FaultOrigin::requests).collect();
    assert_eq!(served, [10, 10, 10]);
}

#[test]
fn several_sources_in_turn() {
    let origin = fault::start(OriginFault::None).unwrap();
    let mut plan = plan(origin.address());
    // All of 127.0.0.0/8 is local.
    plan.transport.sources = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
    plan.transport.requests_per_connection = 1;
    assert_all(&run(plan, even(100.0, ms(200))), Outcome::Ok);
}

/// Responds to one request when its head and `body_len` bytes of body have arrived.
fn take_a_body(listener: &TcpListener, body_len: usize) -> std::io::Result<Vec<u8>> {
    let (mut stream, _) = listener.accept()?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let mut body = vec![0; body_len];
    stream.read_exact(&mut body)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    Ok(body)
}

#[test]
fn a_body_larger_than_the_sockets_buffers_is_sent_whole() {
    let body: Vec<u8> = (0..20_000_000_u32)
        .map(|number| number.to_le_bytes()[number as usize % 3])
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = plan(listener.local_addr().unwrap());
    plan.request.method = "POST".to_owned();
    plan.request.body.clone_from(&body);
    let body_len = body.len();
    let server = std::thread::spawn(move || take_a_body(&listener, body_len));
    let total = run(plan, even(10.0, ms(100)));
    assert_all(&total, Outcome::Ok);
    assert!(total.bytes_out > body_len as u64);
    assert!(
        server.join().unwrap().unwrap() == body,
        "the body arrives as it was"
    );
}

#[test]
fn long_bodies_are_counted_to_the_last_byte() {
    let body_len = 1_000_000;
    let origin = KnownLaw::start(KnownLawPlan {
        body_len,
        ..KnownLawPlan::default()
    })
    .unwrap();
    let mut plan = plan(origin.address());
    plan.transport.connections_max = 1;
    let total = run(plan, even(50.0, ms(200)));
    assert_all(&total, Outcome::Ok);
    let heads = total.bytes_in - 10 * body_len as u64;
    assert!(
        (10 * 20..10 * 500).contains(&heads),
        "{heads} bytes of heads"
    );
    assert_eq!(total.connections_opened, 1, "kept between bodies");
}

#[test]
fn paths_come_in_turn_over_all_loops() {
    let server = plimsoll_load::null_server().unwrap();
    let mut plan = plan(server.address());
    plan.request.paths = (0..10_000)
        .map(|number| format!("/article/{number}"))
        .collect();
    plan.cores = 2;
    assert_all(&run(plan, even(500.0, ms(200))), Outcome::Ok);
}

#[test]
fn two_loops_share_an_open_load() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let mut plan = plan(origin.address());
    plan.cores = 2;
    let all = windows(&mut begin(plan, even(200.0, ms(1100))));
    let total = total(&all);
    assert_eq!(total.offered, 220);
    assert_all(&total, Outcome::Ok);
    // A loop that is late by more than a second counts an arrival in a later one.
    if !stood_still(&total, ms(900)) {
        assert_eq!(all[0].offered, 200);
    }
    assert_eq!(origin.counts().arrived, 220);
}
