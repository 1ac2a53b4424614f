//! All metrics as JSON.

use plimsoll_hub_io::hub::HubView;
use plimsoll_net::loop_metrics::TimesSum;
use plimsoll_net::reason::Reason;
use serde_json::{Value, json};

use crate::overview::Overview;

/// All metrics as one JSON object. Counters start at the edge's start; two samples give rates.
pub(super) fn render_metrics(overview: &Overview) -> String {
    let own: serde_json::Map<String, Value> = Reason::ALL
        .into_iter()
        .zip(overview.own)
        .map(|(reason, count)| (reason.name().to_owned(), count.into()))
        .collect();
    let pools = overview.pools.iter().map(|pool| {
        let servers = pool.servers.iter().map(|server| {
            json!({
                "name": server.name, "in": server.is_in, "in_flight": server.in_flight, "limit": server.limit,
                "answers": server.answers, "failures": server.failures, "latency_ms": server.latency_ms,
            })
        });
        let servers: Vec<Value> = servers.collect();
        json!({ "name": pool.name, "waiting": pool.waiting, "servers": servers })
    });
    let routes = overview.routes.iter().map(
        |route| json!({
            "name": route.name, "requests": route.requests, "in_line": route.in_line, "hits": route.hits,
            "misses": route.misses,
        }),
    );
    let cache = overview.cache.map(|held| {
        json!({
            "hits": overview.cache_hits, "stale": overview.cache_stale, "misses": overview.cache_misses,
            "collapsed": overview.cache_collapsed, "passed": overview.cache_passed, "renewed": overview.cache_renewed,
            "size": held.size, "bytes": held.bytes, "objects": held.objects, "evicted": held.evicted,
        })
    });
    let hub = overview.hub.as_ref().map(hub);
    let alerts = overview.rate_alerts.iter().filter(|alert| alert.is_alarmed);
    let alerts = alerts.map(|alert| json!({ "kind": alert.kind, "name": alert.name }));
    json!({
        "format_version": "1.0",
        "requests": overview.requests,
        "connections": overview.connections,
        "tunnels": overview.tunnels,
        "bytes_in": overview.bytes_in,
        "bytes_out": overview.bytes_out,
        "retries": overview.retries,
        "statuses": overview.statuses,
        "own": own,
        "cache": cache,
        "hub": hub,
        "answer_ms": quantiles(&overview.answer_times),
        "wait_ms": quantiles(&overview.wait_times),
        "routes": routes.collect::<Vec<_>>(),
        "alarms": alerts.collect::<Vec<_>>(),
        "pools": pools.collect::<Vec<_>>(),
    })
    .to_string()
}

/// The 50th, 95th and 99th percentiles, ms.
fn quantiles(times: &TimesSum) -> Value {
    json!({
        "p50": times.quantile_ms(0.5),
        "p95": times.quantile_ms(0.95),
        "p99": times.quantile_ms(0.99),
    })
}

/// The metrics of the hub, as JSON.
fn hub(hub: &HubView) -> Value {
    let shared = hub.shared.map(|shared| {
        json!({
            "joined": shared.is_joined, "posted": shared.posted, "refused": shared.refused,
            "read": shared.read, "losses": shared.lost,
        })
    });
    let asked = hub.hooks.as_ref().map(|(asked, waiting)| {
        let sum = |wanted: &str| -> u64 {
            let counts = asked.iter().filter(|(_, answer, _)| *answer == wanted);
            counts.map(|(_, _, count)| count).sum()
        };
        json!({
            "yes": sum("yes"), "no": sum("no"), "down": sum("down"), "remembered": sum("remembered"),
            "waiting": waiting,
        })
    });
    let largest = hub.largest.iter().map(|channel| {
            json!({
                "channel": channel.name, "subscribers": channel.subscribers, "messages": channel.messages,
                "deliveries": channel.deliveries, "history_bytes": channel.history_bytes,
            })
        });
    let sources = hub.sources.iter().map(|source| {
        json!({
            "source": source.name, "connected": source.is_there, "messages": source.messages,
            "refused": source.refused, "losses": source.losses,
        })
    });
    json!({
        "sources": sources.collect::<Vec<_>>(), "websockets": hub.sockets, "sse": hub.events, "mercure": hub.mercure, "channels": hub.channels,
        "history_bytes": hub.history_bytes, "published": hub.published, "conflated": hub.held,
        "messages": hub.messages, "deliveries": hub.delivered, "dropped": hub.dropped,
        "disconnected": hub.disconnected, "recovered": hub.recovered, "unrecovered": hub.unrecovered,
        "lag_ms": quantiles(&hub.lag), "shared": shared,
        "asked": asked, "largest": largest.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::RateAlertView;

    #[test]
    fn only_what_is_out_of_its_range_is_an_alarm() {
        let alert = |name: &str, is_alarmed| RateAlertView {
            kind: "route",
            name: name.to_owned(),
            is_alarmed,
            history: 5,
            raised: 1,
        };
        let overview = Overview {
            rate_alerts: vec![alert("/a", false), alert("/b", true)],
            ..Overview::default()
        };
        let rendered: Value = serde_json::from_str(&render_metrics(&overview)).unwrap();
        assert_eq!(
            rendered["alarms"],
            json!([{ "kind": "route", "name": "/b" }])
        );
    }
}
