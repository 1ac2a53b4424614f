//! The schedule against the laws of what it imitates.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;
use proptest::prelude::*;

use super::*;
use crate::conditions::{Bandwidth, Stall};

const MS: u64 = 1_000_000;
const COUNT: u32 = 20_000;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn conditions(round_trip: DurationDistribution) -> LinkConditions {
    LinkConditions {
        round_trip,
        bandwidth: None,
        stall: None,
    }
}

/// Lets bytes enter; when the last of them is due.
fn travel(
    link: &mut LinkSchedule,
    connection: &mut ConnectionSchedule,
    (direction, now_ns, len): (Direction, u64, u64),
) -> u64 {
    link.enter(connection, direction, now_ns, len);
    let mut due_ns = now_ns;
    while let Some(next_ns) = connection.next_ns(direction) {
        due_ns = next_ns;
        let arrived = connection.arrive(direction, due_ns).unwrap();
        assert_eq!(arrived.late_ns, 0);
        connection.deliver(direction, arrived.len);
    }
    due_ns
}

/// Round trips of requests that are answered after a while, s.
fn round_trips(round_trip: DurationDistribution, seed: u64) -> Vec<f64> {
    let mut link = LinkSchedule::new(conditions(round_trip), Seed(seed));
    let mut connection = link.open(0);
    let mut now_ns = 120_000 * MS;
    let mut exchange = |_: u32| {
        let there_ns = travel(
            &mut link,
            &mut connection,
            (Direction::ToTarget, now_ns, 100),
        );
        let back_ns = travel(
            &mut link,
            &mut connection,
            (Direction::FromTarget, there_ns + 30 * MS, 5_000),
        );
        let taken_ns = back_ns - 30 * MS - now_ns;
        now_ns = back_ns + MS;
        taken_ns as f64 / 1e9
    };
    (0..COUNT).map(&mut exchange).collect()
}

fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

fn share_below(sample: &[f64], bound: f64) -> f64 {
    sample.iter().filter(|&&x| x < bound).count() as f64 / sample.len() as f64
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() < tolerance,
        "{found}, not {expected}"
    );
}

#[test]
fn a_request_and_its_response_take_one_round_trip_of_the_distribution() {
    let fixed = round_trips(
        DurationDistribution::Fixed(Duration::from_nanos(80_000_001)),
        1,
    );
    assert!(
        fixed
            .iter()
            .all(|&taken| (taken - 0.080_000_001).abs() < 1e-12)
    );
    // Shares have a standard error below 0.0036, means of 0.17 ms, 0.57 ms and 0.13 ms.
    let uniform = round_trips(DurationDistribution::Uniform(ms(40), ms(120)), 2);
    close(mean(&uniform), 0.08, 0.000_8);
    for (bound, share) in [(0.06, 0.25), (0.08, 0.5), (0.112, 0.9)] {
        close(share_below(&uniform, bound), share, 0.018);
    }
    let exponential = round_trips(DurationDistribution::Exponential(ms(80)), 3);
    close(mean(&exponential), 0.08, 0.003);
    for bound in [0.02, 0.08, 0.24_f64] {
        let share = 1.0 - (-bound / 0.08).exp();
        close(share_below(&exponential, bound), share, 0.018);
    }
    let lognormal = round_trips(DurationDistribution::LogNormal(ms(80), 0.2), 4);
    close(mean(&lognormal), 0.08 * 0.02_f64.exp(), 0.000_8);
    close(share_below(&lognormal, 0.08), 0.5, 0.018);
    close(share_below(&lognormal, 0.08 * 0.2_f64.exp()), 0.841, 0.018);
}

#[test]
fn a_stream_has_the_mean_of_the_distribution_too() {
    let uniform = DurationDistribution::Uniform(ms(40), ms(120));
    let mut link = LinkSchedule::new(conditions(uniform), Seed(5));
    let mut connection = link.open(0);
    // A message every 200 ms, longer than any round trip: each has a draw of its own, and none waits for an earlier one.
    let taken = (1..=u64::from(COUNT)).map(|number| {
        let now_ns = number * 200 * MS;
        let due_ns = travel(
            &mut link,
            &mut connection,
            (Direction::FromTarget, now_ns, 100),
        );
        (due_ns - now_ns) as f64 / 1e9
    });
    let taken: Vec<f64> = taken.collect();
    close(mean(&taken), 0.04, 0.000_4);
    close(share_below(&taken, 0.03), 0.25, 0.018);
}

