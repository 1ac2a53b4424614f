use super::*;
use crate::channels::{Channels, Limits as ChannelLimits, Published, Subscriber};
use crate::rules::Rules;

/// Takes so many bytes, and keeps them.
struct Pipe {
    room: usize,
    bytes: Vec<u8>,
}

impl Outlet for Pipe {
    fn write(&mut self, _client: ClientId, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
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

fn published(channels: &mut Channels, name: &str, data: &str) -> Arc<Message> {
    match channels.publish(0, name, data) {
        Ok(Published::Sent(message, _)) => message,
        other => panic!("{other:?}"),
    }
}

/// A client subscribed to channels `a` to `d`, that reads nothing, is given three messages of each, and then reads.
fn read_late(slow: Slow) -> (Vec<u64>, Counts, bool) {
    let mut channels = channels();
    let mut audience = Audience::new(Limits {
        waiting_max: 4,
        slow,
        ..Limits::default()
    });
    let client = audience.enter(0, Format::WebSocket);
    let mut pipe = Pipe {
        room: 0,
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
    pipe.room = usize::MAX;
    assert!(audience.flush(client, &mut pipe));
    assert!(!audience.is_waiting(client));
    let text = String::from_utf8_lossy(&pipe.bytes).into_owned();
    let data = text.split(r#""data":"#).skip(1);
    let data = data.map(|rest| rest[..1].parse().unwrap()).collect();
    (data, audience.counts(), is_condemned)
}

#[test]
fn the_slow_are_treated_as_configured() {
    let counts = |delivered, dropped, disconnected| Counts {
        delivered,
        dropped,
        disconnected,
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
    let mut audience = Audience::new(Limits {
        waiting_max: 2,
        ..Limits::default()
    });
    let client = audience.enter(0, Format::WebSocket);
    let mut pipe = Pipe {
        room: 3,
        bytes: Vec::new(),
    };
    for answer in ["one", "two", "three"] {
        audience.say(client, Bytes::from_static(answer.as_bytes()), &mut pipe);
    }
    assert!(audience.take_condemned().is_empty());
    audience.say(client, Bytes::from_static(b"four"), &mut pipe);
    assert_eq!(audience.take_condemned(), [client]);
    pipe.room = 4;
    assert!(!audience.flush(client, &mut pipe));
    pipe.room = 100;
    assert!(audience.flush(client, &mut pipe));
    assert_eq!(pipe.bytes, b"onetwothree");
}

#[test]
fn a_client_has_limits() {
    let mut channels = channels();
    let mut audience = Audience::new(Limits {
        subscriptions_max: 1,
        ..Limits::default()
    });
    let client = audience.enter(0, Format::WebSocket);
    let mut pipe = Pipe {
        room: 0,
        bytes: Vec::new(),
    };
    let first = channels.subscribe(0, "a", None, LOOP).unwrap();
    assert_eq!(audience.subscribe(client, &first, &mut pipe), Ok(()));
    let second = channels.subscribe(0, "b", None, LOOP).unwrap();
    let refused = audience.subscribe(client, &second, &mut pipe);
    assert_eq!(refused, Err(Refusal::TooManySubscriptions));
    let commands = (0..1000)
        .filter(|_| audience.may_command(0, client))
        .count();
    assert_eq!(commands, 100);
    assert!(audience.may_command(200, client));
}
