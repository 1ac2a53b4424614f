//! What the page receives: everything at first, then what has changed.

use std::collections::BTreeMap;

use plimsoll_hub_io::hub::HubView;
use plimsoll_net::loop_metrics::TimesSum;
use plimsoll_proxy::balance::health::ServerState;
use serde_json::{Value, json};

use super::columns::Columns;
use super::recorder::{Recorder, SPARK_STEP, SPARKS_MAX, route_key, server_key};
use super::window::{ServerRates, Window};

/// Rows of a table; more are counted.
const TABLE_MAX: usize = SPARKS_MAX;

impl Recorder {
    /// Everything: the whole hour.
    pub(crate) fn full(&self) -> String {
        self.document(true, self.hour.first(), self.sparks.first())
    }

    /// The newest second.
    pub(crate) fn change(&self) -> String {
        let hour = self.hour.rows().saturating_sub(1);
        let is_new = self.hour.rows() % SPARK_STEP <= 1;
        let sparks = self.sparks.rows();
        let sparks = if is_new {
            sparks.saturating_sub(1)
        } else {
            sparks
        };
        self.document(false, hour, sparks)
    }

    fn document(&self, is_full: bool, hour: u64, sparks: u64) -> String {
        let mut document = json!({
            "full": is_full,
            "started": self.started,
            "hour": columns(&self.hour, hour, 1),
            "sparks": columns(&self.sparks, sparks, SPARK_STEP),
            "status": self.status,
            "channels": self.channels.rows(),
        });
        if let Some(window) = self.snapshots.now() {
            for (name, table) in tables(&window) {
                document[name] = table;
            }
        }
        document.to_string()
    }
}

fn columns(columns: &Columns, from: u64, step_s: u64) -> Value {
    json!({
        "from": from.max(columns.first()), "rows": columns.rows(), "first": columns.first(),
        "step_s": step_s, "columns": columns.since(from),
    })
}

/// Rates of the last ten seconds by route, server, cache and hub.
fn tables(window: &Window<'_>) -> Vec<(&'static str, Value)> {
    let now = window.to;
    let cache = now.cache.as_ref().map(|held| {
        json!({
            "hits": window.rate(|overview| overview.cache_hits),
            "stale": window.rate(|overview| overview.cache_stale),
            "misses": window.rate(|overview| overview.cache_misses),
            "collapsed": window.rate(|overview| overview.cache_collapsed),
            "passed": window.rate(|overview| overview.cache_passed),
            "evicted": window.rate(|overview| overview.cache.map_or(0, |cache| cache.evicted)),
            "size": held.size, "bytes": held.bytes, "objects": held.objects, "fetches": held.fetches,
            "disk": held.disk.map(|disk| json!({ "size": disk.size, "bytes": disk.bytes, "objects": disk.objects })),
        })
    });
    let empty = HubView::default();
    let before = window.from.hub.as_ref().unwrap_or(&empty);
    let hub = now.hub.as_ref().map(|now| hub(before, now, window.seconds));
    let own = reasons(window);
    vec![
        ("routes", routes(window)),
        ("servers", servers(window)),
        ("cache", cache.into()),
        ("hub", hub.into()),
        ("own", own),
    ]
}

/// Responses of the edge itself per second, by reason; those that occurred.
fn reasons(window: &Window<'_>) -> Value {
    let reasons = plimsoll_net::reason::Reason::ALL.into_iter();
    let counted = reasons.map(|reason| (reason.name(), window.own(reason)));
    let some: BTreeMap<&str, f64> = counted
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name, count as f64 / window.seconds))
        .collect();
    json!(some)
}

fn routes(window: &Window<'_>) -> Value {
    let routes = window.to.routes.iter().enumerate().take(TABLE_MAX);
    let rows = routes.map(|(index, route)| {
        let (rate, hit_share) = window.route(index);
        let alerts = window.to.rate_alerts.iter();
        let mut alarmed = alerts.filter(|alert| alert.is_alarmed && alert.kind == "route");
        json!({
            "name": route.name, "rate": rate, "hit_share": hit_share, "in_line": route.in_line,
            "unusual": alarmed.any(|alert| alert.name == route.name),
            "spark": route_key(index, &route.name),
        })
    });
    json!({ "rows": rows.collect::<Vec<_>>(), "more": window.to.routes.len().saturating_sub(TABLE_MAX) })
}

/// Servers that are out come first.
fn servers(window: &Window<'_>) -> Value {
    let mut all: Vec<ServerRates> = window.servers().collect();
    let state = |rates: &ServerRates| window.to.pools[rates.pool].servers[rates.server].state;
    all.sort_by_key(|rates| matches!(state(rates), ServerState::In));
    let rows = all.iter().take(TABLE_MAX).map(|rates| {
        let pool = &window.to.pools[rates.pool];
        let server = &pool.servers[rates.server];
        let state = match server.state {
            ServerState::In => "in",
            ServerState::FailsChecks => "fails checks",
            ServerState::Ejected => "ejected",
            ServerState::Drained => "drained",
        };
        json!({
            "pool": pool.name, "name": server.name, "state": state, "in_flight": server.in_flight,
            "limit": server.limit, "rate": rates.answers, "failed": rates.failed, "latency_ms": server.latency_ms,
            "waiting": pool.waiting, "spark": server_key(&pool.name, &server.name),
        })
    });
    json!({ "rows": rows.collect::<Vec<_>>(), "more": all.len().saturating_sub(TABLE_MAX) })
}

fn hub(before: &HubView, now: &HubView, seconds: f64) -> Value {
    let rate =
        |count: fn(&HubView) -> u64| count(now).saturating_sub(count(before)) as f64 / seconds;
    let sources = now.sources.iter().map(|source| {
        json!({ "name": source.name, "connected": source.is_there, "refused": source.refused, "losses": source.losses })
    });
    json!({
        "websockets": now.sockets, "sse": now.events, "mercure": now.mercure, "channels": now.channels,
        "history_bytes": now.history_bytes, "published": rate(|hub| hub.published), "messages": rate(|hub| hub.messages),
        "deliveries": rate(|hub| hub.delivered), "dropped": rate(|hub| hub.dropped),
        "disconnected": rate(|hub| hub.disconnected), "recovered": rate(|hub| hub.recovered),
        "unrecovered": rate(|hub| hub.unrecovered), "lag_p99_ms": lag(&now.lag, &before.lag),
        "hooks_waiting": now.hooks.as_ref().map(|(_, waiting)| waiting),
        "shared": now.shared.map(|shared| shared.is_joined), "sources": sources.collect::<Vec<_>>(),
    })
}

/// 99th percentile of the lag of the last seconds, ms.
fn lag(now: &TimesSum, before: &TimesSum) -> Option<f64> {
    now.since(before).quantile_ms(0.99)
}
