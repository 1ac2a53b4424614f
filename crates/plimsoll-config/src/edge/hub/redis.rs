//! Reads the Redis that the hub subscribes to, and the broker that edges share.

use super::super::file::required;
use super::super::keywords::{HUB_REDIS, HUB_SHARED};
use super::super::pools;
use super::{HubRedis, HubShared, HubSharedKind, count, put, size};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::edge::ServerTls;

/// Reads `redis:`, an address or a map with options.
pub(super) fn redis(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubRedis> {
    let at = |node: &DocumentNode| {
        let (host, port) = redis_address(reader, node)?;
        Some(HubRedis {
            host,
            port,
            user: None,
            password: None,
            tls: None,
            patterns: vec!["*".to_owned()],
        })
    };
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return at(node);
    }
    let fields = reader.fields(node, &HUB_REDIS)?;
    let (user, password) = credentials(reader, &fields);
    let patterns = fields.get("channels").map(|node| {
        let items = reader.one_or_more(node).iter();
        let items = items.filter_map(|node| reader.word(node, "a pattern such as game-*"));
        items.collect::<Vec<_>>()
    });
    let redis = required(reader, &fields, "address").and_then(at)?;
    Some(HubRedis {
        user,
        password,
        tls: tls(reader, &fields),
        patterns: patterns.unwrap_or(redis.patterns),
        ..redis
    })
}

/// Reads `shared:`, the address of a Redis, or a map with options or a NATS.
pub(super) fn shared(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubShared> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return shared_at(reader, node, HubSharedKind::Redis);
    }
    let fields = reader.fields(node, &HUB_SHARED)?;
    let (user, password) = credentials(reader, &fields);
    let messages = count(reader, &fields, "messages", 1..=10_000_000);
    let bytes = size(reader, &fields, "size", 64 << 10..=64 << 30);
    let place = match (fields.get("nats"), fields.get("address")) {
        (Some(node), Some(_)) => {
            let valid = "one of the two: the `address` of a Redis, or `nats`";
            reader.report(node, "edges share one broker, but two are given", valid);
            None
        }
        (Some(node), None) => shared_at(reader, node, HubSharedKind::Nats),
        (None, _) => required(reader, &fields, "address")
            .and_then(|node| shared_at(reader, node, HubSharedKind::Redis)),
    };
    let kind = place
        .as_ref()
        .map_or(HubSharedKind::Redis, |place| place.kind);
    let name = fields.get("name");
    let name = name.and_then(|node| shared_name(reader, node, kind));
    let mut shared = place?;
    put(&mut shared.name, name);
    put(&mut shared.messages_max, messages.map(u64::from));
    put(&mut shared.bytes_max, bytes);
    Some(HubShared {
        user,
        password,
        tls: tls(reader, &fields),
        ..shared
    })
}

/// Default settings of a broker.
fn shared_at(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    kind: HubSharedKind,
) -> Option<HubShared> {
    let example = match kind {
        HubSharedKind::Redis => "127.0.0.1:6379",
        HubSharedKind::Nats => "127.0.0.1:4222",
    };
    let (host, port) = host_and_port(reader, node, example)?;
    Some(HubShared {
        kind,
        host,
        port,
        user: None,
        password: None,
        tls: None,
        name: "plimsoll".to_owned(),
        messages_max: 100_000,
        bytes_max: 64 << 20,
    })
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
pub(super) fn tls(reader: &DocumentReader<'_>, fields: &MapFields<'_>) -> Option<ServerTls> {
    let node = fields.get("tls")?;
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(ServerTls::default);
    }
    Some(pools::tls(reader, node))
}

/// User and password of Redis.
fn credentials(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
) -> (Option<String>, Option<String>) {
    let word = |word: &str, valid: &str| fields.get(word).and_then(|node| reader.word(node, valid));
    if let (Some(node), None) = (fields.get("user"), fields.get("password")) {
        reader.report(node, "`user` needs a password", "`user` with `password`");
    }
    (word("user", "a name"), word("password", "a password"))
}
