//! The hub: channels that clients subscribe to.

mod hooks;
mod redis;
mod sources;
mod tokens;

use std::ops::RangeInclusive;
use std::time::Duration;

use super::file::{required, token};
use super::keywords::{HUB, HUB_CHANNELS};
use super::outward::url;
use super::routes::rate;
use super::{Endpoint, Rate, ServerTls};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::units;
pub use hooks::HubHooks;
pub use sources::{HubSource, HubSourceKind};
pub use tokens::{HubKey, HubTokens};

/// Maximum rules for channels.
const RULES_MAX: usize = 1000;

/// Channels that clients subscribe to at a path of the edge. [`HubConfig::at`] is the shortest.
#[derive(Clone, Debug, PartialEq)]
pub struct HubConfig {
    /// Path of the hub.
    pub path: String,
    /// Token of publishers at the admin endpoint; `None` is the token of the endpoint itself.
    pub publish_token: Option<String>,
    /// Authorization by tokens; without it, every client may read every channel.
    pub tokens: Option<HubTokens>,
    /// Allowed origins besides the hub's own; `*` is all.
    pub origins: Vec<String>,
    /// Rules; the first whose pattern matches a channel applies.
    pub channels: Vec<HubRule>,
    /// Backpressure for clients that read slowly.
    pub slow: HubSlow,
    /// Maximum queued messages per client.
    pub waiting_max: u32,
    /// Maximum queued bytes per client.
    pub waiting_bytes_max: u64,
    /// Maximum subscriptions per client.
    pub subscriptions_max: u32,
    /// Rate limit of messages from a client.
    pub commands: Rate,
    /// Maximum size of a message from a client, bytes.
    pub message_len_max: u64,
    /// Ping interval.
    pub ping: Duration,
    /// Whether messages are compressed for clients that accept it.
    pub compress: bool,
    /// Maximum number of channels.
    pub channels_max: u32,
    /// Total size of the histories of all channels, bytes.
    pub history_bytes_max: u64,
    /// Whether Mercure clients are served.
    pub mercure: bool,
    /// A Redis whose messages are delivered to channels of the same name.
    pub redis: Option<HubRedis>,
    /// Other message sources.
    pub sources: Vec<HubSource>,
    /// Broker through which several edges share their channels.
    pub shared: Option<HubShared>,
    /// Hooks of the application.
    pub hooks: Option<HubHooks>,
    /// Maximum connections per user.
    pub per_user: Option<u32>,
    /// Maximum connections per token.
    pub per_token: Option<u32>,
}

/// Kind of broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubSharedKind {
    /// A stream of Redis.
    Redis,
    /// A stream of NATS (`JetStream`).
    Nats,
}

/// Broker through which several edges share their channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubShared {
    /// Its kind.
    pub kind: HubSharedKind,
    /// Host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User name; NATS takes a password without a user as a token.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Prefix of Redis keys, or name of the NATS stream: edges with the same name share channels.
    pub name: String,
    /// TLS settings; `None` is plain text.
    pub tls: Option<ServerTls>,
    /// Maximum messages stored for edges that start or reconnect.
    pub messages_max: u64,
    /// Maximum size of these messages, bytes.
    pub bytes_max: u64,
}

impl HubShared {
    /// Name for messages.
    pub fn title(&self) -> String {
        let kind = match self.kind {
            HubSharedKind::Redis => "Redis",
            HubSharedKind::Nats => "NATS",
        };
        format!("{kind} at {}:{}", self.host, self.port)
    }
}

/// A Redis that the hub subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRedis {
    /// Host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User name, where Redis has several users.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// TLS settings; `None` is plain text.
    pub tls: Option<ServerTls>,
    /// Channel patterns, as in `PSUBSCRIBE`.
    pub patterns: Vec<String>,
}

/// Settings of the channels that match a pattern.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct HubRule {
    /// Names or patterns; a star matches any text.
    pub pattern: String,
    /// Length of the history, messages.
    pub history_max: u32,
    /// Retention of the history.
    pub history_age: Duration,
    /// Size of the history, bytes.
    pub history_bytes_max: u64,
    /// Minimum interval between two messages.
    pub interval: Option<Duration>,
    /// Whether objects published within the interval are merged; otherwise the newest is sent.
    pub merges: bool,
    /// Or the application that conflates them.
    pub aggregate: Option<Endpoint>,
    /// Maximum size of a message's data, bytes.
    pub data_len_max: u64,
    /// Rate limit of publications, 1/s.
    pub rate: Option<f64>,
    /// Maximum subscribers of a channel.
    pub subscribers_max: u32,
    /// Whether clients may publish.
    pub clients_publish: bool,
    /// Number of recent messages that a new subscriber receives.
    pub replay: u32,
    /// Whether presence is tracked.
    pub presence: bool,
    /// Whether delta messages are sent to clients that request them.
    pub patches: bool,
}

