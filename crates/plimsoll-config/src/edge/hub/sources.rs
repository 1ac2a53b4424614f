//! Message sources of the hub, besides publishers over HTTP.

use super::super::file::required;
use super::super::keywords::HUB_SOURCES;
use super::redis::{self, host_and_port};
use crate::document::{DocumentNode, DocumentReader, MapFields};
use crate::edge::ServerTls;

/// Maximum number of sources.
const SOURCES_MAX: usize = 16;
/// Maximum number of names per source.
const NAMES_MAX: usize = 100;

/// A source, and how its names map to channels of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSource {
    /// Its kind.
    pub kind: HubSourceKind,
    /// Host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User name.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// TLS settings; `None` is plain text.
    pub tls: Option<ServerTls>,
    /// Keys of streams, subjects or channels.
    pub names: Vec<String>,
    /// Channel of the hub; a star stands for the name at the source.
    pub channel: String,
}

/// Kind of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubSourceKind {
    /// Streams of Redis.
    RedisStream {
        /// The consumer group in which Redis stores the position of this edge.
        group: String,
    },
    /// Subjects of NATS.
    Nats,
    /// Notifications of PostgreSQL.
    Postgres {
        /// The database.
        database: String,
    },
}

impl HubSource {
    /// The hub's channel for a name of the source.
    pub fn channel_of(&self, name: &str) -> String {
        self.channel.replacen('*', name, 1)
    }

    /// Name for messages.
    pub fn title(&self) -> String {
        let kind = match self.kind {
            HubSourceKind::RedisStream { .. } => "Redis",
            HubSourceKind::Nats => "NATS",
            HubSourceKind::Postgres { .. } => "PostgreSQL",
        };
        format!("{kind} at {}:{}", self.host, self.port)
    }
}

/// Reads `sources:`.
pub(super) fn sources(reader: &DocumentReader<'_>, node: &DocumentNode) -> Vec<HubSource> {
    let items = reader.list(node, "sources");
    if items.len() > SOURCES_MAX {
        let valid = format!("at most {SOURCES_MAX}; one source may have several names");
        reader.report(node, "there are too many sources", valid);
    }
    let all: Vec<_> = items
        .iter()
        .filter_map(|item| source(reader, item))
        .collect();
    for (at, source) in all.iter().enumerate() {
        if all[..at].contains(source) {
            reader.report(
                node,
                "duplicate source",
                "each once; a duplicate would deliver every message twice",
            );
        }
    }
    all
}

fn source(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<HubSource> {
    let fields = reader.fields(node, &HUB_SOURCES)?;
    let kinds = ["redis_stream", "nats", "postgres"];
    let (kind, address) = reader.exactly_one(&fields, &kinds)?;
    let word = |name: &str, valid: &str| fields.get(name).and_then(|node| reader.word(node, valid));
    let (example, is_names) = match kind.text.as_str() {
        "redis_stream" => ("127.0.0.1:6379", "keys of streams: `updates`"),
        "nats" => ("127.0.0.1:4222", "subjects: `game.>`"),
        _ => ("127.0.0.1:5432", "channels of NOTIFY: `updates`"),
    };
    let place = host_and_port(reader, address, example);
    let names = required(reader, &fields, "listen").map(|node| names(reader, node, is_names));
    let channel = word(
        "channel",
        "a name in which `*` stands for the name at the source: `live-*`",
    );
    let kind = match kind.text.as_str() {
        "redis_stream" => HubSourceKind::RedisStream {
            group: word("group", "a name").unwrap_or_else(|| "plimsoll".to_owned()),
        },
        "nats" => HubSourceKind::Nats,
        _ => HubSourceKind::Postgres {
            database: word("database", "a name").unwrap_or_else(|| "postgres".to_owned()),
        },
    };
    only_for(
        reader,
        &fields,
        "group",
        matches!(kind, HubSourceKind::RedisStream { .. }),
        "redis_stream",
    );
    only_for(
        reader,
        &fields,
        "database",
        matches!(kind, HubSourceKind::Postgres { .. }),
        "postgres",
    );
    let user = word("user", "a name");
    let password = word("password", "a password");
    let may_trust = matches!(kind, HubSourceKind::Postgres { .. });
    if let (Some(node), None, false) = (fields.get("user"), fields.get("password"), may_trust) {
        reader.report(node, "`user` needs a password", "`user` with `password`");
    }
    let tls = redis::tls(reader, &fields);
    let (host, port) = place?;
    Some(HubSource {
        kind,
        host,
        port,
        user,
        password,
        tls,
        names: names?,
        channel: channel.unwrap_or_else(|| "*".to_owned()),
    })
}

/// Refuses a key that only applies to another kind of source.
fn only_for(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    name: &str,
    is_meant: bool,
    kind: &str,
) {
    if let (Some(node), false) = (fields.get(name), is_meant) {
        let message = format!("`{name}` is only valid with `{kind}`");
        reader.report(
            node,
            message,
            format!("remove it, or use `{kind}` as the source"),
        );
    }
}

fn names(reader: &DocumentReader<'_>, node: &DocumentNode, valid: &str) -> Vec<String> {
    let items = reader.one_or_more(node);
    if items.len() > NAMES_MAX {
        reader.report(
            node,
            "there are too many names",
            format!("at most {NAMES_MAX}"),
        );
    }
    let read = |item: &DocumentNode| {
        let name = reader.word(item, valid)?;
        let is_name = name.len() <= 200 && !name.contains(|c: char| c.is_control() || c == ' ');
        if !is_name {
            reader.report(
                item,
                format!("`{name}` is not a valid name to subscribe to"),
                valid,
            );
        }
        is_name.then_some(name)
    };
    items.iter().filter_map(read).collect()
}
