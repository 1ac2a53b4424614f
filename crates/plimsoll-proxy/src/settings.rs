//! A configuration compiled for use; a reload replaces it as a whole.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_config::edge::{self, EdgeConfig, EdgeLimits, Network, Traces};
use plimsoll_hub_io::hub::ActiveHub;
use plimsoll_net::clock::{self, EdgeClock};
use plimsoll_net::deadline::ticks;
use plimsoll_net::loop_metrics::Counter;
use plimsoll_net::tls_error::TlsError;

use crate::admission::ip_filter::IpFilter;
use crate::admission::route::shared::RouteShared;
use crate::admission::route::{self, Routes};
use crate::balance::UpstreamPool;
use crate::error::SettingsError;
use crate::lookup::{Cache, disk};
use crate::tls::challenges::Challenges;
use crate::tls::{self, ByName, Obtained};
use tokio_rustls::TlsAcceptor;

/// Settings that event loops look up.
#[derive(Debug)]
pub struct Settings {
    pub(crate) routes: Arc<Routes>,
    /// All pools.
    pub pools: Vec<Arc<UpstreamPool>>,
    pub(crate) limits: EdgeLimits,
    pub(crate) trusted: Vec<Network>,
    pub(crate) ticks: Ticks,
    /// IP filter.
    pub(crate) gate: Option<Arc<IpFilter>>,
    /// Names of clients that receive no fallback.
    pub(crate) crawlers: regex::bytes::Regex,
    /// How requests are traced, if they are.
    pub traces: Option<Arc<Traces>>,
    /// The cache, if it is on.
    pub cache: Option<Arc<Cache>>,
    /// Token that allows `PURGE`.
    pub(crate) purge_token: Option<Arc<str>>,
    /// The hub, if there is one.
    pub hub: Option<Arc<ActiveHub>>,
    /// Index of this loop's counters of a route.
    pub number: usize,
    /// Memory limit of one loop's connections, bytes.
    pub(crate) memory_max: usize,
    listeners: Vec<Arc<ListenerSettings>>,
}

/// Settings of one listener.
pub struct ListenerSettings {
    /// Address as configured.
    pub address: SocketAddr,
    /// Encryption, if it is configured.
    pub tls: Option<TlsAcceptor>,
    /// The certificates by name, with TLS.
    pub certificates: Option<Arc<ByName>>,
    /// Trusted peers send a PROXY header.
    pub(crate) proxy_protocol: bool,
}

impl std::fmt::Debug for ListenerSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoorSettings")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Parts of a configuration that all loops share.
#[derive(Debug)]
pub struct SharedSettings {
    /// All pools.
    pub pools: Vec<Arc<UpstreamPool>>,
    /// State of all routes.
    pub routes: Vec<Arc<RouteShared>>,
    gate: Option<Arc<IpFilter>>,
    traces: Option<Arc<Traces>>,
    /// The cache, if it is on.
    pub cache: Option<Arc<Cache>>,
    /// The hub, if there is one.
    pub hub: Option<Arc<ActiveHub>>,
    /// All listeners.
    pub listeners: Vec<Arc<ListenerSettings>>,
}

/// Earlier state that a configuration continues.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before<'a> {
    /// All pools.
    pub pools: &'a [Arc<UpstreamPool>],
    /// State of all routes.
    pub routes: &'a [Arc<RouteShared>],
    /// All listeners.
    pub listeners: &'a [Arc<ListenerSettings>],
    /// Pending challenges of ACME.
    pub challenges: Option<&'a Arc<Challenges>>,
    /// The hub.
    pub hub: Option<&'a Arc<ActiveHub>>,
}

