//! Reads pools and their upstream servers.

use std::net::SocketAddr;
use std::time::Duration;

use super::file::required;
use super::keywords::{BALANCE, CHECK, EJECT, POOL, SERVER, SERVER_TLS, TIMEOUTS};
use super::{
    Authorities, BalancingPolicy, Ceiling, Check, Eject, HashKey, PoolConfig, ServerConfig,
    ServerTls, Timeouts,
};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::units;

/// Maximum size of a file of CA certificates, bytes.
const AUTHORITIES_LEN_MAX: u64 = 4 << 20;

/// Resolves the addresses of a server name.
type ServerLookup<'a> = dyn Fn(&ServerConfig) -> Result<Vec<SocketAddr>, String> + 'a;

/// Reads `pools:`.
pub(super) fn pools(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Vec<PoolConfig> {
    let Some(entries) = reader.entries(node, "pools by name") else {
        return Vec::new();
    };
    entries
        .iter()
        // An invalid pool keeps its name, so that routes to it are not reported, too.
        .map(|(key, node)| {
            pool(reader, &key.text, node, lookup)
                .unwrap_or_else(|| PoolConfig::new(&key.text, Vec::new()))
        })
        .collect()
}

fn pool(
    reader: &DocumentReader<'_>,
    name: &str,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Option<PoolConfig> {
    let fields = reader.fields(node, &POOL)?;
    let servers = required(reader, &fields, "servers").map(|node| servers(reader, node, lookup));
    let mut pool = PoolConfig::new(name, servers.unwrap_or_default());
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| reader.duration_above_zero(node))
    };
    if let Some(node) = fields.get("balance") {
        pool.load_balancer = load_balancer(reader, node).unwrap_or_default();
    }
    if let Some(node) = fields.get("max_in_flight") {
        pool.ceiling = ceiling(reader, node).unwrap_or_default();
    }
    pool.queue = fields
        .get("queue")
        .and_then(|node| reader.count32(node, 0..=1_000_000));
    pool.queue_timeout = time("queue_timeout").unwrap_or(pool.queue_timeout);
    pool.objective = time("objective").unwrap_or(pool.objective);
    if let Some(node) = fields.get("timeouts") {
        pool.timeouts = timeouts(reader, node);
    }
    let idle = fields
        .get("keep_idle")
        .and_then(|node| reader.count32(node, 0..=100_000));
    pool.idle_max = idle.unwrap_or(pool.idle_max);
    pool.check = fields.get("check").and_then(|node| check(reader, node));
    if let Some(node) = fields.get("eject") {
        pool.eject = eject(reader, node);
    }
    let slow_start = fields
        .get("slow_start")
        .and_then(|node| reader.duration(node));
    pool.slow_start = slow_start.unwrap_or(pool.slow_start);
    pool.retry_share = share(reader, &fields, "retries").unwrap_or(pool.retry_share);
    if let Some(node) = fields.get("tls") {
        pool.tls = tls(reader, node);
        if !pool.servers.is_empty() && !pool.servers.iter().any(|server| server.tls) {
            reader.report(
                node,
                "no server of the pool uses TLS",
                "a server such as https://app.example",
            );
        }
    }
    Some(pool)
}

