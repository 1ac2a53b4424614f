use crate::channels::{ChannelLimits, Position, Subscriber};
use crate::conflation::{Conflation, Mode};
use crate::rules::{ChannelRule, Rules};

use super::*;

const INTERVAL_MS: u64 = 100;
const PATIENCE_MS: u64 = 40;

fn channels() -> Channels {
    let rule = ChannelRule {
        conflation: Some(Conflation {
            interval_ms: INTERVAL_MS,
            mode: Mode::Aggregate {
                patience_ms: PATIENCE_MS,
            },
        }),
        data_len_max: 20,
        ..ChannelRule::default()
    };
    let limits = ChannelLimits {
        channels_max: 10,
        history_bytes_max: 1 << 20,
    };
    Channels::new(Rules::new(Vec::new(), rule), limits, (1, 2), 1000, (0, 1))
}

fn hold(channels: &mut Channels, now_ms: u64, data: &str) {
    let published = channels.publish(now_ms, "a", data);
    assert!(matches!(published, Ok(Published::Held)), "{published:?}");
}

/// The aggregation that is requested at a time.
#[track_caller]
fn gathered(channels: &mut Channels, now_ms: u64) -> Gathered {
    match channels.tick(now_ms) {
        Some(Published::Gathered(gathered)) => *gathered,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn sent(published: Option<Published>) -> String {
    match published {
        Some(Published::Sent(message, _)) => {
            let value: serde_json::Value = serde_json::from_slice(message.text()).unwrap();
            format!("{} {}", value["offset"], value["data"])
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_made_of_an_interval_goes_out() {
    let mut channels = channels();
    hold(&mut channels, 5, "1");
    assert_eq!(channels.next_due(), Some(5));
    let first = gathered(&mut channels, 5);
    assert_eq!((first.name.as_str(), first.items.as_str()), ("a", "[1]"));
    for data in ["2", "{\"b\": 3}"] {
        hold(&mut channels, 6, data);
    }
    // While the result is pending, nothing is requested or sent.
    assert!(channels.tick(10).is_none());
    let message = channels.release(10, &first, Made::Message(" \"one\" "), None);
    assert_eq!(sent(message), "1 \"one\"");
    assert!(
        channels.release(11, &first, Made::Failed, None).is_none(),
        "twice"
    );
    assert!(channels.tick(104).is_none(), "the interval is not over");
    let second = gathered(&mut channels, 105);
    assert_eq!(second.items, "[2,{\"b\": 3}]");
    assert!(
        channels
            .release(106, &second, Made::Nothing, None)
            .is_none()
    );
    hold(&mut channels, 107, "4");
    let third = gathered(&mut channels, 205);
    assert_eq!(
        sent(channels.release(206, &third, Made::Failed, None)),
        "2 4"
    );
    // An invalid result counts as a failure.
    for (now, made) in [(306, "{"), (407, "\"longer than may be sent\"")] {
        hold(&mut channels, now, "5");
        hold(&mut channels, now, "6");
        let gathered = gathered(&mut channels, now);
        let message = channels.release(now, &gathered, Made::Message(made), None);
        assert!(sent(message).ends_with(" 6"));
    }
}

#[test]
fn who_never_answers_is_not_waited_for() {
    let mut channels = channels();
    hold(&mut channels, 0, "1");
    let late = gathered(&mut channels, 0);
    hold(&mut channels, 1, "2");
    let until = PATIENCE_MS;
    assert!(channels.tick(until - 1).is_none());
    assert_eq!(sent(channels.tick(until)), "1 1");
    assert!(
        channels
            .release(until, &late, Made::Message("3"), None)
            .is_none()
    );
    let next = gathered(&mut channels, INTERVAL_MS);
    assert_eq!(next.items, "[2]");
    // A channel without subscribers lives until its aggregation completes, and then until its history expires.
    assert_eq!(channels.len(), 1);
    assert_eq!(
        sent(channels.release(INTERVAL_MS, &next, Made::Message("4"), None)),
        "2 4"
    );
    while channels.tick(1_000_000).is_some() {}
    assert!(channels.is_empty());
}

#[test]
fn a_flood_is_refused_and_not_forgotten() {
    let mut channels = channels();
    let mut count = 0;
    while matches!(channels.publish(0, "a", "1"), Ok(Published::Held)) {
        count += 1;
    }
    assert_eq!(count, 10_000);
    let refused = channels.publish(0, "a", "2").unwrap_err();
    assert_eq!(refused, crate::HubRefusal::Behind);
    let all = gathered(&mut channels, 0);
    assert_eq!(all.items.matches('1').count(), count);
    hold(&mut channels, 0, "2");
}

#[test]
fn who_comes_meanwhile_gets_what_was_waited_for_where_hubs_share() {
    let mut channels = channels();
    channels.begin_anew(
        Position {
            epoch: 7,
            offset: 0,
        },
        1000,
    );
    for (at, data) in [(1, "1"), (2, "2")] {
        channels.take(0, "a", data, at).unwrap();
    }
    let first = gathered(&mut channels, 0);
    let subscriber = Subscriber {
        event_loop: 0,
        user: None,
    };
    let subscription = channels.subscribe(0, "a", None, subscriber).unwrap();
    assert_eq!(subscription.position.offset, 0);
    let Some(Published::Sent(message, _)) = channels.release(1, &first, Made::Failed, None) else {
        panic!("it goes out");
    };
    assert_eq!(message.offset(), 2);
    // A result for another shared log has no effect.
    channels.take(100, "a", "3", 3).unwrap();
    let gathered = gathered(&mut channels, 100);
    channels.begin_anew(
        Position {
            epoch: 8,
            offset: 0,
        },
        1000,
    );
    assert!(
        channels
            .release(101, &gathered, Made::Failed, None)
            .is_none()
    );
}
