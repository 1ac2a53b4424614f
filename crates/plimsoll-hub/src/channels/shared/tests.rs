use proptest::prelude::*;

use super::*;
use crate::channels::{ChannelLimits, Subscriber};
use crate::conflation::{Conflation, Mode};
use crate::pattern::Pattern;
use crate::rules::{ChannelRule, HistoryLimits, Rules};

const NAMES: [&str; 3] = ["plain", "held", "other"];
const EPOCH: u64 = 5_000;
const LOOP: Subscriber<'static> = Subscriber {
    event_loop: 0,
    user: None,
};

fn channels() -> Channels {
    let rule = ChannelRule {
        history: HistoryLimits {
            messages_max: 5,
            bytes_max: 100_000,
            age_ms_max: 1000,
        },
        ..ChannelRule::default()
    };
    let held = ChannelRule {
        pattern: Pattern::new("held"),
        conflation: Some(Conflation {
            interval_ms: 100,
            mode: Mode::Newest,
        }),
        ..rule.clone()
    };
    let limits = ChannelLimits {
        channels_max: 10,
        history_bytes_max: 100_000,
    };
    let mut channels = Channels::new(Rules::new(vec![held], rule), limits, (1, 2), 1, (0, 1));
    channels.begin_anew(
        Position {
            epoch: EPOCH,
            offset: 0,
        },
        1000,
    );
    channels
}

/// A client's knowledge of one channel.
#[derive(Debug)]
struct Knower {
    position: Position,
    /// It has received everything since this offset, in these messages.
    since: u64,
    received: Vec<u64>,
    losses: usize,
}

impl Knower {
    fn receive(&mut self, message: &HubMessage) {
        if message.offset() <= self.position.offset {
            return;
        }
        let value: serde_json::Value = serde_json::from_slice(message.text()).unwrap();
        assert_eq!(value["epoch"], EPOCH);
        assert!(
            value["after"].as_u64().unwrap() <= self.position.offset,
            "{value} is not what comes next for {self:?}"
        );
        self.position = message.position();
        self.received.push(value["data"].as_u64().unwrap());
    }
}

struct HubCluster {
    now_ms: u64,
    /// The channel of each message; its data is its offset.
    log: Vec<usize>,
    hubs: [(Channels, usize); 2],
    at: usize,
    knowers: Vec<Knower>,
}

impl HubCluster {
    fn new() -> Self {
        let mut cluster = Self {
            now_ms: 0,
            log: Vec::new(),
            hubs: [(channels(), 0), (channels(), 0)],
            at: 0,
            knowers: Vec::new(),
        };
        for name in NAMES {
            let subscribed = cluster.hubs[0].0.subscribe(0, name, None, LOOP).unwrap();
            cluster.knowers.push(Knower {
                position: subscribed.position,
                since: 0,
                received: Vec::new(),
                losses: 0,
            });
        }
        cluster
    }

    fn receive(&mut self, hub: usize, published: Published) {
        if let Published::Sent(message, _) = published
            && hub == self.at
        {
            let value: serde_json::Value = serde_json::from_slice(message.text()).unwrap();
            let name = NAMES.iter().position(|name| value["channel"] == *name);
            self.knowers[name.unwrap()].receive(&message);
        }
    }

