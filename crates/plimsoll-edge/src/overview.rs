//! Snapshot of the edge: metrics of all loops added up, and the state of its pools. Plain data for display.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use plimsoll_hub_io::hub::{ActiveHub, HubView};
use plimsoll_net::clock::EdgeClock;
use plimsoll_net::fragment_outcome::FragmentOutcome;
use plimsoll_net::lock::lock;
use plimsoll_net::loop_metrics::{Counter, LoopMetrics, TimesSum};
use plimsoll_net::reason::Reason;
use plimsoll_proxy::admission::route::shared::RouteShared;
use plimsoll_proxy::balance::UpstreamPool;
use plimsoll_proxy::balance::health::ServerState;
use plimsoll_proxy::lookup::{Cache, CacheView};

/// Sources of a snapshot.
#[derive(Debug)]
pub(crate) struct OverviewSource {
    pub(crate) clock: EdgeClock,
    pub(crate) loops: Vec<Arc<LoopMetrics>>,
    /// The settings in use; a reload replaces them.
    pub(crate) pools: Mutex<Vec<Arc<UpstreamPool>>>,
    pub(crate) routes: Mutex<Vec<Arc<RouteShared>>>,
    pub(crate) cache: Mutex<Option<Arc<Cache>>>,
    pub(crate) hub: Mutex<Option<Arc<ActiveHub>>>,
    pub(crate) rate_alerts: Mutex<Vec<RateAlertView>>,
    pub(crate) exports: ExportCounts,
}

/// Export totals.
#[derive(Debug, Default)]
pub(crate) struct ExportCounts {
    pub(crate) spans_sent: Counter,
    /// Spans that the collector did not accept.
    pub(crate) spans_lost: Counter,
    pub(crate) webhooks_sent: Counter,
    pub(crate) webhooks_failed: Counter,
}

/// The snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overview {
    pub(crate) accepted: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) connections: u64,
    pub(crate) tunnels: u64,
    pub(crate) requests: u64,
    pub(crate) statuses: [u64; 5],
    pub(crate) own: [u64; Reason::COUNT],
    pub(crate) fallback_causes: [u64; Reason::COUNT],
    pub(crate) memory_full: u64,
    pub(crate) connects: u64,
    pub(crate) connects_failed: u64,
    pub(crate) retries: u64,
    pub(crate) broken: u64,
    pub(crate) clients_gone: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) log_lines_dropped: u64,
    pub(crate) compressed: u64,
    pub(crate) compress_skipped: u64,
    pub(crate) compress_in: u64,
    pub(crate) compress_out: u64,
    pub(crate) fallbacks_learned: u64,
    pub(crate) spans_dropped: u64,
    pub(crate) spans_sent: u64,
    pub(crate) spans_lost: u64,
    pub(crate) webhooks_sent: u64,
    pub(crate) webhooks_failed: u64,
    pub(crate) cache_hits: u64,
    pub(crate) cache_stale: u64,
    pub(crate) cache_misses: u64,
    pub(crate) cache_collapsed: u64,
    pub(crate) cache_passed: u64,
    pub(crate) cache_renewed: u64,
    pub(crate) fragments: [u64; FragmentOutcome::COUNT],
    pub(crate) cache: Option<CacheView>,
    pub(crate) hub: Option<HubView>,
    pub(crate) routes: Vec<RouteView>,
    pub(crate) rate_alerts: Vec<RateAlertView>,
    pub(crate) answer_times: TimesSum,
    pub(crate) wait_times: TimesSum,
    pub(crate) pools: Vec<PoolView>,
}

/// What the configuration in effect says about limits and certificates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) connections_max: u64,
    /// The cache has a folder on disk.
    pub(crate) has_disk: bool,
    /// File of each certificate, and until when it is valid.
    pub(crate) certificates: Vec<(String, SystemTime)>,
    pub(crate) hub: Option<HubLimits>,
}

/// Limits of the hub.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HubLimits {
    pub(crate) channels: u64,
    pub(crate) history_bytes: u64,
}

/// One route.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteView {
    pub(crate) name: String,
    pub(crate) requests: u64,
    /// Browsers in its waiting line.
    pub(crate) in_line: Option<u64>,
    /// Cache hits.
    pub(crate) hits: u64,
    /// Requests that went on after a cache lookup.
    pub(crate) misses: u64,
}

/// A watched request rate.
#[derive(Clone, Debug)]
pub(crate) struct RateAlertView {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) is_alarmed: bool,
    /// Counts that its usual range is computed from.
    pub(crate) history: u64,
    /// Rate alerts so far.
    pub(crate) raised: u64,
}

/// One pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolView {
    pub(crate) name: String,
    pub(crate) waiting: u64,
    pub(crate) servers: Vec<ServerView>,
}

