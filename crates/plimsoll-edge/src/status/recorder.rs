//! Takes in a snapshot a second, and knows how the edge stands.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use plimsoll_hub_io::hub::{ChannelStats, HubView};
use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::reason::Reason;
use plimsoll_proxy::balance::health::ServerState;

use super::capacity::{Capacities, PoolLoad};
use super::channels::LargestChannels;
use super::columns::Columns;
use super::condition::{Conditions, FoundCondition};
use super::report::{Capacity, EdgeStatus, Now};
use super::rules;
use super::sentence::{Standing, sentence};
use super::window::{Answers, Snapshots, TURNED_AWAY, Window};
use crate::overview::{Overview, PoolView, Surroundings};

/// Rows of the hour, one a second.
pub(super) const HOUR: usize = 3600;
/// Columns of the hour.
const COLUMNS_MAX: usize = 32;
/// Seconds of a row of the sparklines.
pub(super) const SPARK_STEP: u64 = 15;
/// Rows of the sparklines: an hour.
const SPARK_ROWS: usize = 240;
/// Routes and servers that have a sparkline.
pub(super) const SPARKS_MAX: usize = 64;

/// Seconds between two looks at the largest channels.
const CHANNELS_INTERVAL: u64 = 10;

/// A moment, by two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Since the edge was started.
    pub(crate) at: Nanoseconds,
    /// The time of the day.
    pub(crate) wall: SystemTime,
}

impl Moment {
    /// Seconds since 1970.
    pub(super) fn unix_s(self) -> f64 {
        let since = self.wall.duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default().as_secs_f64()
    }
}

/// The past hour, and how the edge stands.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(super) snapshots: Snapshots,
    pub(super) hour: Columns,
    pub(super) sparks: Columns,
    /// Sums and counts of the row of sparklines that is going on.
    spark: BTreeMap<String, (f64, u32)>,
    /// That row.
    spark_row: u64,
    conditions: Conditions,
    capacities: Capacities,
    /// When the edge was started, s since 1970.
    pub(super) started: f64,
    pub(super) status: Option<EdgeStatus>,
    pub(super) channels: LargestChannels,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            snapshots: Snapshots::default(),
            hour: Columns::new(HOUR, COLUMNS_MAX),
            sparks: Columns::new(SPARK_ROWS, 3 * SPARKS_MAX),
            spark: BTreeMap::new(),
            spark_row: 0,
            conditions: Conditions::default(),
            capacities: Capacities::default(),
            started: 0.0,
            status: None,
            channels: LargestChannels::default(),
        }
    }
}

impl Recorder {
    /// Takes in a snapshot.
    pub(crate) fn observe(
        &mut self,
        moment: Moment,
        overview: Overview,
        surroundings: &Surroundings,
    ) {
        let unix_s = moment.unix_s();
        self.started = unix_s - Duration::from_nanos(moment.at).as_secs_f64();
        self.snapshots.push(moment.at, overview);
        let row = moment.at / 1_000_000_000;
        self.record(row, unix_s);
        let window = self.snapshots.now();
        let stood = window.map(|window| self.stand(&window, surroundings, moment));
        self.status = stood.map(|(found, causes)| self.report(found, causes, unix_s));
    }

    /// Whether it is time to look at the largest channels of the hub.
    pub(crate) fn wants_channels(&self) -> bool {
        self.hour.rows().is_multiple_of(CHANNELS_INTERVAL)
    }

    /// Takes in the largest channels of the hub.
    pub(crate) fn observe_channels(&mut self, moment: Moment, stats: Vec<ChannelStats>) {
        self.channels.observe(moment.at, stats);
    }

    /// How the edge stands, as JSON; `None` before the second snapshot.
    pub(crate) fn status(&self) -> Option<String> {
        let status = self.status.as_ref()?;
        serde_json::to_string(status).ok()
    }

    fn record(&mut self, row: u64, unix_s: f64) {
        let Some(window) = self.snapshots.last_second() else {
            return;
        };
        let mut values = hour_values(&window);
        for (key, share) in [("p50", 0.5), ("p99", 0.99)] {
            if let Some(ms) = self.snapshots.minute().quantile_ms(share) {
                values.push((key.to_owned(), ms * 1000.0));
            }
        }
        let sparks = spark_values(&window);
        for (before, now) in window.from.pools.iter().zip(&window.to.pools) {
            if before.name == now.name {
                let load = load(&window, before, now);
                self.capacities.observe(unix_s, &now.name, load);
            }
        }
        self.hour.push(row, &values);
        self.spark(row / SPARK_STEP, sparks);
    }