#[test]
fn a_handshake_takes_a_round_trip() {
    let fixed = DurationDistribution::Fixed(ms(80));
    let mut link = LinkSchedule::new(conditions(fixed), Seed(1));
    let mut connection = link.open(MS);
    assert_eq!(connection.request_arrives_ns(), 41 * MS);
    let room = |connection: &ConnectionSchedule, direction, now_ns| {
        link.room(connection, direction, now_ns, 0)
    };
    let to_target = room(&connection, Direction::ToTarget, 80 * MS);
    assert_eq!(to_target, Room::Until(81 * MS));
    let from_target = room(&connection, Direction::FromTarget, 120 * MS);
    assert_eq!(from_target, Room::Until(121 * MS));
    let open = room(&connection, Direction::FromTarget, 121 * MS);
    assert!(matches!(open, Room::Bytes(_)), "{open:?}");
    assert_eq!(connection.refusal_arrives_ns(41 * MS), 81 * MS);
    // The first request arrives after one and a half, its response after two.
    let there_ns = travel(
        &mut link,
        &mut connection,
        (Direction::ToTarget, 81 * MS, 10),
    );
    let back_ns = travel(
        &mut link,
        &mut connection,
        (Direction::FromTarget, there_ns, 10),
    );
    assert_eq!((there_ns, back_ns), (121 * MS, 161 * MS));
}

#[test]
fn stalls_are_a_share_and_bytes_behind_wait() {
    let share = 0.1;
    let mut link = LinkSchedule::new(
        LinkConditions {
            stall: Some(Stall {
                share,
                lasting: ms(200),
            }),
            ..conditions(DurationDistribution::Fixed(ms(80)))
        },
        Seed(9),
    );
    let mut connection = link.open(0);
    let (mut stalls, mut segments) = (0, 0);
    let mut free_ns = 0;
    for number in 0..u64::from(COUNT) {
        let now_ns = 200 * MS + number * 10 * MS;
        let entered = link.enter(&mut connection, Direction::ToTarget, now_ns, 1_460);
        segments += entered.segments;
        stalls += entered.stalls;
        let alone_ns = now_ns + 40 * MS + 200 * MS * entered.stalls;
        free_ns = alone_ns.max(free_ns);
        let mut due_ns = 0;
        let flow = connection.flow(Direction::ToTarget);
        for next_ns in flow.dues() {
            assert!(next_ns >= due_ns, "it overtakes");
            due_ns = next_ns;
        }
        assert_eq!(due_ns, free_ns);
        if let Some(arrived) = connection.arrive(Direction::ToTarget, now_ns) {
            connection.deliver(Direction::ToTarget, arrived.len);
        }
    }
    assert_eq!(segments, u64::from(COUNT));
    // Five standard errors.
    close(stalls as f64 / segments as f64, share, 0.011);
}

#[test]
fn connections_share_the_bandwidth_and_take_turns() {
    let bandwidth = Bandwidth::new(1.25e6);
    let mut link = LinkSchedule::new(
        LinkConditions {
            bandwidth: Some(bandwidth),
            ..conditions(DurationDistribution::Fixed(ms(40)))
        },
        Seed(3),
    );
    let direction = Direction::FromTarget;
    let mut connections: Vec<ConnectionSchedule> = (0..50).map(|_| link.open(0)).collect();
    let mut carried = [0_u64; 50];
    let (begin_ns, end_ns) = (100 * MS, 10_100 * MS);
    // All of them always have something to send; each is looked at every 0.2 ms.
    for now_ns in (begin_ns..end_ns).step_by(200_000) {
        for (connection, carried) in connections.iter_mut().zip(&mut carried) {
            if let Some(arrived) = connection.arrive(direction, now_ns) {
                *carried += arrived.len;
                connection.deliver(direction, arrived.len);
            }
            if let Room::Bytes(len) = link.room(connection, direction, now_ns, 1 << 20) {
                link.enter(connection, direction, now_ns, len);
            }
            assert!(connection.held(direction) <= link.window + 12 * flow::SEGMENT_PRICE);
        }
    }
    let total: u64 = carried.iter().sum();
    // What is on its way at the end is not carried: the link and its queue hold 80 ms and the last turn.
    let expected = 12.5e6 - 0.1 * 1.25e6;
    close(total as f64, expected, 0.01 * 12.5e6);
    let fair = total as f64 / 50.0;
    for carried in carried {
        close(carried as f64, fair, 0.1 * fair);
    }
}

