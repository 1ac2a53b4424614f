use proptest::prelude::*;

use super::*;
use crate::channels::{Limits, Subscriber};
use crate::conflation::{Conflation, Mode};
use crate::pattern::Pattern;
use crate::rules::{HistoryLimits, Rule, Rules};

const NAMES: [&str; 3] = ["plain", "held", "other"];
const EPOCH: u64 = 5_000;
const LOOP: Subscriber<'static> = Subscriber {
    event_loop: 0,
    user: None,
};

fn channels() -> Channels {
    let rule = Rule {
        history: HistoryLimits {
            messages_max: 5,
            bytes_max: 100_000,
            age_ms_max: 1000,
        },
        ..Rule::default()
    };
    let held = Rule {
        pattern: Pattern::new("held"),
        conflation: Some(Conflation {
            interval_ms: 100,
            mode: Mode::Newest,
        }),
        ..rule.clone()
    };
    let limits = Limits {
        channels_max: 10,
        history_bytes_max: 100_000,
    };
    let mut channels = Channels::new(Rules::new(vec![held], rule), limits, (1, 2), 1, (0, 1));
    channels.begin_anew(Position {
        epoch: EPOCH,
        offset: 0,
    });
    channels
}

/// What a client knows of one channel.
#[derive(Debug)]
struct Knower {
    position: Position,
    /// It was told everything since this place, in these messages.
    since: u64,
    heard: Vec<u64>,
    losses: usize,
}

impl Knower {
    fn hear(&mut self, message: &Message) {
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
        self.heard.push(value["data"].as_u64().unwrap());
    }
}

struct World {
    now_ms: u64,
    /// Which channel each message is for; its data is its place.
    log: Vec<usize>,
    hubs: [(Channels, usize); 2],
    at: usize,
    knowers: Vec<Knower>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            now_ms: 0,
            log: Vec::new(),
            hubs: [(channels(), 0), (channels(), 0)],
            at: 0,
            knowers: Vec::new(),
        };
        for name in NAMES {
            let subscribed = world.hubs[0].0.subscribe(0, name, None, LOOP).unwrap();
            world.knowers.push(Knower {
                position: subscribed.position,
                since: 0,
                heard: Vec::new(),
                losses: 0,
            });
        }
        world
    }

    fn hear(&mut self, hub: usize, published: Published) {
        if let Published::Sent(message, _) = published
            && hub == self.at
        {
            let value: serde_json::Value = serde_json::from_slice(message.text()).unwrap();
            let name = NAMES.iter().position(|name| value["channel"] == *name);
            self.knowers[name.unwrap()].hear(&message);
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
            self.hear(hub, taken.unwrap());
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
        for hub in 0..2 {
            while let Some(published) = self.hubs[hub].0.tick(self.now_ms) {
                self.hear(hub, published);
            }
        }
    }

    /// The client's hub dies for it; it goes on at the other one.
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
                knower.heard.clear();
                knower.position = subscribed.position;
            }
            for message in subscribed.missed {
                knower.hear(&message);
            }
            knower.position.offset = knower.position.offset.max(subscribed.position.offset);
        }
    }

    /// All is read; then the client knows all that it was not told it had missed.
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
                assert_eq!(knower.heard.last(), expected.last(), "{knower:?}");
                assert!(knower.heard.is_sorted());
            } else {
                assert_eq!(knower.heard, expected, "{}", NAMES[index]);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Publish(usize),
    Read(usize, usize),
    Move,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..NAMES.len()).prop_map(Step::Publish),
        6 => (0_usize..2, 1_usize..4).prop_map(|(hub, count)| Step::Read(hub, count)),
        2 => Just(Step::Move),
        2 => (1_u64..600).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn who_moves_between_hubs_misses_nothing_unless_told(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut world = World::new();
        for step in steps {
            match step {
                Step::Publish(name) => world.log.push(name),
                Step::Read(hub, count) => world.read(hub, count),
                Step::Move => world.move_on(),
                Step::Wait(ms) => world.wait(ms),
            }
        }
        world.settle();
    }
}

#[test]
fn a_test_that_is_always_told_of_losses_would_pass() {
    let mut world = World::new();
    for round in 0..30 {
        world.log.extend([0, 1, 2]);
        world.read(round % 2, 4);
        world.wait(50);
        world.move_on();
    }
    world.settle();
    for knower in &world.knowers {
        assert_eq!(knower.losses, 0, "{knower:?}");
    }
    assert_eq!(world.knowers[0].heard.len(), 30);
    // Five are remembered; of ten missed nobody can be given all.
    world.log.extend([0; 10]);
    world.read(1 - world.at, 10);
    world.move_on();
    assert_eq!(world.knowers[0].losses, 1);
    assert_eq!(world.knowers[2].losses, 0, "others have lost nothing");
}

#[test]
fn what_was_forgotten_with_its_channel_is_not_called_recovered() {
    let mut channels = channels();
    channels.take(0, "plain", "1", 1).unwrap();
    channels.take(0, "other", "2", 2).unwrap();
    assert!(channels.tick(5000).is_none() && channels.is_empty());
    let mut ask = |offset| {
        let since = Position {
            epoch: EPOCH,
            offset,
        };
        let told = channels.subscribe(5000, "plain", Some(since), LOOP);
        let told = told.unwrap();
        channels.leave(5000, told.channel, true, LOOP);
        (told.is_recovered, told.position.offset)
    };
    assert_eq!(ask(0), (Some(false), 2));
    // Nothing comes after what it knows, here or elsewhere.
    assert_eq!(ask(2), (Some(true), 2));
    assert_eq!(ask(9), (Some(true), 9));
    assert_eq!(ask(1 << 53), (Some(false), 2));
}

#[test]
fn another_order_is_told_to_everybody() {
    let mut channels = channels();
    channels.subscribe(0, "plain", None, LOOP).unwrap();
    channels.take(0, "plain", "1", 1).unwrap();
    channels.take(0, "held", "2", 2).unwrap();
    channels.take(0, "held", "3", 3).unwrap();
    assert!(channels.next_notice().is_none());
    channels.begin_anew(Position {
        epoch: EPOCH + 1,
        offset: 0,
    });
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
    // What was held belonged to the other.
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
    assert_eq!(channels.examine(0, "plain", "{"), Err(Refusal::NotJson));
    let long = "1".repeat(70_000);
    let refused = channels.examine(0, "plain", &long);
    assert_eq!(refused, Err(Refusal::DataTooLong(65_536)));
    assert!(channels.examine(0, "", "1").is_err());
    // What others put there is taken as it is, but must be JSON.
    assert!(channels.take(0, "plain", &long, 1).is_ok());
    assert!(channels.take(0, "plain", "{", 2).is_err());
    assert!(channels.is_empty() || channels.len() == 1);
}
