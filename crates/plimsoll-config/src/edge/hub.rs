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
use crate::plan::reader::{DocumentReader, MapFields};
use crate::plan::tree::{DocumentNode, NodeKind};
use crate::units;
pub use hooks::HubHooks;
pub use sources::{HubSource, HubSourceKind};
pub use tokens::{HubKey, HubTokens};

/// Most rules for channels.
const RULES_MAX: usize = 1000;

/// Channels that clients subscribe to at a path of the edge. [`Hub::at`] is the shortest.
#[derive(Clone, Debug, PartialEq)]
pub struct HubConfig {
    /// Where clients open it.
    pub path: String,
    /// What whoever publishes at the admin address must know; `None` is what that address itself asks for.
    pub publish_token: Option<String>,
    /// What tells clients what they may do; without, everybody may read every channel.
    pub tokens: Option<HubTokens>,
    /// Pages of these origins may open it besides those of the host that is asked; `*` is all.
    pub origins: Vec<String>,
    /// Rules; the first whose pattern means a channel's name.
    pub channels: Vec<HubRule>,
    /// What becomes of a client that reads slowly.
    pub slow: HubSlow,
    /// Most messages that wait for a client.
    pub waiting_max: u32,
    /// Most bytes that wait for a client.
    pub waiting_bytes_max: u64,
    /// Most channels that a client subscribes to.
    pub subscriptions_max: u32,
    /// How often a client may say something.
    pub commands: Rate,
    /// Longest message of a client, bytes.
    pub message_len_max: u64,
    /// How often a client is asked whether it is still there.
    pub ping: Duration,
    /// Whether messages are compressed for clients that take that.
    pub compress: bool,
    /// Most channels.
    pub channels_max: u32,
    /// Bytes that the histories of all channels may take.
    pub history_bytes_max: u64,
    /// Whether clients and publishers of Mercure are served.
    pub mercure: bool,
    /// A Redis whose messages go to channels of the same name.
    pub redis: Option<HubRedis>,
    /// What else is listened to.
    pub sources: Vec<HubSource>,
    /// A Redis or NATS through which several edges share their channels.
    pub shared: Option<HubShared>,
    /// What an application is asked over HTTP.
    pub hooks: Option<HubHooks>,
    /// Most connections of one user.
    pub per_user: Option<u32>,
    /// Most connections with the same token.
    pub per_token: Option<u32>,
}

/// What several edges share their channels through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubSharedKind {
    /// A stream of Redis.
    Redis,
    /// A stream of NATS (`JetStream`).
    Nats,
}

/// A Redis or NATS through which several edges share their channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubShared {
    /// Which of them.
    pub kind: HubSharedKind,
    /// Its name or number.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Who asks, where several users are known; a NATS takes a password without one as a token.
    pub user: Option<String>,
    /// What it asks for.
    pub password: Option<String>,
    /// What keys of Redis begin with, or the name of a stream of NATS: edges of one name share.
    pub name: String,
    /// How it is spoken to by TLS; `None` for in the open.
    pub tls: Option<ServerTls>,
    /// Most messages that it holds for edges that come or return.
    pub messages_max: u64,
    /// Most bytes of them.
    pub bytes_max: u64,
}

impl HubShared {
    /// What it is called where it is told of.
    pub fn title(&self) -> String {
        let kind = match self.kind {
            HubSharedKind::Redis => "Redis",
            HubSharedKind::Nats => "NATS",
        };
        format!("{kind} at {}:{}", self.host, self.port)
    }
}

/// A Redis that is listened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRedis {
    /// Its name or number.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Who listens, where Redis knows several users.
    pub user: Option<String>,
    /// What Redis asks for.
    pub password: Option<String>,
    /// How it is spoken to by TLS; `None` for in the open.
    pub tls: Option<ServerTls>,
    /// Channels of Redis, as `PSUBSCRIBE` takes them.
    pub patterns: Vec<String>,
}

/// What holds for the channels of a pattern.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct HubRule {
    /// Names, with stars that stand for anything.
    pub pattern: String,
    /// Messages that are remembered.
    pub history_max: u32,
    /// How long.
    pub history_age: Duration,
    /// Bytes that they may take.
    pub history_bytes_max: u64,
    /// At most one message goes out in so long.
    pub interval: Option<Duration>,
    /// Whether objects that come in between are merged; else the newest is sent.
    pub merges: bool,
    /// Or the application that makes one of them.
    pub aggregate: Option<Endpoint>,
    /// Longest data of a message, bytes.
    pub data_len_max: u64,
    /// How often may be published, a second.
    pub rate: Option<f64>,
    /// Most subscribers of a channel.
    pub subscribers_max: u32,
    /// Whether clients may publish.
    pub clients_publish: bool,
    /// Newest messages that a new subscriber is given.
    pub replay: u32,
    /// Whether it is kept who is there.
    pub presence: bool,
    /// Whether clients that want it are sent what has changed.
    pub patches: bool,
}

/// What becomes of a client that does not read as fast as it is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HubSlow {
    /// Older messages of a channel give way to newer ones.
    #[default]
    Newest,
    /// New messages are dropped.
    Drop,
    /// It is disconnected, and may return.
    Disconnect,
}

impl HubConfig {
    /// What is valid for a path.
    pub const PATH_VALID: &'static str = "a path such as /live, without a query";

    /// A hub with the defaults of everything; `None` when the path is none.
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
    /// The defaults, for the channels of a pattern.
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

/// Reads `hub:`, a path or more about it.
pub(super) fn hub(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return at(reader, node);
    }
    let fields = reader.fields(node, &HUB)?;
    let parsed = required(reader, &fields, "path").and_then(|node| at(reader, node));
    // Without a path the other faults are told all the same.
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

/// Reads who may do what, where messages come from besides publishers, and who else has them.
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

/// What is said takes the place of the default.
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
