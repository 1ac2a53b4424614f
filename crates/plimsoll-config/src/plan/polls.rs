//! Reads steps that fetch messages by polling.

use plimsoll_model::journey::{PollStep, Step};

use super::answer::json_path;
use super::sockets::{SEQUENCE, STAMP, transposed};
use super::steps::Walk;
use crate::document::Shape::{Template, Text};
use crate::document::{DocumentNode, KeywordTable, MapFields, word};

/// How messages are found in answers.
pub(crate) static POLLED: KeywordTable = KeywordTable {
    name: "messages",
    meaning: "How messages are found in the answers to polls, and counted: reach, and the time from publication to receipt.",
    words: &[
        word!(
            "at",
            Text,
            "JSON path of the messages in an answer, such as `$.items[*]`. Default: each answer with a body is one message."
        ),
        word!(
            "channel",
            Template,
            "Name of the channel. Default: the path of the URL. Reach is counted over all users of a channel, also those that receive it over WebSockets."
        ),
        SEQUENCE,
        STAMP,
    ],
};

impl Walk<'_, '_> {
    /// `poll: URL` and its options.
    pub(crate) fn poll(&mut self, fields: &MapFields<'_>, url: &DocumentNode) -> Option<Step> {
        let request = self.request(fields, "get", url);
        let reader = self.scope.reader;
        let interval = fields
            .get("every")
            .map(|node| reader.duration_above_zero(node));
        let lasting = fields
            .get("for")
            .map(|node| reader.duration_above_zero(node));
        let own = fields.get("messages");
        let own = transposed(own.map(|node| reader.fields(node, &POLLED)))?;
        let value = |word: &str| own.as_ref().and_then(|own| own.get(word));
        let path = |word: &str| {
            value(word).map(|node| {
                let path = reader.word(node, "a JSON path such as $.items[*]")?;
                json_path(reader, node.span.start, &path)
            })
        };
        let (messages, timestamp, sequence) = (path("at"), path("stamp"), path("seq"));
        let channel = value("channel").map(|node| self.scope.text(node, &self.reach));
        Some(Step::Poll(Box::new(PollStep {
            request: request?,
            interval: transposed(interval)?,
            lasting: transposed(lasting)?,
            messages: transposed(messages)?,
            channel: transposed(channel)?,
            timestamp: transposed(timestamp)?,
            sequence: transposed(sequence)?,
        })))
    }
}