    fn read(&mut self, hub: usize, count: usize) {
        for _ in 0..count {
            let place = self.hubs[hub].1;
            let Some(&name) = self.log.get(place) else {
                return;
            };
            self.hubs[hub].1 += 1;
            let place = place as u64 + 1;
            let data = place.to_string();
            let taken = self.hubs[hub]
                .0
                .take(self.now_ms, NAMES[name], &data, place);
            self.receive(hub, taken.unwrap());
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
        for hub in 0..2 {
            while let Some(published) = self.hubs[hub].0.tick(self.now_ms) {
                self.receive(hub, published);
            }
        }
    }

    /// The client's hub fails; it continues at the other one.
    fn move_on(&mut self) {
        for name in NAMES {
            let channels = &mut self.hubs[self.at].0;
            let channel = channels.find(name).unwrap();
            channels.leave(self.now_ms, channel, true, LOOP);
        }
        self.at = 1 - self.at;
        for (name, knower) in NAMES.into_iter().zip(&mut self.knowers) {
            let channels = &mut self.hubs[self.at].0;
            let since = Some(knower.position);
            let subscribed = channels.subscribe(self.now_ms, name, since, LOOP).unwrap();
            if subscribed.is_recovered == Some(false) {
                knower.losses += 1;
                knower.since = subscribed.position.offset;
                knower.received.clear();
                knower.position = subscribed.position;
            }
            for message in subscribed.missed {
                knower.receive(&message);
            }
            knower.position.offset = knower.position.offset.max(subscribed.position.offset);
        }
    }

    /// Reads everything; then the client has everything that it was not told it had missed.
    fn settle(&mut self) {
        self.read(0, usize::MAX);
        self.read(1, usize::MAX);
        self.wait(100);
        self.wait(100);
        for (index, knower) in self.knowers.iter().enumerate() {
            let places = self.log.iter().zip(1_u64..);
            let expected: Vec<u64> = places
                .filter(|&(&name, place)| name == index && place > knower.since)
                .map(|(_, place)| place)
                .collect();
            if NAMES[index] == "held" {
                assert_eq!(knower.received.last(), expected.last(), "{knower:?}");
                assert!(knower.received.is_sorted());
            } else {
                assert_eq!(knower.received, expected, "{}", NAMES[index]);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum ClusterStep {
    Publish(usize),
    Read(usize, usize),
    Move,
    Wait(u64),
}

fn step() -> impl Strategy<Value = ClusterStep> {
    prop_oneof![
        6 => (0..NAMES.len()).prop_map(ClusterStep::Publish),
        6 => (0_usize..2, 1_usize..4).prop_map(|(hub, count)| ClusterStep::Read(hub, count)),
        2 => Just(ClusterStep::Move),
        2 => (1_u64..600).prop_map(ClusterStep::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn who_moves_between_hubs_misses_nothing_unless_told(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut world = HubCluster::new();
        for step in steps {
            match step {
                ClusterStep::Publish(name) => world.log.push(name),
                ClusterStep::Read(hub, count) => world.read(hub, count),
                ClusterStep::Move => world.move_on(),
                ClusterStep::Wait(ms) => world.wait(ms),
            }
        }
        world.settle();
    }
}

#[test]
fn a_test_that_is_always_told_of_losses_would_pass() {
    let mut cluster = HubCluster::new();
    for round in 0..30 {
        cluster.log.extend([0, 1, 2]);
        cluster.read(round % 2, 4);
        cluster.wait(50);
        cluster.move_on();
    }
    cluster.settle();
    for knower in &cluster.knowers {
        assert_eq!(knower.losses, 0, "{knower:?}");
    }
    assert_eq!(cluster.knowers[0].received.len(), 30);
    // Five are kept; ten were missed, so they cannot all be recovered.
    cluster.log.extend([0; 10]);
    cluster.read(1 - cluster.at, 10);
    cluster.move_on();
    assert_eq!(cluster.knowers[0].losses, 1);
    assert_eq!(cluster.knowers[2].losses, 0, "others have lost nothing");
}

#[test]
fn what_was_forgotten_with_its_channel_is_not_called_recovered() {
    let mut channels = channels();
    channels.take(0, "plain", "1", 1).unwrap();
    channels.take(0, "other", "2", 2).unwrap();
    assert!(channels.tick(5000).is_none() && channels.is_empty());
    let mut resubscribe = |offset| {
        let since = Position {
            epoch: EPOCH,
            offset,
        };
        let subscription = channels.subscribe(5000, "plain", Some(since), LOOP);
        let subscription = subscription.unwrap();
        channels.leave(5000, subscription.channel, true, LOOP);
        (subscription.is_recovered, subscription.position.offset)
    };
    assert_eq!(resubscribe(0), (Some(false), 2));
    // Nothing follows what it has, here or elsewhere.
    assert_eq!(resubscribe(2), (Some(true), 2));
    assert_eq!(resubscribe(9), (Some(true), 9));
    assert_eq!(resubscribe(1 << 53), (Some(false), 2));
}

#[test]
fn another_order_is_told_to_everybody() {
    let mut channels = channels();
    channels.subscribe(0, "plain", None, LOOP).unwrap();
    channels.take(0, "plain", "1", 1).unwrap();
    channels.take(0, "held", "2", 2).unwrap();
    channels.take(0, "held", "3", 3).unwrap();
    assert!(channels.next_notice().is_none());
    channels.begin_anew(
        Position {
            epoch: EPOCH + 1,
            offset: 0,
        },
        1000,
    );
    assert_eq!(channels.history_bytes(), 0);
    let Some(Published::Sent(notice, 1)) = channels.next_notice() else {
        panic!("the subscribers of `plain` are told");
    };
    assert!(notice.is_notice());
    assert_eq!(
        std::str::from_utf8(notice.text()).unwrap(),
        r#"{"subscribed":"plain","epoch":5001,"offset":0,"recovered":false}"#
    );
    assert!(channels.next_notice().is_none());
    // Held data belonged to the other log.
    assert!(channels.tick(10_000).is_none());
    let Ok(Published::Sent(message, 1)) = channels.take(10_000, "plain", "4", 1) else {
        panic!("the subscription goes on");
    };
    assert_eq!(message.position().epoch, EPOCH + 1);
    assert_eq!(message.offset(), 1);
}

#[test]
fn what_is_examined_is_refused_as_if_it_were_published() {
    let mut channels = channels();
    assert_eq!(channels.examine(0, "plain", "1"), Ok(()));
    assert_eq!(channels.examine(0, "plain", "{"), Err(HubRefusal::NotJson));
    let long = "1".repeat(70_000);
    let refused = channels.examine(0, "plain", &long);
    assert_eq!(refused, Err(HubRefusal::DataTooLong(65_536)));
    assert!(channels.examine(0, "", "1").is_err());
    // Messages of other hubs are taken unchanged, but must be JSON.
    assert!(channels.take(0, "plain", &long, 1).is_ok());
    assert!(channels.take(0, "plain", "{", 2).is_err());
    assert!(channels.is_empty() || channels.len() == 1);
}

#[test]
fn who_knows_more_than_any_hub_can_know_nothing() {
    let position = |offset| Position {
        epoch: EPOCH,
        offset,
    };
    let mut channels = channels();
    channels.take(0, "plain", "1", 1).unwrap();
    for (ahead_max, offset, is_recovered) in [
        // Another hub may have read more.
        (10, 11, true),
        (10, 12, false),
        // This hub alone writes the log.
        (0, 1, true),
        (0, 2, false),
        (0, u64::MAX, false),
    ] {
        channels.begin_anew(position(1), ahead_max);
        let since = Some(position(offset));
        let subscription = channels.subscribe(0, "plain", since, LOOP).unwrap();
        assert_eq!(subscription.is_recovered, Some(is_recovered), "{offset}");
        // Whoever is told of a loss begins with what comes next.
        let expected = if is_recovered { offset } else { 1 };
        assert_eq!(subscription.position, position(expected));
    }
}
