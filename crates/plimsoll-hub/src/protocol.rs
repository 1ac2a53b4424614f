//! The hub's WebSocket protocol: JSON in both directions.
//!
//! A client sends `{"subscribe":["game-1"]}`, or from its last position
//! `{"subscribe":[{"channel":"game-1","epoch":7,"offset":5}]}`; `{"unsubscribe":["game-1"]}`; where permitted,
//! `{"publish":{"channel":"game-1","data":…}}`; where tokens are required, `{"token":"…"}`, alone or combined with
//! these, which replaces its rights; `{"presence":["game-1"]}` requests the subscribers; `{"send":…}` is passed to the
//! application, whose answer is returned as `{"id":…,"answer":…}`; after `{"patches":true}` messages may have a `patch`
//! instead of their `data`. Messages are `{"channel":"game-1","offset":6,"epoch":7,"data":…}`.
//!
//! A command with an `id`, a number or a string, is answered with it; without one only errors are sent.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::channels::{HubRefusal, Presence, Subscription};
use crate::json::quoted;
use crate::position::Position;

/// Most channels in one command.
pub const CHANNELS_MAX: usize = 1000;

/// Longest error text about a command, characters.
const ERROR_LEN_MAX: usize = 200;

/// Longest id, bytes as written.
const ID_LEN_MAX: usize = 64;

/// A command of a client; borrows from its text.
#[derive(Debug, Default)]
pub struct Command<'a> {
    /// Channels to subscribe to.
    pub subscribe: Vec<SubscriptionRequest>,
    /// Channels to unsubscribe from.
    pub unsubscribe: Vec<String>,
    /// A channel, and the JSON to publish.
    pub publish: Option<Publication<'a>>,
    /// JSON for the application.
    pub send: Option<&'a RawValue>,
    /// Channels whose presence is requested.
    pub presence: Vec<String>,
    /// Whether the client accepts patches.
    pub patches: Option<bool>,
    /// A token with new rights.
    pub token: Option<String>,
    /// The id of the reply, as JSON.
    pub id: Option<&'a str>,
}

/// A subscription request, optionally with a last position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Its name.
    pub channel: String,
    /// Up to here the client has everything.
    pub since: Option<Position>,
}

/// A message to be published.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication<'a> {
    /// The channel.
    pub channel: String,
    /// JSON, as written.
    #[serde(borrow)]
    pub data: &'a RawValue,
}

/// Why a command is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandParseError {
    /// Not a valid command.
    #[error("not a command: {0}; for example {{\"subscribe\":[\"a-channel\"]}}")]
    Form(String),
    /// More channels than [`CHANNELS_MAX`] at once.
    #[error("more than {CHANNELS_MAX} channels in one command")]
    TooMany,
    /// The id is neither a number nor a string, cannot be read as one, or is too long.
    #[error("the id is not a number or a string of at most {ID_LEN_MAX} bytes")]
    Id,
}

impl CommandParseError {
    /// The parser's message may repeat all of the input; its beginning is sufficient.
    fn form(error: &serde_json::Error) -> Self {
        Self::Form(error.to_string().chars().take(ERROR_LEN_MAX).collect())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandFields<'a> {
    #[serde(default)]
    subscribe: Vec<SubscribeItem>,
    #[serde(default)]
    unsubscribe: Vec<String>,
    #[serde(borrow)]
    publish: Option<Publication<'a>>,
    #[serde(borrow)]
    send: Option<&'a RawValue>,
    #[serde(default)]
    presence: Vec<String>,
    patches: Option<bool>,
    token: Option<String>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a channel name, or an object with channel, epoch and offset"
)]
enum SubscribeItem {
    Name(String),
    From {
        channel: String,
        epoch: u64,
        offset: u64,
    },
}

impl<'a> Command<'a> {
    /// Parses a command.
    ///
    /// # Errors
    /// When it is invalid.
    pub fn read(text: &'a str) -> Result<Self, CommandParseError> {
        let fields: CommandFields<'a> =
            serde_json::from_str(text).map_err(|error| CommandParseError::form(&error))?;
        let named = [&fields.unsubscribe, &fields.presence].map(Vec::len);
        if named.into_iter().max() > Some(CHANNELS_MAX) || fields.subscribe.len() > CHANNELS_MAX {
            return Err(CommandParseError::TooMany);
        }
        let id = fields.id.map(RawValue::get);
        if id.is_some_and(|id| id.len() > ID_LEN_MAX || !is_plain(id)) {
            return Err(CommandParseError::Id);
        }
        let subscribe = fields.subscribe.into_iter().map(|wanted| match wanted {
            SubscribeItem::Name(channel) => SubscriptionRequest {
                channel,
                since: None,
            },
            SubscribeItem::From {
                channel,
                epoch,
                offset,
            } => SubscriptionRequest {
                channel,
                since: Some(Position { epoch, offset }),
            },
        });
        Ok(Self {
            subscribe: subscribe.collect(),
            unsubscribe: fields.unsubscribe,
            publish: fields.publish,
            send: fields.send,
            presence: fields.presence,
            patches: fields.patches,
            token: fields.token,
            id,
        })
    }
}

/// Whether an id is a number or a string that parses as a value: replies contain it, and `1e999` or half a surrogate
/// pair, which the grammar permits, would make them unreadable.
fn is_plain(id: &str) -> bool {
    matches!(
        serde_json::from_str(id),
        Ok(Value::Number(_) | Value::String(_))
    )
}

