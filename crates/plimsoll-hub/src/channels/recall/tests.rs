use super::*;
use crate::channels::{ChannelLimits, Published, Since, Subscriber};
use crate::pattern::Pattern;
use crate::rules::{ChannelRule, HistoryLimits, Rules};

const LOOP: Subscriber<'static> = Subscriber {
    event_loop: 0,
    user: None,
};

/// Channels in one order, of which those named `short-…` remember two messages, and `silent` none.
fn channels() -> Channels {
    let rule = |pattern, messages_max| ChannelRule {
        pattern: Pattern::new(pattern),
        history: HistoryLimits {
            messages_max,
            bytes_max: 100_000,
            age_ms_max: 1000,
        },
        ..ChannelRule::default()
    };
    let rules = Rules::new(vec![rule("short-*", 2), rule("silent", 0)], rule("*", 5));
    let limits = ChannelLimits {
        channels_max: 10,
        history_bytes_max: 1 << 20,
    };
    let mut channels = Channels::new(rules, limits, (1, 2), 1, (0, 1));
    let position = Position {
        epoch: 7,
        offset: 0,
    };
    channels.begin_anew(position, 0);
    channels
}

/// Everything that channels with this prefix remember, as the past of `name`.
fn recalled(channels: &mut Channels, now_ms: u64, name: &str, prefix: &str) -> bool {
    let mut remembered = Remembered::default();
    let meant = |name: &str| name.starts_with(prefix);
    channels.remember(now_ms, name, meant, &mut remembered);
    channels.recall(now_ms, name, &remembered)
}

/// The data of what a subscriber of `all` gets, and whether that is everything.
fn read(channels: &mut Channels, now_ms: u64, since: Since) -> (Vec<String>, Option<bool>) {
    let subscription = channels.subscribe_from(now_ms, "all", since, LOOP).unwrap();
    let data = subscription.missed.iter();
    let data = data.map(|message| format!("{}:{}", message.offset(), message.data().unwrap()));
    let read = (data.collect(), subscription.is_recovered);
    channels.leave(now_ms, subscription.channel, true, LOOP);
    read
}

fn after(offset: u64) -> Since {
    Since::After(Position { epoch: 7, offset })
}

#[test]
fn a_template_begins_with_the_past_of_what_it_means() {
    let mut channels = channels();
    for (at, name) in [(1, "a-1"), (2, "b"), (3, "a-2"), (4, "a-1")] {
        channels.take(at, name, &format!("[{at}]"), at).unwrap();
    }
    // An update of two channels is recalled once.
    channels.take_copy(5, "a-1", "[5]", 5).unwrap();
    channels.take_copy(5, "a-2", "[5]", 5).unwrap();
    assert!(recalled(&mut channels, 5, "all", "a-"));
    let all = ["1:[1]", "3:[3]", "4:[4]", "5:[5]"].map(str::to_owned);
    assert_eq!(
        read(&mut channels, 5, Since::Earliest),
        (all.to_vec(), None)
    );
    assert_eq!(
        read(&mut channels, 5, after(2)),
        (all[1..].to_vec(), Some(true))
    );
    assert_eq!(read(&mut channels, 5, after(5)), (Vec::new(), Some(true)));
    // The messages are those of the template, and go on after them.
    let subscription = channels
        .subscribe_from(5, "all", Since::Earliest, LOOP)
        .unwrap();
    let first = &subscription.missed[0];
    assert_eq!(
        first.text(),
        br#"{"channel":"all","offset":1,"epoch":7,"after":0,"data":[1]}"#
    );
    let Ok(Published::Sent(next, 1)) = channels.take(6, "all", "[6]", 6) else {
        panic!("it is sent");
    };
    assert_eq!(
        next.text(),
        br#"{"channel":"all","offset":6,"epoch":7,"after":5,"data":[6]}"#
    );
    // It is bounded as any channel, and expires as what it came from.
    assert_eq!(
        read(&mut channels, 1002, Since::Earliest).0,
        ["3:[3]", "4:[4]", "5:[5]", "6:[6]"]
    );
}

#[test]
fn what_is_not_remembered_is_not_claimed() {
    let mut channels = channels();
    for at in 1..=3 {
        channels.take(at, "short-1", &at.to_string(), at).unwrap();
    }
    channels.take(4, "a", "4", 4).unwrap();
    assert!(recalled(&mut channels, 4, "all", ""));
    assert_eq!(
        read(&mut channels, 4, Since::Earliest).0,
        ["2:2", "3:3", "4:4"]
    );
    assert_eq!(read(&mut channels, 4, after(0)), (Vec::new(), Some(false)));
    assert_eq!(read(&mut channels, 4, after(1)).1, Some(true));
}

#[test]
fn messages_without_history_are_missed() {
    let mut channels = channels();
    channels.take(1, "a", "1", 1).unwrap();
    channels.take(2, "silent", "2", 2).unwrap();
    assert!(recalled(&mut channels, 2, "all", ""));
    assert_eq!(read(&mut channels, 2, after(1)), (Vec::new(), Some(false)));
    assert_eq!(read(&mut channels, 2, after(2)), (Vec::new(), Some(true)));
    assert_eq!(read(&mut channels, 2, Since::Earliest).0, ["1:1"]);
}

#[test]
fn a_template_remembers_as_much_as_its_rule_says() {
    let mut channels = channels();
    for at in 1..=9 {
        let name = format!("a-{}", at % 3);
        channels.take(at, &name, &at.to_string(), at).unwrap();
    }
    assert!(recalled(&mut channels, 9, "all", "a-"));
    let newest = ["5:5", "6:6", "7:7", "8:8", "9:9"].map(str::to_owned);
    assert_eq!(
        read(&mut channels, 9, after(4)),
        (newest.to_vec(), Some(true))
    );
    assert_eq!(read(&mut channels, 9, after(3)).1, Some(false));
    // A channel has its own past, and one that remembers nothing gets none.
    assert!(!recalled(&mut channels, 9, "a-1", "a-"));
    assert!(!recalled(&mut channels, 9, "silent", "a-"));
    let bytes = channels.history_bytes();
    assert!(bytes > 0);
    while channels.tick(5000).is_some() {}
    assert_eq!((channels.len(), channels.history_bytes()), (0, 0));
}