#[test]
fn what_is_held_is_bounded() {
    let link = LinkSchedule::new(conditions(DurationDistribution::Fixed(ms(80))), Seed(1));
    let fill = |spare: u64| {
        let mut link = LinkSchedule::new(link.conditions, Seed(1));
        let mut connection = link.open(0);
        let mut now_ns = 80 * MS;
        let mut segments = 0_u64;
        while let Room::Bytes(len) = link.room(&connection, Direction::ToTarget, now_ns, spare) {
            // Of a byte each, as a keyboard sends them.
            link.enter(&mut connection, Direction::ToTarget, now_ns, len.min(1));
            now_ns += 10;
            segments += 1;
        }
        (connection.held(Direction::ToTarget), segments)
    };
    let (held, segments) = fill(0);
    assert!(held <= PIECE_LEN, "{held}");
    assert_eq!(segments, held.div_ceil(65));
    let (held, _) = fill(u64::MAX);
    assert!((link.window - 65..=link.window).contains(&held), "{held}");
}

#[test]
fn ends_travel_like_segments() {
    let fixed = DurationDistribution::Fixed(ms(80));
    let mut link = LinkSchedule::new(conditions(fixed), Seed(1));
    let mut connection = link.open(0);
    let direction = Direction::ToTarget;
    link.enter(&mut connection, direction, 100 * MS, 10);
    connection.end(direction, 110 * MS, FlowEnd::Reset);
    assert_eq!(
        link.room(&connection, direction, 110 * MS, u64::MAX),
        Room::Full
    );
    assert_eq!(connection.next_ns(direction), Some(140 * MS));
    connection.arrive(direction, 145 * MS);
    assert_eq!(connection.next_ns(direction), Some(150 * MS));
    assert_eq!(connection.ended(direction, 151 * MS), None, "10 bytes wait");
    connection.deliver(direction, 10);
    assert_eq!(connection.ended(direction, 149 * MS), None);
    assert_eq!(connection.ended(direction, 150 * MS), Some(FlowEnd::Reset));
    assert_eq!(connection.held(direction), 0);
}

/// What enters: whether to the target, how much later than the last, how many bytes.
type Entry = (bool, u64, u64);

/// All arrivals, in order: whether at the target, when, how many bytes.
fn arrivals(seed: u64, entries: &[Entry]) -> Vec<Entry> {
    let mut link = LinkSchedule::new(
        LinkConditions {
            round_trip: DurationDistribution::LogNormal(ms(80), 0.5),
            bandwidth: Some(Bandwidth::new(1e6)),
            stall: Some(Stall {
                share: 0.2,
                lasting: ms(200),
            }),
        },
        Seed(seed),
    );
    let mut connection = link.open(0);
    let mut now_ns = 10_000 * MS;
    for &(is_request, later, len) in entries {
        now_ns += later;
        let direction = if is_request {
            Direction::ToTarget
        } else {
            Direction::FromTarget
        };
        link.enter(&mut connection, direction, now_ns, len);
    }
    let mut all = Vec::new();
    for direction in Direction::ALL {
        while let Some(due_ns) = connection.next_ns(direction) {
            let arrived = connection.arrive(direction, due_ns).unwrap();
            connection.deliver(direction, arrived.len);
            all.push((direction == Direction::ToTarget, due_ns, arrived.len));
        }
    }
    all
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec((any::<bool>(), 0..200 * MS, 1_u64..20_000), 1..60)
}

proptest! {
    #[test]
    fn every_byte_arrives_once_and_in_order(seed in any::<u64>(), entries in entries()) {
        let arrivals = arrivals(seed, &entries);
        for way in [true, false] {
            let sent: u64 = entries.iter().filter(|entry| entry.0 == way).map(|entry| entry.2).sum();
            let mine = arrivals.iter().filter(|arrival| arrival.0 == way);
            let received: u64 = mine.clone().map(|arrival| arrival.2).sum();
            prop_assert_eq!(sent, received);
            prop_assert!(mine.map(|arrival| arrival.1).is_sorted());
        }
    }

    #[test]
    fn a_seed_gives_the_same_result_and_another_another(seed in any::<u64>(), entries in entries()) {
        let first = arrivals(seed, &entries);
        prop_assert_eq!(&first, &arrivals(seed, &entries));
        prop_assert_ne!(&first, &arrivals(seed.wrapping_add(1), &entries));
    }
}
