//! Active subscriptions of Mercure readers (draft-dunglas-mercure-07, "Active Subscriptions"): a document for each topic
//! selector of each reader. They are published when a subscription begins and ends, and listed on request.

mod path;
mod registry;

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

pub use path::Selection;
pub use registry::{ActiveKey, ActiveLimits, ActiveSubscriptions};

/// Path of the list. Topics below it are those of subscription events.
pub const PATH: &str = "/.well-known/mercure/subscriptions";

/// The template of all subscription events.
pub const EVENTS: &str = "/.well-known/mercure/subscriptions/{topic}/{subscriber}";

/// The context of the documents.
const CONTEXT: &str = "https://mercure.rocks/";

/// Whether a topic is that of subscription events, or a template of them: private, and published by the hub alone.
pub fn is_reserved(topic: &str) -> bool {
    topic.starts_with(PATH)
}

/// A reader and its topic selectors.
#[derive(Debug)]
pub struct ActiveSubscriber {
    /// Unique, an IRI.
    id: String,
    topics: Vec<String>,
    /// Attached by the token: JSON.
    payload: Option<Box<RawValue>>,
}

/// The document of a subscription.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "@context", skip_serializing_if = "Option::is_none")]
    context: Option<&'static str>,
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    topic: &'a str,
    subscriber: &'a str,
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
    #[serde(rename = "lastEventID", skip_serializing_if = "Option::is_none")]
    last_event_id: Option<&'a str>,
}

/// The document of a list.
#[derive(Serialize)]
struct ListDocument<'a> {
    #[serde(rename = "@context")]
    context: &'static str,
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "lastEventID")]
    last_event_id: &'a str,
    subscriptions: Vec<Document<'a>>,
}

/// A subscription event: the topic, and the document to publish.
#[derive(Debug, PartialEq, Eq)]
pub struct SubscriptionEvent {
    /// The topic of the update.
    pub topic: String,
    /// JSON.
    pub document: String,
}

impl ActiveSubscriber {
    /// A reader by its unique id.
    pub fn new(id: String, topics: Vec<String>, payload: Option<Box<RawValue>>) -> Self {
        Self {
            id,
            topics,
            payload,
        }
    }

    /// The events when its subscriptions begin or end.
    pub fn events(&self, is_active: bool) -> Vec<SubscriptionEvent> {
        let topics = self.topics.iter();
        let event = topics.map(|topic| {
            let document = Document {
                context: Some(CONTEXT),
                active: is_active,
                ..self.document(topic)
            };
            SubscriptionEvent {
                document: json(&document),
                topic: document.id,
            }
        });
        event.collect()
    }

    /// The document of an active subscription in a list.
    fn document<'a>(&'a self, topic: &'a str) -> Document<'a> {
        Document {
            context: None,
            id: format!(
                "{PATH}/{}/{}",
                path::encoded(topic),
                path::encoded(&self.id)
            ),
            kind: "Subscription",
            topic,
            subscriber: &self.id,
            active: true,
            payload: self.payload.as_deref(),
            last_event_id: None,
        }
    }

    /// Number of subscriptions.
    fn count(&self) -> usize {
        self.topics.len()
    }

    /// Memory that it takes.
    fn size(&self) -> usize {
        let topics: usize = self.topics.iter().map(String::len).sum();
        let payload = self
            .payload
            .as_ref()
            .map_or(0, |payload| payload.get().len());
        let lists = self.topics.len() * size_of::<String>();
        size_of::<Self>() + self.id.len() + topics + lists + payload
    }
}

/// The response to a request for the list or for one subscription; `None` if that is not active. `path` is that of the
/// request, `last_event_id` the last event before the list was taken.
pub fn response(
    subscribers: &[Arc<ActiveSubscriber>],
    selection: &Selection,
    (path, last_event_id): (&str, &str),
) -> Option<String> {
    let mut documents = subscribers.iter().flat_map(|subscriber| {
        let topics = subscriber.topics.iter();
        let meant = topics.filter(move |topic| selection.means(topic, &subscriber.id));
        meant.map(move |topic| subscriber.document(topic))
    });
    if let Selection::One { .. } = selection {
        let document = documents.next()?;
        return Some(json(&Document {
            context: Some(CONTEXT),
            last_event_id: Some(last_event_id),
            ..document
        }));
    }
    Some(json(&ListDocument {
        context: CONTEXT,
        id: path,
        kind: "Subscriptions",
        last_event_id,
        subscriptions: documents.collect(),
    }))
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("documents consist of text, and of JSON that was parsed")
}

#[cfg(test)]
mod tests;
