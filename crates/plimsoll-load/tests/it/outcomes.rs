//! Each outcome of a request, forced by an origin with that behaviour.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use plimsoll_model::outcome::Outcome;
use plimsoll_model::window::Window;
use plimsoll_testkit::origin::fault::{self, BODY_LEN, OriginFault};

use crate::trial::{
    assert_all, assert_all_within, begin, check_windows, closed, even, ms, plan, run, stood_still,
    total, windows_until,
};

/// Runs 20 requests against a fault; all end as `outcome`.
fn check(fault: OriginFault, outcome: Outcome) -> Window {
    let origin = fault::start(fault).unwrap();
    let total = run(plan(origin.address()), even(100.0, ms(200)));
    assert_eq!(total.offered, 20);
    assert_all(&total, outcome);
    total
}

#[test]
fn good_answers() {
    let total = check(OriginFault::None, Outcome::Ok);
    assert_eq!(total.status.iter().collect::<Vec<_>>(), [(&200, &20)]);
    assert!(total.bytes_in > 20 * BODY_LEN as u64);
    assert!(total.bytes_out > 20 * "GET / HTTP/1.1\r\n\r\n".len() as u64);
    assert_eq!(total.sent, 20);
    assert_eq!(total.lag.count(), 20);
}

#[test]
fn wrong_status() {
    let total = check(OriginFault::Status(503), Outcome::WrongStatus);
    assert_eq!(total.status.iter().collect::<Vec<_>>(), [(&503, &20)]);
    assert_eq!(total.failed.count(), 20);
}

#[test]
fn a_status_that_counts_as_good() {
    let origin = fault::start(OriginFault::Status(404)).unwrap();
    let mut plan = plan(origin.address());
    plan.good.ranges = vec![(404, 404)];
    assert_all(&run(plan, even(100.0, ms(100))), Outcome::Ok);
}

#[test]
fn statuses_are_counted_one_by_one() {
    let origin = fault::start(OriginFault::Alternating(vec![200, 503, 404, 200])).unwrap();
    let total = run(plan(origin.address()), even(100.0, ms(200)));
    assert_eq!(
        total.status.iter().collect::<Vec<_>>(),
        [(&200, &10), (&404, &5), (&503, &5)]
    );
    assert_eq!(total.outcomes.get(Outcome::Ok), 10);
}

#[test]
fn no_content_has_no_body() {
    check(OriginFault::Status(204), Outcome::Ok);
}

#[test]
fn refused() {
    let total = check(OriginFault::Refuses, Outcome::ConnectRefused);
    assert_eq!(total.connections_opened, 0);
    assert_eq!(total.sent, 0);
}

#[test]
fn closed_at_once_or_reset() {
    check(OriginFault::ClosesAtOnce, Outcome::Reset);
    check(OriginFault::Resets, Outcome::Reset);
}

#[test]
fn not_http() {
    check(OriginFault::Garbage, Outcome::Protocol);
}

#[test]
fn many_headers_are_read_up_to_the_limit() {
    for count in [100, 150, 300, 990] {
        check(OriginFault::Headers(count), Outcome::Ok);
    }
    check(OriginFault::Headers(1001), Outcome::TooManyHeaders);
    let origin = fault::start(OriginFault::Headers(300)).unwrap();
    let with = |change: &dyn Fn(&mut plimsoll_model::plan::Transport)| {
        let mut plan = plan(origin.address());
        change(&mut plan.transport);
        run(plan, even(100.0, ms(100)))
    };
    assert_all(&with(&|all| all.headers_max = 200), Outcome::TooManyHeaders);
    assert_all(&with(&|all| all.head_len_max = 2000), Outcome::HeadTooLong);
    assert_all(&with(&|all| all.head_len_max = 20_000), Outcome::Ok);
    let origin = fault::start(OriginFault::Headers(5000)).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.headers_max = 6000;
    assert_all(&run(plan, even(50.0, ms(100))), Outcome::Ok);
}

#[test]
fn cut_in_the_body() {
    check(OriginFault::ClosesInBody, Outcome::BodyCut);
}

#[test]
fn bodies_of_every_framing() {
    check(OriginFault::Chunked(7), Outcome::Ok);
    let total = check(OriginFault::Http10Close, Outcome::Ok);
    assert_eq!(total.connections_opened, 20);
}

#[test]
fn a_body_beyond_its_limit() {
    let origin = fault::start(OriginFault::Chunked(100)).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.body_len_max = BODY_LEN as u64 - 1;
    assert_all(&run(plan, even(100.0, ms(100))), Outcome::Protocol);
}

#[test]
fn codings_are_counted() {
    assert_eq!(check(OriginFault::Gzip, Outcome::Ok).gzip, 20);
    assert_eq!(check(OriginFault::Brotli, Outcome::Ok).brotli, 20);
}

#[test]
fn never_answered() {
    let origin = fault::start(OriginFault::NeverAnswers).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.timeout = ms(150);
    let total = run(plan, even(100.0, ms(200)));
    assert_all_within(&total, ms(150), Outcome::Timeout);
    let shortest = total.failed.buckets()[0].0;
    assert!(
        shortest >= 150_000,
        "given up {shortest} µs after being due"
    );
}

