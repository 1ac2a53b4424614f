//! Message sources of the hub, besides publishers over HTTP.

use super::super::file::required;
use super::super::server_tls::{SERVER_TLS, ServerTls};
use super::redis::{host_and_port, tls};
use crate::document::Shape::{Either, Of, OneOrMore, Switch, Text};
use crate::document::{DocumentNode, DocumentReader, MapFields, SettingsMap as _, settings, text};

/// Maximum number of sources.
const SOURCES_MAX: usize = 16;
/// Maximum number of names per source.
const NAMES_MAX: usize = 100;

settings! {
    /// A message source; one of `redis_stream`, `nats`, `postgres`. Data that is not JSON becomes a string. The hub
    /// reconnects until the source is available.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HubSource, HUB_SOURCES "hub_sources" {
        /// Its kind.
        kind: HubSourceKind = HubSourceKind::Nats;
        /// Host and port of a Redis: `127.0.0.1:6379`. Entries (`XADD`) have the fields `data` and, if it differs from
        /// the key, `channel`; without `data`, all fields become an object. Entries added while the edge is down are
        /// delivered after its restart.
        "redis_stream": Text;
        /// Host and port of a NATS server: `127.0.0.1:4222`. Messages published while the connection is down are lost.
        "nats": Text;
        /// Host and port of a PostgreSQL: `127.0.0.1:5432` (`NOTIFY`, at most 8,000 bytes). Notifications sent while
        /// the connection is down are lost.
        "postgres": Text;
        /// Host name or address.
        host: String = String::new();
        /// Its port.
        port: u16 = 0;
        /// Keys of streams, subjects (`game.>`), or `NOTIFY` channels.
        names: Vec<String> = Vec::new(), "listen": OneOrMore(&Text) => later;
        /// Channel of the hub; `*` stands for the name at the source.
        channel: String = "*".to_owned(),
            "channel": text("a name in which `*` stands for the name at the source: `live-*`");
        /// User name. Default for PostgreSQL: `postgres`.
        user: Option<String> = None, "user": text("a name");
        /// Password: `{{ env('NATS_PASSWORD') }}`. For NATS without `user`, a token.
        password: Option<String> = None, "password": text("a password");
        /// TLS: `true`, or a map with options. Default: false.
        tls: Option<ServerTls> = None, "tls": Either(&[Switch, Of(&SERVER_TLS)]) => tls;
        /// PostgreSQL database. Default: `postgres`.
        "database": Text;
        /// Redis consumer group that stores the position of this edge; each edge needs its own. Default: `plimsoll`.
        "group": Text;
    }
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
pub(super) fn sources(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<HubSource>> {
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
    (items.len() <= SOURCES_MAX).then_some(all)
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
    let may_trust = matches!(kind, HubSourceKind::Postgres { .. });
    if let (Some(node), None, false) = (fields.get("user"), fields.get("password"), may_trust) {
        reader.report(node, "`user` needs a password", "`user` with `password`");
    }
    let source = HubSource::read(reader, &fields);
    let (host, port) = place?;
    Some(HubSource {
        kind,
        host,
        port,
        names: names?,
        ..source
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
