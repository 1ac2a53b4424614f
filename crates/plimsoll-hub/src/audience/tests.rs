mod updates;

use std::sync::Arc;

use plimsoll_wire::websocket::{Event, Role, WebSocketLimits as WireLimits, WebSocketReader};
use proptest::prelude::*;

use super::*;
use crate::channels::{ChannelLimits, Channels, Position, Published, Subscriber};
use crate::message::HubMessage;
use crate::rules::{ChannelRule, Rules};

/// Accepts up to `capacity` bytes, and keeps them.
struct Pipe {
    capacity: usize,
    bytes: Vec<u8>,
}

impl Outlet for Pipe {
    fn write(&mut self, _client: ClientId, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.capacity);
        self.capacity -= taken;
        self.bytes.extend_from_slice(&bytes[..taken]);
        taken
    }
}

const LOOP: Subscriber<'static> = Subscriber {
    event_loop: 0,
    user: None,
};

fn channels() -> Channels {
    let limits = ChannelLimits {
        channels_max: 100,
        history_bytes_max: 1 << 20,
    };
    Channels::new(Rules::default(), limits, (1, 2), 1, (0, 1))
}

fn published(channels: &mut Channels, name: &str, data: &str) -> Arc<HubMessage> {
    match channels.publish(0, name, data) {
        Ok(Published::Sent(message, _)) => message,
        other => panic!("{other:?}"),
    }
}