#[test]
fn a_body_that_takes_too_long() {
    let origin = fault::start(OriginFault::SlowBody(ms(20))).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.timeout = ms(150);
    let total = run(plan, even(50.0, ms(200)));
    assert_all_within(&total, ms(150), Outcome::Timeout);
}

#[test]
fn no_connection_in_time() {
    let origin = fault::start(OriginFault::FullBacklog).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.connect_timeout = ms(150);
    let total = run(plan, even(100.0, ms(100)));
    assert_all(&total, Outcome::ConnectTimeout);
    assert_eq!(total.connections_opened, 0);
}

#[test]
fn no_connection_before_the_request_times_out() {
    let origin = fault::start(OriginFault::FullBacklog).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.timeout = ms(150);
    let total = run(plan, even(100.0, ms(100)));
    assert_all_within(&total, ms(150), Outcome::ConnectTimeout);
}

#[test]
fn waited_in_vain_for_a_connection() {
    let origin = fault::start(OriginFault::NeverAnswers).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.timeout = ms(300);
    plan.transport.connections_max = 1;
    // Twenty requests within 20 µs: when the first times out, so do the others, nearly.
    let total = run(plan, even(1e6, Duration::from_micros(20)));
    let tried = total.outcomes.get(Outcome::Timeout) + total.outcomes.get(Outcome::ConnectTimeout);
    let dropped = total.outcomes.get(Outcome::Dropped);
    assert_eq!(tried + dropped, 20, "{:?}", total.outcomes);
    if !stood_still(&total, ms(300)) {
        assert!(tried >= 1 && dropped >= 10, "{:?}", total.outcomes);
    }
}

#[test]
fn an_address_that_is_not_ours_has_no_port() {
    let origin = fault::start(OriginFault::None).unwrap();
    let mut plan = plan(origin.address());
    // TEST-NET-1: no interface has it, so binding to it fails as it does without a free port.
    plan.transport.sources = vec![Ipv4Addr::new(192, 0, 2, 1).into()];
    let total = run(plan, even(100.0, ms(100)));
    assert_all(&total, Outcome::Dropped);
    assert_eq!(total.generator.ports_exhausted, 10);
}

#[test]
fn unfinished_at_an_abort() {
    let origin = fault::start(OriginFault::NeverAnswers).unwrap();
    let mut plan = plan(origin.address());
    plan.transport.timeout = ms(60_000);
    let mut running = begin(plan, closed(4, ms(0), ms(60_000)));
    let first = windows_until(&mut running, |total| total.offered == 4);
    assert_eq!(first.last().unwrap().in_flight, 4);
    running.abort();
    let rest: Vec<_> = std::iter::from_fn(|| running.next_window()).collect();
    let timeouts: u64 = rest
        .iter()
        .map(|window| window.outcomes.get(Outcome::Timeout))
        .sum();
    assert_eq!(timeouts, 4);
    // A drain would take ten seconds.
    assert!(
        rest.len() < 10,
        "an abort does not drain: {} more seconds",
        rest.len()
    );
}

/// Reads a request on each of four connections, reports them, and responds when it is told to.
fn answer_four(
    listener: &TcpListener,
    arrived: &SyncSender<()>,
    go: &Receiver<()>,
) -> io::Result<()> {
    let mut sockets = Vec::new();
    for _ in 0..4 {
        let (mut socket, _) = listener.accept()?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte)?;
            head.extend(byte);
        }
        sockets.push(socket);
    }
    // The test has failed if it no longer listens.
    let _ = arrived.send(());
    let _ = go.recv();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    sockets
        .iter_mut()
        .try_for_each(|socket: &mut TcpStream| socket.write_all(answer))?;
    // Until the client closes: no other request comes.
    for mut socket in sockets {
        assert_eq!(socket.read(&mut [0]).unwrap_or(0), 0);
    }
    Ok(())
}

#[test]
fn a_stop_drains() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut plan = plan(listener.local_addr().unwrap());
    plan.transport.timeout = ms(60_000);
    let (arrived, all_arrived) = sync_channel(1);
    let (send_go, go) = sync_channel(1);
    let server = std::thread::spawn(move || answer_four(&listener, &arrived, &go));
    #[expect(clippy::disallowed_methods, reason = "the load starts now")]
    let start = Instant::now();
    let mut running = begin(plan, closed(4, ms(0), ms(60_000)));
    all_arrived.recv_timeout(ms(60_000)).unwrap();
    running.stop();
    // The loop obeys after it has handed over the last second before the stop, and before it reads an answer.
    let stopped = start.elapsed().as_secs();
    let mut all = Vec::new();
    while all
        .last()
        .is_none_or(|window: &Window| u64::from(window.second) < stopped)
    {
        all.push(running.next_window().unwrap());
    }
    send_go.send(()).unwrap();
    all.extend(std::iter::from_fn(|| running.next_window()));
    let total = total(&check_windows(all));
    // Open requests complete, and no other begins.
    assert_all(&total, Outcome::Ok);
    assert_eq!(total.offered, 4);
    server.join().unwrap().unwrap();
}
