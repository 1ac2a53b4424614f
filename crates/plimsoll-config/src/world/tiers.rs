//! The tiers of a world.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

use super::calls::{CALLS, Call, calls};
use super::law::{LAW, law};
use super::{CLIENTS, NAME_VALID, is_name};
use crate::document::Shape::{Either, Of, Text};
use crate::document::{
    DocumentKey, DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, count,
    settings, share, text, time,
};
use crate::units;

/// Most tiers of a world.
pub const TIERS_MAX: usize = 100;
/// Most servers and threads of a copy of a tier.
pub const SERVERS_MAX: u32 = 100_000;
/// Most copies of a tier.
pub const REPLICAS_MAX: u32 = 10_000;

const HIT_VALID: &str = "a share such as 90%";

settings! {
    /// A tier: equal servers behind one queue. A request waits for a server, is served, and then makes its calls.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tier, TIER "tier" {
        /// Its name.
        name: String = String::new();
        /// Time that a request takes a server, without its calls: `8ms`, `5ms..12ms`, `exponential 8ms`, `normal 8ms 2ms`, or
        /// `lognormal 8ms 0.5` with median and spread. Required.
        service: DurationDistribution = DurationDistribution::Fixed(Duration::ZERO), "service": LAW => law;
        /// Requests that a copy serves at once: its cores, or its processes.
        servers: u32 = 1, "servers": count(1..=SERVERS_MAX);
        /// Copies of the tier. All share one queue, as behind a balancer that knows which is free.
        replicas: u32 = 1, "replicas": count(1..=REPLICAS_MAX);
        /// Requests that a copy has in progress at once. With threads, a blocking call keeps its thread and frees its server;
        /// without, a blocking call keeps the server. Default: no threads.
        threads: Option<u32> = None, "threads": count(1..=SERVERS_MAX);
        /// Most requests that wait; more are refused. Default: unlimited.
        queue: Option<u32> = None, "queue": count(0..=10_000_000);
        /// Longest wait; a request that waits longer fails. Default: unlimited.
        timeout: Option<Duration> = None, "timeout": time();
        /// Where it stands. Tiers without a region are beside whoever calls them.
        region: Option<String> = None, "region": text(NAME_VALID).that(is_name, "a valid name");
        /// Share of requests that are answered without calls: `90%`, or a map. Default: no cache.
        cache: Option<Cache> = None, "cache": Either(&[Text, Of(&CACHE)]) => cache;
        /// What a request calls, in this order: names of tiers, or maps.
        calls: Vec<Call> = Vec::new(), "calls": CALLS => later;
    }
}

settings! {
    /// A cache in a tier: a hit is answered without calls.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Cache, CACHE "world-cache" {
        /// Share of requests that are hits: `90%`. Required.
        hit: f64 = 0.0, "hit": share(HIT_VALID), unsaid;
        /// Time that a hit takes a server. Default: the `service` of the tier.
        service: Option<DurationDistribution> = None, "service": LAW => law;
    }
}

impl Tier {
    /// Requests that all of its copies serve at once.
    pub fn servers_total(&self) -> u32 {
        self.servers.saturating_mul(self.replicas)
    }

    /// Requests that all of its copies have in progress at once; `None` without threads.
    pub fn threads_total(&self) -> Option<u32> {
        Some(self.threads?.saturating_mul(self.replicas))
    }

    /// Share of requests that are answered without calls.
    pub fn hit_share(&self) -> f64 {
        self.cache.as_ref().map_or(0.0, |cache| cache.hit)
    }
}

fn cache(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Cache> {
    if let NodeKind::Scalar { .. } = node.kind {
        let hit = reader.value(node, HIT_VALID, units::share)?;
        return Some(Cache { hit, service: None });
    }
    let fields = reader.fields(node, &CACHE)?;
    if fields.get("hit").is_none() && !fields.misspells(&["hit"]) {
        reader.report(node, "`hit` is missing", "{ hit: 90% }");
    }
    Some(Cache::read(reader, &fields))
}

/// Reads `tiers:`; `None` when there are none that can be used.
pub(super) fn tiers(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<Tier>> {
    let entries = reader.entries(node, "tiers by name")?;
    if entries.is_empty() || entries.len() > TIERS_MAX {
        let message = format!("the world has {} tiers", entries.len());
        reader.report(node, message, format!("1 to {TIERS_MAX}"));
        return None;
    }
    let names: Vec<&str> = entries.iter().map(|(key, _)| key.text.as_str()).collect();
    let tiers = entries.iter().map(|entry| tier(reader, entry, &names));
    // Each is read, so that all errors are reported.
    let tiers: Vec<Option<Tier>> = tiers.collect();
    tiers.into_iter().collect()
}

fn tier(
    reader: &DocumentReader<'_>,
    (key, node): &(DocumentKey, DocumentNode),
    names: &[&str],
) -> Option<Tier> {
    if !is_name(&key.text) || key.text == CLIENTS {
        let message = format!("`{}` is not a valid name of a tier", key.text);
        let valid = format!("{NAME_VALID}; not `{CLIENTS}`");
        reader.report_at(key.span.start, message, valid, None);
    }
    let fields = reader.fields(node, &TIER)?;
    check_service(reader, &fields);
    let mut tier = Tier::read(reader, &fields);
    tier.name.clone_from(&key.text);
    if let Some(node) = fields.get("calls") {
        tier.calls = calls(reader, node, names);
    }
    if let (Some(threads), Some((key, _))) = (tier.threads, fields.entry("threads"))
        && threads < tier.servers
    {
        let message = format!(
            "{threads} threads cannot keep {} servers busy",
            tier.servers
        );
        let valid = format!("at least {}, the `servers`", tier.servers);
        reader.report_at(key.span.start, message, valid, None);
    }
    Some(tier)
}

fn check_service(reader: &DocumentReader<'_>, fields: &MapFields<'_>) {
    if fields.get("service").is_none() && !fields.misspells(&["service"]) {
        reader.report(
            fields.node,
            "`service` is missing",
            "service: exponential 8ms",
        );
    }
}
