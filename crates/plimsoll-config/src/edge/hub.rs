//! The hub: channels that clients subscribe to.

mod hooks;
mod redis;
mod rules;
mod sources;
mod tokens;

use std::time::Duration;

use super::Rate;
use super::admin::token;
use super::file::required;
use super::routes::{RATE, rate};
use crate::document::Shape::{Either, ListOf, Of, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count, each, one_of,
    settings, size, switch, text, time,
};
pub(crate) use hooks::HUB_HOOKS;
pub use hooks::HubHooks;
pub(crate) use redis::{HUB_REDIS, HUB_SHARED};
pub use redis::{HubRedis, HubShared, HubSharedKind};
pub(crate) use rules::HUB_CHANNELS;
pub use rules::HubRule;
pub(crate) use sources::HUB_SOURCES;
pub use sources::{HubSource, HubSourceKind};
pub(crate) use tokens::HUB_TOKENS;
pub use tokens::{HubKey, HubTokens};

settings! {
    /// WebSocket hub: channels that browsers subscribe to. `hub: /live` selects all defaults: every client may read
    /// every channel.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HubConfig, HUB "hub" {
        /// Path of the hub, for WebSockets and Server-Sent Events: `/live`.
        path: String = "/".to_owned(), "path": Text => later;
        /// Token of publishers at the admin endpoint, sent as `Authorization: Bearer TOKEN`. Default: the token of the
        /// admin endpoint.
        publish_token: Option<String> = None, "publish_token": Text => token;
        /// Signed tokens that authorize clients. Without them, every client may read every channel.
        tokens: Option<HubTokens> = None, "tokens": Of(&HUB_TOKENS) => tokens::tokens;
        /// Allowed origins (`https://a.example`) besides the origin of the hub itself; `*` allows all.
        origins: Vec<String> = Vec::new(), "origins": each(
            text("an origin such as https://a.example or http://localhost:3000, or `*`").that(is_origin, "an origin")
        );
        /// Rules for channels; the first whose pattern matches applies.
        channels: Vec<HubRule> = Vec::new(), "channels": ListOf(&Of(&HUB_CHANNELS)) => rules::rules;
        /// Backpressure: what happens to a client that reads too slowly. Older messages of a channel are replaced by
        /// newer ones, new ones are dropped, or the client is disconnected and may reconnect.
        slow: HubSlow = HubSlow::Newest, "slow": one_of![
            "newest" => HubSlow::Newest,
            "drop" => HubSlow::Drop,
            "disconnect" => HubSlow::Disconnect,
        ];
        /// Maximum queued messages per client.
        waiting_max: u32 = 64, "waiting": count(1..=100_000);
        /// Maximum queued bytes per client, {range}.
        waiting_bytes_max: u64 = 256 << 10, "waiting_size": size(1 << 10..=64 << 20);
        /// Maximum subscriptions per client.
        subscriptions_max: u32 = 100, "subscriptions": count(1..=100_000);
        /// Rate limit of messages from a client; a client that continues to exceed it is disconnected. Default: 10/s,
        /// 100 at once.
        commands: Rate = Rate { per_second: 10.0, burst: 100 }, "commands": Of(&RATE) => rate;
        /// Maximum size of a message from a client, {range}.
        message_len_max: u64 = 64 << 10, "message": size(128..=16 << 20);
        /// Ping interval; a client that has not replied by the next ping is disconnected.
        ping: Duration = Duration::from_secs(25), "ping": time();
        /// Whether messages of 128 bytes and more are compressed, once for all clients that accept it
        /// (permessage-deflate).
        compress: bool = false, "compress": switch();
        /// Maximum number of channels.
        channels_max: u32 = 1_000_000, "most_channels": count(1..=10_000_000);
        /// Total size of the histories of all channels, {range}.
        history_bytes_max: u64 = 64 << 20, "history_size": size(64 << 10..=64 << 30);
        /// Whether Mercure subscribers and publishers are served at `/.well-known/mercure`, with the same tokens.
        mercure: bool = false, "mercure": switch();
        /// Whether an update is published when a subscription of a Mercure reader begins or ends, and
        /// `/.well-known/mercure/subscriptions` lists the active ones; both require a token with that topic in
        /// `mercure.subscribe`.
        subscription_events: bool = false, "subscription_events": switch();
        /// Maximum number of active subscriptions, with `subscription_events`; readers beyond it get 503.
        active_subscriptions_max: u32 = 100_000, "active_subscriptions": count(1..=1_000_000);
        /// Redis whose published messages are delivered to channels of the same name: an address, or a map with
        /// options. Default: none.
        redis: Option<HubRedis> = None, "redis": Either(&[Text, Of(&HUB_REDIS)]) => redis::redis;
        /// Other message sources: Redis streams, NATS subjects, PostgreSQL notifications. Default: none.
        sources: Vec<HubSource> = Vec::new(), "sources": ListOf(&Of(&HUB_SOURCES)) => sources::sources;
        /// Broker through which several edges share their channels: Redis (6 or later) or NATS (with JetStream); the
        /// address of a Redis, or a map with options. Default: none.
        shared: Option<HubShared> = None, "shared": Either(&[Text, Of(&HUB_SHARED)]) => redis::shared;
        /// Application that authorizes clients and receives their messages, over HTTP. Default: none.
        hooks: Option<HubHooks> = None, "hooks": Of(&HUB_HOOKS) => later;
        /// Maximum connections per user, by the `sub` of tokens or the `user` from `hooks: { connect }`. Default:
        /// unlimited.
        per_user: Option<u32> = None, "per_user": count(1..=1_000_000);
        /// Maximum connections per token. Default: unlimited.
        per_token: Option<u32> = None, "per_token": count(1..=1_000_000);
    }
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
            ..Self::defaults()
        })
    }
}

/// Reads `hub:`, a path or a map with options.
pub(super) fn hub(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return at(reader, node);
    }
    let fields = reader.fields(node, &HUB)?;
    let at = required(reader, &fields, "path").and_then(|node| at(reader, node));
    let mut hub = HubConfig::read(reader, &fields);
    hooks::read(reader, &fields, &mut hub);
    check(reader, &fields, &hub);
    hub.path = at?.path;
    Some(hub)
}

/// Reports settings that exclude each other.
fn check(reader: &DocumentReader<'_>, fields: &MapFields<'_>, hub: &HubConfig) {
    if let (Some(node), true, None) = (fields.get("mercure"), hub.mercure, fields.get("tokens")) {
        let valid = "with `tokens: { secret: … }`, which publishers sign with";
        reader.report(node, "without tokens, every client could publish", valid);
    }
    if let (Some(node), true, false) = (
        fields.get("subscription_events"),
        hub.subscription_events,
        hub.mercure,
    ) {
        let message = "`subscription_events` are about the readers of Mercure";
        reader.report(node, message, "with `mercure: true`");
    }
    if let (Some(node), false) = (fields.get("active_subscriptions"), hub.subscription_events) {
        let message = "`active_subscriptions` limits the list of `subscription_events`";
        reader.report(node, message, "with `subscription_events: true`");
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

fn is_origin(text: &str) -> bool {
    let host = text.split_once("://").map_or("", |(_, host)| host);
    !host.is_empty() && !host.contains('/') || text == "*"
}
