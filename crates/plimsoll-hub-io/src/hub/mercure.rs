//! Publishing by Mercure's protocol (draft-dunglas-mercure-07): an update is a form with topics and data.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use plimsoll_hub::channels::{HubRefusal, Position, Published};
use plimsoll_hub::sse;
use plimsoll_hub::subscriptions::is_reserved;
use plimsoll_hub::topics::Selector;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::broker::{Begun, UPDATE_CHANNELS_MAX};
use super::{ActiveHub, publish};
use crate::access::token::Grant;

/// Status and reason.
type UpdateRefusal = (u16, String);

/// An update.
#[derive(Debug)]
pub struct Update {
    topics: Vec<String>,
    /// JSON.
    data: String,
    is_private: bool,
}

/// An update that waits for its offset.
#[derive(Debug)]
pub enum Post {
    /// It was rejected.
    Refused(UpdateRefusal),
    /// Its position, if it has one.
    Done(Option<Position>),
    /// It waits for its position in the shared stream.
    Pending(oneshot::Receiver<Result<Position, HubRefusal>>),
}

impl Update {
    /// Parses a form.
    ///
    /// # Errors
    /// Status and reason.
    pub fn read(form: &[u8]) -> Result<Self, UpdateRefusal> {
        let wrong = |why: &str| Err((400, why.to_owned()));
        let Ok(form) = std::str::from_utf8(form) else {
            return wrong("the form is not UTF-8");
        };
        let first = |name| sse::values(form, name).next().unwrap_or_default();
        let mut topics: Vec<String> = Vec::new();
        for topic in sse::values(form, "topic") {
            if topics.len() > UPDATE_CHANNELS_MAX {
                break;
            }
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        if topics.is_empty() {
            return wrong(
                "`topic` is missing; for example topic=https%3A%2F%2Fa.example%2Fbooks%2F1&data=…",
            );
        }
        if topics.len() > UPDATE_CHANNELS_MAX {
            return wrong("an update has at most 10 topics");
        }
        if topics.iter().any(|topic| Selector::new(topic).is_wide()) {
            return wrong("`topic` must not be a template");
        }
        if !first("type").is_empty() {
            return wrong("`type` is not supported: omit it, or put it into the data");
        }
        let is_private = |pair: &str| pair == "private" || pair.starts_with("private=");
        Ok(Self {
            topics,
            data: as_json(&first("data")),
            is_private: form.split('&').any(is_private),
        })
    }

    /// Publishes it, if the token allows it.
    ///
    /// # Errors
    /// Status and reason.
    pub fn begin(self, hub: &ActiveHub, grant: &Grant) -> Result<Post, UpdateRefusal> {
        if let Some(topic) = self.topics.iter().find(|topic| !grant.may_post(topic)) {
            let why = format!("the token does not allow publishing to {topic}");
            return Err((403, why));
        }
        if let Some(topic) = self.topics.iter().find(|topic| is_reserved(topic)) {
            let why = format!("{topic} is for the hub's own events about subscriptions");
            return Err((403, why));
        }
        let is_public =
            |topic: &&String| hub.gate.as_ref().is_none_or(|gate| gate.is_public(topic));
        if let Some(topic) = self
            .topics
            .iter()
            .find(is_public)
            .filter(|_| self.is_private)
        {
            let why = format!("{topic} is `public`: private updates cannot be published to it");
            return Err((403, why));
        }
        let topics: Vec<&str> = self.topics.iter().map(String::as_str).collect();
        let begun = hub.broker.begin_update(&topics, &self.data);
        match begun.map_err(|(index, refusal)| in_words(&self.topics[index], refusal))? {
            Begun::Done(Published::Sent(message, _)) => Ok(Post::Done(Some(message.position()))),
            Begun::Done(_) => Ok(Post::Done(None)),
            Begun::Pending(answer) => Ok(Post::Pending(answer)),
        }
    }
}

impl From<Result<Self, UpdateRefusal>> for Post {
    fn from(begun: Result<Self, UpdateRefusal>) -> Self {
        begun.unwrap_or_else(Self::Refused)
    }
}

impl Post {
    /// Waits for the offset; then returns the id that readers see.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<String, UpdateRefusal>> {
        let position = match self {
            Self::Refused(refused) => return Poll::Ready(Err(refused.clone())),
            Self::Done(position) => *position,
            Self::Pending(answer) => {
                match ready!(Pin::new(answer).poll(cx)).unwrap_or(Err(HubRefusal::Unsure)) {
                    Ok(position) => Some(position),
                    Err(refusal) => return Poll::Ready(Err(in_words("the update", refusal))),
                }
            }
        };
        Poll::Ready(Ok(match position {
            Some(Position { epoch, offset }) => sse::update_id((epoch, offset)),
            // No subscriber and no history, or it is sent with others at the end of their interval.
            None => "urn:plimsoll:no-place-yet".to_owned(),
        }))
    }
}

fn in_words(what: &str, refusal: HubRefusal) -> UpdateRefusal {
    let status = match publish::status(refusal) {
        422 => 400,
        status => status,
    };
    (status, format!("{what}: {refusal}"))
}

/// Data as the hub stores it: JSON unchanged, other text as a string; a JSON string is quoted too, so that it is
/// delivered as it was.
fn as_json(data: &str) -> String {
    let is_string = data.trim_start().starts_with('"');
    match serde_json::from_str::<&RawValue>(data) {
        Ok(_) if !is_string => data.to_owned(),
        _ => Value::from(data).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        let form = b"topic=https%3A%2F%2Fa.example%2F1&data=%7B%22a%22%3A+1%7D&private=on&topic=b&id=x&retry=5";
        let update = Update::read(form).unwrap();
        assert_eq!(update.topics, ["https://a.example/1", "b"]);
        assert_eq!(update.data, r#"{"a": 1}"#);
        assert!(update.is_private);
        let update = Update::read(b"topic=a").unwrap();
        assert_eq!((&*update.data, update.is_private), ("\"\"", false));
        assert!(Update::read(b"private&topic=a").unwrap().is_private);
        // A repeated topic is the same.
        let update = Update::read(&b"&topic=a".repeat(20)).unwrap();
        assert_eq!(update.topics, ["a"]);
        assert!(!Update::read(b"privates=1&topic=a").unwrap().is_private);
    }

    #[test]
    fn text_comes_out_as_it_was() {
        for (text, json) in [
            ("hello", r#""hello""#),
            (r#""hello""#, r#""\"hello\"""#),
            ("5", "5"),
            ("[1,\n2]", "[1,\n2]"),
            ("{", r#""{""#),
        ] {
            assert_eq!(as_json(text), json, "{text}");
        }
    }

    #[test]
    fn what_is_no_update_is_told() {
        let many: Vec<u8> = (0..11)
            .flat_map(|n| format!("&topic={n}").into_bytes())
            .collect();
        for (form, why) in [
            (&b"data=1"[..], "`topic` is missing"),
            (b"topic=/a/%7Bid%7D", "must not be a template"),
            (b"topic=*", "must not be a template"),
            (b"topic=a&type=x", "omit it"),
            (b"topic=\xff", "not UTF-8"),
            (&many, "at most 10"),
        ] {
            let (status, reason) = Update::read(form).unwrap_err();
            assert!(status == 400 && reason.contains(why), "{reason}");
        }
    }
}
