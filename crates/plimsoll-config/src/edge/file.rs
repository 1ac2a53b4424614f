//! The edge's configuration file: its keys, and the reader.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::access::{ACCESS, COUNTRIES, IpFilterConfig, access};
use super::acme::{ACME, acme};
use super::admin::{ADMIN, LOG, access_log, admin};
use super::caching::{CACHE, CACHE_LEN, CACHE_QUERY, CacheDisk, DISK, STORE, store};
use super::compress::COMPRESS;
use super::fallback::FALLBACK;
use super::fragments::FRAGMENTS;
use super::hub::{
    HUB, HUB_CHANNELS, HUB_HOOKS, HUB_REDIS, HUB_SHARED, HUB_SOURCES, HUB_TOKENS, hub,
};
use super::limits::LIMITS;
use super::listeners::{CERTIFICATE, LISTENER, listeners};
use super::outward::{RATE_ALERT, TRACES, rate_alert, traces};
use super::pools::{BALANCE, CHECK, EJECT, POOL, TIMEOUTS, pools};
use super::routes::{MATCH, RATE, REDIRECT, REWRITE, ROUTE, routes};
use super::server::SERVER;
use super::server_tls::SERVER_TLS;
use super::waiting_room::WAITING;
use super::{
    AccessLog, Acme, Admin, EdgeLimits, HubConfig, ListenerConfig, Network, PoolConfig, RateAlert,
    RouteConfig, ServerConfig, Traces,
};
use crate::document::Shape::{Either, ListOf, MapOf, Of, OneOf, OneOrMore, Switch, Text};
use crate::document::{
    Diagnostics, DocumentNode, DocumentReader, KeywordTable, MapFields, SettingsMap as _,
    Surroundings, count, each, section, settings, text, time,
};

/// Maximum size of a configuration file, bytes.
pub const EDGE_LEN_MAX: u64 = 4 << 20;
/// Number of event loops that can be configured.
pub const CORES: RangeInclusive<u32> = 1..=1024;

settings! {
    /// Configuration of the edge.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EdgeConfig, EDGE "edge" {
        /// Listeners: an address, or a map with options.
        listen: Vec<ListenerConfig> = Vec::new(), "listen": OneOrMore(&Either(&[Text, Of(&LISTENER)])) => later;
        /// Pools of equivalent upstream servers, by name.
        pools: Vec<PoolConfig> = Vec::new(), "pools": MapOf(&Of(&POOL)) => later;
        /// Routes; the first match applies. Without routes, all requests go to the only pool.
        routes: Vec<RouteConfig> = Vec::new(), "routes": ListOf(&Of(&ROUTE)) => later;
        /// The admin endpoint.
        admin: Option<Admin> = None, "admin": Either(&[Text, Of(&ADMIN)]) => admin;
        /// Access log: a file, `-` for standard output, or `off`.
        access_log: Option<AccessLog> = None, "access_log": Either(&[Text, Of(&LOG)]) => access_log;
        /// Number of event loops. Default: one per core.
        cores: Option<u32> = None, "cores": count(CORES);
        /// Trusted peers (`10.0.0.0/8`), whose `X-Forwarded-*`, `Forwarded` and PROXY headers are accepted.
        trusted: Vec<Network> = Vec::new(), "trusted": OneOrMore(&Text) => each network;
        /// Limits for clients.
        limits: EdgeLimits = EdgeLimits::defaults(), "limits": Of(&LIMITS) => EdgeLimits::from_map;
        /// The response cache. Default: 64MiB in memory.
        cache: Option<u64> = Some(CACHE_LEN), "cache": Either(&[OneOf(&["off"]), Of(&STORE)]) => later;
        /// The disk cache, if any.
        cache_disk: Option<CacheDisk> = None;
        /// Channels that browsers subscribe to by WebSocket or Server-Sent Events: a path, or a map with options.
        /// Default: none.
        hub: Option<HubConfig> = None, "hub": Either(&[Text, Of(&HUB)]) => hub;
        /// IP filter by address and country. Default: every client is allowed.
        access: Option<IpFilterConfig> = None, "access": Of(&ACCESS) => access;
        /// Substrings of the `User-Agent` of additional crawlers, which get no fallback and no waiting page.
        crawlers: Vec<String> = Vec::new(), "crawlers": each(
            text("a substring of its User-Agent, 3 to 100 characters, such as mybot")
                .that(is_crawler, "valid as a crawler name")
        );
        /// Rate alert: reports when the request rate leaves its usual range. Default: off.
        rate_alert: Option<RateAlert> = None, "alarm": Either(&[Switch, Of(&RATE_ALERT)]) => rate_alert;
        /// Export of request spans. Default: none.
        traces: Option<Traces> = None, "traces": Of(&TRACES) => traces;
        /// User that the process switches to after binding its sockets.
        user: Option<String> = None, "user": text("a user name");
        /// Time-out of graceful shutdown: requests in flight may finish until then.
        drain: Duration = Duration::from_secs(30), "drain": time();
        /// DNS servers (`127.0.0.1:53`) that resolve upstream names. Default: those of the system.
        resolvers: Vec<SocketAddr> = Vec::new(), "resolver": OneOrMore(&Text) => each resolver;
        /// How certificates are obtained by ACME.
        acme: Option<Acme> = None, "acme": Of(&ACME) => later;
        /// Zone of this edge; upstream servers of the same zone are preferred.
        zone: Option<String> = None, "zone": text("a name");
    }
}

