//! The Redis that the hub subscribes to, and the broker that edges share.

use super::super::file::required;
use super::super::server_tls::{SERVER_TLS, ServerTls, server_tls};
use crate::document::Shape::{Either, Of, Switch, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count_as, each, settings,
    size, text,
};

settings! {
    /// A Redis that the hub subscribes to. Data that is not JSON becomes a string.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HubRedis, HUB_REDIS "hub_redis" {
        /// Host and port: `127.0.0.1:6379`.
        "address": Text;
        /// Host name or address.
        host: String = String::new();
        /// Its port.
        port: u16 = 0;
        /// User name, where Redis has several users.
        user: Option<String> = None, "user": text("a name");
        /// Password: `{{ env('REDIS_PASSWORD') }}`.
        password: Option<String> = None, "password": text("a password");
        /// TLS: `true`, or a map with options. Default: false.
        tls: Option<ServerTls> = None, "tls": Either(&[Switch, Of(&SERVER_TLS)]) => tls;
        /// Channel patterns, as in `PSUBSCRIBE`. A message that matches two of them arrives twice. Default: `*`.
        patterns: Vec<String> = vec!["*".to_owned()], "channels": each(text("a pattern such as game-*"));
    }
}

settings! {
    /// Broker (Redis or NATS) through which edges share their channels: a message published to one edge reaches the
    /// clients of all, and a client that reconnects to a different edge recovers there. Needs no persistence: after a
    /// restart of the broker, all clients are notified that messages may be missing.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HubShared, HUB_SHARED "hub_shared" {
        /// Its kind.
        kind: HubSharedKind = HubSharedKind::Redis;
        /// Host and port of a Redis: `127.0.0.1:6379`.
        "address": Text;
        /// Or of a NATS with JetStream: `127.0.0.1:4222`.
        "nats": Text;
        /// Host name or address.
        host: String = String::new();
        /// Its port.
        port: u16 = 0;
        /// User name, where the broker has several users. Without one, NATS takes the password as a token.
        user: Option<String> = None, "user": text("a name");
        /// Password: `{{ env('REDIS_PASSWORD') }}`.
        password: Option<String> = None, "password": text("a password");
        /// TLS: `true`, or a map with options. Default: false.
        tls: Option<ServerTls> = None, "tls": Either(&[Switch, Of(&SERVER_TLS)]) => tls;
        /// Prefix of Redis keys, or name of the NATS stream; edges with the same name share channels. Default:
        /// `plimsoll`.
        name: String = "plimsoll".to_owned(), "name": Text => later;
        /// Maximum messages stored for edges that start or reconnect, over all channels.
        messages_max: u64 = 100_000, "messages": count_as::<u64>(1..=10_000_000);
        /// Maximum size of these messages, {range}.
        bytes_max: u64 = 64 << 20, "size": size(64 << 10..=64 << 30);
    }
}

/// Kind of broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubSharedKind {
    /// A stream of Redis.
    Redis,
    /// A stream of NATS (`JetStream`).
    Nats,
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

/// Reads `redis:`, an address or a map with options.
pub(super) fn redis(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubRedis> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let (host, port) = redis_address(reader, node)?;
        return Some(HubRedis {
            host,
            port,
            ..HubRedis::defaults()
        });
    }
    let fields = reader.fields(node, &HUB_REDIS)?;
    let redis = HubRedis::read(reader, &fields);
    needs_password(reader, &fields);
    let address = required(reader, &fields, "address");
    let (host, port) = address.and_then(|node| redis_address(reader, node))?;
    Some(HubRedis {
        host,
        port,
        ..redis
    })
}

/// Reads `shared:`, the address of a Redis, or a map with options or a NATS.
pub(super) fn shared(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubShared> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let (host, port) = redis_address(reader, node)?;
        return Some(HubShared {
            host,
            port,
            ..HubShared::defaults()
        });
    }
    let fields = reader.fields(node, &HUB_SHARED)?;
    let mut shared = HubShared::read(reader, &fields);
    needs_password(reader, &fields);
    let place = match (fields.get("nats"), fields.get("address")) {
        (Some(node), Some(_)) => {
            let valid = "one of the two: the `address` of a Redis, or `nats`";
            reader.report(node, "edges share one broker, but two are given", valid);
            None
        }
        (Some(node), None) => {
            let place = host_and_port(reader, node, "127.0.0.1:4222");
            if place.is_some() {
                shared.kind = HubSharedKind::Nats;
            }
            place
        }
        (None, _) => {
            let node = required(reader, &fields, "address");
            node.and_then(|node| redis_address(reader, node))
        }
    };
    if let Some(node) = fields.get("name")
        && let Some(name) = shared_name(reader, node, shared.kind)
    {
        shared.name = name;
    }
    (shared.host, shared.port) = place?;
    Some(shared)
}

/// The name under which edges share channels.
fn shared_name(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: HubSharedKind,
) -> Option<String> {
    let (others, valid, what) = match kind {
        HubSharedKind::Redis => (
            &b"-_.:"[..],
            "1 to 100 letters, digits, `-`, `_`, `.` and `:`",
            "be the prefix of keys",
        ),
        HubSharedKind::Nats => (
            &b"-_"[..],
            "1 to 100 letters, digits, `-` and `_`",
            "be the name of a stream",
        ),
    };
    let name = reader.word(node, valid)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
    let is_name = (1..=100).contains(&name.len()) && name.bytes().all(is_plain);
    if !is_name {
        reader.report(node, format!("`{name}` cannot {what}"), valid);
    }
    is_name.then_some(name)
}

/// The address of a Redis.
fn redis_address(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<(String, u16)> {
    host_and_port(reader, node, "127.0.0.1:6379")
}

/// Host and port of a server.
pub(super) fn host_and_port(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    example: &str,
) -> Option<(String, u16)> {
    let valid = format!("a host and a port, such as {example}");
    let text = reader.word(node, &valid)?;
    let segments = text.rsplit_once(':');
    let segments = segments.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let Some((host, port)) = segments.filter(|(host, _)| !host.is_empty()) else {
        reader.report(node, format!("`{text}` is not an address"), valid);
        return None;
    };
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

/// TLS settings, if any: `tls: true`, or a map with options.
pub(super) fn tls(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<ServerTls> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(ServerTls::default);
    }
    server_tls(reader, node)
}

/// Reports a user of Redis without a password.
fn needs_password(reader: &DocumentReader<'_>, fields: &MapFields<'_>) {
    if let (Some(node), None) = (fields.get("user"), fields.get("password")) {
        reader.report(node, "`user` needs a password", "`user` with `password`");
    }
}
