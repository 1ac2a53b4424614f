//! Pools and their servers, as a file writes them.

use std::net::SocketAddr;
use std::time::Duration;

use super::file::required;
use super::words::{BALANCE, CHECK, EJECT, POOL, SERVER, SERVER_TLS, TIMEOUTS};
use super::{
    Authorities, Ceiling, Check, Chooser, Eject, HashKey, Pool, Server, ServerTls, Timeouts,
};
use crate::plan::desk::{Desk, Fields};
use crate::plan::tree::{Kind, Node};
use crate::units;

/// Longest file of authorities, bytes.
const AUTHORITIES_LEN_MAX: u64 = 4 << 20;

/// Looks up the addresses of a server that is given by name.
type LookUp<'a> = dyn Fn(&Server) -> Result<Vec<SocketAddr>, String> + 'a;

/// Reads `pools:`.
pub(super) fn pools(desk: &Desk<'_>, node: &Node, look_up: &LookUp<'_>) -> Vec<Pool> {
    let Some(entries) = desk.entries(node, "pools by name") else {
        return Vec::new();
    };
    entries
        .iter()
        // A pool with a fault keeps its name, so that routes to it are not faults too.
        .map(|(key, node)| {
            pool(desk, &key.text, node, look_up).unwrap_or_else(|| Pool::new(&key.text, Vec::new()))
        })
        .collect()
}

fn pool(desk: &Desk<'_>, name: &str, node: &Node, look_up: &LookUp<'_>) -> Option<Pool> {
    let fields = desk.fields(node, &POOL)?;
    let servers = required(desk, &fields, "servers").map(|node| servers(desk, node, look_up));
    let mut pool = Pool::new(name, servers.unwrap_or_default());
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.duration_above_zero(node))
    };
    if let Some(node) = fields.get("balance") {
        pool.chooser = chooser(desk, node).unwrap_or_default();
    }
    if let Some(node) = fields.get("max_in_flight") {
        pool.ceiling = ceiling(desk, node).unwrap_or_default();
    }
    pool.queue = fields
        .get("queue")
        .and_then(|node| desk.count32(node, 0..=1_000_000));
    pool.queue_timeout = time("queue_timeout").unwrap_or(pool.queue_timeout);
    pool.objective = time("objective").unwrap_or(pool.objective);
    if let Some(node) = fields.get("timeouts") {
        pool.timeouts = timeouts(desk, node);
    }
    let idle = fields
        .get("keep_idle")
        .and_then(|node| desk.count32(node, 0..=100_000));
    pool.idle_max = idle.unwrap_or(pool.idle_max);
    pool.check = fields.get("check").and_then(|node| check(desk, node));
    if let Some(node) = fields.get("eject") {
        pool.eject = eject(desk, node);
    }
    let slow_start = fields
        .get("slow_start")
        .and_then(|node| desk.duration(node));
    pool.slow_start = slow_start.unwrap_or(pool.slow_start);
    pool.retry_share = share(desk, &fields, "retries").unwrap_or(pool.retry_share);
    if let Some(node) = fields.get("tls") {
        pool.tls = tls(desk, node);
        if !pool.servers.is_empty() && !pool.servers.iter().any(|server| server.tls) {
            desk.fault(
                node,
                "none of the pool's servers is spoken to by TLS",
                "a server such as https://app.example",
            );
        }
    }
    Some(pool)
}

fn share(desk: &Desk<'_>, fields: &Fields<'_>, word: &str) -> Option<f64> {
    let node = fields.get(word)?;
    desk.value(node, "a share such as 10%", units::share)
}

fn servers(desk: &Desk<'_>, node: &Node, look_up: &LookUp<'_>) -> Vec<Server> {
    let items = desk.list(node, "servers");
    if items.is_empty() {
        desk.fault(
            node,
            "the pool has no server",
            "a list such as [http://127.0.0.1:3000]",
        );
    }
    let mut servers: Vec<Server> = Vec::new();
    for item in items {
        let Some(server) = server(desk, item, look_up) else {
            continue;
        };
        if servers.iter().any(|one| one.name == server.name) {
            desk.fault(
                item,
                format!("the server {} is there twice", server.name),
                "each server once; give it a weight",
            );
        }
        servers.push(server);
    }
    servers
}

fn server(desk: &Desk<'_>, node: &Node, look_up: &LookUp<'_>) -> Option<Server> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        return located(desk, node, look_up);
    }
    let fields = desk.fields(node, &SERVER)?;
    let max_in_flight = fields.get("max_in_flight");
    let max_in_flight = max_in_flight.and_then(|node| desk.count32(node, 1..=1_000_000));
    let weight = fields
        .get("weight")
        .and_then(|node| desk.count32(node, 0..=1000));
    let zone = fields
        .get("zone")
        .and_then(|node| desk.word(node, "a name"));
    let found = required(desk, &fields, "url").and_then(|node| located(desk, node, look_up))?;
    Some(Server {
        max_in_flight,
        weight: weight.unwrap_or(1),
        zone,
        ..found
    })
}