impl EdgeConfig {
    /// One listener, one pool, and a route of all requests to it.
    pub fn single_pool(address: SocketAddr, pool: PoolConfig) -> Self {
        Self {
            listen: vec![ListenerConfig::at(address)],
            pools: vec![pool],
            routes: vec![RouteConfig::everything(0)],
            ..Self::defaults()
        }
    }

    /// One listener and a hub; every other request is refused.
    pub fn only_hub(address: SocketAddr, hub: HubConfig) -> Self {
        Self {
            listen: vec![ListenerConfig::at(address)],
            hub: Some(hub),
            ..Self::defaults()
        }
    }
}

/// All tables of keys, the one of the whole file first.
static TABLES: [&KeywordTable; 38] = [
    &EDGE,
    &LISTENER,
    &CERTIFICATE,
    &ACME,
    &POOL,
    &BALANCE,
    &SERVER,
    &SERVER_TLS,
    &TIMEOUTS,
    &CHECK,
    &EJECT,
    &ROUTE,
    &FALLBACK,
    &WAITING,
    &COMPRESS,
    &FRAGMENTS,
    &MATCH,
    &REDIRECT,
    &REWRITE,
    &RATE,
    &CACHE,
    &CACHE_QUERY,
    &STORE,
    &DISK,
    &HUB,
    &HUB_CHANNELS,
    &HUB_HOOKS,
    &HUB_REDIS,
    &HUB_SOURCES,
    &HUB_SHARED,
    &HUB_TOKENS,
    &ACCESS,
    &COUNTRIES,
    &RATE_ALERT,
    &TRACES,
    &ADMIN,
    &LOG,
    &LIMITS,
];

/// The reference page of the file as Markdown.
pub fn reference() -> String {
    let mut page = String::from(
        "# Configuration of the edge\n\nEvery key of the file that `plimsoll edge --config FILE` reads. Generated by \
         `plimsoll generate reference`; do not edit.\n\nDurations are `800ms`, `10s`, `1.5m`; rates `300/s`, `20/m`; \
         sizes `64MiB`; shares `10%`. Every scalar may contain `{{ env('NAME') }}`. Paths of files are relative to \
         the folder of the configuration.\n",
    );
    for table in TABLES {
        section(&mut page, table);
    }
    page
}

/// Resolves the addresses of a server name, with these name servers if there are any.
pub type HostLookup<'a> =
    dyn Fn(&ServerConfig, &[SocketAddr]) -> Result<Vec<SocketAddr>, String> + 'a;

/// Reads a configuration. `look_up` resolves server names.
///
/// # Errors
/// All errors of the file together.
pub fn read(
    text: &str,
    surroundings: &dyn Surroundings,
    lookup: &HostLookup<'_>,
) -> Result<EdgeConfig, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let root = reader.root();
    let edge = match &root {
        Some(root) if !root.is_null() => edge(&reader, root, lookup),
        // The error of a refused tree is already reported.
        None if reader.has_diagnostics() => None,
        _ => {
            reader.report_at(
                0,
                "the configuration is empty",
                "listen, pools, routes",
                None,
            );
            None
        }
    };
    reader.finish(edge)
}