/// The reply to a subscription, if any: the position if there was an id, and in any case if a recovery failed.
pub fn subscribed(id: Option<&str>, channel: &str, subscription: &Subscription) -> Option<String> {
    if id.is_none() && subscription.is_recovered != Some(false) {
        return None;
    }
    let Position { epoch, offset } = subscription.position;
    // After a failed recovery the client restarts after `offset`; otherwise messages up to it follow.
    let recovered = match subscription.is_recovered {
        Some(recovered) => format!(r#","recovered":{recovered}"#),
        None => String::new(),
    };
    let (id, channel) = (member(id), quoted(channel));
    Some(format!(
        r#"{{{id}"subscribed":{channel},"epoch":{epoch},"offset":{offset}{recovered}}}"#
    ))
}

/// The reply to a successful command with an id.
pub fn done(id: &str) -> String {
    format!(r#"{{"id":{id},"done":true}}"#)
}

/// The reply when a command about a channel was rejected.
pub fn refused(id: Option<&str>, channel: &str, refusal: HubRefusal) -> String {
    let (id, channel, error) = (member(id), quoted(channel), quoted(&refusal.to_string()));
    format!(r#"{{{id}"channel":{channel},"error":{error}}}"#)
}

/// The reply when the application denied a command about a channel, with its reason.
pub fn denied(id: Option<&str>, channel: &str, why: &str) -> String {
    let (id, channel, error) = (member(id), quoted(channel), quoted(why));
    format!(r#"{{{id}"channel":{channel},"error":{error}}}"#)
}

/// The application's answer to a client's message: JSON.
pub fn answer(id: &str, answer: &str) -> String {
    format!(r#"{{"id":{id},"answer":{answer}}}"#)
}

/// The reply to a presence command: the number of subscribers, and their users where presence is on.
pub fn present(id: Option<&str>, channel: &str, presence: &Presence) -> String {
    let (id, channel, subscribers) = (member(id), quoted(channel), presence.subscribers);
    let users = presence.users.as_ref().map(|users| {
        let users = users.iter();
        let users = users.map(|(user, count)| format!("{}:{count}", quoted(user)));
        let users = users.collect::<Vec<_>>().join(",");
        format!(r#","users":{{{users}}},"all":{}"#, presence.is_whole)
    });
    let users = users.unwrap_or_default();
    format!(r#"{{{id}"presence":{channel},"subscribers":{subscribers}{users}}}"#)
}

/// The reply when a token was rejected, or a message for the application was not accepted.
pub fn unwelcome(id: Option<&str>, why: &str) -> String {
    format!(r#"{{{}"error":{}}}"#, member(id), quoted(why))
}

/// The reply to an invalid command, or above the rate limit.
pub fn failed(error: &str) -> String {
    format!(r#"{{"error":{}}}"#, quoted(error))
}

fn member(id: Option<&str>) -> String {
    id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surface_is_understood() {
        let command = Command::read(
            r#"{"subscribe":["game-1",{"channel":"b","epoch":7,"offset":5}],"id":3}"#,
        )
        .unwrap();
        let since = Position {
            epoch: 7,
            offset: 5,
        };
        assert_eq!(command.subscribe[0].channel, "game-1");
        assert_eq!(command.subscribe[0].since, None);
        assert_eq!(command.subscribe[1].since, Some(since));
        assert_eq!(command.id, Some("3"));
        let command = Command::read(r#"{"publish":{"channel":"a","data":{"b": [1]}}}"#).unwrap();
        assert_eq!(command.publish.unwrap().data.get(), r#"{"b": [1]}"#);
        let command = Command::read(r#"{"send":{"bet": 5},"id":4}"#).unwrap();
        assert_eq!(command.send.unwrap().get(), r#"{"bet": 5}"#);
        let command = Command::read(r#"{"token":"a.b.c","subscribe":["a"]}"#).unwrap();
        assert_eq!(command.token.as_deref(), Some("a.b.c"));
        let command = Command::read(r#"{"unsubscribe":["a"],"id":"x"}"#).unwrap();
        assert_eq!(
            (command.unsubscribe, command.id),
            (vec!["a".to_owned()], Some("\"x\""))
        );
    }

    #[test]
    fn what_is_no_command_is_told() {
        for (text, message) in [
            ("", "not a command: EOF"),
            ("[]", "not a command: "),
            (
                r#"{"subscribe":"a"}"#,
                "not a command: invalid type: string",
            ),
            (
                r#"{"subscribe":[{"channel":"a"}]}"#,
                "expected a channel name, or an object with channel, epoch and offset",
            ),
            (
                r#"{"subscribe":[{"channel":"a","epoch":-1,"offset":0}]}"#,
                "expected a channel name",
            ),
            (r#"{"subscripe":["a"]}"#, "unknown field `subscripe`"),
            (r#"{"id":{}}"#, "the id is not"),
            (r#"{"id":[1]}"#, "the id is not"),
            (r#"{"id":true}"#, "the id is not"),
            (r#"{"id":5E11110}"#, "the id is not"),
            (r#"{"id":"\ud800"}"#, "the id is not"),
        ] {
            let error = Command::read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(100));
        assert_eq!(Command::read(&long).unwrap_err(), CommandParseError::Id);
        let many = format!(r#"{{"subscribe":[{}"a"]}}"#, "\"a\",".repeat(CHANNELS_MAX));
        assert_eq!(
            Command::read(&many).unwrap_err(),
            CommandParseError::TooMany
        );
    }

    #[test]
    fn answers_are_json() {
        for answer in [
            done("3"),
            refused(Some("\"x\""), "a\"b", HubRefusal::TooOften),
            refused(None, "a", HubRefusal::NotJson),
            denied(None, "a", "not \"you\""),
            answer("4", "[1]"),
            failed("a \"word\""),
        ] {
            let value: serde_json::Value = serde_json::from_str(&answer).unwrap();
            assert!(value.is_object(), "{answer}");
        }
    }
}
