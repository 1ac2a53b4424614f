//! Settings of the channels that match a pattern.

use std::time::Duration;

use super::super::file::required;
use super::super::outward::{Endpoint, destination};
use crate::document::Shape::Text;
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, one_of, rate_above_zero, settings, size,
    switch, time,
};

/// Maximum rules for channels.
const RULES_MAX: usize = 1000;

settings! {
    /// Settings of the channels that match a pattern.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HubRule, HUB_CHANNELS "hub_channels" {
        /// Channel names or patterns: `game-1`, `game-*`; `*` matches any text.
        pattern: String = String::new(), "match": Text => later;
        /// Length of the history from which reconnecting clients recover, in messages.
        history_max: u32 = 100, "history": count(0..=1_000_000);
        /// Retention of the history.
        history_age: Duration = Duration::from_mins(1), "history_age": time();
        /// Size of the history of a channel, {range}.
        history_bytes_max: u64 = 256 << 10, "history_size": size(0..=1 << 30);
        /// Minimum interval between two messages; those published in between are conflated into one. By default every
        /// message is sent.
        interval: Option<Duration> = None, "interval": time();
        /// How messages are conflated: the newest is sent, or JSON objects are merged key by key.
        merges: bool = false, "conflate": one_of!["newest" => false, "merge" => true];
        /// Or an application conflates them: it receives `POST` with `{"channel":…,"data":[…]}`, and its response is
        /// sent; nothing if that is empty, the newest message if the request fails. Time-out and headers are those of
        /// `hooks`.
        aggregate: Option<Endpoint> = None, "aggregate": Text => destination;
        /// Maximum size of a message's data, {range}.
        data_len_max: u64 = 64 << 10, "data": size(1..=16 << 20);
        /// Rate limit of publications to a channel. Default: unlimited.
        rate: Option<f64> = None, "rate": rate_above_zero("a rate such as 10/s");
        /// Maximum subscribers of a channel.
        subscribers_max: u32 = 1_000_000, "subscribers": count(1..=10_000_000);
        /// Whether clients may publish.
        clients_publish: bool = false, "publish": switch();
        /// Whether subscribers may request the list of users (`{"presence":["chat"]}`), by the `sub` of their tokens.
        presence: bool = false, "presence": switch();
        /// Delta messages: a client that sends `{"patches":true}` receives only the change since the previous message
        /// (`"patch"`, a merge patch, RFC 7396) where that is shorter.
        patches: bool = false, "patches": switch();
        /// Number of recent messages that a new subscriber receives.
        replay: u32 = 0, "replay": count(0..=100_000);
    }
}

impl HubRule {
    /// Default settings for the channels of a pattern.
    pub fn of(pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            ..Self::defaults()
        }
    }
}

/// Reads `channels:`.
pub(super) fn rules(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<HubRule>> {
    let items = reader.list(node, "rules for channels");
    if items.len() > RULES_MAX {
        let valid = format!("at most {RULES_MAX}; a pattern such as game-* covers many");
        reader.report(node, "there are too many rules", valid);
    }
    let rules: Vec<_> = items.iter().filter_map(|item| rule(reader, item)).collect();
    (items.len() <= RULES_MAX).then_some(rules)
}

fn rule(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubRule> {
    let fields = reader.fields(node, &HUB_CHANNELS)?;
    let options = HubRule::read(reader, &fields);
    let pattern = required(reader, &fields, "match")
        .and_then(|node| reader.word(node, "a name or a pattern such as game-*"))?;
    let rule = HubRule { pattern, ..options };
    let (conflate, aggregate) = (fields.get("conflate"), fields.get("aggregate"));
    if let (Some(_), Some(node)) = (conflate, aggregate) {
        let message = "`conflate` and `aggregate` are mutually exclusive";
        reader.report(node, message, "one of the two");
    }
    let combined = conflate.map(|node| ("conflate", node));
    let combined = combined.or_else(|| aggregate.map(|node| ("aggregate", node)));
    if let (Some((key, node)), None) = (combined, fields.get("interval")) {
        let message = format!("`{key}` needs an interval");
        reader.report(node, message, "`interval: 3s` beside it");
    }
    Some(rule)
}
