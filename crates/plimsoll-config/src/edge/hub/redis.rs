//! The Redis that is listened to, and what edges share.

use super::super::file::required;
use super::super::pools;
use super::super::words::{HUB_REDIS, HUB_SHARED};
use super::{HubRedis, HubShared, HubSharedKind, count, put, size};
use crate::edge::ServerTls;
use crate::plan::desk::{Desk, Fields};
use crate::plan::tree::{Kind, Node};

/// Reads `redis:`, an address or more about it.
pub(super) fn redis(desk: &Desk<'_>, node: &Node) -> Option<HubRedis> {
    let at = |node: &Node| {
        let (host, port) = redis_address(desk, node)?;
        Some(HubRedis {
            host,
            port,
            user: None,
            password: None,
            tls: None,
            patterns: vec!["*".to_owned()],
        })
    };
    if matches!(node.kind, Kind::Scalar { .. }) {
        return at(node);
    }
    let fields = desk.fields(node, &HUB_REDIS)?;
    let (user, password) = credentials(desk, &fields);
    let patterns = fields.get("channels").map(|node| {
        let items = desk.one_or_more(node).iter();
        let items = items.filter_map(|node| desk.word(node, "a pattern such as game-*"));
        items.collect::<Vec<_>>()
    });
    let redis = required(desk, &fields, "address").and_then(at)?;
    Some(HubRedis {
        user,
        password,
        tls: tls(desk, &fields),
        patterns: patterns.unwrap_or(redis.patterns),
        ..redis
    })
}

/// Reads `shared:`, an address of a Redis, or more about it or a NATS.
pub(super) fn shared(desk: &Desk<'_>, node: &Node) -> Option<HubShared> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        return shared_at(desk, node, HubSharedKind::Redis);
    }
    let fields = desk.fields(node, &HUB_SHARED)?;
    let (user, password) = credentials(desk, &fields);
    let messages = count(desk, &fields, "messages", 1..=10_000_000);
    let bytes = size(desk, &fields, "size", 64 << 10..=64 << 30);
    let place = match (fields.get("nats"), fields.get("address")) {
        (Some(node), Some(_)) => {
            let valid = "one of the two: `address` of a Redis, or `nats`";
            desk.fault(node, "edges share one order, and here are two", valid);
            None
        }
        (Some(node), None) => shared_at(desk, node, HubSharedKind::Nats),
        (None, _) => required(desk, &fields, "address")
            .and_then(|node| shared_at(desk, node, HubSharedKind::Redis)),
    };
    let kind = place
        .as_ref()
        .map_or(HubSharedKind::Redis, |place| place.kind);
    let name = fields.get("name");
    let name = name.and_then(|node| shared_name(desk, node, kind));
    let mut shared = place?;
    put(&mut shared.name, name);
    put(&mut shared.messages_max, messages.map(u64::from));
    put(&mut shared.bytes_max, bytes);
    Some(HubShared {
        user,
        password,
        tls: tls(desk, &fields),
        ..shared
    })
}

/// What is shared where nothing more is said of it.
fn shared_at(desk: &Desk<'_>, node: &Node, kind: HubSharedKind) -> Option<HubShared> {
    let example = match kind {
        HubSharedKind::Redis => "127.0.0.1:6379",
        HubSharedKind::Nats => "127.0.0.1:4222",
    };
    let (host, port) = host_and_port(desk, node, example)?;
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

/// What edges share under.
fn shared_name(desk: &Desk<'_>, node: &Node, kind: HubSharedKind) -> Option<String> {
    let (others, valid, what) = match kind {
        HubSharedKind::Redis => (
            &b"-_.:"[..],
            "1 to 100 letters, digits, `-`, `_`, `.` and `:`",
            "begin a key",
        ),
        HubSharedKind::Nats => (
            &b"-_"[..],
            "1 to 100 letters, digits, `-` and `_`",
            "name a stream",
        ),
    };
    let name = desk.word(node, valid)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
    let is_name = (1..=100).contains(&name.len()) && name.bytes().all(is_plain);
    if !is_name {
        desk.fault(node, format!("`{name}` cannot {what}"), valid);
    }
    is_name.then_some(name)
}

/// Where a Redis is.
fn redis_address(desk: &Desk<'_>, node: &Node) -> Option<(String, u16)> {
    host_and_port(desk, node, "127.0.0.1:6379")
}

/// Where a program is.
pub(super) fn host_and_port(desk: &Desk<'_>, node: &Node, example: &str) -> Option<(String, u16)> {
    let valid = format!("a host and a port, such as {example}");
    let text = desk.word(node, &valid)?;
    let parts = text.rsplit_once(':');
    let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let Some((host, port)) = parts.filter(|(host, _)| !host.is_empty()) else {
        desk.fault(node, format!("`{text}` is no address"), valid);
        return None;
    };
    Some((host.trim_matches(['[', ']']).to_owned(), port))
}

/// How it is spoken to by TLS, if it is: `tls: true`, or more about it.
pub(super) fn tls(desk: &Desk<'_>, fields: &Fields<'_>) -> Option<ServerTls> {
    let node = fields.get("tls")?;
    if matches!(node.kind, Kind::Scalar { .. }) {
        return desk.switch(node)?.then(ServerTls::default);
    }
    Some(pools::tls(desk, node))
}

/// Who asks Redis.
fn credentials(desk: &Desk<'_>, fields: &Fields<'_>) -> (Option<String>, Option<String>) {
    let word = |word: &str, valid: &str| fields.get(word).and_then(|node| desk.word(node, valid));
    if let (Some(node), None) = (fields.get("user"), fields.get("password")) {
        desk.fault(node, "a user has a password", "`password: …` beside it");
    }
    (word("user", "a name"), word("password", "a password"))
}