/// The server that a URL names, with its addresses.
fn located(desk: &Desk<'_>, node: &Node, look_up: &LookUp<'_>) -> Option<Server> {
    const VALID: &str = "http://host:port of an application that can be looked up";
    let mut server = match Server::parse(&desk.word(node, VALID)?) {
        Ok(server) => server,
        Err(fault) => {
            desk.fault(node, fault.fault, fault.valid);
            return None;
        }
    };
    if server.is_named() {
        match look_up(&server) {
            Ok(addresses) => server.addresses = addresses,
            Err(why) => {
                desk.fault(node, why, VALID);
                return None;
            }
        }
    }
    Some(server)
}

/// Reads how servers are spoken to by TLS.
pub(super) fn tls(desk: &Desk<'_>, node: &Node) -> ServerTls {
    let Some(fields) = desk.fields(node, &SERVER_TLS) else {
        return ServerTls::default();
    };
    let authorities = fields.get("ca").and_then(|node| {
        let name = desk.word(node, "a PEM file")?;
        let pem = desk.file(node, &name, AUTHORITIES_LEN_MAX)?;
        Some(Authorities { name, pem })
    });
    let name = fields.get("name").and_then(|node| {
        let valid = "a host such as app.example";
        let name = desk.word(node, valid)?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
        if !is_name {
            desk.fault(node, format!("`{name}` is no name of a host"), valid);
        }
        is_name.then_some(name)
    });
    let insecure = fields.get("insecure").and_then(|node| desk.switch(node)) == Some(true);
    if insecure && fields.get("ca").is_some() {
        desk.fault(
            node,
            "`ca` and `insecure` cannot stand together",
            "`ca: FILE`, and certificates are checked against it",
        );
    }
    ServerTls {
        authorities,
        name,
        insecure,
    }
}

fn chooser(desk: &Desk<'_>, node: &Node) -> Option<Chooser> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        let text = desk.word(node, "peak_ewma, round_robin, least_in_flight")?;
        return match text.as_str() {
            "peak_ewma" => Some(Chooser::PeakEwma),
            "round_robin" => Some(Chooser::RoundRobin),
            "least_in_flight" => Some(Chooser::LeastInFlight),
            _ => {
                desk.unknown(&node.span, "the chooser", &text, super::words::BALANCES);
                None
            }
        };
    }
    let fields = desk.fields(node, &BALANCE)?;
    let (key, value) = desk.exactly_one(&fields, &["hash", "cookie"])?;
    if key.text == "cookie" {
        let name = desk.word(value, "the name of a cookie")?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_name {
            desk.fault(
                value,
                format!("`{name}` is no name of a cookie"),
                "letters, digits, - _ .",
            );
        }
        return is_name.then_some(Chooser::Cookie(name));
    }
    let valid = "client, target, or header NAME";
    let text = desk.word(value, valid)?;
    let key = match text.as_str() {
        "client" => HashKey::Client,
        "target" => HashKey::Target,
        other => match other.strip_prefix("header ") {
            Some(name) if !name.trim().is_empty() => HashKey::Header(name.trim().to_owned()),
            _ => {
                desk.fault(value, format!("`{text}` cannot be hashed"), valid);
                return None;
            }
        },
    };
    Some(Chooser::Hash(key))
}

fn ceiling(desk: &Desk<'_>, node: &Node) -> Option<Ceiling> {
    if desk.scalar(node, "a number or `adaptive`")? == "adaptive" {
        return Some(Ceiling::Adaptive);
    }
    desk.count32(node, 1..=1_000_000).map(Ceiling::Fixed)
}

fn timeouts(desk: &Desk<'_>, node: &Node) -> Timeouts {
    let defaults = Timeouts::default();
    let Some(fields) = desk.fields(node, &TIMEOUTS) else {
        return defaults;
    };
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.duration_above_zero(node))
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

fn check(desk: &Desk<'_>, node: &Node) -> Option<Check> {
    let fields = desk.fields(node, &CHECK)?;
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.duration_above_zero(node))
    };
    let count = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.count32(node, 1..=100))
    };
    let path = fields.get("path").and_then(|node| {
        let valid = "a path such as /health";
        let path = desk.word(node, valid)?;
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_path {
            desk.fault(node, format!("`{path}` is not a path"), valid);
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

fn eject(desk: &Desk<'_>, node: &Node) -> Eject {
    let defaults = Eject::default();
    let Some(fields) = desk.fields(node, &EJECT) else {
        return defaults;
    };
    let failures = fields
        .get("failures")
        .and_then(|node| desk.count32(node, 0..=1000));
    let lasting = fields
        .get("for")
        .and_then(|node| desk.duration_above_zero(node));
    Eject {
        failures: failures.unwrap_or(defaults.failures),
        lasting: lasting.unwrap_or(defaults.lasting),
        share_max: share(desk, &fields, "most").unwrap_or(defaults.share_max),
    }
}