/// One server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerView {
    pub(crate) name: String,
    pub(crate) is_in: bool,
    pub(crate) state: ServerState,
    pub(crate) in_flight: u64,
    pub(crate) limit: u64,
    pub(crate) answers: u64,
    pub(crate) failures: u64,
    /// Recent peak latency, ms, where servers are compared.
    pub(crate) latency_ms: Option<f64>,
}

impl OverviewSource {
    /// Takes a snapshot.
    pub(crate) fn collect(&self) -> Overview {
        let mut overview = self.sample();
        let hub = lock(&self.hub).clone();
        overview.hub = hub.map(|hub| hub.view(&self.loops));
        overview
    }

    /// The same without the largest channels of the hub, which cost a walk over all of them.
    pub(crate) fn sample(&self) -> Overview {
        let mut overview = Overview::default();
        for figures in &self.loops {
            overview.add(figures);
        }
        let now = self.clock.now();
        let pools = lock(&self.pools);
        overview.pools = pools.iter().map(|pool| view(pool, now)).collect();
        let routes = lock(&self.routes);
        overview.routes = routes.iter().map(|route| route_view(route)).collect();
        let cache = lock(&self.cache).clone();
        overview.cache = cache.map(|cache| cache.figures());
        let hub = lock(&self.hub).clone();
        overview.hub = hub.map(|hub| hub.totals(&self.loops));
        overview.rate_alerts.clone_from(&lock(&self.rate_alerts));
        overview.spans_sent = self.exports.spans_sent.get();
        overview.spans_lost = self.exports.spans_lost.get();
        overview.webhooks_sent = self.exports.webhooks_sent.get();
        overview.webhooks_failed = self.exports.webhooks_failed.get();
        overview
    }
}

impl Overview {
    fn add(&mut self, figures: &LoopMetrics) {
        let sums: [(&mut u64, &Counter); 26] = [
            (&mut self.accepted, &figures.accepted),
            (&mut self.rejected_connections, &figures.rejected),
            (&mut self.connections, &figures.connections),
            (&mut self.tunnels, &figures.tunnels),
            (&mut self.requests, &figures.requests),
            (&mut self.memory_full, &figures.memory_full),
            (&mut self.connects, &figures.connects),
            (&mut self.connects_failed, &figures.connects_failed),
            (&mut self.retries, &figures.retries),
            (&mut self.broken, &figures.broken),
            (&mut self.clients_gone, &figures.clients_gone),
            (&mut self.bytes_in, &figures.bytes_in),
            (&mut self.bytes_out, &figures.bytes_out),
            (&mut self.log_lines_dropped, &figures.log_lines_dropped),
            (&mut self.compressed, &figures.compressed),
            (&mut self.compress_skipped, &figures.compress_skipped),
            (&mut self.compress_in, &figures.compress_in),
            (&mut self.compress_out, &figures.compress_out),
            (&mut self.fallbacks_learned, &figures.fallbacks_learned),
            (&mut self.spans_dropped, &figures.spans_dropped),
            (&mut self.cache_hits, &figures.cache_hits),
            (&mut self.cache_stale, &figures.cache_stale),
            (&mut self.cache_misses, &figures.cache_misses),
            (&mut self.cache_collapsed, &figures.cache_collapsed),
            (&mut self.cache_passed, &figures.cache_passed),
            (&mut self.cache_renewed, &figures.cache_renewed),
        ];
        for (sum, counter) in sums {
            *sum += counter.get();
        }
        for (sum, counter) in self.statuses.iter_mut().zip(&figures.statuses) {
            *sum += counter.get();
        }
        for (sum, counter) in self.own.iter_mut().zip(&figures.own) {
            *sum += counter.get();
        }
        let causes = self
            .fallback_causes
            .iter_mut()
            .zip(&figures.fallback_causes);
        for (sum, counter) in causes {
            *sum += counter.get();
        }
        for (sum, counter) in self.fragments.iter_mut().zip(&figures.fragments) {
            *sum += counter.get();
        }
        figures.answer_times.add_to(&mut self.answer_times);
        figures.wait_times.add_to(&mut self.wait_times);
    }
}

fn route_view(route: &RouteShared) -> RouteView {
    let (hits, misses) = route.cached();
    RouteView {
        hits,
        misses,
        name: route.name(),
        requests: route.count(),
        in_line: route.in_line(),
    }
}

fn view(pool: &UpstreamPool, now: u64) -> PoolView {
    let servers = pool.servers.iter().map(|server| ServerView {
        name: server.name.clone(),
        is_in: server.is_in(now),
        state: server.state(now),
        in_flight: server.in_flight().into(),
        limit: server.limit().into(),
        answers: server.answers(),
        failures: server.failures(),
        latency_ms: server.latency_ms(now),
    });
    PoolView {
        name: pool.config.name.clone(),
        waiting: pool.waiting() as u64,
        servers: servers.collect(),
    }
}