impl SharedSettings {
    /// Builds it for `loops` loops; `servers` are the configured pools with their current servers. Pools of the same
    /// name and routes for the same requests continue earlier ones.
    ///
    /// # Errors
    /// When a certificate, a database or the hub cannot be used.
    pub fn new(
        edge: &EdgeConfig,
        servers: &[edge::PoolConfig],
        before: Before<'_>,
        loops: usize,
        clock: EdgeClock,
    ) -> Result<Self, SettingsError> {
        let now = clock::wall();
        let obtained = Obtained {
            acme: edge.acme.as_ref(),
            challenges: before.challenges.filter(|_| edge.acme.is_some()),
        };
        let listeners = edge.listen.iter().map(|listener| {
            let mut earlier = before.listeners.iter();
            let before = earlier.find(|candidate| candidate.address == listener.address);
            let before = before.and_then(|candidate| candidate.certificates.as_deref());
            let ending = tls::ending(listener, before, obtained, now)?;
            Ok(Arc::new(ListenerSettings {
                address: listener.address,
                tls: ending.as_ref().map(|ending| ending.acceptor.clone()),
                certificates: ending.map(|ending| ending.certificates),
                proxy_protocol: listener.proxy_protocol,
            }))
        });
        let listeners = listeners.collect::<Result<_, TlsError>>()?;
        let routes = edge
            .routes
            .iter()
            .map(|route| RouteShared::new(route, before.routes, loops).map(Arc::new))
            .collect::<Result<_, SettingsError>>()?;
        let gate = edge.access.as_ref().map(IpFilter::new).transpose()?;
        let hub = edge.hub.as_ref();
        let hub = hub.map(|hub| ActiveHub::new(hub, before.hub, loops, clock));
        Ok(Self {
            pools: pools(servers, before.pools, clock)?,
            routes,
            gate: gate.map(Arc::new),
            traces: edge.traces.clone().map(Arc::new),
            cache: None,
            hub: hub.transpose()?.map(Arc::new),
            listeners,
        })
    }
}

/// The cache: a reload keeps it unless its limits change. The disk is accessed as the user that the process becomes, so
/// this runs after privileges were dropped.
///
/// # Errors
/// When the system provides no random numbers.
pub fn cache(
    edge: &EdgeConfig,
    before: Option<&Arc<Cache>>,
    report: &Arc<dyn Fn(&str) + Send + Sync>,
) -> Result<Option<Arc<Cache>>, SettingsError> {
    let Some(size) = edge.cache else {
        return Ok(None);
    };
    let disk_before = before.and_then(|before| before.disk.as_ref());
    let config = edge.cache_disk.as_ref();
    let found = disk::follow(config, disk_before, report);
    let is_in_use = matches!(found, disk::DiskStatus::InUse);
    let disk = match found {
        disk::DiskStatus::Disk(disk) => Some(disk),
        disk::DiskStatus::InUse | disk::DiskStatus::None => None,
    };
    let is_same = match (&disk, disk_before) {
        (Some(disk), Some(before)) => Arc::ptr_eq(disk, before),
        (disk, before) => disk.is_none() && before.is_none(),
    };
    let cache = match before {
        Some(before) if before.size == size && is_same => Arc::clone(before),
        _ => Arc::new(Cache::new(size, disk).ok_or(SettingsError::NoRandom)?),
    };
    if let (Some(disk), Some(config)) = (&cache.disk, config) {
        disk.attach(&cache.store, size, config.size);
    }
    cache.awaits_disk.store(is_in_use, Ordering::Relaxed);
    cache.follow(&edge.routes);
    Ok(Some(cache))
}

/// The admin token: it also allows purging by method.
fn purge_token(edge: &EdgeConfig) -> Option<Arc<str>> {
    let token = edge.admin.as_ref()?.token.as_deref()?;
    Some(token.into())
}

