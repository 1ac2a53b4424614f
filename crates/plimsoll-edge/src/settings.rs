//! A configuration compiled for use; a reload puts a new one in its place whole.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::{Edge, Limits, Network, Traces};

use crate::access::Gate;
use crate::clock::Clock;
use crate::deadline::TICK_MS;
use crate::figures::Counter;
use crate::pool::Pool;
use crate::route::shared::RouteShared;
use crate::route::{self, Routes};
use crate::tls::{self, TlsFault};
use tokio_rustls::TlsAcceptor;

/// What loops look things up in.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) routes: Routes,
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) limits: Limits,
    pub(crate) trusted: Vec<Network>,
    pub(crate) ticks: Ticks,
    /// Who is let in.
    pub(crate) gate: Option<Arc<Gate>>,
    /// Names of clients that get no page in place of another.
    pub(crate) crawlers: regex::bytes::Regex,
    pub(crate) traces: Option<Arc<Traces>>,
    /// Which of a route's counters is this loop's.
    number: usize,
    doors: Vec<Arc<DoorSettings>>,
}

/// How clients of one listener are met.
pub(crate) struct DoorSettings {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<TlsAcceptor>,
    /// Trusted peers begin with a PROXY header.
    pub(crate) proxy_protocol: bool,
}

impl std::fmt::Debug for DoorSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoorSettings")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Tls(#[from] TlsFault),
    #[error(transparent)]
    Countries(#[from] maxminddb::MaxMindDbError),
    #[error("the system gives no random bytes")]
    NoRandom,
}

/// What all loops share of a configuration.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) routes: Vec<Arc<RouteShared>>,
    gate: Option<Arc<Gate>>,
    traces: Option<Arc<Traces>>,
    doors: Vec<Arc<DoorSettings>>,
}

impl Shared {
    /// Builds it; pools of the same name and routes for the same requests go on from earlier ones.
    pub(crate) fn new(
        edge: &Edge,
        before: &[Arc<Pool>],
        routes_before: &[Arc<RouteShared>],
        loops: usize,
        clock: Clock,
    ) -> Result<Self, Fault> {
        let doors = edge.listen.iter().map(|listener| {
            Ok(Arc::new(DoorSettings {
                address: listener.address,
                tls: tls::acceptor(listener)?,
                proxy_protocol: listener.proxy_protocol,
            }))
        });
        let doors = doors.collect::<Result<_, TlsFault>>()?;
        let routes = edge
            .routes
            .iter()
            .map(|route| RouteShared::new(route, routes_before, loops).map(Arc::new))
            .collect::<Result<_, Fault>>()?;
        let gate = edge.access.as_ref().map(Gate::new).transpose()?;
        let pools = edge.pools.iter().map(|pool| {
            let before = before.iter().find(|one| one.config.name == pool.name);
            Arc::new(Pool::new(pool, before.map(|pool| &**pool), clock))
        });
        Ok(Self {
            pools: pools.collect(),
            routes,
            gate: gate.map(Arc::new),
            traces: edge.traces.clone().map(Arc::new),
            doors,
        })
    }
}

/// Time-outs in ticks of the deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) head: u64,
    pub(crate) body: u64,
    pub(crate) idle: u64,
    pub(crate) write: u64,
}

impl Settings {
    /// Compiles a configuration for one loop: regular expressions of its own share no memory with another's.
    ///
    /// # Errors
    /// When a regular expression is not valid.
    pub(crate) fn new(edge: &Edge, shared: &Shared, number: usize) -> Result<Self, regex::Error> {
        let limits = edge.limits;
        Ok(Self {
            routes: Routes::new(&edge.routes, &shared.routes)?,
            gate: shared.gate.clone(),
            crawlers: route::crawlers(&edge.crawlers)?,
            traces: shared.traces.clone(),
            number,
            pools: shared.pools.clone(),
            doors: shared.doors.clone(),
            limits,
            trusted: edge.trusted.clone(),
            ticks: Ticks {
                head: ticks(limits.head_timeout),
                body: ticks(limits.body_timeout),
                idle: ticks(limits.idle_timeout),
                write: ticks(limits.write_timeout),
            },
        })
    }
}

impl Settings {
    /// This loop's counter of a route's requests, when somebody watches them.
    #[inline]
    pub(crate) fn count_of(&self, route: usize) -> Option<&Counter> {
        let counts = &self.routes.get(route).shared.counts;
        counts.get(self.number).map(|one| &one.0)
    }

    /// How clients of a listener are met; `None` when the configuration no longer has it.
    pub(crate) fn listener(&self, address: SocketAddr) -> Option<&Arc<DoorSettings>> {
        self.doors.iter().find(|door| door.address == address)
    }
}

/// A duration in ticks, rounded up.
pub(crate) fn ticks(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 2)
        .div_ceil(TICK_MS)
}