    /// Adds a second to the row of sparklines, which ends with the first second of the next.
    fn spark(&mut self, row: u64, values: Vec<(String, f64)>) {
        if row > self.spark_row && !self.spark.is_empty() {
            let ended: Vec<(String, f64)> = std::mem::take(&mut self.spark)
                .into_iter()
                .map(|(key, (sum, count))| (key, sum / f64::from(count)))
                .collect();
            self.sparks.push(self.spark_row, &ended);
        }
        self.spark_row = row;
        for (key, value) in values {
            let (sum, count) = self.spark.entry(key).or_default();
            *sum += value;
            *count += 1;
        }
    }
}

/// What is added to the hour each second.
fn hour_values(window: &Window<'_>) -> Vec<(String, f64)> {
    let answers = window.answers();
    let now = window.to;
    let (in_flight, limit) = in_flight(now);
    let mut values = vec![
        ("offered", answers.offered),
        ("server", answers.server),
        ("cache", answers.cache),
        ("fallback", answers.fallback),
        ("refused", answers.refused),
        ("edge", answers.edge),
        ("failed", answers.failed),
        ("in_flight", in_flight as f64),
        ("limit", limit as f64),
        ("waiting", waiting(now) as f64),
        ("connections", now.connections as f64),
        ("bytes_out", window.rate(|overview| overview.bytes_out)),
    ];
    if let Some(cache) = &now.cache {
        let hits = window.count(|overview| overview.cache_hits + overview.cache_stale) as f64;
        let all = hits + window.count(|overview| overview.cache_misses) as f64;
        if all > 0.0 {
            values.push(("cache.hit_share", hits / all));
        }
        values.push(("cache.bytes", cache.bytes as f64));
    }
    if let Some(hub) = &now.hub {
        let of = |overview: &Overview, count: fn(&HubView) -> u64| {
            overview.hub.as_ref().map_or(0, count)
        };
        values.push((
            "hub.clients",
            (hub.sockets + hub.events + hub.mercure) as f64,
        ));
        let delivered = window.rate(|overview| of(overview, |hub| hub.delivered));
        values.push(("hub.delivered", delivered));
        let dropped = window.rate(|overview| of(overview, |hub| hub.dropped));
        values.push(("hub.dropped", dropped));
    }
    let named = values.into_iter();
    named.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What is added to the sparklines of routes and servers each second.
fn spark_values(window: &Window<'_>) -> Vec<(String, f64)> {
    let mut values = Vec::new();
    for (index, route) in window.to.routes.iter().enumerate().take(SPARKS_MAX) {
        values.push((route_key(index, &route.name), window.route(index).0));
    }
    for rates in window.servers().take(SPARKS_MAX) {
        let pool = &window.to.pools[rates.pool];
        let key = server_key(&pool.name, &pool.servers[rates.server].name);
        values.push((format!("{key} failed"), rates.failed));
        values.push((key, rates.answers));
    }
    values
}

/// The column of a route's requests per second.
pub(super) fn route_key(index: usize, name: &str) -> String {
    format!("route {index} {name}")
}

/// The column of a server's responses per second.
pub(super) fn server_key(pool: &str, server: &str) -> String {
    format!("server {pool} {server}")
}

/// Requests in flight, and their limit at the servers that get requests.
fn in_flight(overview: &Overview) -> (u64, u64) {
    let servers = overview.pools.iter().flat_map(|pool| &pool.servers);
    servers.fold((0, 0), |(in_flight, limit), server| {
        let room = if server.state == ServerState::In {
            server.limit
        } else {
            0
        };
        (in_flight + server.in_flight, limit + room)
    })
}

fn waiting(overview: &Overview) -> u64 {
    overview.pools.iter().map(|pool| pool.waiting).sum()
}

/// A pool over a second.
fn load(window: &Window<'_>, before: &PoolView, now: &PoolView) -> PoolLoad {
    let is_in = |server: &&crate::overview::ServerView| server.state == ServerState::In;
    let used = |pool: &PoolView| -> (u64, u64) {
        let servers = pool.servers.iter().filter(is_in);
        servers.fold((0, 0), |(in_flight, limit), server| {
            (in_flight + server.in_flight, limit + server.limit)
        })
    };
    let is_full = |pool: &PoolView| {
        let (in_flight, limit) = used(pool);
        limit > 0 && in_flight >= limit
    };
    // Refusals are not counted by pool.
    let is_only = window.to.pools.len() == 1;
    let refused: u64 = TURNED_AWAY
        .iter()
        .filter(|reason| {
            matches!(
                reason,
                Reason::QueueFull | Reason::QueueTimeout | Reason::Shed
            )
        })
        .map(|reason| window.own(*reason) + window.fell_back(*reason))
        .sum();
    let more_came = (before.waiting > 0 && now.waiting > 0) || (is_only && refused > 0);
    let rates = window.servers();
    let rates = rates.filter(|rates| window.to.pools[rates.pool].name == now.name);
    PoolLoad {
        carried: rates
            .map(|rates| (rates.answers - rates.failed).max(0.0))
            .sum(),
        servers_in: now.servers.iter().filter(is_in).count(),
        limit: used(now).1,
        is_saturated: is_full(before) && is_full(now) && more_came,
    }
}

/// What the sentence needs beside what is wrong.
struct Causes {
    now: Now,
    answers: Answers,
    capacity: Vec<Capacity>,
    /// Of the only pool that gets requests.
    only: Option<f64>,
    fallback: Option<Reason>,
    refusal: Option<Reason>,
}

impl Recorder {
    fn stand(
        &self,
        window: &Window<'_>,
        surroundings: &Surroundings,
        moment: Moment,
    ) -> (Vec<FoundCondition>, Causes) {
        let answers = window.answers();
        let minute = self.snapshots.minute();
        let (in_flight, limit) = in_flight(window.to);
        let now = Now {
            offered: answers.offered,
            carried: answers.carried(),
            by_server: answers.server,
            by_cache: answers.cache,
            by_fallback: answers.fallback,
            refused: answers.refused,
            by_edge: answers.edge,
            failed: answers.failed,
            p50_ms: minute.quantile_ms(0.5),
            p99_ms: minute.quantile_ms(0.99),
            in_flight,
            limit,
            waiting: waiting(window.to),
            connections: window.to.connections,
        };
        let unix_s = moment.unix_s();
        let mut capacity = Vec::new();
        for pool in &window.to.pools {
            let load = load(window, pool, pool);
            let rate = self.capacities.estimate(unix_s, &pool.name, load);
            capacity.extend(rate.map(|requests_per_second| Capacity {
                pool: pool.name.clone(),
                requests_per_second,
            }));
        }
        let busy: Vec<&str> = busy_pools(window);
        let only = match busy[..] {
            [pool] => capacity.iter().find(|capacity| capacity.pool == pool),
            _ => None,
        };
        let only = only.map(|capacity| capacity.requests_per_second);
        let most = |count: &dyn Fn(Reason) -> u64| {
            let reasons = TURNED_AWAY.into_iter().filter(|reason| count(*reason) > 0);
            reasons.max_by_key(|reason| count(*reason))
        };
        let causes = Causes {
            now,
            answers,
            only,
            capacity,
            fallback: most(&|reason| window.fell_back(reason)),
            refusal: most(&|reason| window.own(reason)),
        };
        (rules::examine(window, surroundings, moment.wall), causes)
    }

    fn report(&mut self, found: Vec<FoundCondition>, causes: Causes, unix_s: f64) -> EdgeStatus {
        let wrong = self.conditions.follow(found, unix_s);
        let standing = Standing {
            at: unix_s,
            answers: causes.answers,
            capacity: causes.only,
            fallback_cause: causes.fallback,
            refusal_cause: causes.refusal,
            p99_ms: causes.now.p99_ms,
            wrong: &wrong,
        };
        EdgeStatus {
            format_version: "1.0",
            at: unix_s,
            started: self.started,
            sentence: sentence(&standing, &self.conditions),
            past: self.conditions.past(),
            now: causes.now,
            capacity: causes.capacity,
            wrong,
        }
    }
}

/// Pools whose servers have answered.
fn busy_pools<'a>(window: &Window<'a>) -> Vec<&'a str> {
    let mut busy: Vec<&str> = Vec::new();
    for rates in window.servers().filter(|rates| rates.answers > 0.0) {
        let name = window.to.pools[rates.pool].name.as_str();
        if !busy.contains(&name) {
            busy.push(name);
        }
    }
    busy
}

#[cfg(test)]
mod tests;