fn share(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Option<f64> {
    let node = fields.get(word)?;
    reader.value(node, "a share such as 10%", units::share)
}

fn servers(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Vec<ServerConfig> {
    let items = reader.list(node, "servers");
    if items.is_empty() {
        reader.report(
            node,
            "the pool has no server",
            "a list such as [http://127.0.0.1:3000]",
        );
    }
    let mut servers: Vec<ServerConfig> = Vec::new();
    for item in items {
        let Some(server) = server(reader, item, lookup) else {
            continue;
        };
        if servers.iter().any(|existing| existing.name == server.name) {
            reader.report(
                item,
                format!("duplicate server {}", server.name),
                "each server once; use `weight` for a larger share",
            );
        }
        servers.push(server);
    }
    servers
}

fn server(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Option<ServerConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return located(reader, node, lookup);
    }
    let fields = reader.fields(node, &SERVER)?;
    let max_in_flight = fields.get("max_in_flight");
    let max_in_flight = max_in_flight.and_then(|node| reader.count32(node, 1..=1_000_000));
    let weight = fields
        .get("weight")
        .and_then(|node| reader.count32(node, 0..=1000));
    let zone = fields
        .get("zone")
        .and_then(|node| reader.word(node, "a name"));
    let found = required(reader, &fields, "url").and_then(|node| located(reader, node, lookup))?;
    Some(ServerConfig {
        max_in_flight,
        weight: weight.unwrap_or(1),
        zone,
        ..found
    })
}

/// The server that a URL names, with its addresses.
fn located(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    lookup: &ServerLookup<'_>,
) -> Option<ServerConfig> {
    const VALID: &str = "http://host:port with a host name that DNS resolves";
    let mut server = match ServerConfig::parse(&reader.word(node, VALID)?) {
        Ok(server) => server,
        Err(error) => {
            reader.report(node, error.message, error.valid);
            return None;
        }
    };
    if server.is_named() {
        match lookup(&server) {
            Ok(addresses) => server.addresses = addresses,
            Err(why) => {
                reader.report(node, why, VALID);
                return None;
            }
        }
    }
    Some(server)
}

/// Reads the TLS settings of upstream servers.
pub(super) fn tls(reader: &DocumentReader<'_>, node: &DocumentNode) -> ServerTls {
    let Some(fields) = reader.fields(node, &SERVER_TLS) else {
        return ServerTls::default();
    };
    let authorities = fields.get("ca").and_then(|node| {
        let name = reader.word(node, "a PEM file")?;
        let pem = reader.file(node, &name, AUTHORITIES_LEN_MAX)?;
        Some(Authorities { name, pem })
    });
    let name = fields.get("name").and_then(|node| {
        let valid = "a host name such as app.example";
        let name = reader.word(node, valid)?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
        if !is_name {
            reader.report(node, format!("`{name}` is not a host name"), valid);
        }
        is_name.then_some(name)
    });
    let insecure = fields.get("insecure").and_then(|node| reader.switch(node)) == Some(true);
    if insecure && fields.get("ca").is_some() {
        reader.report(
            node,
            "`ca` and `insecure` are mutually exclusive",
            "`ca: FILE` to verify certificates, or `insecure: true`",
        );
    }
    ServerTls {
        authorities,
        name,
        insecure,
    }
}

fn load_balancer(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<BalancingPolicy> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let text = reader.word(node, "peak_ewma, round_robin, least_in_flight")?;
        return match text.as_str() {
            "peak_ewma" => Some(BalancingPolicy::PeakEwma),
            "round_robin" => Some(BalancingPolicy::RoundRobin),
            "least_in_flight" => Some(BalancingPolicy::LeastInFlight),
            _ => {
                reader.unknown(
                    &node.span,
                    "balancing policy",
                    &text,
                    super::keywords::BALANCES,
                );
                None
            }
        };
    }
    let fields = reader.fields(node, &BALANCE)?;
    let (key, value) = reader.exactly_one(&fields, &["hash", "cookie"])?;
    if key.text == "cookie" {
        let name = reader.word(value, "a cookie name")?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_name {
            reader.report(
                value,
                format!("`{name}` is not a cookie name"),
                "letters, digits, - _ .",
            );
        }
        return is_name.then_some(BalancingPolicy::Cookie(name));
    }
    let valid = "client, target, or header NAME";
    let text = reader.word(value, valid)?;
    let key = match text.as_str() {
        "client" => HashKey::Client,
        "target" => HashKey::Target,
        other => match other.strip_prefix("header ") {
            Some(name) if !name.trim().is_empty() => HashKey::Header(name.trim().to_owned()),
            _ => {
                reader.report(value, format!("`{text}` is not a hash key"), valid);
                return None;
            }
        },
    };
    Some(BalancingPolicy::Hash(key))
}

fn ceiling(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Ceiling> {
    if reader.scalar(node, "a number or `adaptive`")? == "adaptive" {
        return Some(Ceiling::Adaptive);
    }
    reader.count32(node, 1..=1_000_000).map(Ceiling::Fixed)
}

fn timeouts(reader: &DocumentReader<'_>, node: &DocumentNode) -> Timeouts {
    let defaults = Timeouts::default();
    let Some(fields) = reader.fields(node, &TIMEOUTS) else {
        return defaults;
    };
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| reader.duration_above_zero(node))
    };
    Timeouts {
        connect: time("connect").unwrap_or(defaults.connect),
        first_byte: time("first_byte").unwrap_or(defaults.first_byte),
        idle: time("idle").unwrap_or(defaults.idle),
        total: time("total"),
        keep_alive: time("keep_alive").unwrap_or(defaults.keep_alive),
        tunnel: time("tunnel").unwrap_or(defaults.tunnel),
    }
}

fn check(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Check> {
    let fields = reader.fields(node, &CHECK)?;
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| reader.duration_above_zero(node))
    };
    let count = |word: &str| {
        fields
            .get(word)
            .and_then(|node| reader.count32(node, 1..=100))
    };
    let path = fields.get("path").and_then(|node| {
        let valid = "a path such as /health";
        let path = reader.word(node, valid)?;
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_path {
            reader.report(node, format!("`{path}` is not a path"), valid);
        }
        is_path.then_some(path)
    });
    Some(Check {
        path,
        every: time("every").unwrap_or(Duration::from_secs(2)),
        timeout: time("timeout").unwrap_or(Duration::from_secs(1)),
        fall: count("fall").unwrap_or(3),
        rise: count("rise").unwrap_or(2),
    })
}

fn eject(reader: &DocumentReader<'_>, node: &DocumentNode) -> Eject {
    let defaults = Eject::default();
    let Some(fields) = reader.fields(node, &EJECT) else {
        return defaults;
    };
    let failures = fields
        .get("failures")
        .and_then(|node| reader.count32(node, 0..=1000));
    let lasting = fields
        .get("for")
        .and_then(|node| reader.duration_above_zero(node));
    Eject {
        failures: failures.unwrap_or(defaults.failures),
        lasting: lasting.unwrap_or(defaults.lasting),
        share_max: share(reader, &fields, "most").unwrap_or(defaults.share_max),
    }
}