fn edge(
    reader: &DocumentReader<'_>,
    root: &DocumentNode,
    lookup: &HostLookup<'_>,
) -> Option<EdgeConfig> {
    let fields = reader.fields(root, &EDGE)?;
    let mut edge = EdgeConfig::read(reader, &fields);
    let mut wanted = Vec::new();
    edge.listen = listeners(reader, &fields, &mut wanted);
    edge.acme = acme(reader, &fields, wanted);
    let find = |server: &ServerConfig| lookup(server, &edge.resolvers);
    edge.pools = pools_in(reader, &fields, edge.zone.as_ref(), &find);
    edge.routes = routes_in(reader, &fields, &edge.pools);
    if let Some(node) = fields.get("cache") {
        (edge.cache, edge.cache_disk) = store(reader, node);
    }
    Some(edge)
}

/// At least one pool, unless there is a hub; each in the zone of the edge.
fn pools_in(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    zone: Option<&String>,
    find: &dyn Fn(&ServerConfig) -> Result<Vec<SocketAddr>, String>,
) -> Vec<PoolConfig> {
    let mut pools = fields
        .get("pools")
        .map_or_else(Vec::new, |node| pools(reader, node, find));
    for pool in &mut pools {
        pool.zone = zone.cloned();
    }
    let may_be_none = fields.get("pools").is_none() && fields.get("hub").is_some();
    if pools.is_empty() && !may_be_none && !fields.misspells(&["pools"]) {
        reader.report(
            fields.node,
            "the configuration has no pool",
            "pools: { app: { servers: [http://127.0.0.1:3000] } }",
        );
    }
    pools
}

/// An edge with a hub alone needs no routes.
fn routes_in(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    pools: &[PoolConfig],
) -> Vec<RouteConfig> {
    match fields.get("routes") {
        Some(node) => routes(reader, node, pools),
        None if pools.is_empty() && fields.get("hub").is_some() => Vec::new(),
        None => only_pool(reader, fields, pools),
    }
}

/// Without routes, all requests go to the only pool.
fn only_pool(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    pools: &[PoolConfig],
) -> Vec<RouteConfig> {
    if pools.len() > 1 && !fields.misspells(&["routes"]) {
        let valid = "routes: [{ match: { path: /api/* }, pool: api }, …]";
        reader.report(fields.node, "several pools need routes", valid);
    }
    vec![RouteConfig::everything(0)]
}

/// A required key.
pub(super) fn required<'n>(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'n>,
    word: &str,
) -> Option<&'n DocumentNode> {
    let found = fields.get(word);
    if found.is_none() && !fields.misspells(&[word]) {
        reader.report(
            fields.node,
            format!("`{word}` is missing"),
            match fields.meaning(word) {
                Some(meaning) => format!("`{word}: …` ({})", meaning.trim_end_matches('.')),
                None => format!("`{word}: …`"),
            },
        );
    }
    found
}

fn network(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Network> {
    let valid = "an address or a range, such as 10.0.0.0/8";
    let text = reader.word(node, valid)?;
    let network = Network::parse(&text);
    if network.is_none() {
        reader.report(node, format!("`{text}` is not an address range"), valid);
    }
    network
}

fn resolver(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<SocketAddr> {
    let valid = "the address of a name server, such as 127.0.0.1:53";
    let text = reader.word(node, valid)?;
    let plain = text
        .parse()
        .ok()
        .map(|address| SocketAddr::new(address, 53));
    let address = text.parse().ok().or(plain);
    if address.is_none() {
        reader.report(node, format!("`{text}` is not an address"), valid);
    }
    address
}

/// A substring of every browser's `User-Agent` would exclude all clients from fallbacks.
fn is_crawler(name: &str) -> bool {
    (3..=100).contains(&name.len()) && !name.eq_ignore_ascii_case("mozilla")
}

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod hub_tests;
#[cfg(test)]
mod tests;