/// Backpressure: what happens to a client that reads more slowly than messages arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubSlow {
    /// Older messages of a channel are replaced by newer ones.
    #[default]
    Newest,
    /// New messages are dropped.
    Drop,
    /// The client is disconnected, and may reconnect.
    Disconnect,
}

impl HubConfig {
    /// Valid paths.
    pub const PATH_VALID: &'static str = "a path such as /live, without a query";

    /// A hub with default settings; `None` if the path is invalid.
    pub fn at(path: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#%\\".contains(&byte);
        let is_path = path.starts_with('/') && path.len() <= 1024 && path.bytes().all(is_plain);
        is_path.then(|| Self {
            path: path.to_owned(),
            publish_token: None,
            tokens: None,
            origins: Vec::new(),
            channels: Vec::new(),
            slow: HubSlow::default(),
            waiting_max: 64,
            waiting_bytes_max: 256 << 10,
            subscriptions_max: 100,
            commands: Rate {
                per_second: 10.0,
                burst: 100,
            },
            message_len_max: 64 << 10,
            ping: Duration::from_secs(25),
            compress: false,
            channels_max: 1_000_000,
            history_bytes_max: 64 << 20,
            mercure: false,
            redis: None,
            sources: Vec::new(),
            shared: None,
            hooks: None,
            per_user: None,
            per_token: None,
        })
    }
}

impl HubRule {
    /// Default settings for the channels of a pattern.
    pub fn of(pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            history_max: 100,
            history_age: Duration::from_mins(1),
            history_bytes_max: 256 << 10,
            interval: None,
            merges: false,
            aggregate: None,
            data_len_max: 64 << 10,
            rate: None,
            subscribers_max: 1_000_000,
            clients_publish: false,
            replay: 0,
            presence: false,
            patches: false,
        }
    }
}

/// Reads `hub:`, a path or a map with options.
pub(super) fn hub(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return at(reader, node);
    }
    let fields = reader.fields(node, &HUB)?;
    let parsed = required(reader, &fields, "path").and_then(|node| at(reader, node));
    // Without a path, the other errors are reported nevertheless.
    let mut hub = parsed.clone().or_else(|| HubConfig::at("/"))?;
    hub.publish_token = fields
        .get("publish_token")
        .and_then(|node| token(reader, node));
    hub.origins = fields
        .get("origins")
        .map_or_else(Vec::new, |node| origins(reader, node));
    if let Some(node) = fields.get("channels") {
        let items = reader.list(node, "rules for channels");
        if items.len() > RULES_MAX {
            let valid = format!("at most {RULES_MAX}; a pattern such as game-* covers many");
            reader.report(node, "there are too many rules", valid);
        }
        hub.channels = items.iter().filter_map(|item| rule(reader, item)).collect();
    }
    let slow = [
        ("newest", HubSlow::Newest),
        ("drop", HubSlow::Drop),
        ("disconnect", HubSlow::Disconnect),
    ];
    put(
        &mut hub.slow,
        fields
            .get("slow")
            .and_then(|node| reader.one_of(node, &slow)),
    );
    put(
        &mut hub.waiting_max,
        count(reader, &fields, "waiting", 1..=100_000),
    );
    put(
        &mut hub.waiting_bytes_max,
        size(reader, &fields, "waiting_size", 1 << 10..=64 << 20),
    );
    put(
        &mut hub.subscriptions_max,
        count(reader, &fields, "subscriptions", 1..=100_000),
    );
    put(
        &mut hub.commands,
        fields.get("commands").and_then(|node| rate(reader, node)),
    );
    put(
        &mut hub.message_len_max,
        size(reader, &fields, "message", 128..=16 << 20),
    );
    put(&mut hub.ping, duration(reader, &fields, "ping"));
    put(&mut hub.compress, switch(reader, &fields, "compress"));
    put(
        &mut hub.channels_max,
        count(reader, &fields, "most_channels", 1..=10_000_000),
    );
    put(
        &mut hub.history_bytes_max,
        size(reader, &fields, "history_size", 64 << 10..=64 << 30),
    );
    others(reader, &fields, &mut hub);
    parsed.map(|_| hub)
}