/// A client subscribed to channels `a` to `d` does not read, receives three messages of each, and then reads.
fn read_late(slow: Slow) -> (Vec<u64>, AudienceCounters, bool) {
    let mut channels = channels();
    let mut audience = Audience::new(AudienceLimits {
        waiting_max: 4,
        slow,
        ..limits_of_tests()
    });
    let client = audience.enter(0, ClientFormat::WebSocket);
    let mut pipe = Pipe {
        capacity: 0,
        bytes: Vec::new(),
    };
    for name in ["a", "b"] {
        let subscription = channels.subscribe(0, name, None, LOOP).unwrap();
        audience
            .subscribe(client, &subscription, &mut pipe)
            .unwrap();
    }
    for data in 0..6 {
        let name = ["a", "b"][data % 2];
        let message = published(&mut channels, name, &data.to_string());
        audience.deliver(&message, &mut pipe);
        assert!(audience.is_waiting(client));
    }
    let is_condemned = audience.take_condemned() == [client];
    pipe.capacity = usize::MAX;
    assert!(audience.flush(client, &mut pipe));
    assert!(!audience.is_waiting(client));
    let text = String::from_utf8_lossy(&pipe.bytes).into_owned();
    let data = text.split(r#""data":"#).skip(1);
    let data = data.map(|rest| rest[..1].parse().unwrap()).collect();
    (data, audience.counts(), is_condemned)
}

#[test]
fn the_slow_are_treated_as_configured() {
    let counts = |delivered, dropped, disconnected| AudienceCounters {
        delivered,
        dropped,
        disconnected,
        ..AudienceCounters::default()
    };
    assert_eq!(
        read_late(Slow::NewestWins),
        (vec![4, 5], counts(2, 4, 0), false)
    );
    assert_eq!(
        read_late(Slow::Drop),
        (vec![0, 1, 2, 3], counts(4, 2, 0), false)
    );
    assert_eq!(
        read_late(Slow::Disconnect),
        (vec![0, 1, 2, 3], counts(4, 2, 1), true)
    );
}

#[test]
fn answers_wait_their_turn_and_end_who_does_not_read_them() {
    let mut audience = Audience::new(AudienceLimits {
        waiting_max: 2,
        ..limits_of_tests()
    });
    let client = audience.enter(0, ClientFormat::WebSocket);
    let mut pipe = Pipe {
        capacity: 3,
        bytes: Vec::new(),
    };
    for answer in ["one", "two", "three"] {
        audience.send(client, Bytes::from_static(answer.as_bytes()), &mut pipe);
    }
    assert!(audience.take_condemned().is_empty());
    audience.send(client, Bytes::from_static(b"four"), &mut pipe);
    assert_eq!(audience.take_condemned(), [client]);
    pipe.capacity = 4;
    assert!(!audience.flush(client, &mut pipe));
    pipe.capacity = 100;
    assert!(audience.flush(client, &mut pipe));
    assert_eq!(pipe.bytes, b"onetwothree");
}

#[test]
fn what_was_missed_is_given_whole_however_slowly_it_is_read() {
    let mut channels = channels();
    for data in 0..50 {
        published(&mut channels, "a", &data.to_string());
    }
    let first = channels.find("a").unwrap();
    for slow in [Slow::NewestWins, Slow::Drop, Slow::Disconnect] {
        for room in [0, 1, 70, 500, usize::MAX] {
            let mut audience = Audience::new(AudienceLimits {
                waiting_max: 2,
                slow,
                ..limits_of_tests()
            });
            let client = audience.enter(0, ClientFormat::WebSocket);
            let mut pipe = Pipe {
                capacity: room,
                bytes: Vec::new(),
            };
            let since = Position {
                epoch: first.epoch(),
                offset: 10,
            };
            let subscription = channels.subscribe(0, "a", Some(since), LOOP).unwrap();
            audience
                .subscribe(client, &subscription, &mut pipe)
                .unwrap();
            audience.send(client, Bytes::from_static(b"\"data\":told}"), &mut pipe);
            pipe.capacity = 5;
            audience.flush(client, &mut pipe);
            pipe.capacity = usize::MAX;
            assert!(audience.flush(client, &mut pipe) && audience.take_condemned().is_empty());
            let text = String::from_utf8_lossy(&pipe.bytes).into_owned();
            let data = text.split(r#""data":"#).skip(1);
            let data: Vec<&str> = data.map(|rest| rest.split('}').next().unwrap()).collect();
            let expected: Vec<String> = (10..50).map(|data| data.to_string()).collect();
            assert_eq!(data[..40], expected, "{slow:?} {room}");
            assert_eq!(data[40..], ["told"]);
            assert_eq!(audience.counts().delivered, 40);
            channels.leave(0, subscription.channel, true, LOOP);
        }
    }
}

#[test]
fn who_is_about_to_go_is_told_so_behind_what_was_begun() {
    let mut channels = channels();
    let mut audience = Audience::new(AudienceLimits {
        waiting_max: 2,
        slow: Slow::Disconnect,
        ..limits_of_tests()
    });
    let client = audience.enter(0, ClientFormat::WebSocket);
    let mut pipe = Pipe {
        capacity: 3,
        bytes: Vec::new(),
    };
    let subscription = channels.subscribe(0, "a", None, LOOP).unwrap();
    audience
        .subscribe(client, &subscription, &mut pipe)
        .unwrap();
    for data in ["1", "2", "3"] {
        let message = published(&mut channels, "a", data);
        audience.deliver(&message, &mut pipe);
    }
    assert_eq!(audience.counts().disconnected, 1);
    let left = audience.retire(client);
    assert_eq!((left.len(), left[0].is_last), (1, true));
    assert!(audience.take_condemned().is_empty() && audience.has_no_channel());
    audience.send(client, Bytes::from_static(b"farewell"), &mut pipe);
    pipe.capacity = usize::MAX;
    assert!(audience.flush(client, &mut pipe));
    let text = String::from_utf8_lossy(&pipe.bytes);
    assert!(text.ends_with(r#""data":1}farewell"#), "{text}");
    assert_eq!(audience.counts().delivered, 1);
}

#[test]
fn a_client_has_limits() {
    let mut channels = channels();
    let mut audience = Audience::new(AudienceLimits {
        subscriptions_max: 1,
        ..limits_of_tests()
    });
    let client = audience.enter(0, ClientFormat::WebSocket);
    let mut pipe = Pipe {
        capacity: 0,
        bytes: Vec::new(),
    };
    let first = channels.subscribe(0, "a", None, LOOP).unwrap();
    assert_eq!(audience.subscribe(client, &first, &mut pipe), Ok(()));
    let second = channels.subscribe(0, "b", None, LOOP).unwrap();
    let refused = audience.subscribe(client, &second, &mut pipe);
    assert_eq!(refused, Err(HubRefusal::TooManySubscriptions));
    let commands = (0..1000)
        .filter(|_| audience.may_command(0, client))
        .count();
    assert_eq!(commands, 100);
    assert!(audience.may_command(200, client));
}

/// The messages that a client reads, as JSON.
fn read_all(mut bytes: Vec<u8>) -> Vec<serde_json::Value> {
    let mut reader = WebSocketReader::new(Role::Client, false);
    let (mut messages, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let (taken, event) = reader
            .next(&mut bytes[at..], &WireLimits::default())
            .unwrap();
        at += taken;
        match event {
            Some(Event::Text(text)) => messages.push(serde_json::from_str(&text).unwrap()),
            other => panic!("{other:?}"),
        }
    }
    messages
}

proptest! {
    /// However slowly a client reads, and whatever is dropped: the base of each patch was received.
    #[test]
    fn who_is_sent_a_patch_has_what_it_is_for(
        rooms in prop::collection::vec(0_usize..300, 1..80),
        slow in prop_oneof![Just(Slow::NewestWins), Just(Slow::Drop)],
    ) {
        let rule = ChannelRule { has_patches: true, ..ChannelRule::default() };
        let limits = ChannelLimits { channels_max: 9, history_bytes_max: 1 << 20 };
        let mut channels = Channels::new(Rules::new(Vec::new(), rule), limits, (1, 2), 1, (0, 1));
        let mut audience = Audience::new(AudienceLimits { waiting_max: 2, slow, ..limits_of_tests() });
        let client = audience.enter(0, ClientFormat::WebSocket);
        audience.take_patches(client, true);
        let mut pipe = Pipe { capacity: 0, bytes: Vec::new() };
        let subscription = channels.subscribe(0, "a", None, LOOP).unwrap();
        audience.subscribe(client, &subscription, &mut pipe).unwrap();
        let mut all = Vec::new();
        for (number, room) in rooms.into_iter().enumerate() {
            let data = serde_json::json!({ "number": number, "half": number / 2, "same": "x".repeat(80) });
            let message = published(&mut channels, "a", &data.to_string());
            all.push(data);
            pipe.capacity = room;
            audience.flush(client, &mut pipe);
            audience.deliver(&message, &mut pipe);
        }
        pipe.capacity = usize::MAX;
        audience.flush(client, &mut pipe);
        let mut known = (0, serde_json::Value::Null);
        for event in read_all(pipe.bytes) {
            let offset = event["offset"].as_u64().unwrap();
            if let Some(patch) = event["patch"].as_object() {
                prop_assert_eq!(known.0 + 1, offset, "it has not what is patched");
                for (key, value) in patch {
                    known.1[key] = value.clone();
                }
            } else {
                known.1 = event["data"].clone();
            }
            known.0 = offset;
            let place = usize::try_from(offset).unwrap() - 1;
            prop_assert_eq!(&known.1, &all[place]);
        }
    }
}

#[test]
fn what_was_missed_waits_for_all_clients_within_one_bound() {
    let mut channels = channels();
    for _ in 0..10 {
        published(&mut channels, "a", &format!("\"{}\"", "x".repeat(1000)));
    }
    let since = Position {
        epoch: 1,
        offset: 0,
    };
    let recover = |channels: &mut Channels| channels.subscribe(0, "a", Some(since), LOOP).unwrap();
    let subscription = recover(&mut channels);
    let len: usize = subscription
        .missed
        .iter()
        .map(|message| message.size())
        .sum();
    let mut audience = Audience::new(AudienceLimits {
        missed_bytes_max: 2 * len,
        ..limits_of_tests()
    });
    let mut pipe = Pipe {
        capacity: 0,
        bytes: Vec::new(),
    };
    let mut clients = Vec::new();
    for _ in 0..2 {
        let subscription = recover(&mut channels);
        assert!(audience.has_capacity_for(&subscription.missed));
        let client = audience.enter(0, ClientFormat::WebSocket);
        audience
            .subscribe(client, &subscription, &mut pipe)
            .unwrap();
        clients.push(client);
    }
    let mut third = recover(&mut channels);
    assert!(!audience.has_capacity_for(&third.missed) && audience.has_capacity_for(&[]));
    third.forgo_missed();
    assert!(third.missed.is_empty() && third.is_recovered == Some(false));
    // One client reads its queue, and one disconnects: each frees capacity for another.
    pipe.capacity = usize::MAX;
    assert!(audience.flush(clients[0], &mut pipe));
    assert_eq!(audience.missed_bytes(), len);
    audience.leave(clients[1]);
    assert_eq!(audience.missed_bytes(), 0);
}
