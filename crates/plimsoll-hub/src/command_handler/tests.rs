mod patches;

use std::sync::Arc;

use plimsoll_wire::websocket::{Event, Role, WebSocketLimits as WireLimits, WebSocketReader};

use super::*;
use crate::audience::{AudienceLimits, limits_of_tests};
use crate::channels::ChannelLimits;
use crate::message::HubMessage;
use crate::pattern::Pattern;
use crate::rules::{ChannelRule, Rules};

/// Accepts everything.
#[derive(Default)]
pub(super) struct Everything(pub(super) Vec<u8>);

impl Outlet for Everything {
    fn write(&mut self, _client: ClientId, bytes: &[u8]) -> usize {
        self.0.extend_from_slice(bytes);
        bytes.len()
    }
}

/// Rights to channels with this prefix.
struct Prefix(&'static str);

impl Rights for Prefix {
    fn may_subscribe(&self, channel: &str) -> bool {
        channel.starts_with(self.0)
    }

    fn may_publish(&self, channel: &str) -> bool {
        channel.starts_with(self.0)
    }

    fn present(&mut self, token: &str) -> Result<(), &'static str> {
        self.0 = match token {
            "a" => "a",
            "b" => "b",
            _ => return Err("the token is not one"),
        };
        Ok(())
    }
}

/// One shard with all channels, and what it sends.
pub(super) struct Shelf {
    channels: Channels,
    sent: Vec<Arc<HubMessage>>,
}

impl Shelf {
    pub(super) fn new(channels: Channels) -> Self {
        Self {
            channels,
            sent: Vec::new(),
        }
    }
}

impl Shards for Shelf {
    fn publish(&mut self, offer: &Offer<'_>) -> Result<OfferOutcome, HubRefusal> {
        if let Published::Sent(message, loops) = offer.publish(&mut self.channels)? {
            assert!(loops <= 1);
            self.sent.push(message);
        }
        Ok(OfferOutcome::Done)
    }

    fn by_name<T>(&mut self, _name: &str, act: impl FnOnce(&mut Channels) -> T) -> T {
        act(&mut self.channels)
    }

    fn by_channel<T>(&mut self, _channel: ChannelRef, act: impl FnOnce(&mut Channels) -> T) -> T {
        act(&mut self.channels)
    }
}

struct HandlerFixture {
    shelf: Shelf,
    audience: Audience,
    speaker: Speaker<'static>,
}

impl HandlerFixture {
    fn new() -> Self {
        let rule = ChannelRule {
            pattern: Pattern::new("chat-*"),
            clients_publish: true,
            ..ChannelRule::default()
        };
        let limits = ChannelLimits {
            channels_max: 100,
            history_bytes_max: 1 << 20,
        };
        let kept = ChannelRule {
            pattern: Pattern::new("kept"),
            has_presence: true,
            ..ChannelRule::default()
        };
        let patched = ChannelRule {
            pattern: Pattern::new("patched"),
            has_patches: true,
            ..ChannelRule::default()
        };
        let rules = Rules::new(vec![rule, kept, patched], ChannelRule::default());
        let mut audience = Audience::new(AudienceLimits {
            subscriptions_max: 3,
            ..limits_of_tests()
        });
        let speaker = Speaker {
            client: audience.enter(0, ClientFormat::WebSocket),
            format: ClientFormat::WebSocket,
            subscriber: Subscriber {
                event_loop: 0,
                user: None,
            },
            now_ms: 0,
        };
        Self {
            shelf: Shelf::new(Channels::new(rules, limits, (1, 2), 7, (0, 1))),
            audience,
            speaker,
        }
    }

    /// Sends a command, delivers the results, and returns what the client reads.
    fn send(&mut self, text: &str) -> Vec<String> {
        self.send_with(&mut OpenAccess, text)
    }

    fn send_with(&mut self, rights: &mut impl Rights, text: &str) -> Vec<String> {
        let mut outlet = Everything::default();
        let mut handler = CommandHandler {
            shards: &mut self.shelf,
            audience: &mut self.audience,
            outlet: &mut outlet,
        };
        handler.take(&self.speaker, rights, text);
        for message in self.shelf.sent.drain(..) {
            self.audience.deliver(&message, &mut outlet);
        }
        read(outlet.0)
    }

