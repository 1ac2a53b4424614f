//! Pools of equivalent upstream servers.

mod balance;
mod health;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::file::required;
use super::server::{SERVER, servers};
use super::server_tls::{SERVER_TLS, server_tls};
use super::{ServerConfig, ServerTls};
use crate::document::Shape::{Count, Either, ListOf, Of, OneOf, Text};
use crate::document::{
    DocumentNode, DocumentReader, SettingsMap as _, count, settings, share, time, time_or_zero,
};
use balance::load_balancer;
pub(crate) use balance::{BALANCE, BALANCES};
pub use balance::{BalancingPolicy, Ceiling, HashKey};
pub(crate) use health::{CHECK, EJECT};
pub use health::{Check, Eject};

/// Largest limit of requests in flight per server.
pub const CEILING_MAX: u32 = 1_000_000;

/// Queue lengths that can be configured.
pub const QUEUE_LENS: RangeInclusive<u32> = 0..=1_000_000;

/// Resolves the addresses of a server name.
pub(super) type ServerLookup<'a> = dyn Fn(&ServerConfig) -> Result<Vec<SocketAddr>, String> + 'a;

settings! {
    /// A pool of equivalent upstream servers.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PoolConfig, POOL "pool" {
        /// Name, for routes, metrics and logs.
        name: String = String::new();
        /// Upstream servers: a URL, or a map with options.
        servers: Vec<ServerConfig> = Vec::new(), "servers": ListOf(&Either(&[Text, Of(&SERVER)])) => later;
        /// Balancing policy. Default: `peak_ewma`, which picks two servers at random and takes the one with the lower
        /// cost.
        load_balancer: BalancingPolicy = BalancingPolicy::PeakEwma,
            "balance": Either(&[OneOf(BALANCES), Of(&BALANCE)]) => load_balancer;
        /// Maximum requests in flight per server; `adaptive` adjusts it to the response time.
        ceiling: Ceiling = Ceiling::Adaptive,
            "max_in_flight": Either(&[Count(1, CEILING_MAX as u64), OneOf(&["adaptive"])]) => ceiling;
        /// Maximum queue length. Default: as many requests as can be served in time.
        queue: Option<u32> = None, "queue": count(QUEUE_LENS);
        /// Maximum time in the queue.
        queue_timeout: Duration = Duration::from_millis(500), "queue_timeout": time();
        /// Target of an adaptive limit: 95 % of responses within this time.
        objective: Duration = Duration::from_millis(500), "objective": time();
        /// TLS settings for `https://` servers.
        tls: ServerTls = ServerTls::default(), "tls": Of(&SERVER_TLS) => server_tls;
        /// Time-outs of upstream requests.
        timeouts: Timeouts = Timeouts::defaults(), "timeouts": Of(&TIMEOUTS) => Timeouts::from_map;
        /// Idle keep-alive connections per server and event loop.
        idle_max: u32 = 256, "keep_idle": count(0..=100_000);
        /// Active health checks. Default: none.
        check: Option<Check> = None, "check": Of(&CHECK) => Check::from_map;
        /// Outlier detection: when failed responses eject a server.
        eject: Eject = Eject::defaults(), "eject": Of(&EJECT) => Eject::from_map;
        /// Slow start: how long a recovered server gets less than its share.
        slow_start: Duration = Duration::from_secs(30), "slow_start": time_or_zero();
        /// Retry budget of idempotent requests, as a share of all requests.
        retry_share: f64 = 0.1, "retries": share("a share such as 10%");
        /// Zone of the edge.
        zone: Option<String> = None;
    }
}

settings! {
    /// Time-outs of upstream requests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Timeouts, TIMEOUTS "timeouts" {
        /// Connect time-out.
        connect: Duration = Duration::from_secs(2), "connect": time();
        /// Time to the first byte of the response.
        first_byte: Duration = Duration::from_mins(1), "first_byte": time();
        /// Time between two reads of the body.
        idle: Duration = Duration::from_mins(1), "idle": time();
        /// Time for the whole request. Default: none.
        total: Option<Duration> = None, "total": time();
        /// Idle time after which a keep-alive connection is closed.
        keep_alive: Duration = Duration::from_mins(1), "keep_alive": time();
        /// Idle time after which a WebSocket is closed.
        tunnel: Duration = Duration::from_hours(1), "tunnel": time();
    }
}

impl PoolConfig {
    /// A pool of these servers with the defaults of everything else.
    pub fn new(name: &str, servers: Vec<ServerConfig>) -> Self {
        Self {
            name: name.to_owned(),
            servers,
            ..Self::defaults()
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::defaults()
    }
}

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
    let pool = PoolConfig {
        name: name.to_owned(),
        servers: servers.unwrap_or_default(),
        ..PoolConfig::read(reader, &fields)
    };
    if let Some(node) = fields.get("tls")
        && !pool.servers.is_empty()
        && !pool.servers.iter().any(|server| server.tls)
    {
        reader.report(
            node,
            "no server of the pool uses TLS",
            "a server such as https://app.example",
        );
    }
    Some(pool)
}

fn ceiling(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Ceiling> {
    if reader.text(node, "a number or `adaptive`")? == "adaptive" {
        return Some(Ceiling::Adaptive);
    }
    reader.count32(node, 1..=CEILING_MAX).map(Ceiling::Fixed)
}
