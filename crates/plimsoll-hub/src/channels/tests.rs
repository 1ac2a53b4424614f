use super::*;
use crate::conflation::{Conflation, Mode};
use crate::pattern::Pattern;
use crate::rate::Rate;
use crate::rules::HistoryLimits;

fn with(rule: ChannelRule, limits: ChannelLimits) -> Channels {
    Channels::new(Rules::new(Vec::new(), rule), limits, (1, 2), 1000, (0, 1))
}

const ROOMY: ChannelLimits = ChannelLimits {
    channels_max: 100,
    history_bytes_max: 1 << 20,
};

const LOOP: Subscriber<'static> = Subscriber {
    event_loop: 3,
    user: Some("eve"),
};

fn text(published: Result<Published, HubRefusal>) -> String {
    match published {
        Ok(Published::Sent(message, loops)) => {
            let value: serde_json::Value = serde_json::from_slice(message.text()).unwrap();
            format!("{} {} {loops}", value["offset"], value["data"])
        }
        Ok(Published::Held) => "held".to_owned(),
        Ok(Published::Unheard) => "unheard".to_owned(),
        Ok(Published::Gathered(gathered)) => format!("{} {}", gathered.name, gathered.items),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn messages_are_numbered_and_go_where_somebody_listens() {
    let mut channels = with(ChannelRule::default(), ROOMY);
    assert_eq!(
        text(channels.publish(0, "a", " {\"x\": 1} ")),
        "1 {\"x\":1} 0"
    );
    let subscription = channels.subscribe(0, "a", None, LOOP).unwrap();
    assert_eq!(subscription.position.offset, 1);
    assert!(subscription.missed.is_empty() && subscription.is_recovered.is_none());
    assert_eq!(text(channels.publish(0, "a", "2")), "2 2 8");
    channels.leave(0, subscription.channel, true, LOOP);
    assert_eq!(text(channels.publish(0, "a", "3")), "3 3 0");
    for bad in ["", "{", "1 2", "nul", "\u{1}"] {
        assert_eq!(
            text(channels.publish(0, "a", bad)),
            "the data is not JSON",
            "{bad}"
        );
    }
}

#[test]
fn nobody_and_no_history_means_no_channel() {
    let rule = ChannelRule {
        history: HistoryLimits {
            messages_max: 0,
            bytes_max: 0,
            age_ms_max: 0,
        },
        ..ChannelRule::default()
    };
    let mut channels = with(rule, ROOMY);
    assert_eq!(text(channels.publish(0, "a", "1")), "unheard");
    assert!(channels.is_empty());
}

#[test]
fn a_channel_ends_with_its_history_and_never_returns() {
    let mut channels = with(ChannelRule::default(), ROOMY);
    text(channels.publish(0, "a", "1"));
    let first = channels.find("a").unwrap();
    assert_eq!(channels.next_due(), Some(60_000));
    text(channels.publish(30_000, "a", "2"));
    assert!(channels.tick(60_000).is_none() && channels.len() == 1);
    assert_eq!(channels.next_due(), Some(90_000));
    assert!(channels.tick(90_000).is_none() && channels.is_empty());
    text(channels.publish(90_000, "a", "3"));
    let second = channels.find("a").unwrap();
    assert!(second.epoch() > first.epoch());
    let since = Position {
        epoch: first.epoch(),
        offset: 1,
    };
    let subscription = channels.subscribe(90_000, "a", Some(since), LOOP).unwrap();
    assert_eq!(subscription.is_recovered, Some(false));
}

#[test]
fn what_comes_too_soon_is_held() {
    let rule = ChannelRule {
        conflation: Some(Conflation {
            interval_ms: 100,
            mode: Mode::Newest,
        }),
        ..ChannelRule::default()
    };
    let mut channels = with(rule, ROOMY);
    let mut outcomes = Vec::new();
    for at in 0..25 {
        let now = at * 10;
        while let Some(published) = channels.tick(now) {
            outcomes.push((now, text(Ok(published))));
        }
        if let published @ Ok(Published::Sent(..)) = channels.publish(now, "a", &at.to_string()) {
            outcomes.push((now, text(published)));
        }
    }
    let expected = [(0, "1 0 0"), (100, "2 9 0"), (200, "3 19 0")];
    assert_eq!(outcomes, expected.map(|(at, text)| (at, text.to_owned())));
    // The last one is kept.
    assert_eq!(text(Ok(channels.tick(300).unwrap())), "4 24 0");
    assert!(channels.tick(300).is_none());
}

#[test]
fn histories_share_a_budget() {
    let limits = ChannelLimits {
        channels_max: 100,
        history_bytes_max: 3000,
    };
    let mut channels = with(ChannelRule::default(), limits);
    for n in 0..200 {
        text(channels.publish(0, ["a", "b", "c"][n % 3], &format!("\"{}\"", "x".repeat(n))));
        assert!(channels.history_bytes() <= 3000);
    }
    // A message that does not fit cannot be recovered.
    let long = format!("\"{}\"", "x".repeat(5000));
    text(channels.publish(0, "a", &long));
    let channel = channels.find("a").unwrap();
    let since = Position {
        epoch: channel.epoch(),
        offset: 1,
    };
    let subscription = channels.subscribe(0, "a", Some(since), LOOP).unwrap();
    assert_eq!(
        (subscription.is_recovered, subscription.missed.len()),
        (Some(false), 0)
    );
}

#[test]
fn limits_are_kept() {
    let rule = ChannelRule {
        subscribers_max: 1,
        data_len_max: 10,
        publish_rate: Some(Rate {
            per_second: 1.0,
            burst: 2.0,
        }),
        has_presence: true,
        replayed: 1,
        pattern: Pattern::new("*"),
        ..ChannelRule::default()
    };
    let limits = ChannelLimits {
        channels_max: 2,
        ..ROOMY
    };
    let mut channels = with(rule, limits);
    let subscription = channels.subscribe(0, "a", None, LOOP).unwrap();
    assert_eq!(
        channels.subscribe(0, "a", None, LOOP).unwrap_err(),
        HubRefusal::TooManySubscribers
    );
    assert_eq!(
        text(channels.publish(0, "a", "\"0123456789\"")),
        "the data is longer than 10 bytes"
    );
    let outcomes: Vec<_> = (0..3)
        .map(|_| text(channels.publish(0, "a", "1")))
        .collect();
    assert_eq!(
        outcomes,
        [
            "1 1 8",
            "2 1 8",
            "publish rate limit of the channel exceeded"
        ]
    );
    assert_eq!(text(channels.publish(1000, "a", "1")), "3 1 8");
    assert_eq!(text(channels.publish(0, "b", "1")), "1 1 0");
    assert_eq!(
        text(channels.publish(0, "c", "1")),
        "the hub's limit of channels is reached"
    );
    assert_eq!(
        channels.subscribe(0, "c", None, LOOP).unwrap_err(),
        HubRefusal::TooManyChannels
    );
    let present: Vec<_> = channels.present(subscription.channel).collect();
    assert_eq!(present, [("eve", 1)]);
    assert_eq!(channels.subscribers(subscription.channel), 1);
    channels.leave(0, subscription.channel, true, LOOP);
    assert_eq!(channels.present(subscription.channel).count(), 0);
    let again = channels.subscribe(0, "a", None, LOOP).unwrap();
    assert_eq!(again.missed.len(), 1);
}

#[test]
fn the_largest_channels_are_seen() {
    let mut channels = with(ChannelRule::default(), ROOMY);
    assert!(channels.largest(3).is_empty());
    for (name, subscribers) in [("a", 1), ("b", 5), ("c", 0), ("d", 3), ("e", 2)] {
        for _ in 0..subscribers {
            channels.subscribe(0, name, None, LOOP).unwrap();
        }
        text(channels.publish(0, name, "1"));
        text(channels.publish(0, name, "2"));
    }
    let largest = channels.largest(3);
    let names: Vec<_> = largest
        .iter()
        .map(|channel| channel.name.as_str())
        .collect();
    assert_eq!(names, ["b", "d", "e"]);
    assert_eq!(
        (
            largest[0].subscribers,
            largest[0].messages,
            largest[0].deliveries
        ),
        (5, 2, 10)
    );
    assert!(largest[0].history_bytes > 0);
    assert_eq!(channels.largest(100).len(), 5);
    let rule = ChannelRule {
        has_presence: true,
        ..ChannelRule::default()
    };
    let mut channels = with(rule, ROOMY);
    for user in ["eve", "adam", "eve", "lilith"] {
        let subscriber = Subscriber {
            user: Some(user),
            ..LOOP
        };
        channels.subscribe(0, "a", None, subscriber).unwrap();
    }
    let presence = channels.presence("a", 2);
    let users = vec![("adam".to_owned(), 1), ("eve".to_owned(), 2)];
    assert_eq!(
        (presence.subscribers, presence.users, presence.is_whole),
        (4, Some(users), false)
    );
    assert!(channels.presence("a", 3).is_whole);
}

#[test]
fn other_rules_hold_from_now_on() {
    let mut channels = with(ChannelRule::default(), ROOMY);
    for data in ["1", "2"] {
        text(channels.publish(0, "a", data));
    }
    let first = channels.find("a").unwrap();
    let forgetful = ChannelRule {
        history: HistoryLimits {
            messages_max: 0,
            bytes_max: 0,
            age_ms_max: 0,
        },
        conflation: Some(Conflation {
            interval_ms: 100,
            mode: Mode::Newest,
        }),
        ..ChannelRule::default()
    };
    channels.follow(Rules::new(Vec::new(), forgetful), ROOMY);
    assert_eq!(channels.history_bytes(), 0);
    assert_eq!(text(channels.publish(10, "a", "3")), "3 3 0");
    assert_eq!(text(channels.publish(20, "a", "4")), "held");
    let little = ChannelLimits {
        history_bytes_max: 10,
        ..ROOMY
    };
    channels.follow(Rules::default(), little);
    // Held data is sent all the same, and offsets continue; forgotten messages cannot be recovered.
    assert_eq!(
        text(channels.tick(110).map_or(Ok(Published::Held), Ok)),
        "4 4 0"
    );
    let since = Position {
        epoch: first.epoch(),
        offset: 1,
    };
    let returned = channels.subscribe(200, "a", Some(since), LOOP).unwrap();
    assert_eq!(
        (
            returned.channel,
            returned.position.offset,
            returned.is_recovered
        ),
        (first, 4, Some(false))
    );
}

#[test]
fn who_comes_and_goes_again_and_again_leaves_nothing_due() {
    let mut channels = with(ChannelRule::default(), ROOMY);
    channels.publish(0, "a", "1").unwrap();
    for _ in 0..10_000 {
        let subscription = channels.subscribe(1, "a", None, LOOP).unwrap();
        channels.leave(1, subscription.channel, true, LOOP);
    }
    assert_eq!(channels.due.len(), 1);
    // The channel ends when its history expires, as if it never had subscribers.
    assert!(channels.tick(60_000).is_none());
    assert!(channels.is_empty() && channels.due.is_empty());
    assert_eq!(channels.history_bytes(), 0);
}