    fn is_published(&mut self, name: &str, data: &str) -> Vec<String> {
        let mut outlet = Everything::default();
        if let Ok(Published::Sent(message, _)) = self.shelf.channels.publish(0, name, data) {
            self.audience.deliver(&message, &mut outlet);
        }
        read(outlet.0)
    }
}

fn read(mut bytes: Vec<u8>) -> Vec<String> {
    let mut reader = WebSocketReader::new(Role::Client, false);
    let mut texts = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (taken, event) = reader
            .next(&mut bytes[at..], &WireLimits::default())
            .unwrap();
        at += taken;
        match event {
            Some(Event::Text(text)) => texts.push(text.into_owned()),
            other => panic!("{other:?}"),
        }
    }
    texts
}

#[test]
fn the_stable_surface_holds() {
    let mut fixture = HandlerFixture::new();
    assert!(fixture.send(r#"{"subscribe":["game-1"]}"#).is_empty());
    let message = r#"{"channel":"game-1","offset":1,"epoch":7,"data":{"odds":2}}"#;
    assert_eq!(fixture.is_published("game-1", r#"{"odds":2}"#), [message]);
    assert!(fixture.is_published("game-2", "1").is_empty());
    assert!(fixture.send(r#"{"unsubscribe":["game-1"]}"#).is_empty());
    assert!(fixture.is_published("game-1", "3").is_empty());
    let recover = r#"{"subscribe":[{"channel":"game-1","epoch":7,"offset":1}]}"#;
    let missed = r#"{"channel":"game-1","offset":2,"epoch":7,"data":3}"#;
    assert_eq!(fixture.send(recover), [missed]);
    let stale = r#"{"subscribe":[{"channel":"game-2","epoch":7,"offset":1}]}"#;
    let reply = r#"{"subscribed":"game-2","epoch":8,"offset":1,"recovered":false}"#;
    assert_eq!(fixture.send(stale), [reply]);
}

#[test]
fn who_asks_with_an_id_is_answered() {
    let mut fixture = HandlerFixture::new();
    let reply = r#"{"id":1,"subscribed":"a","epoch":7,"offset":0}"#;
    assert_eq!(fixture.send(r#"{"subscribe":["a"],"id":1}"#), [reply]);
    let refused = r#"{"id":2,"channel":"a","error":"already subscribed to the channel"}"#;
    assert_eq!(fixture.send(r#"{"subscribe":["a"],"id":2}"#), [refused]);
    let channel = fixture.shelf.channels.find("a").unwrap();
    assert_eq!(fixture.shelf.channels.subscribers(channel), 1);
    assert_eq!(
        fixture.send(r#"{"unsubscribe":["a","b"],"id":"x"}"#),
        [r#"{"id":"x","done":true}"#]
    );
    assert_eq!(fixture.shelf.channels.find("a"), None);
    fixture.is_published("a", "1");
    let reply = r#"{"id":3,"subscribed":"a","epoch":8,"offset":1,"recovered":true}"#;
    let recover = r#"{"subscribe":[{"channel":"a","epoch":8,"offset":1}],"id":3}"#;
    assert_eq!(fixture.send(recover), [reply]);
}

#[test]
fn clients_publish_where_they_may() {
    let mut fixture = HandlerFixture::new();
    fixture.send(r#"{"subscribe":["chat-1"]}"#);
    assert_eq!(
        fixture.send(r#"{"publish":{"channel":"chat-1","data":[1]},"id":5}"#),
        [
            r#"{"id":5,"done":true}"#,
            r#"{"channel":"chat-1","offset":1,"epoch":7,"data":[1]}"#
        ]
    );
    let refused = |channel| {
        format!(r#"{{"channel":"{channel}","error":"clients may not publish to this channel"}}"#)
    };
    let publish = |channel| format!(r#"{{"publish":{{"channel":"{channel}","data":1}}}}"#);
    assert_eq!(fixture.send(&publish("game-1")), [refused("game-1")]);
    let mut rights = Prefix("chat-2");
    assert_eq!(
        fixture.send_with(&mut rights, &publish("chat-1")),
        [refused("chat-1")]
    );
    let replies = fixture.send_with(&mut rights, r#"{"subscribe":["chat-9"]}"#);
    assert_eq!(
        replies,
        [r#"{"channel":"chat-9","error":"reading this channel is not permitted"}"#]
    );
    assert_eq!(fixture.shelf.channels.find("chat-9"), None);
}

#[test]
fn a_token_says_what_may_be_done_from_then_on() {
    let mut fixture = HandlerFixture::new();
    let mut rights = Prefix("-");
    let refused = |name: &str| {
        format!(r#"{{"channel":"{name}","error":"reading this channel is not permitted"}}"#)
    };
    let subscribe = r#"{"subscribe":["a-1"]}"#;
    assert_eq!(fixture.send_with(&mut rights, subscribe), [refused("a-1")]);
    let both = r#"{"token":"a","subscribe":["a-1","a-2","b-1"],"id":1}"#;
    let replies = fixture.send_with(&mut rights, both);
    assert_eq!(replies.len(), 3);
    assert!(
        replies[2].contains("reading this channel is not permitted"),
        "{}",
        replies[2]
    );
    // Neither an invalid token nor the same one again changes anything.
    let replies = fixture.send_with(&mut rights, r#"{"token":"x","subscribe":["a-3"],"id":2}"#);
    assert_eq!(replies, [r#"{"id":2,"error":"the token is not one"}"#]);
    let replies = fixture.send_with(&mut rights, r#"{"token":"a","id":3}"#);
    assert_eq!(replies, [r#"{"id":3,"done":true}"#]);
    assert_eq!(fixture.is_published("a-1", "1").len(), 1);
    let mut replies = fixture.send_with(&mut rights, r#"{"token":"b"}"#);
    replies.sort();
    assert_eq!(replies, [refused("a-1"), refused("a-2")]);
    assert!(fixture.is_published("a-1", "2").is_empty());
    let replies = fixture.send_with(&mut OpenAccess, r#"{"token":"b"}"#);
    assert_eq!(replies, [r#"{"error":"this hub does not use tokens"}"#]);
}

/// All clients have the same user.
struct NamedRights(Option<&'static str>);

impl Rights for NamedRights {
    fn may_subscribe(&self, channel: &str) -> bool {
        channel != "secret"
    }

    fn may_publish(&self, _channel: &str) -> bool {
        false
    }

    fn user(&self) -> Option<&str> {
        self.0
    }

    fn present(&mut self, _token: &str) -> Result<(), &'static str> {
        self.0 = Some("adam \"a\"");
        Ok(())
    }
}

#[test]
fn who_may_read_a_channel_may_know_who_is_there() {
    let mut fixture = HandlerFixture::new();
    let mut rights = NamedRights(None);
    let command = r#"{"presence":["kept","plain","secret"],"id":1}"#;
    let replies = fixture.send_with(&mut rights, command);
    assert_eq!(
        replies,
        [
            r#"{"id":1,"presence":"kept","subscribers":0,"users":{},"all":true}"#,
            r#"{"id":1,"presence":"plain","subscribers":0}"#,
            r#"{"id":1,"channel":"secret","error":"reading this channel is not permitted"}"#,
        ]
    );
    assert!(fixture.shelf.channels.is_empty(), "asking makes no channel");
    // The command that subscribes also sets the user, who is counted once despite two subscriptions to `kept`.
    let both = r#"{"token":"x","subscribe":["kept","plain","kept"]}"#;
    assert_eq!(fixture.send_with(&mut rights, both).len(), 1);
    let replies = fixture.send_with(&mut rights, r#"{"presence":["kept","plain"]}"#);
    assert_eq!(
        replies,
        [
            r#"{"presence":"kept","subscribers":1,"users":{"adam \"a\"":1},"all":true}"#,
            r#"{"presence":"plain","subscribers":1}"#,
        ]
    );
    fixture.speaker.subscriber.user = Some("adam \"a\"");
    fixture.send_with(&mut rights, r#"{"unsubscribe":["kept"]}"#);
    let replies = fixture.send_with(&mut rights, r#"{"presence":["kept"]}"#);
    assert_eq!(
        replies,
        [r#"{"presence":"kept","subscribers":0,"users":{},"all":true}"#]
    );
}

#[test]
fn floods_are_bounded() {
    let mut fixture = HandlerFixture::new();
    let replies = fixture.send(r#"{"subscribe":["a","b","c","d","e"]}"#);
    assert_eq!(replies.len(), 2);
    assert!(
        replies[0].contains("the client's limit of subscriptions is reached"),
        "{}",
        replies[0]
    );
    assert_eq!(fixture.shelf.channels.len(), 3);
    let answers: Vec<_> = (0..200).flat_map(|_| fixture.send("nonsense")).collect();
    let too_often = answers
        .iter()
        .filter(|answer| answer.contains("too many commands"))
        .count();
    assert_eq!((answers.len(), too_often), (200, 101));
    let mut outlet = Everything::default();
    let mut handler = CommandHandler {
        shards: &mut fixture.shelf,
        audience: &mut fixture.audience,
        outlet: &mut outlet,
    };
    handler.dismiss(&fixture.speaker);
    assert!(fixture.shelf.channels.is_empty() && fixture.audience.is_empty());
}

/// Defers to the application, up to a limit.
#[derive(Default)]
struct Deferring {
    deferred: Vec<String>,
    withdrawn: Vec<String>,
    settled: bool,
}

impl Rights for Deferring {
    fn may_subscribe(&self, channel: &str) -> bool {
        self.settled || channel == "open"
    }

    fn may_publish(&self, _channel: &str) -> bool {
        self.settled
    }

    fn defers_publications(&self) -> bool {
        true
    }

    fn defer(&mut self, request: ClientRequest<'_>, id: Option<&str>) -> Result<bool, HubRefusal> {
        if self.deferred.len() >= 3 {
            return Err(HubRefusal::TooManyPending);
        }
        let id = id.unwrap_or("-");
        self.deferred.push(match request {
            ClientRequest::Subscribe(wanted) => format!("{id} reads {}", wanted.channel),
            ClientRequest::Publish(channel, data) => format!("{id} says {data} in {channel}"),
            ClientRequest::Send(data) => format!("{id} sends {data}"),
        });
        Ok(true)
    }

    fn withdraw(&mut self, channel: &str) {
        self.withdrawn.push(channel.to_owned());
    }

    fn present(&mut self, _token: &str) -> Result<(), &'static str> {
        Err("this hub asks for no tokens")
    }
}

#[test]
fn somebody_else_is_asked_what_is_not_clear() {
    let mut fixture = HandlerFixture::new();
    let mut rights = Deferring::default();
    // Without a deferral: what is permitted anyway, and what is never permitted.
    let replies = fixture.send_with(
        &mut rights,
        r#"{"subscribe":["open","open",""],"publish":{"channel":"game-1","data":1},"id":1}"#,
    );
    assert!(rights.deferred.is_empty(), "{:?}", rights.deferred);
    assert_eq!(replies.len(), 4);
    assert!(replies[2].contains("channel name is empty"), "{replies:?}");
    assert!(
        replies[3].contains("clients may not publish"),
        "{replies:?}"
    );
    let replies = fixture.send_with(
        &mut rights,
        r#"{"subscribe":["a"],"publish":{"channel":"chat-1","data":[2]},"send":{"b":3},"id":4}"#,
    );
    assert!(replies.is_empty(), "{replies:?}");
    assert_eq!(
        rights.deferred,
        ["4 reads a", "4 says [2] in chat-1", "4 sends {\"b\":3}"]
    );
    let replies = fixture.send_with(&mut rights, r#"{"send":1,"id":5}"#);
    let full = "too many requests are waiting for the application; wait for its answers";
    assert_eq!(replies, [format!(r#"{{"id":5,"error":"{full}"}}"#)]);
    fixture.send_with(&mut rights, r#"{"unsubscribe":["a"]}"#);
    assert_eq!(rights.withdrawn, ["a"]);
    // The application agreed.
    rights.settled = true;
    let mut outlet = Everything::default();
    let mut handler = CommandHandler {
        shards: &mut fixture.shelf,
        audience: &mut fixture.audience,
        outlet: &mut outlet,
    };
    let wanted = SubscriptionRequest {
        channel: "a".to_owned(),
        since: None,
    };
    handler.fulfil(&fixture.speaker, &rights, &wanted, Some("4"));
    handler.publish(&fixture.speaker, &rights, ("chat-1", "[2]"), Some("4"));
    let replies = read(outlet.0);
    assert!(replies[0].contains(r#""subscribed":"a""#), "{replies:?}");
    assert_eq!(replies[1], r#"{"id":4,"done":true}"#);
    // Without an application, nothing can be sent to it.
    let replies = fixture.send(r#"{"send":1}"#);
    assert_eq!(replies, [r#"{"error":"this hub has no message hook"}"#]);
}