/// Builds pools; those of the same name continue earlier ones.
///
/// # Errors
/// When the certificates of a pool cannot be verified as configured.
pub fn pools(
    configs: &[edge::PoolConfig],
    before: &[Arc<UpstreamPool>],
    clock: EdgeClock,
) -> Result<Vec<Arc<UpstreamPool>>, TlsError> {
    let pools = configs.iter().map(|config| {
        let before = before.iter().find(|pool| pool.config.name == config.name);
        UpstreamPool::new(config, before.map(|pool| &**pool), clock).map(Arc::new)
    });
    pools.collect()
}

/// Time-outs in ticks of the deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) head: u64,
    pub(crate) body: u64,
    pub(crate) idle: u64,
    pub(crate) write: u64,
    /// Until a request that waits for the disk goes upstream.
    pub(crate) disk_lookup: u64,
}

impl Settings {
    /// Compiles a configuration for one loop: its regular expressions share no memory with another loop's.
    ///
    /// # Errors
    /// When a regular expression is not valid.
    pub fn new(
        edge: &EdgeConfig,
        shared: &SharedSettings,
        number: usize,
    ) -> Result<Self, regex::Error> {
        let (limits, disk) = (edge.limits, edge.cache_disk.as_ref());
        Ok(Self {
            routes: Arc::new(Routes::new(&edge.routes, &shared.routes, &edge.pools)?),
            gate: shared.gate.clone(),
            crawlers: route::crawlers(&edge.crawlers)?,
            traces: shared.traces.clone(),
            cache: shared.cache.clone(),
            purge_token: purge_token(edge),
            hub: shared.hub.clone(),
            number,
            pools: shared.pools.clone(),
            listeners: shared.listeners.clone(),
            limits,
            trusted: edge.trusted.clone(),
            memory_max: usize::try_from(limits.memory_max).unwrap_or(usize::MAX) / loops(edge),
            ticks: Ticks {
                head: ticks(limits.head_timeout),
                body: ticks(limits.body_timeout),
                idle: ticks(limits.idle_timeout),
                write: ticks(limits.write_timeout),
                disk_lookup: disk.map_or(0, |disk| ticks(disk.lookup_timeout)),
            },
        })
    }
}

impl Settings {
    /// The same with other servers.
    pub(crate) fn with_pools(&self, pools: Vec<Arc<UpstreamPool>>) -> Self {
        Self {
            routes: Arc::clone(&self.routes),
            gate: self.gate.clone(),
            crawlers: self.crawlers.clone(),
            traces: self.traces.clone(),
            cache: self.cache.clone(),
            purge_token: self.purge_token.clone(),
            hub: self.hub.clone(),
            number: self.number,
            memory_max: self.memory_max,
            pools,
            limits: self.limits,
            trusted: self.trusted.clone(),
            ticks: self.ticks,
            listeners: self.listeners.clone(),
        }
    }

    /// This loop's request counter of a route, when its rate is watched.
    #[inline]
    pub(crate) fn count_of(&self, route: usize) -> Option<&Counter> {
        let counts = &self.routes.get(route).shared.counts;
        counts.get(self.number).map(|counter| &counter.0)
    }

    /// This loop's counter of cache hits of a route.
    #[inline]
    pub(crate) fn hits_of(&self, route: usize) -> Option<&Counter> {
        let hits = &self.routes.get(route).shared.hits;
        hits.get(self.number).map(|counter| &counter.0)
    }

    /// This loop's counter of requests of a route that went on after a cache lookup.
    #[inline]
    pub(crate) fn misses_of(&self, route: usize) -> Option<&Counter> {
        let misses = &self.routes.get(route).shared.misses;
        misses.get(self.number).map(|counter| &counter.0)
    }

    /// Settings of a listener; `None` when it was removed from the configuration.
    pub fn listener(&self, address: SocketAddr) -> Option<&Arc<ListenerSettings>> {
        self.listeners
            .iter()
            .find(|listener| listener.address == address)
    }
}

/// How many event loops there are.
pub fn loops(edge: &EdgeConfig) -> usize {
    match edge.cores {
        Some(cores) => cores.max(1) as usize,
        None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}
