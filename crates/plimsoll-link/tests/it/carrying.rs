//! What arrives, and when.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use plimsoll_link::conditions::{Bandwidth, LinkConditions, Stall};
use plimsoll_model::distribution::DurationDistribution;

use crate::support::{ROUND_TRIP, conditions, connect, echo, exchange, start};

/// How long something takes.
#[expect(clippy::disallowed_methods, reason = "the delay is what is tested")]
fn timed<T>(what: impl FnOnce() -> T) -> (Duration, T) {
    let begin = Instant::now();
    let done = what();
    (begin.elapsed(), done)
}

/// Sends bytes, ends, and receives until the other end does.
fn send_and_receive(stream: &TcpStream, sent: &[u8]) -> Vec<u8> {
    let mut received = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = stream;
            writer.write_all(sent).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let mut reader = stream;
        reader.read_to_end(&mut received).unwrap();
    });
    received
}

#[test]
fn an_exchange_takes_a_round_trip_and_the_first_one_two() {
    let relay = start(echo(), conditions());
    let (connecting, stream) = timed(|| connect(&relay));
    let (first, ()) = timed(|| exchange(&stream));
    // The handshake began before the client was connected.
    assert!(connecting + first >= ROUND_TRIP * 2, "{first:?}");
    for _ in 0..5 {
        let (taken, ()) = timed(|| exchange(&stream));
        assert!(taken >= ROUND_TRIP, "{taken:?}");
    }
    drop(stream);
    let totals = relay.stop().unwrap();
    let link = &totals.links[0];
    assert_eq!(link.connections, 1);
    assert_eq!((link.to_target.len, link.to_target.segments), (24, 6));
    assert_eq!(link.from_target.len, 24);
    assert_eq!((link.unreachable, link.reset), (0, 0));
    assert!(totals.lasting >= ROUND_TRIP * 7, "{totals:?}");
    let late_us = link.to_target.late_us.quantile(0.5).unwrap();
    if late_us > 1_000 {
        plimsoll_testkit::not_tried::disturbed(format_args!("the link was {late_us} µs late"));
    }
}

#[test]
fn everything_arrives_in_order_and_so_does_the_end() {
    let relay = start(echo(), conditions());
    let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let received = send_and_receive(&connect(&relay), &sent);
    assert!(
        received == sent,
        "{} of {} bytes",
        received.len(),
        sent.len()
    );
    let totals = relay.stop().unwrap();
    let link = &totals.links[0];
    assert_eq!(link.to_target.len, sent.len() as u64);
    assert_eq!(link.from_target.len, sent.len() as u64);
    assert_eq!((link.open, link.reset), (0, 0));
}

#[test]
fn connections_share_a_bandwidth() {
    let bandwidth = Bandwidth::new(1e6);
    let narrow = LinkConditions {
        bandwidth: Some(bandwidth),
        ..conditions()
    };
    let relay = start(echo(), narrow);
    let sent = vec![7; 100_000];
    let sent = sent.as_slice();
    let streams: Vec<TcpStream> = (0..4).map(|_| connect(&relay)).collect();
    let (taken, ()) = timed(|| {
        std::thread::scope(|scope| {
            for stream in &streams {
                scope.spawn(move || assert!(send_and_receive(stream, sent) == sent));
            }
        });
    });
    // 400 kB at 1 MB/s without the burst, in each direction, beside each other; and the way.
    let least = (400_000 - bandwidth.burst_len()) as f64 / 1e6;
    assert!(taken.as_secs_f64() >= least, "{taken:?}");
}

#[test]
fn stalls_are_waited_for_and_nothing_is_lost() {
    let stall = Stall {
        share: 1.0,
        lasting: Duration::from_millis(50),
    };
    let stalling = LinkConditions {
        round_trip: DurationDistribution::Fixed(Duration::ZERO),
        stall: Some(stall),
        bandwidth: None,
    };
    let relay = start(echo(), stalling);
    let stream = connect(&relay);
    let (taken, ()) = timed(|| exchange(&stream));
    assert!(taken >= Duration::from_millis(100), "{taken:?}");
    let sent = vec![7; 50_000];
    assert!(send_and_receive(&stream, &sent) == sent);
    let totals = relay.stop().unwrap();
    let link = &totals.links[0];
    assert_eq!(link.to_target.stalls, link.to_target.segments);
    assert!(link.from_target.stalls > 0, "{link:?}");
}