/// Reads authorization, message sources and the broker.
fn others(reader: &DocumentReader<'_>, fields: &MapFields<'_>, hub: &mut HubConfig) {
    hub.tokens = fields
        .get("tokens")
        .and_then(|node| tokens::tokens(reader, node));
    hooks::read(reader, fields, hub);
    put(
        &mut hub.mercure,
        fields.get("mercure").and_then(|node| reader.switch(node)),
    );
    if let (Some(node), true, None) = (fields.get("mercure"), hub.mercure, fields.get("tokens")) {
        let valid = "with `tokens: { secret: … }`, which publishers sign with";
        reader.report(node, "without tokens, every client could publish", valid);
    }
    let decides = |hooks: &HubHooks| {
        hooks.connect.is_some() || hooks.subscribe.is_some() || hooks.publish.is_some()
    };
    if let (Some(node), true) = (fields.get("mercure"), hub.mercure)
        && hub.hooks.as_ref().is_some_and(decides)
    {
        let valid = "either tokens alone, or `hooks` without `mercure`";
        reader.report(node, "`hooks` do not apply to Mercure clients", valid);
    }
    hub.redis = fields
        .get("redis")
        .and_then(|node| redis::redis(reader, node));
    hub.shared = fields
        .get("shared")
        .and_then(|node| redis::shared(reader, node));
    if let Some(node) = fields.get("sources") {
        hub.sources = sources::sources(reader, node);
    }
    for word in ["redis", "sources"] {
        if let (Some(node), true) = (fields.get(word), hub.shared.is_some()) {
            let valid = "one of the two: publish to any of the edges over HTTP";
            let message =
                format!("each edge that shares channels would publish every message from `{word}`");
            reader.report(node, message, valid);
        }
    }
}

fn at(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubConfig> {
    let path = reader.word(node, HubConfig::PATH_VALID)?;
    let hub = HubConfig::at(&path);
    if hub.is_none() {
        reader.report(
            node,
            format!("`{path}` is not a path"),
            HubConfig::PATH_VALID,
        );
    }
    hub
}

fn origins(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<String> {
    let valid = "an origin such as https://a.example or http://localhost:3000, or `*`";
    let read = |item| {
        let text = reader.word(item, valid)?;
        let host = text.split_once("://").map_or("", |(_, host)| host);
        let is_origin = !host.is_empty() && !host.contains('/') || text == "*";
        if !is_origin {
            reader.report(item, format!("`{text}` is not an origin"), valid);
        }
        is_origin.then_some(text)
    };
    reader.one_or_more(node).iter().filter_map(read).collect()
}

fn rule(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubRule> {
    let fields = reader.fields(node, &HUB_CHANNELS)?;
    let pattern = required(reader, &fields, "match")
        .and_then(|node| reader.word(node, "a name or a pattern such as game-*"));
    let mut rule = HubRule::of(&pattern?);
    put(
        &mut rule.history_max,
        count(reader, &fields, "history", 0..=1_000_000),
    );
    put(
        &mut rule.history_age,
        duration(reader, &fields, "history_age"),
    );
    put(
        &mut rule.history_bytes_max,
        size(reader, &fields, "history_size", 0..=1 << 30),
    );
    rule.interval = duration(reader, &fields, "interval");
    let modes = [("newest", false), ("merge", true)];
    let conflate = fields.get("conflate");
    put(
        &mut rule.merges,
        conflate.and_then(|node| reader.one_of(node, &modes)),
    );
    let aggregate = fields.get("aggregate");
    rule.aggregate = aggregate.and_then(|node| url(reader, node, "/"));
    if let (Some(_), Some(node)) = (conflate, aggregate) {
        let message = "`conflate` and `aggregate` are mutually exclusive";
        reader.report(node, message, "one of the two");
    }
    if let (Some(node), None) = (conflate.or(aggregate), fields.get("interval")) {
        let valid = "with `interval: 3s`";
        reader.report(node, "conflation needs an interval", valid);
    }
    put(
        &mut rule.data_len_max,
        size(reader, &fields, "data", 1..=16 << 20),
    );
    rule.rate = fields
        .get("rate")
        .and_then(|node| reader.value(node, "a rate such as 10/s", units::rate_above_zero));
    put(
        &mut rule.subscribers_max,
        count(reader, &fields, "subscribers", 1..=10_000_000),
    );
    put(
        &mut rule.clients_publish,
        switch(reader, &fields, "publish"),
    );
    put(&mut rule.presence, switch(reader, &fields, "presence"));
    put(&mut rule.patches, switch(reader, &fields, "patches"));
    put(
        &mut rule.replay,
        count(reader, &fields, "replay", 0..=100_000),
    );
    Some(rule)
}

/// Replaces the default by a value, if there is one.
fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn switch(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Option<bool> {
    reader.switch(fields.get(word)?)
}

fn count(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    word: &str,
    range: RangeInclusive<u32>,
) -> Option<u32> {
    reader.count32(fields.get(word)?, range)
}

fn duration(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Option<Duration> {
    reader.duration_above_zero(fields.get(word)?)
}

fn size(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    word: &str,
    range: RangeInclusive<u64>,
) -> Option<u64> {
    let node = fields.get(word)?;
    let size = reader.value(node, "a size such as 64KiB", units::size)?;
    if range.contains(&size) {
        return Some(size);
    }
    let valid = format!("{} to {} bytes", range.start(), range.end());
    reader.report(node, format!("{size} bytes are out of range"), valid);
    None
}
