//! A configuration compiled for use; a reload puts a new one in its place whole.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_config::edge::{Edge, Limits, Network};

use crate::clock::Clock;
use crate::deadline::TICK_MS;
use crate::pool::Pool;
use crate::route::Routes;
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
    /// Bytes that the connections of one loop may hold together.
    pub(crate) memory_max: usize,
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

/// What all loops share of a configuration.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pools: Vec<Arc<Pool>>,
    doors: Vec<Arc<DoorSettings>>,
}

impl Shared {
    /// Builds it; pools of the same name go on from earlier ones.
    pub(crate) fn new(edge: &Edge, before: &[Arc<Pool>], clock: Clock) -> Result<Self, TlsFault> {
        let doors = edge.listen.iter().map(|listener| {
            Ok(Arc::new(DoorSettings {
                address: listener.address,
                tls: tls::acceptor(listener)?,
                proxy_protocol: listener.proxy_protocol,
            }))
        });
        let doors = doors.collect::<Result<_, TlsFault>>()?;
        let pools = edge.pools.iter().map(|pool| {
            let before = before.iter().find(|one| one.config.name == pool.name);
            Arc::new(Pool::new(pool, before.map(|pool| &**pool), clock))
        });
        Ok(Self {
            pools: pools.collect(),
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
    pub(crate) fn new(edge: &Edge, shared: &Shared) -> Result<Self, regex::Error> {
        let limits = edge.limits;
        Ok(Self {
            routes: Routes::new(&edge.routes)?,
            pools: shared.pools.clone(),
            doors: shared.doors.clone(),
            limits,
            trusted: edge.trusted.clone(),
            memory_max: usize::try_from(limits.memory_max).unwrap_or(usize::MAX) / loops(edge),
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
    /// How clients of a listener are met; `None` when the configuration no longer has it.
    pub(crate) fn listener(&self, address: SocketAddr) -> Option<&Arc<DoorSettings>> {
        self.doors.iter().find(|door| door.address == address)
    }
}

/// How many event loops there are.
pub(crate) fn loops(edge: &Edge) -> usize {
    match edge.cores {
        Some(cores) => cores.max(1) as usize,
        None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

/// A duration in ticks, rounded up.
pub(crate) fn ticks(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 2)
        .div_ceil(TICK_MS)
}
