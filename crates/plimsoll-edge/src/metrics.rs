//! Renders an overview in Prometheus and OpenMetrics text. Pure.

mod disk;
mod hub;

use std::fmt::Write as _;

use plimsoll_net::fragment_outcome::FragmentOutcome;
use plimsoll_net::loop_metrics::TimesSum;
use plimsoll_net::reason::Reason;
use plimsoll_proxy::lookup::CacheView;

use crate::overview::{Overview, ServerView};

/// Which of the two text formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    /// Prometheus text, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl ExpositionFormat {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Histogram bounds as exponents of two, in microseconds: 16 µs to 67 s.
const BOUNDS: std::ops::RangeInclusive<u32> = 4..=26;

/// Renders an overview.
pub(crate) fn render(overview: &Overview, format: ExpositionFormat) -> String {
    let mut page = Exposition {
        text: String::with_capacity(8192),
        format,
    };
    totals(&mut page, overview);
    response_totals(&mut page, overview);
    page.family("answers", "counter", "Responses to clients by status class");
    for (class, count) in (1..=5).zip(overview.statuses) {
        page.line("answers_total", &[("class", &format!("{class}xx"))], count);
    }
    page.family(
        "own_answers",
        "counter",
        "Synthetic responses, which no server gave, by reason",
    );
    for (reason, count) in Reason::ALL.into_iter().zip(overview.own) {
        page.line("own_answers_total", &[("reason", reason.name())], count);
    }
    page.family(
        "fallbacks",
        "counter",
        "Fallback pages, by the reason for which they were sent",
    );
    let causes = Reason::ALL.into_iter().zip(overview.fallback_causes);
    for (reason, count) in causes.filter(|(reason, _)| reason.may_fall_back()) {
        page.line("fallbacks_total", &[("reason", reason.name())], count);
    }
    let help = "Time from the head of a request to the last byte of its response";
    page.histogram("answer_seconds", help, &overview.answer_times);
    let help = "Time in the queue, of requests that waited and were served";
    page.histogram("wait_seconds", help, &overview.wait_times);
    pools(&mut page, overview);
    routes(&mut page, overview);
    cache(&mut page, overview);
    if let Some(hub_view) = &overview.hub {
        hub::page(&mut page, hub_view);
    }
    if format == ExpositionFormat::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

fn totals(page: &mut Exposition, overview: &Overview) {
    let counters = [
        ("requests", "Requests received", overview.requests),
        (
            "connections_accepted",
            "Client connections",
            overview.accepted,
        ),
        (
            "connections_turned_away",
            "Client connections rejected at a limit",
            overview.rejected_connections,
        ),
        (
            "memory_full_rejections",
            "Requests rejected because connections hold as much memory as they may",
            overview.memory_full,
        ),
        (
            "server_connects",
            "Connections to servers",
            overview.connects,
        ),
        (
            "server_connect_failures",
            "Failed connections to servers",
            overview.connects_failed,
        ),
        ("retries", "Retries on another server", overview.retries),
        ("broken_answers", "Truncated responses", overview.broken),
        (
            "clients_gone",
            "Requests canceled by the client before their response",
            overview.clients_gone,
        ),
        (
            "received_bytes",
            "Bytes received from clients",
            overview.bytes_in,
        ),
        ("sent_bytes", "Bytes sent to clients", overview.bytes_out),
        (
            "log_lines_dropped",
            "Access-log lines dropped",
            overview.log_lines_dropped,
        ),
    ];
    page.counters(&counters);
    let gauges = [
        (
            "connections",
            "Open client connections",
            overview.connections,
        ),
        ("tunnels", "Open upgraded connections", overview.tunnels),
    ];
    page.gauges(&gauges);
}

/// Compression, learned fallbacks and export.
fn response_totals(page: &mut Exposition, overview: &Overview) {
    let counters = [
        (
            "compressed_answers",
            "Compressed responses",
            overview.compressed,
        ),
        (
            "compress_skipped",
            "Responses not compressed for lack of CPU time or memory",
            overview.compress_skipped,
        ),
        (
            "compress_in_bytes",
            "Bytes of bodies before compression",
            overview.compress_in,
        ),
        (
            "compress_out_bytes",
            "Bytes of bodies after compression",
            overview.compress_out,
        ),
        (
            "shells_kept",
            "Pages of the origin kept as fallbacks",
            overview.fallbacks_learned,
        ),
        (
            "spans_sent",
            "Requests whose spans the collector accepted",
            overview.spans_sent,
        ),
        (
            "spans_lost",
            "Requests whose spans the collector did not accept",
            overview.spans_lost,
        ),
        (
            "spans_dropped",
            "Requests whose spans were dropped because the collector was too slow",
            overview.spans_dropped,
        ),
        (
            "webhooks_sent",
            "Rate alerts accepted by the webhook",
            overview.webhooks_sent,
        ),
        (
            "webhooks_failed",
            "Rate alerts not accepted by the webhook",
            overview.webhooks_failed,
        ),
    ];
    page.counters(&counters);
}

/// The value of a server that a family shows.
type ServerMetric = fn(&ServerView) -> u64;

fn pools(page: &mut Exposition, overview: &Overview) {
    page.family("waiting", "gauge", "Requests in the queue");
    for pool in &overview.pools {
        page.line("waiting", &[("pool", &pool.name)], pool.waiting);
    }
    let families: [(&str, &str, &str, ServerMetric); 5] = [
        (
            "server_up",
            "gauge",
            "Whether a server accepts requests",
            |server| server.is_in.into(),
        ),
        (
            "server_in_flight",
            "gauge",
            "Requests in flight at a server",
            |server| server.in_flight,
        ),
        (
            "server_limit",
            "gauge",
            "Limit of requests in flight at a server",
            |server| server.limit,
        ),
        (
            "server_answers",
            "counter",
            "Responses of a server",
            |server| server.answers,
        ),
        (
            "server_failures",
            "counter",
            "Failed responses of a server",
            |server| server.failures,
        ),
    ];
    for (name, kind, help, read) in families {
        page.family(name, kind, help);
        let sample = if kind == "counter" {
            format!("{name}_total")
        } else {
            name.to_owned()
        };
        for pool in &overview.pools {
            for server in &pool.servers {
                let labels = [("pool", pool.name.as_str()), ("server", &server.name)];
                page.line(&sample, &labels, read(server));
            }
        }
    }
}

fn routes(page: &mut Exposition, overview: &Overview) {
    page.family("route_requests", "counter", "Requests of a route");
    for route in &overview.routes {
        page.line(
            "route_requests_total",
            &[("route", &route.name)],
            route.requests,
        );
    }
    page.family("in_line", "gauge", "Browsers in the waiting line");
    for route in &overview.routes {
        if let Some(in_line) = route.in_line {
            page.line("in_line", &[("route", &route.name)], in_line);
        }
    }
    page.family(
        "rate_alarm",
        "gauge",
        "Whether the request rate is outside its usual range",
    );
    for alert in &overview.rate_alerts {
        let labels = [("kind", alert.kind), ("name", &alert.name)];
        page.line("rate_alarm", &labels, alert.is_alarmed.into());
    }
    let help = "Counts from which the usual range of the request rate is computed; it needs five";
    page.family("rate_alarm_history", "gauge", help);
    for alert in &overview.rate_alerts {
        let labels = [("kind", alert.kind), ("name", &alert.name)];
        page.line("rate_alarm_history", &labels, alert.history);
    }
    page.family("rate_alarms", "counter", "Rate alerts");
    for alert in &overview.rate_alerts {
        let labels = [("kind", alert.kind), ("name", &alert.name)];
        page.line("rate_alarms_total", &labels, alert.raised);
    }
}

/// Cache results and contents.
fn cache(page: &mut Exposition, overview: &Overview) {
    let counters = [
        ("cache_hits", "Cache hits", overview.cache_hits),
        (
            "cache_stale",
            "Cache hits with a stale response",
            overview.cache_stale,
        ),
        (
            "cache_misses",
            "Cache misses, revalidations included",
            overview.cache_misses,
        ),
        (
            "cache_collapsed",
            "Misses that waited for the fetch of another request",
            overview.cache_collapsed,
        ),
        (
            "cache_passed",
            "Requests that bypassed the cache",
            overview.cache_passed,
        ),
        (
            "cache_renewed",
            "Cached responses that a server confirmed (304)",
            overview.cache_renewed,
        ),
    ];
    page.counters(&counters);
    page.family(
        "route_cache_requests",
        "counter",
        "Requests of a route by cache result",
    );
    for route in &overview.routes {
        for (result, count) in [("hit", route.hits), ("miss", route.misses)] {
            let labels = [("route", route.name.as_str()), ("result", result)];
            page.line("route_cache_requests_total", &labels, count);
        }
    }
    page.family("fragments", "counter", "Page fragments by outcome");
    for (served, count) in FragmentOutcome::ALL.iter().zip(overview.fragments) {
        page.line("fragments_total", &[("result", served.name())], count);
    }
    if let Some(held) = &overview.cache {
        store(page, held);
    }
}

/// Cache contents.
fn store(page: &mut Exposition, held: &CacheView) {
    let gauges = [
        ("cache_size_bytes", "Memory limit of the cache", held.size),
        ("cache_bytes", "Memory used by the cache", held.bytes),
        ("cache_objects", "Cached responses", held.objects),
        (
            "cache_fetches",
            "Fetches for the cache in progress",
            held.fetches,
        ),
    ];
    page.gauges(&gauges);
    let counters = [
        (
            "cache_evictions",
            "Cached responses evicted for lack of memory",
            held.evicted,
        ),
        ("cache_purges", "Purge commands", held.purges),
    ];
    page.counters(&counters);
    if let Some(disk) = &held.disk {
        disk::page(page, disk);
    }
}

struct Exposition {
    text: String,
    format: ExpositionFormat,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // The older format names a counter's family like its samples.
        let suffix = if kind == "counter" && self.format == ExpositionFormat::Prometheus {
            "_total"
        } else {
            ""
        };
        let name = format!("plimsoll_edge_{name}{suffix}");
        let _ = writeln!(self.text, "# HELP {name} {help}.\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let _ = write!(self.text, "plimsoll_edge_{name}");
        for (place, (label, value)) in labels.iter().enumerate() {
            let open = if place == 0 { '{' } else { ',' };
            let value = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            let _ = write!(self.text, "{open}{label}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// Counters without labels: name, help and count of each.
    fn counters(&mut self, counters: &[(&str, &str, u64)]) {
        for &(name, help, count) in counters {
            self.family(name, "counter", help);
            self.line(&format!("{name}_total"), &[], count);
        }
    }

    /// Gauges without labels: name, help and level of each.
    fn gauges(&mut self, gauges: &[(&str, &str, u64)]) {
        for &(name, help, level) in gauges {
            self.family(name, "gauge", help);
            self.line(name, &[], level);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, times: &TimesSum) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for exponent in BOUNDS {
            let us = 1_u64 << exponent;
            let bound = format!("{}", us as f64 / 1e6);
            self.line(&bucket, &[("le", &bound)], times.below(us));
        }
        let count = times.count();
        self.line(&bucket, &[("le", "+Inf")], count);
        self.line(&format!("{name}_count"), &[], count);
        let seconds = times.sum_us as f64 / 1e6;
        let _ = writeln!(self.text, "plimsoll_edge_{name}_sum {seconds}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::PoolView;
    use plimsoll_net::loop_metrics::LatencyHistogram;

    fn overview() -> Overview {
        let times = LatencyHistogram::default();
        for ns in [20_000, 500_000, 3_000_000_000] {
            times.record(ns);
        }
        let mut overview = Overview {
            requests: 3,
            statuses: [0, 2, 0, 0, 1],
            memory_full: 5,
            ..Overview::default()
        };
        times.add_to(&mut overview.answer_times);
        overview.pools.push(PoolView {
            name: "a\"b".to_owned(),
            waiting: 7,
            servers: vec![ServerView {
                name: "127.0.0.1:3000".to_owned(),
                is_in: true,
                in_flight: 4,
                limit: 20,
                answers: 2,
                failures: 1,
                latency_ms: None,
                ..ServerView::default()
            }],
        });
        overview
    }

    #[test]
    fn both_formats_hold_the_same_figures() {
        let old = render(&overview(), ExpositionFormat::Prometheus);
        let new = render(&overview(), ExpositionFormat::OpenMetrics);
        for line in [
            "plimsoll_edge_requests_total 3",
            "plimsoll_edge_answers_total{class=\"2xx\"} 2",
            "plimsoll_edge_own_answers_total{reason=\"fallback\"} 0",
            "plimsoll_edge_fallbacks_total{reason=\"queue-full\"} 0",
            "plimsoll_edge_memory_full_rejections_total 5",
            "plimsoll_edge_waiting{pool=\"a\\\"b\"} 7",
            "plimsoll_edge_server_failures_total{pool=\"a\\\"b\",server=\"127.0.0.1:3000\"} 1",
            "plimsoll_edge_answer_seconds_bucket{le=\"0.000016\"} 0",
            "plimsoll_edge_answer_seconds_bucket{le=\"0.000032\"} 1",
            "plimsoll_edge_answer_seconds_bucket{le=\"+Inf\"} 3",
            "plimsoll_edge_answer_seconds_count 3",
            "plimsoll_edge_answer_seconds_sum 3.00052",
        ] {
            for text in [&old, &new] {
                assert!(
                    text.lines().any(|rendered| rendered == line),
                    "{line} is not in\n{text}"
                );
            }
        }
        assert!(old.contains("# TYPE plimsoll_edge_requests_total counter\n"));
        assert!(new.contains("# TYPE plimsoll_edge_requests counter\n"));
        assert!(new.ends_with("# EOF\n") && !old.contains("# EOF"));
    }
}
